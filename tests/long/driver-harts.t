#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# 16 harts send their trace to one ETR, as in a K3. perf record -a must record the trace of each hart, and perf must
# decode this trace. The harts have a slow clock, because they share the host's processors. Only two kinds of trace
# may be missing: trace for which a sink had no space, and trace of code that this host does not have.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/driver/guest.sh"

need_perf_and_work 6.12
perf=$O/perf/new/x86_64/perf
[ -x "$perf" ] || skip_all "perf is not built for this host; make perf"
plan 5
cat >"$tap_tmp/guest/script" <<'E2'
cd /tmp
echo "cpus $(cat /sys/bus/event_source/devices/ntrace/cpumask)"
perf record -q -a --kcore -m,256K -e ntrace// -o d -- sh -c '
	for i in $(seq 0 15); do taskset -c $i true & done; wait' 2>&1
echo "record $?"
cp -r d /out/
E2
"$top/tools/board/board" run --board k3 --harts 16 --slow 20 --mem 3G --timeout 2000 --out "$tap_tmp/guest" \
	--console "$tap_tmp/console" -- 'sh /out/script' >"$tap_tmp/said" 2>"$tap_tmp/err"
sed 's/^/# /' "$tap_tmp/said"
is "all 16 CPUs can be traced" "$(sed -n 's/^cpus //p' "$tap_tmp/said")" 0-15
is "perf records" "$(grep '^record ' "$tap_tmp/said")" "record 0"
quiet "16 harts"
printf '[ntrace]\n\tfirmware = %s@0x80000000\n' "$O/root/firmware/fw_dynamic.elf" >"$tap_tmp/config"
PERF_CONFIG=$tap_tmp/config "$perf" script -i "$tap_tmp/guest/d" --symfs "$O/root/guest" --itrace=be -F cpu,ip \
	>"$tap_tmp/branches" 2>"$tap_tmp/errors"
sed 's/^/# /' "$tap_tmp/errors" | grep code
is "each CPU has at least 1,000 branches" \
	"$(grep -o '\[[0-9]*\]' "$tap_tmp/branches" | sort | uniq -c | awk '$1 >= 1000' | wc -l)" 16
is "all errors are about trace that the sink lost, or about missing code" "$(grep ' code [0-9]*:' "$tap_tmp/errors" | grep -v -c -e ' code 1:' -e ' code 4:' -e ' code 30:')" 0
figure "$(grep -c '\[' "$tap_tmp/branches") branches of 16 harts"
done_testing
