#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Measure how fast perf decodes over 100 MB of trace of an ordinary program, with a timestamp in each message (perf
# script --itrace=e, including the start of perf). The result is user time, on a machine with little other load.
. "$(dirname "$0")/../harness/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
command -v qemu-riscv64-static >/dev/null || skip_all "no qemu-riscv64-static"
perf=$O/perf/new/x86_64/perf busybox=$O/root/guest/bin/busybox
{ make -C "$top" tool && "$top/tools/perf/build.sh" new x86_64; } >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
plan 3
awk 'BEGIN { for (i = 0; i < 1000; i++) print "line", i * 7919 % 1000, "some words of text" i }' >"$tap_tmp/text"
"$top/tests/harness/pcs" "$tap_tmp/list" "$busybox" awk \
	'{ n[$2 % 97] += length($0); $3 = "x" NR } END { for (i in n) s += n[i]; print s }' "$tap_tmp/text" >/dev/null &&
	"$O/bin/ntrace" encode --elf "$busybox" --pcs "$tap_tmp/list" --timestamp -o "$tap_tmp/nt" || exit 1
copies=$((100000000 / $(wc -c <"$tap_tmp/nt") + 1))
insns=$(($(grep -c '^0x' "$tap_tmp/list") * copies))
ok "a recording" python3 "$top/tests/session/mkrecording.py" --timestamp "$busybox" "$tap_tmp/nt" "$tap_tmp/data" $copies
best=
for _ in 1 2 3 4 5; do
	took=$(bash -c 'TIMEFORMAT=%U; time "$@" >/dev/null 2>&1' - "$perf" script -f -i "$tap_tmp/data" --itrace=e 2>&1)
	best=$(printf '%s\n' $best "$took" | sort -n | head -n 1)
done
is "no errors" "$("$perf" script -f -i "$tap_tmp/data" --itrace=e 2>&1 | grep -c 'trace error')" 0
speed=$(awk -v n="$insns" -v t="$best" 'BEGIN { printf "%.0f", n / t / 1e6 }')
figure "$(($(wc -c <"$tap_tmp/data") / 1000000)) MB, $((insns / 1000000)) M instructions, $best s of user time: $speed million/s"
ok "800 million instructions a second" [ "$speed" -ge 800 ]
done_testing
