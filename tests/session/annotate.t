#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The counts that `ntrace annotate` prints for each instruction, branch, target and loop must equal the counts that
# annotate.py computes from the list of executed PCs.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace here=$top/tests/session
cd "$tap_tmp" || exit
cross=${CROSS_COMPILE:-riscv64-linux-gnu-}
"${cross}gcc" -O2 -g -nostdlib -static -Wl,--no-relax -ffile-prefix-map="$here"=. -o prog "$here/annotate.c" && "$top/tests/harness/pcs" pcs prog &&
	"${cross}nm" prog >nm && "${cross}objdump" -d prog >dump && "$ntrace" encode --elf prog --pcs pcs -o prog.nt --timestamp || exit 1
"$ntrace" decode --pcs --timestamp --elf prog prog.nt | cmp - pcs || exit 1

# agrees TIMES OPTION...: check that the counts of ntrace annotate are TIMES times the counts in the list of PCs
agrees() {
	_times=$1; shift
	"$ntrace" annotate --json "$@" >json 2>err || { cat err; return 1; }
	python3 "$here/annotate.py" pcs nm dump json "$_times"
}
raw="--raw prog.nt --elf prog --timestamp --freq 1000000000"
text() {
	# shellcheck disable=SC2086
	cp "$here/annotate.c" . && "$ntrace" annotate nested $raw >got 2>err
	cat got err
	grep -q '^annotate.c:22	.*table\[(i + k) & 3\](k);' got && grep -q 'indirect call to two+0x0: ' got && grep -q 'taken [0-9]* of [0-9]*, ' got &&
		grep -q 'runs, of .* median .*; runs by iterations: ' got
}
nothing() {
	# shellcheck disable=SC2086
	"$ntrace" annotate nest $raw >got 2>err
	rc=$?
	cat err
	[ $rc -eq 1 ] && [ ! -s got ] && grep -q "nearest names .*nested" err
}
recorded() {
	python3 "$here/mkrecording.py" --timestamp prog prog.nt rec.data "$1" && agrees "$1" '*' -i rec.data
}

plan 8
# shellcheck disable=SC2086
ok "the counts of all functions" agrees 1 '*' $raw
# shellcheck disable=SC2086
ok "the counts of one function" agrees 1 nested $raw
# shellcheck disable=SC2086
ok "the counts of two harts" agrees 2 '*' $raw --raw prog.nt
# shellcheck disable=SC2086
ok "the counts of one of two harts" agrees 1 '*' $raw --raw prog.nt --cpu 1
# shellcheck disable=SC2086
ok "the counts of one thread" agrees 1 '*' $raw --raw prog.nt --tid 2
ok "the counts of a recording of perf" recorded 1
ok "the text has source lines, targets and loops" text
ok "a function that does not exist" nothing
done_testing
