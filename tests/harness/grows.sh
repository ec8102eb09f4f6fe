# SPDX-License-Identifier: GPL-2.0-only
# How the time of a program grows with its input. Source it after tap.sh.
# shellcheck shell=sh

# least_time COMMAND...: processor time in s, the best of three; its output is in $tap_tmp/got. Kernels know exactly
# the sum of user and system time only: they share it out by what a tick of 10 ms or less has met.
least_time() {
	for _ in 1 2 3; do
		bash -c 'TIMEFORMAT="%U %S"; time "$@" >"$0" 2>/dev/null' "$tap_tmp/got" "$@" 2>&1
	done | awk '{ print $1 + $2 }' | sort -n | head -n 1
}

# grows SMALL LARGE: times, the second for four times as much input. Not sixteen times; 7 with noise of the host
grows() {
	echo "$1 s, and $2 s of processor time for four times as many"
	awk -v s="$1" -v l="$2" 'BEGIN { exit !(s > 0 && l > 0 && l < 7 * s) }'
}
