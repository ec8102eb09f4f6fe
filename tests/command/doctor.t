#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test `ntrace doctor` on systems that the test imitates with files. `ntrace doctor` must report each fault with a
# cure, and its exit status must show whether anything is missing.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
root=$tap_tmp/root
pmu=sys/bus/event_source/devices/ntrace

put() { mkdir -p "$(dirname "$root/$1")" && printf '%s\n' "$2" >"$root/$1"; }

# Imitate a system that lacks nothing.
healthy() {
	rm -rf "$root"
	put sys/firmware/devicetree/base/soc/trace@1/compatible "$(printf 'qemu,trace-component\tx')"
	printf 'qemu,trace-component\0riscv,trace-component\0' >"$root/sys/firmware/devicetree/base/soc/trace@1/compatible"
	put $pmu/cpumask 0-1
	put sys/devices/system/cpu/online 0-1
	put $pmu/cpu0/timestamp/modes_available 1,2
	put $pmu/cpu0/timestamp/frequency 10000000
	put $pmu/caps/scontext 1
	put $pmu/caps/privilege 0x3
	put proc/self/status "CapEff:	000001ffffffffff"
	put proc/sys/kernel/perf_event_paranoid 2
	put proc/sys/kernel/perf_event_mlock_kb 516
	put proc/self/limits "Max locked memory         8388608              8388608              bytes"
	put proc/kcore x
	put proc/kallsyms "ffffffff80002000 T _start"
	mkdir -p "$root/bin"
	echo 'N-Trace' >"$root/bin/perf" && chmod +x "$root/bin/perf"
}

user() { put proc/self/status "CapEff:	0000000000000000"; }

# says STATUS SENTENCE: check that doctor exits with STATUS and prints SENTENCE for a system that healthy() made
# and the test then changed
says() {
	PATH=$root/bin "$ntrace" doctor --root "$root" >"$tap_tmp/said" 2>&1
	rc=$?
	cat "$tap_tmp/said"
	[ $rc -eq "$1" ] || { echo "status $rc, not $1"; return 1; }
	grep -qF -- "$2" "$tap_tmp/said"
}

# check NAME STATUS SENTENCE [COMMAND...]: make a system that lacks nothing, change it by COMMAND, and check what
# doctor reports
check() {
	_check=$1 _rc=$2 _text=$3
	shift 3
	healthy
	"$@"
	ok "$_check" says "$_rc" "$_text"
}

plan 23
healthy
ok "a system that lacks nothing has no fault" says 0 "The kernel offers the event ntrace//."
is "doctor prints no other lines" "$(grep -vc '^ok ' "$tap_tmp/said")" 0
check "no device tree" 1 "There is no device tree" rm -r "$root/sys/firmware"
no_components() { printf 'ns16550a\0' >"$root/sys/firmware/devicetree/base/soc/trace@1/compatible"; }
check "the device tree has no trace hardware" 1 "the firmware must describe the trace hardware" no_components
check "no driver" 1 "run modprobe ntrace as root" rm -r "$root/$pmu"
loaded() { rm -r "${root:?}/$pmu"; mkdir -p "$root/sys/module/ntrace"; }
check "a driver that found nothing" 1 "dmesg | grep ntrace shows the reason" loaded
check "only one of two CPUs can be traced" 0 "1 of 2 CPUs cannot be traced, such as CPU 1" put $pmu/cpumask 0
check "no online CPU can be traced" 1 "No CPU that is online can be traced" put $pmu/cpumask 7
check "no timestamps" 0 "The encoders have no timestamps" put $pmu/cpu0/timestamp/modes_available ""
check "timestamps of an unknown frequency" 0 "needs a clock in the device tree" put $pmu/cpu0/timestamp/frequency 0
check "no scontext" 0 "because scontext is 0 (the CSR traps)" put $pmu/caps/scontext "0 (the CSR traps)"
check "no privilege filter" 0 "only root can trace" put $pmu/caps/privilege 0x0
paranoid() { user; put proc/sys/kernel/perf_event_paranoid "$1"; }
check "a user who may not trace" 1 "perf_event_paranoid is 3, so this user may not trace" paranoid 3
check "a user who may trace programs" 0 "but not the kernel, and not use -a" paranoid 2
check "a user who may trace the kernel" 0 "and not use -a" paranoid 1
check "a user who may trace everything" 0 "every user may trace everything" paranoid -1
check "no kcore" 1 "There is no /proc/kcore" rm "$root/proc/kcore"
check "kallsyms hides addresses" 0 "kernel.kptr_restrict=0" put proc/kallsyms "0000000000000000 T _start"
small() { user; put proc/self/limits "Max locked memory         65536                65536                bytes"; }
check "a small limit of locked memory" 0 "only 64 KiB for buffers and 516 KiB for each CPU" small
check "a perf without N-Trace" 0 "or use ntrace script, report and inject" put bin/perf "another perf"
# `ntrace record` does not need perf if this build has libperf. Only a build without libperf fails without perf
"$ntrace" record --help >/dev/null 2>&1 && records=0 || records=1
check "no perf" $records "There is no perf in PATH" rm "$root/bin/perf"
usage() { "$ntrace" doctor "$@" >"$tap_tmp/said" 2>&1; rc=$?; cat "$tap_tmp/said"; [ $rc -eq 2 ]; }
ok "an argument is refused" usage x
ok "a folder of --root that does not exist is refused" usage --root "$tap_tmp/none"
done_testing
