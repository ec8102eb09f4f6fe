#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A hypervisor owns the register hcontext, so the driver must not change this register. During events, CPU hotplug and
# idle states, the trace must report the value that the hypervisor wrote to hcontext. The trace must report the
# running thread in scontext.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"

need_perf_and_work 6.12
build_tool
plan 6
# shellcheck disable=SC2016
"$top/tools/board/board" run --harts 2 --deep-idle --model hcontext=on --out "$tap_tmp/guest" -- "$hide_symbols"'
	insmod /usr/lib/ntrace/ntrace-hcontext.ko value=29 || exit 1
	now=/sys/module/ntrace_hcontext/parameters/now
	echo "at first $(cat $now)"
	cd /tmp
	perf record -B --no-bpf-event -q -a -m,1M -e ntrace// -o all -- sh -c "
		/usr/lib/ntrace/work 3000; sleep 0.1; /usr/lib/ntrace/work 3000" || exit 1
	perf record -B --no-bpf-event -q -m,1M -e ntrace//u -o one -- /usr/lib/ntrace/work 3000 || exit 1
	echo 0 >/sys/devices/system/cpu/cpu1/online || exit 1
	echo 1 >/sys/devices/system/cpu/cpu1/online || exit 1
	perf record -B --no-bpf-event -q -C 1 -m,1M -e ntrace// -o again -- taskset 2 /usr/lib/ntrace/work 3000 || exit 1
	echo "at last $(cat $now)"
	cp all one again /out' >"$tap_tmp/said" 2>"$tap_tmp/err"
is "the guest has recorded all CPUs, CPU hotplug, and several events" $? 0
is "all CPUs have the value before the events" "$(sed -n 's/^at first //p' "$tap_tmp/said")" "29 29"
is "all CPUs have the value after the events" "$(sed -n 's/^at last //p' "$tap_tmp/said")" "29 29"
for t in all one again; do
	for cpu in 0 1; do "$O/bin/ntrace" dump --cpu $cpu "$tap_tmp/guest/$t" 2>/dev/null; done |
		grep -o '[sh]context=0x[0-9a-f]*' | sort | uniq -c | sort -n >"$tap_tmp/contexts"
	tail -n 3 "$tap_tmp/contexts" | sed "s/^ */# $t: /"
	is "hcontext has only this value in the trace: $t" "$(sed -n 's/.*hcontext/hcontext/p' "$tap_tmp/contexts")" "hcontext=0x1d"
done
sed 's/^/# /' "$tap_tmp/err" | head -n 20
done_testing
