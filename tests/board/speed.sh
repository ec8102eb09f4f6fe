#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Measure how much tracing slows down the emulation. The two results are ratios of QEMU's CPU time with
# trace to its CPU time without trace. Each traced run is compared with the mean of the plain runs before and after it,
# because the speed of a shared machine changes every minute. The script prints the median, the smallest and
# the largest ratio of RUNS measurements.
#
#   tests/board/speed.sh [RUNS]
#
# The first result, "boot", is for firmware and kernel from reset to power-off, with all code traced to a file.
# The second result, "user", is for awk and bzip2 in user mode, which are traced into memory that the guest's
# kernel does not use. The CPU time of a boot is subtracted from that of the whole run.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/board/hand.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
work='busybox awk "BEGIN { for (i = 0; i < 300000; i++) { a[i % 1000] += i * 3; if (i % 7 == 0) s += a[i % 13] } print s }"
head -c 1500000 /usr/bin/bash | busybox bzip2 -c | busybox sha256sum'

# run NAME OPTIONS... COMMAND: run COMMAND on the board, and append the CPU time in seconds to $tmp/NAME
run() {
	_name=$1
	shift
	"$top/tools/board/board" run --stock-boot --no-driver --cpu-time "$tmp/time" "$@" >/dev/null
	awk '{ print $1 + $2 }' "$tmp/time" >>"$tmp/$_name"
	rm -rf "$tmp/trace"
}

boot() { run boot --plain -- true; }
user() { run user --plain -- "$work"; }

for _ in $(seq "${1:-1}"); do
	boot
	run boot-traced --boot-trace "$tmp/trace" -- true
	boot
	user
	run user-traced --append mem=900M --stats "$tmp/stats" -- "$(by_hand 0xbc000000 $((32 << 20)) "$work")"
	user
	run base -- true
done

# means NAME: $tmp/NAME has the CPU times of the runs before and after each traced run. Print the mean of each two lines
means() { awk 'NR % 2 { one = $1; next } { print (one + $1) / 2 }' "$tmp/$1"; }
means boot >"$tmp/boot-means"
means user >"$tmp/user-means"
# ratios NAME: read lines "TIME-WITHOUT-TRACE TIME-WITH-TRACE", and print the ratios
ratios() {
	awk '{ print $2 / $1, $1, $2 }' | sort -n | awk -v name="$1" '
		{ ratio[NR] = $1; plain[NR] = $2; traced[NR] = $3 }
		END { m = int((NR + 1) / 2)
			printf "%s: %.2f s plain, %.2f s traced (%d runs, %.2f to %.2f): %.2f times\n",
				name, plain[m], traced[m], NR, ratio[1], ratio[NR], ratio[m] }'
}
paste "$tmp/boot-means" "$tmp/boot-traced" | ratios boot
# The time of a run includes the boot, so subtract the time of a boot from the plain and from the traced time.
paste "$tmp/user-means" "$tmp/boot-means" "$tmp/user-traced" "$tmp/base" | awk '{ print $1 - $2, $3 - $4 }' | ratios user
sed -n 's/^te0 messages=\([0-9]*\) bytes=\([0-9]*\).*/the user program: \1 messages, \2 bytes/p' "$tmp/stats"
