#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The flight recorder with each cause, 1 and 4 harts, both kernels, sinks of their own, shared and
# with memory of their own; beside perf record; in the panic path of a debug kernel; and 10,000
# damaged records. CASES=PATTERN: only those.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../driver/guest.sh"
. "$(dirname "$0")/../driver/flight.sh"
. "$(dirname "$0")/../session/flight.sh"

insmod='insmod /usr/lib/ntrace/ntrace-trouble.ko how'
panics='panic: trouble: it panics on purpose'
nobody='nobody said why: it was reset, as by a watchdog, or it still records'
wanted() { case $1 in ${CASES:-*}) ;; *) return 1 ;; esac; }
made=
need() { case $made in *" $1 "*) ;; *) need_perf_and_work "$1"; made="$made $1 " ;; esac; }

# each NAME KERNEL CAUSE COMM PATTERN BEFORE TROUBLE OPTIONS...
each() {
	wanted "$1" || return 0
	_what=$1 _kernel=$2 _cause=$3 _comm=$4 _pattern=$5 _before=$6 _trouble=$7; shift 7
	need "$_kernel"
	crash "$_what" "$tap_tmp/case" "$_before" "$_trouble" --kernel "$_kernel" "$@"
	found "$_what" "$tap_tmp/case" "$_cause" "$_comm" "$_pattern"
	rm -rf "$tap_tmp/case"
}

for kernel in 6.12 7.2; do
	for topology in direct funnel sram; do
		for harts in 1 4; do
			each "panic, $kernel, $topology, $harts" $kernel "$panics" insmod "guilty_panic" : "$insmod=panic" \
				--reset warm --append panic=1 --harts $harts --topology $topology
		done
	done
	# The kernel prints much of the oops before it tells its notifiers
	until='=> .* _printk '
	each "oops, $kernel" $kernel "oops: Oops" insmod "guilty_oops" : "$insmod=oops" --reset warm \
		--append "panic=1 oops=panic"
	until=
	each "hung task, $kernel" $kernel "hung task: the task is blocked for too long" trouble-one "guilty_wait" \
		"echo 2 >/proc/sys/kernel/hung_task_timeout_secs" "$insmod=deadlock; sleep 8; reboot -f" --reset warm --harts 4
	# A lockup is printed before the panic, and the console is slow
	flight_size=16M until='=> .* _printk '
	each "lockup, $kernel" $kernel "panic: softlockup: hung tasks" insmod "guilty_lockup" \
		"echo 2 >/proc/sys/kernel/watchdog_thresh; echo 1 >/proc/sys/kernel/softlockup_panic" "$insmod=lockup" \
		--reset warm --append panic=1
	flight_size='' until=''
	each "hang, $kernel, 1" $kernel "$nobody" insmod "guilty_hang" : "$insmod=hang" --reset watchdog \
		--model reset-lost=on
	each "hang, $kernel, 4" $kernel "$nobody" insmod "guilty_hang" : "$insmod=hang" --reset watchdog \
		--model reset-lost=on --harts 4 --topology funnel
	each "reboot, $kernel" $kernel "reboot" reboot "__do_sys_reboot" : "reboot -f" --reset warm
	each "SysRq, $kernel" $kernel "SysRq" sh "__handle_sysrq" : "echo y >/proc/sysrq-trigger; sleep 1; reboot -f" \
		--reset warm
	each "user, $kernel" $kernel "user: enough" sh "trigger_store" : \
		'echo enough >$F/trigger; sleep 1; reboot -f' --reset warm
done

# perf has the sink for a while: its recording is complete, and the recorder goes on
if wanted "beside perf"; then
	need 6.12
	crash "beside perf" "$tap_tmp/case" "perf record -e ntrace//u -o /tmp/p -- /usr/lib/ntrace/work 100000 >/dev/null 2>&1
		perf report --stats -i /tmp/p 2>/dev/null | grep -cE 'LOST|AUX.*(lost|trunc)'" "$insmod=panic" --reset warm --append panic=1
	is "beside perf: nothing of its recording is lost" "$(sed -n 2p "$tap_tmp/case/said")" 0
	ok "beside perf: the gaps are in the record" grep -q '^trace .* gaps of ' "$tap_tmp/case/said"
	"$O/bin/ntrace" script -i "$tap_tmp/case/flight" >"$tap_tmp/case/script" 2>/dev/null
	ok "beside perf: the recorder goes on" [ "$(last_call "$tap_tmp/case" insmod guilty_panic)" -lt 100 ]
	rm -rf "$tap_tmp/case"
fi

# The debug kernel says if something sleeps, or takes a wrong lock, on the way of a panic
if wanted debug && [ -e "$O/root/kernel-debug/vmlinuz" ]; then
	mkdir -p "$tap_tmp/case"
	"$top/tools/board/board" run --kernel debug --flight 4M --reset warm --harts 2 --topology funnel --append panic=1 \
		--timeout 600 --console "$tap_tmp/console" -- 'F=/sys/devices/platform/ntrace-flight
		cat $F/state; if [ "$(cat $F/state)" = kept ]; then echo 1 >$F/clear; cat $F/state; exit; fi
		echo 1 >/proc/sys/kernel/panic; echo one >$F/trigger; cat $F/state; echo 1 >$F/clear; sleep 1; reboot -f; sleep 30' \
		>"$tap_tmp/said" 2>&1
	is "debug: what it did" "$(grep -xE 'recording|stopped|kept' "$tap_tmp/said" | xargs)" "recording stopped kept recording"
	quiet debug
fi

if wanted damaged; then
	make -C "$top" tool >"$tap_tmp/make" 2>&1 || exit 1
	flight_build || exit 1
	damaged 10000 "${SEED:-7}"
fi
plan $tap_n
done_testing
