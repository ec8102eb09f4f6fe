#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test components with power domains, clocks and resets. On this board, an access to a component without power or
# clock, or in reset, causes a fault. Domains must be off while no event traces, events must survive a system suspend,
# and the driver must not disturb a debugger's session. tests/long/driver-power.t runs this test on kernel 6.12.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"

kernel=$(kernels "${KERNEL:-new}")
need_perf_and_work "$kernel"
plan 11

said() { sed -n "s/^$1: //p" "$tap_tmp/said"; }

# powered_board NAME KERNEL: boot KERNEL on a board with power domains, run all tests in the guest, and print the
# results
powered_board() {
	# Detach from the host's folder, because a 9p file system does not survive a system suspend. Let the kernel
	# wait for the power controller for up to an hour instead of 10 s.
	# shellcheck disable=SC2016
	"$top/tools/board/board" run --kernel "$2" --harts 2 --topology power --deep-idle \
		--append deferred_probe_timeout=3600 --console "$tap_tmp/console" --stats "$tap_tmp/stats" -- '
	detach
	'"$hide_symbols"'
	pmu=/sys/bus/event_source/devices/ntrace
	waits() { until eval "$1"; do sleep 0.1; done; }
	suspended() { cat /sys/bus/platform/devices/*.trace/power/runtime_status | grep -c suspended; }
	domains() { grep -c "^trace[0-9]* *on" /sys/kernel/debug/pm_genpd/pm_genpd_summary; }
	record() { perf record -B --no-bpf-event -q -m,256K -o /tmp/p -e ntrace//u "$@" >/tmp/log 2>&1 || cat /tmp/log >&2; }
	echo "before the controller: $(ls -d $pmu 2>/dev/null)"
	insmod /usr/lib/ntrace/ntrace-power.ko
	waits "[ \"\$(cat $pmu/cpumask 2>/dev/null)\" = 0-1 ]"
	echo "with it: $(cat $pmu/cpumask)"
	waits "[ \$(suspended) = 4 ]"
	echo "idle: $(suspended) $(domains)"
	perf record -B --no-bpf-event -q -C 0 -m,256K -o /tmp/p -e ntrace// -- \
		sh -c "while [ ! -e /tmp/end ]; do sleep 0.1; done" >/tmp/log 2>&1 &
	waits "[ \$(domains) = 3 ]"
	echo "traced CPU: $(suspended) $(domains)"
	touch /tmp/end; wait
	record -a -- /usr/lib/ntrace/work 1000
	echo "trace: $(perf script -i /tmp/p --itrace=b 2>/dev/null | head -n 1000 | wc -l) $(perf report -i /tmp/p --stats 2>&1 | grep -c "errors")"
	waits "[ \$(suspended) = 4 ]"
	echo "idle again: $(suspended) $(domains)"
	echo "counter: $(cat $pmu/cpu1/timestamp/counter | grep -c .)"
	# The power domain of a CPU is suspended while the CPU goes offline and back online.
	echo 0 >/sys/devices/system/cpu/cpu1/online; echo 1 >/sys/devices/system/cpu/cpu1/online
	record -C 1 -- taskset 2 /usr/lib/ntrace/work 1000
	echo "after hotplug: $(perf script -i /tmp/p --itrace=b 2>/dev/null | head -n 1000 | wc -l)"
	for t in full_sink_of_a_cpu_without_power bursts_of_harts_that_idle system_suspend; do
		/usr/lib/selftests/ntrace/life_test -t $t 2>&1 | grep -E "^(ok|not ok|#)"
	done
	record -a -- /usr/lib/ntrace/work 1000
	echo "after suspend: $(perf script -i /tmp/p --itrace=b 2>/dev/null | head -n 1000 | wc -l)"
	rmmod ntrace && echo "unloaded: yes"
	echo "domains without a driver: $(domains)"' >"$tap_tmp/said" 2>"$tap_tmp/err"
	status=$?
	sed 's/^/# /' "$tap_tmp/said"
	is "$1: components wait for their power controller" "$status $(said 'before the controller')$(said 'with it')" "0 0-1"
	is "$1: without an event, all components are suspended, and all domains are off" "$(said idle), $(said 'idle again')" "4 0, 4 0"
	is "$1: an event of one CPU resumes only the components of its path" "$(said 'traced CPU')" "1 3"
	is "$1: the CPU is traced before and after CPU hotplug" "$(said trace) $(said 'after hotplug')" "1000 0 1000"
	is "$1: the selftests with a full sink of idle harts pass" \
		"$(grep -c '^ok 1 .*\(full_sink_of_a_cpu_without_power\|bursts_of_harts_that_idle\)' "$tap_tmp/said")" 2
	is "$1: an event of a CPU traces before and after a system suspend" "$(grep -c '^ok 1 .*system_suspend' "$tap_tmp/said") $(said 'after suspend')" "1 1000"
	is "$1: the driver can be unloaded, and leaves no domain on" "$(said unloaded) $(said 'domains without a driver') $(said counter)" "yes 0 1"
	is "$1: no component is accessed, or left enabled, without power" "$(grep -c 'not active\|lost its power\|access faults' "$tap_tmp/err")" 0
	grep 'not active\|lost its power\|access faults' "$tap_tmp/err" | sort | uniq -c | sed 's/^/# /' | head
	quiet "$1"
}

powered_board "$kernel" "$kernel"

# An external debugger traces since reset. The driver must not use the components of the debugger until the debugger's
# session has ended.
"$top/tools/board/board" run --kernel "$kernel" --topology sram --model debugger=on --console "$tap_tmp/console" \
	--stats "$tap_tmp/stats" -- '
	'"$hide_symbols"'
	pmu=/sys/bus/event_source/devices/ntrace
	dmesg | grep "ntrace[: ]" | sed "s/^.[^]]*. /log: /"
	echo "before: $(ls -d $pmu 2>/dev/null)"
	used=$(dmesg | sed -n "s/.* at \(0x[0-9a-f]*\) is in use by a debugger.*/\1/p" | sort)
	enabled() { for a in $used; do echo $(($(devmem $a) & 3)); done | xargs; }
	rmmod ntrace; insmod /lib/ntrace/ntrace.ko
	echo "left alone: $(enabled)"
	rmmod ntrace; for a in $used; do devmem $a 32 1; done; insmod /lib/ntrace/ntrace.ko
	echo "after the session: $(cat $pmu/cpumask)"
	perf record -B --no-bpf-event -q -m,256K -o /tmp/p -e ntrace// -- true && echo "traced: yes"' >"$tap_tmp/said" 2>"$tap_tmp/err"
status=$?
sed 's/^/# /' "$tap_tmp/said"
is "a debugger's session: the driver reports it, and uses the components only after the session" \
	"$status $(said before)$(grep -c '^log: .*is in use by a debugger' "$tap_tmp/said") $(said 'left alone') $(said 'after the session') $(said traced)" "0 2 3 3 0 yes"
is "a debugger's session: the driver resets no component before the session has ended" \
	"$(sed -n 's/^\(te0\|ram0\) loads.*activations=//p' "$tap_tmp/stats" | xargs)" "2 2"
done_testing
