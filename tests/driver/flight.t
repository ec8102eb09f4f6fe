#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test that the flight recorder shows why a machine hung. The machine panics, or hangs until its watchdog resets it.
# The next boot must find the record, and the record must contain the guilty function. tests/long/driver-flight.t
# tests all causes.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"
. "$(dirname "$0")/flight.sh"

need_perf_and_work 6.12
plan $(by_size 27 45)
insmod='insmod /usr/lib/ntrace/ntrace-trouble.ko how'

# While CPU 0 panics, CPU 1 reads /dev/zero. It has done so for half a second, so that the kernel has already freed the
# init code of modules. Otherwise CPU 1 would do that during the panic. Because of panic_print=0x40, the kernel prints
# the open calls of both CPUs.
crash panic "$tap_tmp/panic" 'taskset 2 dd if=/dev/zero of=/dev/null bs=16M 2>/dev/null &
	until [ "$(cut -d" " -f15 /proc/$!/stat)" -gt 49 ]; do :; done' \
	'taskset 1 sh -c "echo c >/proc/sysrq-trigger"' --harts 2 --reset warm --append "panic=1 panic_print=0x40"
found panic "$tap_tmp/panic" "panic: sysrq triggered crash" sh "sysrq_handle_crash .*=> .* panic "
perf=$O/perf/6.12/$(uname -m)/perf
# An interrupt may follow the call of panic(), so leave out the branches of the interrupt.
if [ -x "$perf" ]; then
	ok "panic: perf script reads the record" sh -c "'$perf' script -i '$tap_tmp/panic/flight' --itrace=be -F comm,tid,flags,ip,sym,addr 2>/dev/null |
		awk '\$1 != \"sh\" { next } / hw int / { depth++ } !depth; / iret / && depth { depth-- }' | tail -n 3 | grep sysrq_handle_crash"
else
	skip "panic: perf script reads the record" "perf is not built for this host"
fi

# printed TEXT FUNCTION: list the addresses of the backtrace that the kernel printed after TEXT. They are those of all
# callers of FUNCTION
printed() {
	tr -d '\r' <"$tap_tmp/panic/console" | awk -v text="$1" -v first="$2" '
		index($0, text) { after = 1 }
		after && match($0, /\[<[0-9a-f]+>\] [^+ ]+/) {
			split(substr($0, RSTART + 2, RLENGTH - 2), word, ">] "); if (on) print word[1]; if (word[2] == first) on = 1
			next
		}
		on { exit }' | xargs | grep . || echo "the kernel printed no calls"
}
# shown CPU FUNCTION: list the addresses of all callers of FUNCTION in the backtrace of CPU that gdb has printed
shown() {
	awk -v cpu="(CPU $1," -v first="$2" '/^Thread / { here = index($0, cpu) }
		here && /^#/ { if (on) print substr($2, 3); if ($4 == first) on = 1 } /^Back/ { on = 0 }' "$tap_tmp/gdb" | xargs
}
if [ -x "$O/root/bin/gdb-multiarch" ]; then
	gdb() { "$O/bin/ntrace" gdb --gdb "$O/root/bin/gdb-multiarch" -i "$tap_tmp/panic/flight" -- -nx -batch "$@"; }
	gdb -ex 'printf "pc %lx\n", $pc' -ex 'thread apply all -q printf "cpu %d %lx\n", $trace_cpu, $pc' -ex 'thread apply all bt' \
		-ex 'thread 1' -ex reverse-finish -ex reverse-finish -ex reverse-finish >"$tap_tmp/gdb" 2>&1
	is "panic: gdb shows the last instruction of each CPU" "$(sed -n 's/^cpu //p' "$tap_tmp/gdb" | sort)" "$(for cpu in 0 1; do
		"$O/bin/ntrace" script --insns -F ip --cpu $cpu -i "$tap_tmp/panic/flight" 2>/dev/null | awk -v cpu=$cpu '$1 ~ /^f+[0-9a-f]+$/ { last = $1 } END { if (last) print cpu, last }'
	done)"
	is "panic: gdb shows the open calls of CPU 0 that the kernel has printed" "$(shown 0 panic)" "$(printed "Kernel panic" panic)"
	is "panic: gdb shows the open calls of CPU 1 that the kernel has printed" "$(shown 1 vfs_read)" \
		"$(printed "NMI backtrace for cpu 1" vfs_read)"
	is "panic: gdb starts at the last instruction" "$(sed -n 's/^pc //p' "$tap_tmp/gdb")" \
		"$("$O/bin/ntrace" script --insns -F ip -i "$tap_tmp/panic/flight" 2>/dev/null | awk 'END { print $1 }')"
	# The first printed function is that in which CPU 0 ends. The record may end in an interrupt, so leave out the
	# two functions with which the kernel enters and leaves an interrupt.
	is "panic: gdb goes back to the guilty function" "$(sed -n 's/^0x[0-9a-f]* in \([a-z_]*\) ().*/\1/p' "$tap_tmp/gdb" |
		sed '/^ret_from_exception$/d; /^handle_exception$/d' | sed -n 2p)" sysrq_handle_crash
else
	for what in "shows the last instruction of each CPU" "shows the open calls of CPU 0 that the kernel has printed" \
		"shows the open calls of CPU 1 that the kernel has printed" "starts at the last instruction" "goes back to the guilty function"; do
		skip "panic: gdb $what" "there is no gdb-multiarch: tools/setup/setup prepares it"
	done
fi

# The trace hardware has no power during the reset, so the last position of the sink is unknown. This board has no
# caches. make test skips it, because it tests the same hang on a board with caches, below.
if large; then
	BOARD_WATCHDOG=2 crash hang "$tap_tmp/hang" : "$insmod=hang" --reset watchdog --model reset-lost=on
	found hang "$tap_tmp/hang" "not recorded: the machine was reset, for example by a watchdog, or it still records" \
		insmod "guilty_hang"
	ok "hang: the end of the trace was found" grep -q '^trace .*up to the last synchronising message' "$tap_tmp/hang/said"

	# The harts of this board cannot map memory without caches (Svpbmt). A reset drops cache lines that were not
	# written back, and sinks write past the caches. The firmware boots hart 1, so hart 0 waits for hart 1 after
	# each reset.
	crash "panic: caches that a reset drops" "$tap_tmp/cached" : "$insmod=panic" --harts 2 --boot-hart 1 --reset warm \
		--append panic=1 --cached-flight
	found "panic: caches that a reset drops" "$tap_tmp/cached" "panic: trouble: it panics on purpose" insmod "guilty_panic .*=> .* panic "
fi
BOARD_WATCHDOG=2 crash "hang: caches that sinks bypass" "$tap_tmp/incoherent" : "$insmod=hang" --reset watchdog --incoherent \
	--cached-flight --model reset-lost=on
found "hang: caches that sinks bypass" "$tap_tmp/incoherent" "not recorded: the machine was reset, for example by a watchdog, or it still records" \
	insmod "guilty_hang"
# Record into cached memory of the running kernel (flight=2M), and save the record without a reset.
# The record also includes trace that the kernel copied from the memory of a sink.
for topology in $(by_size sram "direct sram"); do
	rm -rf "$tap_tmp/pages"
	"$top/tools/board/board" run --topology $topology --incoherent --console "$tap_tmp/console" --out "$tap_tmp/pages" \
		-- 'F=/sys/devices/platform/ntrace-flight; rmmod ntrace; insmod /lib/ntrace/ntrace.ko flight=2M; sleep 1
		cat $F/record >/dev/null; echo x >$F/trigger; cat $F/state; ntrace flight save -o /out/record' >"$tap_tmp/said" 2>"$tap_tmp/err"
	"$O/bin/ntrace" script -i "$tap_tmp/pages/record" >"$tap_tmp/script" 2>/dev/null
	calls=$(grep -c ' call ' "$tap_tmp/script")
	ok "$topology: a record in cached pages has calls ($calls)" [ "$calls" -gt 1000 ]
	is "$topology: a record in cached pages: the only decoding errors are about code that was not saved" "$(errors "$tap_tmp")" 0
done

# One guest runs two tests, and ends the first one by a line in the kernel's log. In the first test, a CPU goes offline
# and online while the recorder stops and starts. While the driver prevents CPUs from idling, a CPU that goes offline
# has to wait, and a recorder that starts or stops waits for this CPU. The driver must not deadlock. In the second test,
# after an oops that the machine survives, the recorder stops for the number of seconds in the parameter "rearm". If
# root stops the recorder, it must remain stopped. Both tests wait for events and not for times, so they also work in a
# slow guest. The time limit only ends a guest that waits for ever.
"$top/tools/board/board" run --flight 4M --harts 2 --timeout 600 --console "$tap_tmp/all" -- '
	F=/sys/devices/platform/ntrace-flight pmu=/sys/bus/event_source/devices/ntrace
	'"$patient_watchdogs"'
	ended() { echo "ended $1"; echo "<1>ended $1" >/dev/kmsg; }
	for i in 1 2 3 4 5 6 7 8; do for o in 0 1; do echo $o >/sys/devices/system/cpu/cpu1/online; done; done &
	cpus=$!
	for i in 1 2 3 4 5 6 7 8; do echo x >$F/trigger; echo 1 >$F/clear; done &
	files=$!
	while [ ! -e /tmp/end ]; do echo 4096 >$pmu/cpu0/sync/period; done 2>/dev/null &
	wait $cpus $files; touch /tmp/end; wait
	cat $F/state; ended hotplug

	echo 0 >$F/rearm
	insmod /usr/lib/ntrace/ntrace-trouble.ko how=oops
	cat $F/state
	echo 1 >$F/rearm
	until [ $(cat $F/state) = recording ]; do sleep 0.1; done; cat $F/state
	echo x >$F/trigger; sleep 3; cat $F/state; echo 1 >$F/clear
	# The file "state" must contain "stopped" even before the driver has handled the stop, which takes a second here
	insmod /usr/lib/ntrace/ntrace-fail.ko function=ntrace_flight_stopped delay=1000
	echo y >/proc/sysrq-trigger
	until [ $(cat /sys/module/ntrace_fail/parameters/hits) = 1 ]; do :; done; cat $F/state' >"$tap_tmp/said" 2>"$tap_tmp/err"
# part AFTER BEFORE FILE: print the lines of FILE after "ended AFTER" and before "ended BEFORE". An empty word is the
# start or the end of FILE
part() {
	awk -v after="${1:+ended $1}" -v before="${2:+ended $2}" '
		before && index($0, before) { exit } !after || on; after && index($0, after) { on = 1 }' "$3"
}
is "CPUs go offline and online while the recorder stops and starts" "$(part "" hotplug "$tap_tmp/said")" recording
part "" hotplug "$tap_tmp/all" >"$tap_tmp/console"
quiet "CPUs go offline and online"
is "the recorder starts again after an oops that the machine survived, but not after root stopped it" \
	"$(part hotplug "" "$tap_tmp/said" | xargs)" "stopped recording stopped stopped"
is "the kernel reports this oops, and no other fault" \
	"$(grep -cE 'Unable to handle kernel|BUG:|WARNING:|INFO:' "$tap_tmp/all")" 1

# at NAME EXPECTED TOPOLOGY COMMANDS: run COMMANDS in a guest whose idle CPUs lose their power, and check that
# COMMANDS print EXPECTED before "ended wake". NAME describes the time at which one of the CPUs wakes. The folder
# $tap_tmp/at has the files that COMMANDS leave in /out.
at() {
	mkdir -p "$tap_tmp/at"
	"$top/tools/board/board" run --flight 4M --harts 2 --topology "$3" --deep-idle --timeout 1500 --out "$tap_tmp/at" --console "$tap_tmp/console" -- '
		F=/sys/devices/platform/ntrace-flight cpu1=/sys/devices/system/cpu/cpu1/online
		'"$hide_symbols"'
		# Repeat this four times, because a CPU may idle without losing its power
		slow() { for i in 1 2 3 4; do
			echo $((1 - $2)) >$F/enable; insmod /usr/lib/ntrace/ntrace-fail.ko function=$1 cpu=0 delay=300
			taskset 1 sh -c "echo $2 >$F/enable"; cat /sys/module/ntrace_fail/parameters/hits; rmmod ntrace-fail
		done; cat $F/state; }
		# on CPU: succeed if the encoder of the CPU is enabled
		on() {
			encoder=$(readlink -f /sys/bus/event_source/devices/ntrace/cpu$1)
			grep -q "[2367abef] trTeControl" /sys/kernel/debug/ntrace/${encoder##*/}/registers
		}
		# Let CPU 1 idle and wake every 20 ms, so that it loses its power again and again
		taskset 2 sh -c "while [ ! -e /tmp/asleep ]; do sleep 0.02; done" &
		'"$4" >"$tap_tmp/said" 2>"$tap_tmp/err"
	is "$1" "$(part "" wake "$tap_tmp/said" | xargs)" "$2"
	is "$1: the board reports no fault" "$(cat "$tap_tmp/err")" ""
	quiet "$1"
}

large_only at "a CPU that has left the recorder before its end is not recorded again when it wakes" "1 1 1 1 idle" direct 'slow ntrace_flight_end_local 0'
# The harts share the sink, and an event of CPU 0 uses this sink. CPU 0 is busy in the kernel, whose trace the event leaves
# out. The host's perf prints the trace, because the guest needs minutes for this.
at "a CPU that wakes while an event of another CPU takes the shared sink does not use it" "1 1 1 1 recording" funnel '
	echo 0 >$F/enable; taskset 1 cat /dev/zero >/dev/null & busy=$!
	perf record -B --no-bpf-event -q -C 0 -e ntrace//u -o /tmp/data -- \
		sh -c "while [ ! -e /tmp/end ]; do sleep 0.2; done" &
	until on 0; do sleep 0.2; done
	slow ntrace_flight_begin_claim 1; touch /tmp/end /tmp/asleep; kill $busy; wait
	cp /tmp/data /out/data; echo "ended wake"
	# CPU 1 idles while it goes offline, after the kernel has notified the driver
	rmmod ntrace; insmod /usr/lib/ntrace/ntrace-going.ko; insmod /lib/ntrace/ntrace.ko; cat $F/state
	echo 0 >$cpu1; echo 0 >$F/enable; cat $F/state; echo 1 >$cpu1
	perf record -B --no-bpf-event -q -C 1 -e ntrace//u -o /tmp/data -- taskset 2 true && echo traced'
# No record may have the flag COLLISION (C), and the last record must have trace
undisturbed() {
	"$perf" script -D -i "$tap_tmp/at/data" --no-itrace 2>/dev/null | grep "PERF_RECORD_AUX " >"$tap_tmp/aux"
	! grep "\[[A-Z]*C[A-Z]*\]" "$tap_tmp/aux" && tail -n 1 "$tap_tmp/aux" | grep "size: 0x"
}
what="a CPU that wakes while an event of another CPU takes the shared sink does not disturb this event"
if [ -x "$perf" ]; then ok "$what" undisturbed; else skip "$what" "perf is not built for this host"; fi
is "a CPU that goes offline is not recorded again when it wakes" "$(part wake "" "$tap_tmp/said" | xargs)" "recording idle traced"
# The event of a task that seldom runs takes the sink of CPU 1 after the recorder has ended on this CPU. The recorder
# does not start on an idle CPU, so CPU 1 must check when it wakes whether to start the recorder.
large_only at "an event that starts while the recorder ends does not keep the sink" "1 1 1 1 idle recording on" direct '
	perf record -B --no-bpf-event -q -e ntrace//u -o /tmp/data -- taskset 2 sh -c "touch /tmp/begun; while [ ! -e /tmp/end ]; do sleep 0.005; done" &
	until [ -e /tmp/begun ]; do sleep 0.1; done
	slow static_key_disable 0; echo 1 >$F/enable; sleep 1; touch /tmp/end /tmp/asleep; wait; cat $F/state
	taskset -p 2 $$ >/dev/null; on 1 && echo on'
# CPU 1 is offline while the recorder of the earlier kernel records, so the record lacks the funnel of CPU 1.
printf '%s\n' 'encoder te0 hart=0 to=funnel0' 'funnel funnel0 to=ram0' 'ramsink ram0 mode=smem' \
	'encoder te1 hart=1 to=funnel1' 'funnel funnel1 to=ram1' 'ramsink ram1 mode=smem' >"$tap_tmp/two"
"$top/tools/board/board" run --topology "$tap_tmp/two" --harts 2 --append mem=900M --console "$tap_tmp/console" -- '
	F=/sys/devices/platform/ntrace-flight cpu1=/sys/devices/system/cpu/cpu1/online
	load() { insmod /lib/ntrace/ntrace.ko flight=4M@0xb8400000; cat $F/state; }
	# print the funnels of CPU 0 and CPU 1, which can be hart 1 and hart 0
	funnels=$(for c in 0 1; do set -- $(cat /sys/bus/event_source/devices/ntrace/cpu$c/path); echo 0x${2%%.*}; done)
	rmmod ntrace; echo 0 >$cpu1; load; echo x >$F/trigger
	until [ $(cat $F/state) = stopped ]; do sleep 0.1; done; rmmod ntrace; echo 1 >$cpu1
	for f in $funnels; do
		for value in 0=1 8=0 64=0 0=3; do busybox devmem $((f + ${value%=*})) 32 ${value#*=}; done; done
	dmesg -c >/dev/null; load; rmmod ntrace
	dmesg | grep -q "trace funnel at .* in use by a debugger" && echo "left alone"
	for f in $funnels; do echo "enabled $(($(busybox devmem $f 32) >> 1 & 1))"; done' >"$tap_tmp/said" 2>"$tap_tmp/err"
is "a funnel that the record of an earlier kernel does not name belongs to a debugger, and stays enabled" \
	"$(xargs <"$tap_tmp/said")" "recording kept left alone enabled 0 enabled 1"
quiet "a funnel that a debugger uses"
# CPU 0 panics, and is about to copy the trace of an event of CPU 1. Meanwhile, this event ends, and perf frees its
# buffer. The kernel overwrites freed memory, so the panic would hang if it used a pointer from the freed buffer.
if large; then
	crash_timeout=300
	crash gone "$tap_tmp/gone" '
		taskset 2 perf record -B --no-bpf-event -q -m ,1M -C 1 -e ntrace//k -o /tmp/data -- \
			sh -c "touch /tmp/begun; until [ x\$(cat /sys/module/ntrace_fail/parameters/hits) = x1 ]; do :; done" 2>/dev/null &
		until [ -e /tmp/begun ]; do sleep 0.2; done; sleep 1
		insmod /usr/lib/ntrace/ntrace-fail.ko function=ntrace_record_seize cpu=0 delay=4000 times=1' \
		'taskset 1 insmod /usr/lib/ntrace/ntrace-trouble.ko how=panic' --harts 2 --reset warm \
		--append "panic=1 slub_debug=FZP page_poison=1"
	is "an event that ends during a panic does not stop the panic" \
		"$(grep -m 2 '^state' "$tap_tmp/gone/said" | xargs)" "state recording state kept"
fi
done_testing
