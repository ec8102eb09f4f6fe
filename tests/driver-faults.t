#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Hardware that is broken, or that the driver does not know: one clear line in
# the kernel's log, no PMU or a PMU that says no, and a system that lives.
. "$(dirname "$0")/lib/tap.sh"

[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"

# board MODEL COMMAND: the driver's lines in the log, then what COMMAND says
board() {
	"$top/tools/board/board" run --timeout 200 --console "$tap_tmp/console" --model "$1" -- "$2
		dmesg | grep -E 'ntrace[: ]' | sed 's/^.[^]]*. /log: /'" >"$tap_tmp/said" 2>"$tap_tmp/err"
	_status=$?
	sed 's/^/# /' "$tap_tmp/said"
	[ $_status = 0 ] || sed 's/^/# /' "$tap_tmp/err" | head -n 10
}

# no_pmu NAME MODEL TEXT: there is no PMU, and the log has TEXT once
no_pmu() {
	board "$2" '[ -e /sys/bus/event_source/devices/ntrace ] && echo PMU; rmmod ntrace && echo unloaded'
	is "$1: no PMU, and the module can go" "$_status $(grep -E '^(PMU|unloaded)' "$tap_tmp/said")" \
		"0 unloaded"
	is "$1: the log says why, once" "$(grep -c "log: .*$3" "$tap_tmp/said")" 1
	is "$1: no complaint of the kernel" "$(grep -cE 'WARNING:|BUG:|Oops' "$tap_tmp/console")" 0
}

# one_cpu NAME SED TEXT: the tree is wrong for the first hart, the second is traced
one_cpu() {
	"$top/tools/board/board" run --timeout 200 --harts 2 --console "$tap_tmp/console" --dts-sed "$2" -- \
		'echo "cpus $(wc -w </sys/bus/event_source/devices/ntrace/cpumask)"
		grep -q - /sys/bus/event_source/devices/ntrace/cpumask && echo range
		dmesg | grep -E "ntrace[: ]" | sed "s/^.[^]]*. /log: /"
		rmmod ntrace && echo unloaded' >"$tap_tmp/said" 2>"$tap_tmp/err"
	_status=$?
	sed 's/^/# /' "$tap_tmp/said"
	is "device tree: $1: one hart is traced, the other is not" \
		"$_status $(grep -E '^(cpus|range|unloaded)' "$tap_tmp/said" | xargs)" "0 cpus 1 unloaded"
	is "device tree: $1: the log says why, once" "$(grep -c "log: .*$3" "$tap_tmp/said")" 1
	is "device tree: $1: no complaint of the kernel" "$(grep -cE 'WARNING:|BUG:|Oops' "$tap_tmp/console")" 0
}

plan 31
one_cpu "a link that is missing" '/te0_out: endpoint/,/};/s/remote-endpoint = .*//' \
	"trace encoder 18000000.trace has an output that leads nowhere"
one_cpu "a link to an encoder" '/te0_out: endpoint/,/};/s/&ram0_in0/\&te1_out/' \
	"trace encoder 18000000.trace has an output to an encoder"
one_cpu "an encoder of no CPU" '/trace@18000000/,/out-ports/s/cpus = .*//' 'trace encoder without a "cpus" property'
one_cpu "registers that are too few" \
	'/trace@18000000/,/out-ports/s/reg = .*/reg = <0x0 0x18000000 0x0 0x10>;/' "it has 4 KiB of registers"
no_pmu "component that never becomes active" fault.active_stuck=on "RAM sink\|trace component at 0x0*18000000: .*did not become"
no_pmu "encoder of a later version" te.ver_major=2 "trace encoder at .*version 2.0 is not compatible and refused; supported is 1.0 (trTeImpl 0x"
no_pmu "encoder of another protocol" te.protocol_major=2 "N-Trace protocol 2.0 is not 1.x"
no_pmu "RAM sink with a fixed buffer" ram.smem_fixed=on "trRamStart is fixed"

board fault.not_empty=on 'perf record -o /tmp/p -a -e ntrace// -- true >/tmp/log 2>&1; echo "perf $?"; head -n 3 /tmp/log
	uptime >/dev/null && echo alive'
is "component that does not empty: the system lives" "$_status $(grep -c ^alive "$tap_tmp/said")" "0 1"
ok "component that does not empty: the log names register and component" \
	grep -qE 'log: .*(trTe|trRam|tr..)Control|trRamEmpty' "$tap_tmp/said"
is "component that does not empty: its memory is not used again" \
	"$(grep -c 'log: .*buffer are given up' "$tap_tmp/said")" 1
is "component that does not empty: no complaint of the kernel" \
	"$(grep -cE 'WARNING:|BUG:|Oops' "$tap_tmp/console")" 0

board scontext=off 'echo "scontext $(cat /sys/bus/event_source/devices/ntrace/caps/scontext)"
	perf record -o /tmp/p -e ntrace// -- true >/tmp/log 2>&1; echo "perf $?"; rmmod ntrace && echo unloaded'
is "harts without scontext: the PMU says so" "$(grep -c '^scontext 0 (no scontext CSR' "$tap_tmp/said")" 1
is "harts without scontext: they are traced" "$(grep -E '^(perf|unloaded)' "$tap_tmp/said" | xargs)" \
	"perf 0 unloaded"
is "harts without scontext: no complaint of the kernel" \
	"$(grep -cE 'WARNING:|BUG:|Oops' "$tap_tmp/console")" 0
done_testing
