#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ntrace diff` finds the first difference of two runs. The test computes the expected difference from the PCs that
# QEMU logs.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
here=$top/tests/session
recording_as perf good && recording_as other rounds && recording_as lost partial || exit 1
cd "$tap_tmp" || exit 1

# answers STATUS TEXT ARGUMENT...: run `ntrace diff ARGUMENT...`. Its exit status must be STATUS, and its output must
# match the pattern TEXT
answers() {
	want=$1 text=$2; shift 2
	"$ntrace" diff "$@" >out 2>&1
	rc=$?
	[ $rc -eq "$want" ] && grep -q -e "$text" out || { echo "status $rc"; head -n 20 out; return 1; }
}
pairs() { python3 "$here/diff.py" "$ntrace" ./diff "$@"; }
slower() { python3 "$here/slower.py" "$ntrace" "$@"; }

plan 15
ok "a recording equals itself" answers 0 "^No difference in [1-9][0-9]* instructions of 1 thread$" perf.data perf.data
ok "a missing recording" answers 2 "none" perf.data none
ok "one recording" answers 2 "diff needs two recordings" perf.data
ok "three recordings" answers 2 "diff needs two recordings" perf.data perf.data perf.data
ok "no recording on one side of --" answers 2 "on both sides of --" perf.data --
ok "the same recording on both sides of --" answers 0 "^No function differs more" perf.data perf.data -- perf.data perf.data
ok "--object of a file that no recording has" answers 2 "no recording has code to compare" --object absent perf.data perf.data
ok "--strict: recordings with lost trace, whose functions are equal" answers 1 "^No function differs" --strict lost.data lost.data -- lost.data
if command -v qemu-riscv64-static >/dev/null && riscv64-linux-gnu-gcc -g -O2 -static -o diff "$here/diff.c" 2>make.log; then
	ok "equal runs at other addresses, with other interrupts and signals" pairs equal "$(by_size 1 100)" 1
	ok "a branch of the program is inverted" pairs flip "$(by_size 2 100)" 2
	ok "a condition is inverted once" pairs once "$(by_size 2 100)" 3
	ok "trace is missing before, or after, the difference" pairs gap "$(by_size 1 20)" 4
else
	for what in "equal runs" "inverted branch" "inverted once" "missing trace"; do skip "$what" "there is no qemu-riscv64-static or cross compiler"; done
fi
if command -v riscv64-linux-gnu-gcc >/dev/null; then
	ok "the function that is 3 % slower is the first" slower 3 "$(by_size 2 20)"
	ok "equal runs have no slower function" slower 0 "$(by_size 2 20)"
	ok "a comparison of two single runs lists the counts" slower one 1
else
	for what in "3 % slower" "equal runs" "one run"; do skip "$what" "there is no cross compiler"; done
fi
done_testing
