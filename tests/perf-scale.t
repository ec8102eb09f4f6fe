#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What perf needs grows no faster than the recording: with its buffers, its maps, and the samples
# in straight code. The limits are four times what was measured, and less than was once needed.
. "$(dirname "$0")/lib/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
data=$top/tests/perf
plan 3
"$top/tools/perf/build.sh" 7.2 x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
cross=${CROSS_COMPILE:-riscv64-linux-gnu-}
link="-nostdlib -static -Wl,-Ttext=0x10000 -Wl,--build-id=none"
printf '.globl _start\n.type _start, @function\n_start:\n.rept 8000\nnop\n.endr\necall\n.size _start, . - _start\n' >"$tap_tmp/straight.S"
# shellcheck disable=SC2086
"${cross}gcc" $link -o "$tap_tmp/calls" "$data/calls.S" && "${cross}gcc" $link -o "$tap_tmp/straight" "$tap_tmp/straight.S" || exit

# within SECONDS PROGRAM WHAT LINES OPTION...: the best of three
within() {
	limit=$1 program=$2 what=$3 lines=$4; shift 4
	python3 "$data/mkcalls.py" "$tap_tmp/$program" "$tap_tmp/$what.data" "many-$what" || return
	for _ in 1 2 3; do
		bash -c 'TIMEFORMAT=%U; time "$@" >"'"$tap_tmp/got"'" 2>/dev/null' - \
			"$O/perf/7.2/x86_64/perf" script -i "$tap_tmp/$what.data" "$@" 2>>"$tap_tmp/times"
	done
	best=$(sort -n "$tap_tmp/times" | head -n 1); rm -f "$tap_tmp/times"
	echo "$what: $best s of user time, $(wc -l <"$tap_tmp/got") lines"
	[ "$(wc -l <"$tap_tmp/got")" -eq "$lines" ] && awk -v t="$best" -v l="$limit" 'BEGIN { exit t > l }'
}

ok "80,000 samples of straight code" within 0.26 straight straight-8000 80000 --itrace=i1i -F ip
ok "20,000 buffers" within 0.14 calls buffers-20000 0 --itrace=e
ok "100,000 maps" within 0.25 calls maps-100000 0 --itrace=e
done_testing
