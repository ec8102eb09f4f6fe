#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The driver is unloaded while a CPU is offline. The ATB bridge of this CPU does not respond, so the driver cannot
# clear its own claim tag in the bridge. When the driver is loaded again, it must not mistake this claim tag for a
# debugger's tag. If a CPU goes offline and back online during a recording, the driver must trace this CPU again.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"

need_perf_and_work 6.12
plan 5
# CPU 1 goes offline. The driver has been notified, and the CPU is still online. If a task's event is opened at this
# time, it must not enable the bridge of CPU 1 again. The test opens this event before perf has patched code, because
# patching waits for the CPU.
"$top/tools/board/board" run --board k3 --harts 2 --timeout 1500 --console "$tap_tmp/console" -- "$hide_symbols"'; cpus=/sys/devices/system/cpu
cpu1=$cpus/cpu1/online
suspended() { until [ "$(cat /sys/bus/platform/devices/18003000.trace/power/runtime_status)" = suspended ]; do sleep 0.1; done; }
# load the driver, and wait until it traces both CPUs or reports a debugger
load() { insmod /lib/ntrace/ntrace.ko
	until [ "$(cat /sys/bus/event_source/devices/ntrace/cpumask)" = 0-1 ] || dmesg | grep -q "in use by a debugger"; do sleep 0.1; done
	echo "$1debuggers $(dmesg | grep -c "in use by a debugger")"; }
rmmod ntrace; insmod /usr/lib/ntrace/ntrace-going.ko; insmod /lib/ntrace/ntrace.ko; suspended
echo 0 >$cpu1 & sleep 0.7
echo "going online $(cat $cpus/online)"
taskset 1 /usr/lib/selftests/ntrace/attr_test -t good_one_opens | grep "^ok 1" | sed "s/^/going /"
wait; suspended
rmmod ntrace; echo 1 >$cpu1; load "going "
perf record -B --no-bpf-event -q -C 1 -e ntrace// -o /tmp/data -- taskset 2 true && echo going traced
rmmod ntrace-going

echo 0 >$cpu1; rmmod ntrace; echo 1 >$cpu1; load
perf record -B --no-bpf-event -q -C 1 -e ntrace//u -o /tmp/data -- sh -c "for i in 1 2 3; do
	taskset 2 ls / >/dev/null; echo 0 >$cpu1; ls / >/dev/null; echo 1 >$cpu1; done; taskset 2 ls / >/dev/null" 2>/dev/null
echo "stretches $(perf script -D -i /tmp/data 2>/dev/null | grep -c "PERF_RECORD_AUX .*size: 0x[1-9a-f]")"
echo "complaints $(dmesg | grep -c "did not become")"' >"$tap_tmp/said" 2>"$tap_tmp/err"
is "a CPU that goes offline: an event of a task does not enable its bridge again" "$(sed -n 's/^going //p' "$tap_tmp/said" | xargs)" \
	"online 0-1 ok 1 attr.good_one_opens debuggers 0 traced"
is "the driver does not report that a debugger uses a bridge" "$(grep ^debuggers "$tap_tmp/said")" "debuggers 0"
ok "the CPU is traced before and after it was offline" [ "$(sed -n 's/stretches //p' "$tap_tmp/said")" -ge 1 ]
is "each component changes its state as the driver requests it" "$(grep complaints "$tap_tmp/said")" "complaints 0"
quiet "CPUs that go offline"
done_testing
