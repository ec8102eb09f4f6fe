#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# tests/session/foreign.py makes recordings of other drivers from recordings of this tree ("ours"). perf must print
# the executed branches for these recordings.
. "$(dirname "$0")/../harness/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
kvers=${KVERS:-$(perfs $(by_size new "lts new"))}
plan $(($(echo "$kvers" | wc -w) * 8))
cd "$tap_tmp" || exit 1
gcc="${CROSS_COMPILE:-riscv64-linux-gnu-}gcc -nostdlib -static -Wl,-Ttext=0x10000"
$gcc -o calls "$top/tests/perf/calls.S" && $gcc -march=rv64g -o calls-uncompressed "$top/tests/perf/calls.S" || exit 1
make_it() { python3 "$top/tests/session/mkshared.py" calls "$@"; }
make_it alone alone 4 20 && SRC_BITS=2 make_it shared shared 4 20 && make_it one alone 1 2000 || exit 1
all="5120 branches, 0 wrong, 0 of a wrong thread, 0 missing, 0 errors"

# read_as KIND OURS [HOW]: convert our recording OURS.data to the format of recorder KIND, and print how many of the
# branches that perf prints are right. HOW is an option of foreign.py
read_as() {
	python3 "$top/tests/session/foreign.py" "$1" "$2.data" foreign.data "$3" || return
	"$perf" script -i foreign.data --itrace=be -F tid,cpu,ip,addr 2>said | python3 "$top/tests/session/shared.py" "${4:-$2}.branches"
}
# refused KIND TEXT HOW: check that perf refuses a damaged recording with TEXT
refused() {
	python3 "$top/tests/session/foreign.py" "$1" alone.data foreign.data "$3" || return
	! "$perf" script -i foreign.data >said 2>&1 || return
	grep -qF "$2" said
}

# Exchange CPUs in the expected branches. CPU 1, which sends SRC 0, executes the branches of CPU 0 in the original.
sed 's/^0 /x /; s/^1 /0 /; s/^x /1 /; s/^2 /x /; s/^3 /2 /; s/^x /3 /' shared.branches >swapped.branches
for kver in $kvers; do
	"$top/tools/perf/build.sh" $kver x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
	perf=$O/perf/$kver/x86_64/perf me="perf $kver:"
	is "$me gtrace, CPUs with their own buffers" "$(read_as gtrace alone)" "$all"
	is "$me gtrace, a shared buffer" "$(read_as gtrace shared)" "$all"
	is "$me gtrace, AUX_OUTPUT_HW_ID assigns SRC to CPUs" "$(read_as gtrace shared swap swapped)" "$all"
	is "$me k3, without frames" "$(read_as k3 shared)" "$all"
	is "$me gtrace, a ring that wrapped" "$(read_as ring one | cut -d, -f1-4)" \
		"127912 branches, 0 wrong, 0 of a wrong thread, 88 missing"
	ok "$me gtrace, a ring that wrapped is reported" grep -q "186496 bytes that earlier sessions left in the buffer are not decoded" said
	ok "$me E-Trace is refused" refused gtrace "is E-Trace, and not N-Trace" flags=0x100
	ok "$me damaged metadata is refused" refused k3 "its sizes do not fit" words=20
done
done_testing
