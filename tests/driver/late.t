#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test components that become usable only after the driver was loaded, because their CPU or the driver of their clock
# appears later. Also test components that disappear while the driver uses them, because the clock's driver is unbound
# or a CPU goes offline. The driver must not access a component without power.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"

need_perf_and_work 6.12
plan 25
# On a busy host, the kernel would give up waiting for the driver of a clock, and would ignore that the component
# needs this clock. The component would then remain when the clock disappears.
patient=deferred_probe_timeout=3600
# shellcheck disable=SC2016
"$top/tools/board/board" run --harts 2 --deep-idle --console "$tap_tmp/console" \
	--append "maxcpus=1 slub_debug=FZP $patient" --dts-sed '
	s/compatible = "qemu,trace-component".*/&\n clocks = <\&late>; clock-names = "timestamp";/
	$a / { late: late-clock { compatible = "qemu,late-clock"; #clock-cells = <0>; }; };' -- '
	'"$hide_symbols"'
	pmu=/sys/bus/event_source/devices/ntrace
	cpus() { until [ "$(cat $pmu/cpumask 2>/dev/null)" = "$1" ]; do sleep 0.1; done; cat $pmu/cpumask; }
	record() { perf record -B --no-bpf-event -q -m,256K -o /tmp/p -e ntrace// "$@" >/tmp/log 2>&1; }
	# each OPTIONS: record by perf and by ntrace. Print the CPUs with decoded trace of work, and the messages
	found() {
		for c in 0 1; do "$@" $c 2>/dev/null | grep -q inside && echo $c; done
		grep -io "CPU 1 is offline\|a CPU went offline\|Miscounted\|Another program\|No such device" /tmp/log; rm -f /tmp/p
	}
	each() {
		echo perf; perf record -B --no-bpf-event -m,256K -o /tmp/p -e ntrace//u "$@" >/tmp/log 2>&1
		found perf script -i /tmp/p --itrace=b -C
		echo ntrace; ntrace record --no-kcore -m 256K -o /tmp/p -e ntrace//u "$@" >/tmp/log 2>&1
		found ntrace script -i /tmp/p --cpu
	}
	cd /sys/devices/system/cpu
	echo "without its clock: $(ls -d $pmu 2>/dev/null)"
	insmod /usr/lib/ntrace/ntrace-clock.ko
	echo "with its clock: $(cpus 0)"
	record -a -- /usr/lib/ntrace/work 1000 && echo "trace of one: yes"
	echo 1 >cpu1/online
	echo "with the second CPU: $(cpus 0-1)"
	record -C 1 -- taskset 2 /usr/lib/ntrace/work 1000 && echo "trace of the second: yes"
	echo "counter of the second: $(cat $pmu/cpu1/timestamp/counter | grep -c .)"
	echo "as a user: $(busybox su user -c "cat $pmu/cpu1/timestamp/counter" 2>&1 | grep -c "ermission denied")"
	echo 0 >cpu1/online
	echo "counter without power: $(cat $pmu/cpu1/timestamp/counter 2>&1 | grep -c "No such device")"
	echo "all: $(each -a -- /usr/lib/ntrace/work 1000 | xargs)"
	echo "listed: $(each -C 0,1 -- true | xargs)"
	# A CPU goes offline after the programs have read this file
	echo 0-1 >/tmp/online; mount --bind /tmp/online online; echo "race: $(each -a -- true | xargs)"; umount online
	echo "program: $(each sh -c "echo 1 >cpu1/online; taskset 2 /usr/lib/ntrace/work 1000; echo 0 >cpu1/online" | xargs)"
	perf record -B --no-bpf-event -C 0 -m,256K -o /tmp/p -e ntrace// -- /usr/lib/ntrace/work 1000000000 >/tmp/log 2>&1 &
	until cat /sys/kernel/debug/ntrace/*/registers | grep -q "[2367abef] trTeControl"; do sleep 0.1; done
	# Any user may read these files while the components whose names they contain disappear.
	touch /tmp/look
	while [ -e /tmp/look ]; do cat $pmu/cpu*/path $pmu/cpu*/sink $pmu/cpu*/trace_id; echo >>/tmp/looks; done >/dev/null 2>&1 &
	looks() { until [ "$(wc -l </tmp/looks)" -ge "$1" ]; do sleep 0.1; done; }
	: >/tmp/looks; looks 3
	echo late-clock >/sys/bus/platform/drivers/late-clock/unbind
	: >/tmp/looks; looks 10
	rm /tmp/look
	kill %1; killall work; wait
	echo "unbound: $(cat $pmu/cpumask)."
	echo 1 >cpu1/online
	echo late-clock >/sys/bus/platform/drivers/late-clock/bind
	echo "bound again: $(cpus 0-1)"
	record -a -- /usr/lib/ntrace/work 1000 && echo "trace again: yes"
	rmmod ntrace && echo "unloaded: yes"
	# The first encoder appears while the driver is unloaded. No PMU of the unloaded module may remain
	echo late-clock >/sys/bus/platform/drivers/late-clock/unbind; insmod /lib/ntrace/ntrace.ko
	insmod /usr/lib/ntrace/ntrace-fail.ko function=perf_pmu_register delay=2000
	echo late-clock >/sys/bus/platform/drivers/late-clock/bind &
	until [ "$(cat /sys/module/ntrace_fail/parameters/hits)" = 1 ]; do sleep 0.1; done
	rmmod ntrace; echo "after unloading: $(cat $pmu/cpumask)"; wait
	rmmod ntrace-fail; insmod /lib/ntrace/ntrace.ko; echo "after loading: $(cat $pmu/cpumask)"' >"$tap_tmp/said" 2>"$tap_tmp/err"
status=$?
sed 's/^/# /' "$tap_tmp/said"
said() { sed -n "s/^$1: //p" "$tap_tmp/said"; }
is "without the clock of the encoder, there is no PMU" "$status $(said 'without its clock')" "0 "
is "when the clock appears, there is a PMU with the online CPU" "$(said 'with its clock')" 0
is "the CPU whose encoder has its clock can be traced" "$(said 'trace of one')" yes
is "when the second CPU goes online, the PMU has both CPUs" "$(said 'with the second CPU')" 0-1
is "the second CPU can be traced" "$(said 'trace of the second')" yes
is "root can read the timestamp counter of the second CPU, and users cannot" \
	"$(said 'counter of the second') $(said 'as a user')" "1 1"
is "the timestamp counter of an offline CPU cannot be read" "$(said 'counter without power')" 1
is "a recording of all CPUs omits an offline CPU" "$(said all)" "perf 0 ntrace 0"
is "a list with an offline CPU is refused with the number of this CPU" "$(said listed)" \
	"perf CPU 1 is offline ntrace CPU 1 is offline"
is "a CPU goes offline before its event is opened: the message says so" "$(said race)" \
	"perf A CPU went offline ntrace a CPU went offline"
is "a program is traced on a CPU that goes online during the recording" "$(said program)" "perf 1 ntrace 1"
is "the clock disappears while its encoder traces: no CPU is left" "$(said unbound)" "."
is "the clock appears again: both CPUs can be traced" "$(said 'bound again') $(said 'trace again')" "0-1 yes"
is "the driver can be unloaded" "$(said unloaded)" yes
is "an encoder appears while the driver is unloaded: no PMU remains" "$(said 'after unloading'), $(said 'after loading')" ", 0-1"
is "no component is accessed, or left enabled, without power" \
	"$(grep -c 'not active\|lost its power' "$tap_tmp/err")" 0
grep 'not active\|lost its power' "$tap_tmp/err" | sort | uniq -c | sed 's/^/# /' | head
quiet "late"

# Encoders lead to several sinks. One sink appears later than the other sinks, and disappears.
# shellcheck disable=SC2016
"$top/tools/board/board" run --harts 2 --topology choice --console "$tap_tmp/console" --append "$patient" --dts-sed '
	/trace@18003000/,/in-ports/s/compatible = .*/&\n clocks = <\&late>; clock-names = "timestamp";/
	$a / { late: late-clock { compatible = "qemu,late-clock"; #clock-cells = <0>; }; };' -- '
	pmu=/sys/bus/event_source/devices/ntrace
	# the driver makes this file when it has set up the sink
	sink=/sys/kernel/debug/ntrace/18003000.trace/registers
	look() { echo "$1: $(cat $pmu/cpumask) $(sort $pmu/cpu0/path $pmu/cpu1/path | sed "s/.* //" | xargs)"; }
	look before
	insmod /usr/lib/ntrace/ntrace-clock.ko; until [ -e $sink ]; do sleep 0.1; done
	look with
	echo late-clock >/sys/bus/platform/drivers/late-clock/unbind; while [ -e $sink ]; do sleep 0.1; done
	look without
	/usr/lib/selftests/ntrace/record_test -t own_thread | grep -c "^ok 1"
	rmmod ntrace && echo "unloaded: yes"' >"$tap_tmp/said" 2>"$tap_tmp/err"
sed 's/^/# /' "$tap_tmp/said"
own="18004000.trace 18005000.trace"
is "a third sink appears and disappears: the encoders always have a sink" \
	"$(said before), $(said with), $(said without)" "0-1 $own, 0-1 $own, 0-1 $own"
is "a third sink appears and disappears: the driver can be unloaded" "$(said unloaded)" yes
quiet "several sinks"

# Two harts share a sink. The sink disappears, and reappears while one of the harts is offline. The encoder of the
# offline hart has no power.
# shellcheck disable=SC2016
"$top/tools/board/board" run --harts 2 --topology funnel --deep-idle --console "$tap_tmp/console" --append "$patient" --dts-sed '
	/trace@18003000/,/in-ports/s/compatible = .*/&\n clocks = <\&late>; clock-names = "timestamp";/
	$a / { late: late-clock { compatible = "qemu,late-clock"; #clock-cells = <0>; }; };' -- '
	'"$hide_symbols"'
	cpu1=/sys/devices/system/cpu/cpu1/online drv=/sys/bus/platform/drivers/late-clock
	mask=/sys/bus/event_source/devices/ntrace/cpumask
	# look NAME MASK: wait until these CPUs can be traced
	look() { until [ "$(cat $mask 2>/dev/null)" = "$2" ]; do sleep 0.1; done; echo "$1: $(cat $mask)"; }
	insmod /usr/lib/ntrace/ntrace-clock.ko; look with 0-1
	until [ "$(cat /sys/bus/platform/devices/*.trace/power/runtime_status | grep -vc suspended)" = 0 ]; do sleep 0.1; done
	# All components are suspended. The start of the event must resume them without a search in the device tree.
	cd /sys/kernel/debug/tracing; echo of_graph_get_remote_port_parent >set_ftrace_filter; echo function >current_tracer
	/usr/lib/selftests/ntrace/record_test -t own_thread | grep -o "^ok 1"
	echo "searches: $(grep -c of_graph_get trace)"; echo nop >current_tracer; cd /
	# The host may be so busy that the driver reports both CPUs before the clock appears, so clear the log.
	dmesg -c >/dev/null
	echo 0 >$cpu1; echo late-clock >$drv/unbind; look without ""
	echo late-clock >$drv/bind; look offline 0
	# the driver reports CPUs that cannot be traced one second after the last component was found
	sleep 3; dmesg | grep "CPU 1 cannot"
	echo 1 >$cpu1; look online 0-1
	perf record -B --no-bpf-event -q -m,256K -C 1 -o /tmp/p -e ntrace// -- taskset 2 /usr/lib/ntrace/work 1000 >/tmp/log && echo "trace: yes"
	rmmod ntrace && echo "unloaded: yes"' >"$tap_tmp/said" 2>"$tap_tmp/err"
sed 's/^/# /' "$tap_tmp/said"
is "a shared sink reappears while a CPU is offline: that CPU can be traced when it is online" \
	"$(xargs <"$tap_tmp/said")" "with: 0-1 ok 1 searches: 0 without: offline: 0 online: 0-1 trace: yes unloaded: yes"
is "a shared sink reappears while a CPU is offline: no component is accessed without power" "$(grep 'not active\|lost its power' "$tap_tmp/err" | sort -u)" ""
quiet "a shared sink reappears"

# The encoder of one hart disappears. The flight recorder must continue to record the other hart.
# shellcheck disable=SC2016
"$top/tools/board/board" run --harts 2 --flight 4M --console "$tap_tmp/console" --append "$patient" --dts-sed '
	/trace@18001000/,/out-ports/s/compatible = .*/&\n clocks = <\&late>; clock-names = "timestamp";/
	$a / { late: late-clock { compatible = "qemu,late-clock"; #clock-cells = <0>; }; };' -- '
	encoder=/sys/bus/platform/devices/18001000.trace/driver
	look() { echo "$1: $(ls -d /sys/bus/event_source/devices/ntrace/cpu[0-9]* | wc -l) $(cat /sys/devices/platform/ntrace-flight/state)"; }
	insmod /usr/lib/ntrace/ntrace-clock.ko; until look with | grep -q ": 2"; do sleep 0.1; done
	look with
	echo late-clock >/sys/bus/platform/drivers/late-clock/unbind; while [ -e $encoder ]; do sleep 0.1; done
	look without' >"$tap_tmp/said" 2>"$tap_tmp/err"
sed 's/^/# /' "$tap_tmp/said"
is "an encoder disappears: the flight recorder continues with the other encoder" "$(said with), $(said without)" "2 recording, 1 recording"
quiet "an encoder disappears"
done_testing
