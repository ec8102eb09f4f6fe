#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# perf's time must be proportional to the number of buffers, of maps, and of samples in code without branches. Four
# times as many items may take about four times as long, but not 16 times.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/harness/grows.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
data=$top/tests/perf
plan 3
"$top/tools/perf/build.sh" new x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
cross=${CROSS_COMPILE:-riscv64-linux-gnu-}
link="-nostdlib -static -Wl,-Ttext=0x10000 -Wl,--build-id=none"
# shellcheck disable=SC2086
"${cross}gcc" $link -o "$tap_tmp/calls" "$data/calls.S" || exit
for n in 16000 64000; do
	printf '.globl _start\n.type _start, @function\n_start:\n.rept %s\nnop\n.endr\necall\n.size _start, . - _start\n' $n >"$tap_tmp/$n.S"
	# shellcheck disable=SC2086
	"${cross}gcc" $link -o "$tap_tmp/straight-$n" "$tap_tmp/$n.S" || exit
done

# seconds PROGRAM WHAT LINES OPTION...: print how long perf script takes for the recording WHAT of PROGRAM, and fail
# if perf script does not print LINES lines
seconds() {
	program=$1 what=$2 lines=$3; shift 3
	python3 "$data/mkcalls.py" "$tap_tmp/$program" "$tap_tmp/$what.data" "many-$what" || return
	least_time "$O/perf/new/x86_64/perf" script -i "$tap_tmp/$what.data" "$@" >"$tap_tmp/least"
	[ "$(wc -l <"$tap_tmp/got")" -eq "$lines" ] || { echo "$what: $(wc -l <"$tap_tmp/got") lines" >&2; return 1; }
	cat "$tap_tmp/least"
}

ok "the time grows in proportion to the samples of straight code" grows "$(seconds straight-16000 straight-16000 160000 --itrace=i1i -F ip)" \
	"$(seconds straight-64000 straight-64000 640000 --itrace=i1i -F ip)"
ok "the time grows in proportion to the buffers" grows "$(seconds calls buffers-20000 0 --itrace=e)" "$(seconds calls buffers-80000 0 --itrace=e)"
ok "the time grows in proportion to the maps" grows "$(seconds calls maps-100000 0 --itrace=e)" "$(seconds calls maps-400000 0 --itrace=e)"
done_testing
