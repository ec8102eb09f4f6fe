# SPDX-License-Identifier: GPL-2.0-only
# Functions that check how the time of a program grows with its input. Source this file after tap.sh.
# shellcheck shell=sh

# least_time COMMAND...: run COMMAND three times, and print the shortest processor time in s. The output of COMMAND
# is in $tap_tmp/got. Add user and system time, because the kernel knows only their sum exactly, and estimates both
# parts by samples.
least_time() {
	for _ in 1 2 3; do
		bash -c 'TIMEFORMAT="%U %S"; time "$@" >"$0" 2>/dev/null' "$tap_tmp/got" "$@" 2>&1
	done | awk '{ print $1 + $2 }' | sort -n | head -n 1
}

# grows SMALL LARGE: compare the time in s for a small input with that for an input that is four times as large.
# Quadratic code would take 16 times as long. The limit is 7 times, because times vary on a busy host
grows() {
	echo "$1 s, and $2 s of processor time for four times as many"
	awk -v s="$1" -v l="$2" 'BEGIN { exit !(s > 0 && l > 0 && l < 7 * s) }'
}
