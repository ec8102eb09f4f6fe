# SPDX-License-Identifier: GPL-2.0-only
# Functions that check how the time of a program grows with
# its input. Source it after tap.sh.
# shellcheck shell=sh

# least_time COMMAND...: print the processor time in s, the best of three; its output is in $tap_tmp/got.
# Kernels know only the sum of user and system time exactly, and divide it by sampling at ticks of 10 ms or
# less.
least_time() {
	for _ in 1 2 3; do
		bash -c 'TIMEFORMAT="%U %S"; time "$@" >"$0" 2>/dev/null' "$tap_tmp/got" "$@" 2>&1
	done | awk '{ print $1 + $2 }' | sort -n | head -n 1
}

# grows SMALL LARGE: check two times, the second for four times as much input. Quadratic code would take
# sixteen times as long. Up to 7 times is allowed, because of noise of the host
grows() {
	echo "$1 s, and $2 s of processor time for four times as many"
	awk -v s="$1" -v l="$2" 'BEGIN { exit !(s > 0 && l > 0 && l < 7 * s) }'
}
