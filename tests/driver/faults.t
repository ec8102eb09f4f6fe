#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test hardware that is broken, or that the driver does not support. The driver must write one clear line to the
# kernel's log. The driver must create no PMU, or a PMU that refuses events, and the system must continue to run.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"

[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"

# In the guest, "in_log TEXT" waits until the driver has written TEXT to the log. On a busy host, the kernel may still
# probe devices that wait for other devices.
# shellcheck disable=SC2016
in_log='in_log() {
	until dmesg | grep -q "ntrace.*$1"; do sleep 0.1; done; }'

# board MODEL TEXT COMMAND: wait until the log has TEXT, run COMMAND, and print its output and the driver's lines in
# the log
board() {
	"$top/tools/board/board" run --console "$tap_tmp/console" --model "$1" -- "$in_log
		$hide_symbols; in_log '$2'; $3
		dmesg | grep -E 'ntrace[: ]' | sed 's/^.[^]]*. /log: /'" >"$tap_tmp/said" 2>"$tap_tmp/err"
	_status=$?
	sed 's/^/# /' "$tap_tmp/said"
}

# no_pmu NAME MODEL TEXT: check that the driver creates no PMU, and that the log has TEXT once
no_pmu() {
	board "$2" "$3" '[ -e /sys/bus/event_source/devices/ntrace ] && echo PMU; rmmod ntrace && echo unloaded'
	is "$1: no PMU, and the driver can be unloaded" "$_status $(grep -E '^(PMU|unloaded)' "$tap_tmp/said")" \
		"0 unloaded"
	is "$1: the log contains the reason once" "$(grep -c "log: .*$3" "$tap_tmp/said")" 1
	is "$1: the kernel reports no fault" "$(grep -cE 'WARNING:|BUG:|Oops' "$tap_tmp/console")" 0
}

# log NAME TEXT: check that the log has TEXT once
log() {
	is "$1: the log contains the reason once" "$(grep -c "log: .*$2" "$tap_tmp/said")" 1
}

# The device tree has a different error for each of three harts, so the driver traces only the fourth hart. The clock
# of one hart's encoder appears long after the driver was loaded. The device tree does not reserve the memory of a
# sink and of the flight recorder.
need_perf_and_work 6.12
# shellcheck disable=SC2016
"$top/tools/board/board" run --harts 4 --console "$tap_tmp/console" --dts-sed "
	/te0_out: endpoint/,/};/s/remote-endpoint = .*//
	/trace@18000000/,/out-ports/s/compatible = .*/&\n clocks = <\&late>; clock-names = \"timestamp\";/
	\$a / { late: late-clock { compatible = \"qemu,late-clock\"; #clock-cells = <0>; }; };
	/te1_out: endpoint/,/};/s/&ram1_in0/\\&te3_out/
	/trace@18002000/,/out-ports/s/cpus = .*//
	/trace@18004000/,/in-ports/s/reg = .*/reg = <0x0 0x18004000 0x0 0x10>;/
	/trace@18006000/,/in-ports/s/compatible = .*/&\n memory-region = <\&te3_out>;/
	/trace@18007000/,/in-ports/s/compatible = .*/&\n memory-region-names = \"flight\"; memory-region = <\&te3_out>;/" -- \
	"$in_log"'; in_log "output to an encoder"
	until grep -q 18000000.trace /sys/kernel/debug/devices_deferred; do sleep 0.1; done
	echo "too early $(dmesg | grep -c "leads nowhere")"
	insmod /usr/lib/ntrace/ntrace-clock.ko; in_log "leads nowhere"
	echo "cpus $(cat /sys/bus/event_source/devices/ntrace/cpumask)"
	dmesg | grep -E "ntrace[: ]" | sed "s/^.[^]]*. /log: /"
	rmmod ntrace && echo unloaded' >"$tap_tmp/said" 2>"$tap_tmp/err"
_status=$?
sed 's/^/# /' "$tap_tmp/said"
# Compare only how many CPUs are traced, because the number of the CPU can be different in each boot
is "wrong device tree: the hart without an error is traced" \
	"$_status $(sed -n '/^unloaded/p;s/^cpus [0-9]$/one/p' "$tap_tmp/said" | xargs)" "0 one unloaded"
is "a missing clock: the log has no message before the clock appears" \
	"$(sed -n 's/^too early //p' "$tap_tmp/said")" 0
log "an output that leads nowhere" "trace encoder 18000000.trace has an output that leads nowhere"
log "an output to an encoder" "trace encoder 18001000.trace has an output to an encoder"
log "an encoder without a CPU" '18002000.trace: trace encoder without a "cpus" property'
log "a register region that is too small" "18004000.trace: register region .* is smaller than 4 KiB"
log "memory that is not reserved for a sink" "18006000.trace: .*its memory-region is not reserved"
log "memory that is not reserved for the flight recorder" "flight recorder: its memory-region is not reserved"
is "wrong device tree: the kernel reports no fault" \
	"$(grep -cE 'WARNING:|BUG:|Oops' "$tap_tmp/console")" 0

# The device tree connects an encoder to input 256 of a funnel, which has 16 inputs. Linux uses two of the three harts.
# It boots on the last hart, which is CPU 0, and the first hart is CPU 1. The middle hart and its encoder have no power.
"$top/tools/board/board" run --harts 3 --boot-hart last --topology funnel --deep-idle --append nr_cpus=2 --console "$tap_tmp/console" \
	--dts-sed '/trace@18003000/,/out-ports/s/reg = <0>/reg = <256>/' -- \
	"$in_log"'; in_log "its funnel does not have"
	echo "cpus $(cat /sys/bus/event_source/devices/ntrace/cpumask)"
	dmesg | grep -E "ntrace[: ]" | sed "s/^.[^]]*. /log: /"
	rmmod ntrace && echo unloaded' >"$tap_tmp/said" 2>"$tap_tmp/err"
_status=$?
sed 's/^/# /' "$tap_tmp/said"
is "input that a funnel does not have: the other hart is traced" \
	"$_status $(sed -n '/^unloaded/p;s/^cpus [0-9]$/one/p' "$tap_tmp/said" | xargs)" "0 one unloaded"
log "input that a funnel does not have" "trace encoder 18000000.trace is connected to an input that its funnel does not have"
log "an encoder of a CPU that is not used" "18001000.trace: trace encoder is not used, because Linux does not use its CPU"
is "input that a funnel does not have: the kernel reports no fault" \
	"$(grep -cE 'WARNING:|BUG:|Oops' "$tap_tmp/console")" 0
no_pmu "component that never becomes active" fault.active_stuck=on "RAM sink\|trace component at 0x0*18000000: .*did not become"
no_pmu "encoder of a later version" te.ver_major=2 "trace encoder at .*version 2.0 is not compatible and refused; the driver supports 1.0 (trTeImpl 0x"
no_pmu "encoder of another protocol" te.protocol_major=2 "N-Trace protocol 2.0 is not 1.x"
no_pmu "RAM sink with a fixed buffer" ram.smem_fixed=on "trRamStart is fixed"

board fault.not_empty=on 'traces CPU' 'perf record -B --no-bpf-event -o /tmp/p -a -e ntrace// -- true >/tmp/log 2>&1; echo "perf $?"; head -n 3 /tmp/log
	uptime >/dev/null && echo alive'
is "component that does not empty: the system continues to run" "$_status $(grep -c ^alive "$tap_tmp/said")" "0 1"
ok "component that does not empty: the log names register and component" \
	grep -qE 'log: .*(trTe|trRam|tr..)Control|trRamEmpty' "$tap_tmp/said"
is "component that does not empty: its memory is not used again" \
	"$(grep -c 'log: .*buffer are never freed' "$tap_tmp/said")" 1
is "component that does not empty: the kernel reports no fault" \
	"$(grep -cE 'WARNING:|BUG:|Oops' "$tap_tmp/console")" 0

# The event is enabled, but the encoder does not start. The driver also cannot stop the encoder, because its bit Empty
# stays 0.
board fault.not_empty=on,fault.enable_stuck=on 'traces CPU' 'perf record -B --no-bpf-event -o /tmp/p -a -e ntrace// -- true >/tmp/log 2>&1
	uptime >/dev/null && echo alive'
is "encoder that does not start and stop: memory that its sink may write is not used again" \
	"$_status $(grep -c ^alive "$tap_tmp/said") $(grep -c 'log: .*buffer are never freed' "$tap_tmp/said")" "0 1 1"

# A level-triggered interrupt would never end, because trRamWrap remains set. The driver must use the sink without
# this interrupt.
"$top/tools/board/board" run --topology interrupt --console "$tap_tmp/console" --dts-sed \
	's/interrupts = <0x28 0x01>/interrupts = <0x28 0x04>/; s/interrupts = <40 1>/interrupts = <40 4>/' -- "$in_log; $hide_symbols"'; in_log "traces CPU"
	dmesg | grep -E "ntrace[: ]" | sed "s/^.[^]]*. /log: /"
	echo "interrupts $(grep -c "\.trace" /proc/interrupts)"
	perf record -B --no-bpf-event -q -S -a -m,64K -o /tmp/p -e ntrace// -- true && echo traced' >"$tap_tmp/said" 2>"$tap_tmp/err"
is "level-triggered interrupt: the sink is used without it" \
	"$? $(sed -n 's/^interrupts //p;/^traced/p' "$tap_tmp/said" | xargs)" "0 0 traced"
log "level-triggered interrupt" "its interrupt is not used, because it is not edge triggered"

board scontext=off 'traces CPU' 'echo "scontext $(cat /sys/bus/event_source/devices/ntrace/caps/scontext)"
	perf record -B --no-bpf-event -o /tmp/p -e ntrace// -- true >/tmp/log 2>&1; echo "perf $?"; rmmod ntrace && echo unloaded'
is "harts without scontext: caps/scontext reports it" "$(grep -c '^scontext 0 (no scontext CSR' "$tap_tmp/said")" 1
is "harts without scontext: they are traced" "$(grep -E '^(perf|unloaded)' "$tap_tmp/said" | xargs)" \
	"perf 0 unloaded"
is "harts without scontext: the kernel reports no fault" \
	"$(grep -cE 'WARNING:|BUG:|Oops' "$tap_tmp/console")" 0
plan $tap_n
done_testing
