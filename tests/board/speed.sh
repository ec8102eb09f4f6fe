#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What tracing costs the emulation: seconds of QEMU's CPU time, plain and traced,
# the two in turn, the best of RUNS, as two ratios.
#
#   tests/board/speed.sh [RUNS]
#
# boot: firmware and kernel from reset to power-off, all of it traced, to a file.
# user: what a CPU-bound program takes more than a boot: awk and bzip2, in user
# mode, traced into memory of the guest that its kernel does not use.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/board/hand.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
work='busybox awk "BEGIN { for (i = 0; i < 300000; i++) { a[i % 1000] += i * 3; if (i % 7 == 0) s += a[i % 13] } print s }"
head -c 1500000 /usr/bin/bash | busybox bzip2 -c | busybox sha256sum'

# run NAME OPTIONS... COMMAND: the least seconds so far to $tmp/NAME
run() {
	_name=$1
	shift
	"$top/tools/board/board" run --no-driver --cpu-time "$tmp/time" "$@" >/dev/null
	awk '{ print $1 + $2 }' "$tmp/time" >>"$tmp/$_name.all"
	sort -n "$tmp/$_name.all" | head -n 1 >"$tmp/$_name"
	rm -rf "$tmp/trace"
}

for _ in $(seq "${1:-1}"); do
	run boot --plain -- true
	run boot-traced --boot-trace "$tmp/trace" -- true
	run user --plain -- "$work"
	run base -- true
	run user-traced --append mem=900M --stats "$tmp/stats" -- "$(by_hand 0xbc000000 $((32 << 20)) "$work")"
done
read -r b <"$tmp/boot"; read -r bt <"$tmp/boot-traced"; read -r u <"$tmp/user"; read -r ut <"$tmp/user-traced"; read -r a <"$tmp/base"
awk -v b="$b" -v bt="$bt" -v u="$u" -v ut="$ut" -v a="$a" 'BEGIN {
	printf "boot: %.2f s plain, %.2f s traced: %.2f times\n", b, bt, bt / b
	printf "user: %.2f s plain, %.2f s traced: %.2f times\n", u - b, ut - a, (ut - a) / (u - b) }'
sed -n 's/^te0 messages=\([0-9]*\) bytes=\([0-9]*\).*/the user program: \1 messages, \2 bytes/p' "$tmp/stats"
