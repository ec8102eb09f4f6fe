#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# perf needs no more than in proportion to the recording: to its buffers, its maps, and the samples
# in straight code. Four times as many take up to four times as long, and not sixteen times.
. "$(dirname "$0")/../harness/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
data=$top/tests/perf
plan 3
most=7		# noise of the host included
"$top/tools/perf/build.sh" 7.2 x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
cross=${CROSS_COMPILE:-riscv64-linux-gnu-}
link="-nostdlib -static -Wl,-Ttext=0x10000 -Wl,--build-id=none"
# shellcheck disable=SC2086
"${cross}gcc" $link -o "$tap_tmp/calls" "$data/calls.S" || exit
for n in 16000 64000; do
	printf '.globl _start\n.type _start, @function\n_start:\n.rept %s\nnop\n.endr\necall\n.size _start, . - _start\n' $n >"$tap_tmp/$n.S"
	# shellcheck disable=SC2086
	"${cross}gcc" $link -o "$tap_tmp/straight-$n" "$tap_tmp/$n.S" || exit
done

# seconds PROGRAM WHAT LINES OPTION...: processor time, the best of three. Kernels know exactly the sum of user
# and system time only: they share it out by what a tick of 10 ms or less has met.
seconds() {
	program=$1 what=$2 lines=$3; shift 3
	python3 "$data/mkcalls.py" "$tap_tmp/$program" "$tap_tmp/$what.data" "many-$what" || return
	rm -f "$tap_tmp/times"
	for _ in 1 2 3; do
		bash -c 'TIMEFORMAT="%U %S"; time "$@" >"'"$tap_tmp/got"'" 2>/dev/null' - \
			"$O/perf/7.2/x86_64/perf" script -i "$tap_tmp/$what.data" "$@" 2>>"$tap_tmp/times"
	done
	[ "$(wc -l <"$tap_tmp/got")" -eq "$lines" ] || { echo "$what: $(wc -l <"$tap_tmp/got") lines" >&2; return 1; }
	awk '{ print $1 + $2 }' "$tap_tmp/times" | sort -n | head -n 1
}

# grows SMALL LARGE: their times
grows() {
	echo "$1 s, and $2 s of processor time for four times as many"
	awk -v s="$1" -v l="$2" -v most=$most 'BEGIN { exit !(s > 0 && l > 0 && l < most * s) }'
}

ok "samples of straight code" grows "$(seconds straight-16000 straight-16000 160000 --itrace=i1i -F ip)" \
	"$(seconds straight-64000 straight-64000 640000 --itrace=i1i -F ip)"
ok "buffers" grows "$(seconds calls buffers-20000 0 --itrace=e)" "$(seconds calls buffers-80000 0 --itrace=e)"
ok "maps" grows "$(seconds calls maps-100000 0 --itrace=e)" "$(seconds calls maps-400000 0 --itrace=e)"
done_testing
