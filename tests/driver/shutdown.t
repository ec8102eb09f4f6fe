#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# If a sink still writes after a kernel has started the next kernel, the sink overwrites memory of the next kernel.
# The board reports the sinks that are left enabled. No sink may be left enabled after any way in which Linux can end
# during a system-wide trace.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"

need_perf_and_work 6.12
if [ -n "${TOPOLOGIES-}" ]; then
	reboot=$TOPOLOGIES power_off=$TOPOLOGIES kexec=$TOPOLOGIES
else
	reboot=$(by_size "" direct) power_off=funnel kexec=funnel
fi

# ends NAME COMMAND BOARD-OPTIONS...: run COMMAND, which ends Linux, in the middle of a system-wide trace
buffer=64K
ends() {
	_name=$1 _command=$2; shift 2
	"$top/tools/board/board" run --harts 2 --console "$tap_tmp/console" "$@" -- "
		$hide_symbols
		perf record -B --no-bpf-event -a -m,$buffer -e ntrace// -o /tmp/data -- /usr/lib/ntrace/work 1000000000 >/tmp/log 2>&1 &
		size=0
		while [ \${size:-0} -lt 100000 ]; do sleep 0.1; size=\$(stat -c %s /tmp/data 2>/dev/null); done
		echo traced \$size
		$_command
		sleep 1000; echo still there" >"$tap_tmp/said" 2>"$tap_tmp/err"
	grep -h -E '^traced|left enabled|still there' "$tap_tmp/said" "$tap_tmp/err" | sed 's/^/# /'
	ok "$_name: the system was traced until its end" [ "$(sed -n 's/^traced //p' "$tap_tmp/said")" -ge 100000 ]
}
left() { grep -c "${1:-ram}[0-9]*: .*left enabled at the end" "$tap_tmp/err"; }

for topology in $reboot; do
	ends "reboot, $topology" "reboot -f" --topology $topology
	is "reboot, $topology: no sink is left enabled" "$(left)" 0
done
for topology in $power_off; do
	ends "power off, $topology" "poweroff -f" --topology $topology
	is "power off, $topology: no sink is left enabled" "$(left)" 0
done
for topology in $kexec; do
	ends "kexec, $topology" /usr/lib/ntrace/kexec --topology $topology
	ok "kexec, $topology: the next kernel runs" grep -q 'the next kernel runs' "$tap_tmp/console"
	is "kexec, $topology: no sink is left enabled" "$(left)" 0
done
# If a bridge is left enabled, the next kernel treats this bridge as part of a debugger's session, and does not use
# it.
ends "reboot, bridges" "reboot -f" --topology k3 --deep-idle
is "reboot, bridges: no bridge and no sink is left enabled" "$(left atb) $(left etr)" "0 0"
is "reboot, bridges: the board reports no fault" "$(grep ntrace-board: "$tap_tmp/err")" ""
# The kernel does not call the driver at an emergency reboot, so sinks stay enabled. At that time, the driver may have
# stopped one of the two sinks to empty it, but hardly both. The buffer is large, so that the driver does not stop a
# sink to wait for a reader.
buffer=4M
ends "emergency" "echo b >/proc/sysrq-trigger" --topology direct
ok "emergency reboot: the board reports sinks that are left enabled" [ "$(left)" -ge 1 ]
plan $tap_n
done_testing
