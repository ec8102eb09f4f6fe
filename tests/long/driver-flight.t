#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the flight recorder with each cause of a stop. Use 1 and 4 harts, both kernels, and separate sinks, shared
# sinks and sinks with their own memory. Compare records with the truth, record while perf records, panic while dead
# CPUs hold locks (also on a debug kernel), use a crash kernel, and read 10,000 damaged records. CASES=PATTERN selects
# cases, and KERNELS= selects kernels.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../driver/guest.sh"
. "$(dirname "$0")/../driver/flight.sh"
. "$(dirname "$0")/../session/flight.sh"

insmod='insmod /usr/lib/ntrace/ntrace-trouble.ko how'
panics='panic: trouble: it panics on purpose'
nobody='not recorded: the machine was reset, for example by a watchdog, or it still records'
flight_size=2M
wanted() { case $1 in ${CASES:-*}) ;; *) return 1 ;; esac; }
made=
need() { case $made in *" $1 "*) ;; *) need_perf_and_work "$1"; made="$made $1 " ;; esac; }

# each NAME KERNEL CAUSE COMM PATTERN BEFORE TROUBLE OPTIONS...: if CASES selects NAME, run the commands BEFORE and then
# TROUBLE in a guest, which crash it, and check that its record has CAUSE and a late call of COMM with PATTERN
each() {
	wanted "$1" || return 0
	_what=$1 _kernel=$2 _cause=$3 _comm=$4 _pattern=$5 _before=$6 _trouble=$7; shift 7
	need "$_kernel"
	crash "$_what" "$tap_tmp/case" "$_before" "$_trouble" --kernel "$_kernel" "$@"
	found "$_what" "$tap_tmp/case" "$_cause" "$_comm" "$_pattern"
	rm -rf "$tap_tmp/case"
}

# with HARTS ARGUMENTS...: run each() on $kernel with HARTS harts, the next topology of $topologies, and its arguments
# CAUSE COMM PATTERN BEFORE TROUBLE OPTIONS
with() {
	_harts=$1; shift
	_topology=${topologies%% *} topologies="${topologies#* } ${topologies%% *}"
	_wanted=$1 _thread=$2 _guilty=$3 _first=$4 _then=$5; shift 5
	each "$what, $kernel, $_topology, $_harts" "$kernel" "$_wanted" "$_thread" "$_guilty" "$_first" "$_then" \
		--harts "$_harts" --topology "$_topology" "$@"
}

# all CAUSE COMM PATTERN BEFORE TROUBLE OPTIONS...: run one case on $kernel with each topology, with 1 hart and 4
# harts in turn. The guest runs the commands BEFORE, and then TROUBLE, which crash it
all() {
	for _ in direct funnel sram; do
		turn=$((turn + 1))
		with $((turn % 2 ? 1 : 4)) "$@"
	done
}

# late HARTS CAUSE COMM PATTERN BEFORE TROUBLE OPTIONS...: like all(), but with a buffer that holds the trace of several
# seconds. If HARTS is 0, use 1 hart and 4 harts in turn
late() {
	_of=$1; shift
	flight_size=16M
	for _ in direct funnel sram; do
		turn=$((turn + 1)) small=no
		[ "${topologies%% *}" != sram ] || small=yes
		_turn=$((turn % 2 ? 1 : 4))
		with $((_of ? _of : _turn)) "$@"
	done
	small=no flight_size=2M
}

topologies="direct funnel sram" turn=0
for kernel in ${KERNELS:-$(kernels lts new)}; do
	# A case that runs once per kernel has 1 hart on one kernel and 4 harts on the other kernel
	[ "$kernel" = 6.12 ] || turn=1
	what=panic
	for harts in 1 4; do
		for _ in direct funnel sram; do
			with $harts "$panics" insmod "guilty_panic" : "$insmod=panic" --reset warm --append panic=1
		done
	done
	what=oops
	all "oops: Unable to handle kernel *" insmod "guilty_oops" : "$insmod=oops" --reset warm --append "panic=1 oops=panic"
	# The kernel detects a hung task only after seconds. The small memory of a sink does not contain the trace of
	# these seconds.
	what="hung task"
	late 0 "hung task: the task is blocked for too long" trouble-one "guilty_wait" "echo 2 >/proc/sys/kernel/hung_task_timeout_secs" "$insmod=deadlock; sleep 8; reboot -f" --reset warm
	# The kernel prints many lines before it panics in these cases, and the record contains the trace of this
	# printing
	what="soft lockup"
	late 0 "panic: softlockup: hung tasks" insmod "guilty_lockup" \
		"echo 2 >/proc/sys/kernel/watchdog_thresh; echo 1 >/proc/sys/kernel/softlockup_panic" "$insmod=lockup" \
		--reset warm --append panic=1
	what=reboot
	all "reboot" reboot "__do_sys_reboot" : "reboot -f" --reset warm
	what=SysRq
	all "SysRq" sh "__handle_sysrq" : "echo y >/proc/sysrq-trigger; sleep 1; reboot -f" --reset warm
	what=user
	all "user: enough" sh "trigger_store" : 'echo enough >$F/trigger; sleep 1; reboot -f' --reset warm
	# Linux detects an RCU stall and a hard lockup only if the machine has more than one hart. An RCU stall needs a
	# grace period of RCU. On an idle Linux 7.2, grace periods start only when processes end, so the guest starts
	# and ends processes.
	what="RCU stall"
	late 4 "panic: RCU Stall*" insmod "guilty_lockup" \
		"echo 0 >/proc/sys/kernel/watchdog; echo 3 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
		echo 1 >/proc/sys/kernel/panic_on_rcu_stall; while sleep 1; do :; done &" "$insmod=lockup" --reset warm --append panic=1
	what="hard lockup"
	late 4 "panic: Hard LOCKUP" insmod "guilty_hang" \
		"echo 2 >/proc/sys/kernel/watchdog_thresh; echo 1 >/proc/sys/kernel/hardlockup_panic" "$insmod=hang" \
		--reset warm --append panic=1
	# A reset without warning destroys the trace in the memory of a sink
	for harts in 1 4; do
		for topology in direct funnel; do
			each "hang, $kernel, $topology, $harts" $kernel "$nobody" insmod "guilty_hang" : "$insmod=hang" \
				--reset watchdog --model reset-lost=on --harts $harts --topology $topology
		done
	done
	if wanted "hang, $kernel, sram, 1"; then
		need "$kernel"
		crash "hang, $kernel, sram" "$tap_tmp/case" : "$insmod=hang" --kernel "$kernel" --reset watchdog \
			--model reset-lost=on --topology sram
		is "hang, $kernel, sram, 1: the record has no cause" \
			"$(sed -n 's/^cause  *//p' "$tap_tmp/case/said")" "$nobody"
		ok "hang, $kernel, sram, 1: the record reports that it has no trace" \
			grep -q '^trace .*, no trace' "$tap_tmp/case/said"
		rm -rf "$tap_tmp/case"
	fi
	# Without the option reset-lost, the watchdog's reset does not stop the sinks of this board. The trace of the
	# booting kernel overwrites the ring until the driver is loaded, and the record must report this.
	if wanted "running through, $kernel"; then
		need "$kernel"
		crash "running through, $kernel" "$tap_tmp/case" : "$insmod=hang" --kernel "$kernel" --reset watchdog
		ok "running through, $kernel: the record reports that its trace is overwritten" \
			grep -q '^trace .*, overwritten by the boot after the reset' "$tap_tmp/case/said"
		rm -rf "$tap_tmp/case"
	fi
done

# The CPU that hangs is the first or the last CPU. The kernel stops the sink of this CPU before it collects the trace
# of another sink.
for mask in 1 8; do
	each "oops of CPU mask $mask, sram, 4" "$(kernels new)" "oops: Unable to handle kernel *" insmod "guilty_oops" : \
		"taskset $mask $insmod=oops" --reset warm --append "panic=1 oops=panic" --harts 4 --topology sram
done

# perf uses the sink for some time. The recording of perf must be complete, and the recorder must continue after perf
# ends.
if wanted "beside perf"; then
	need 6.12
	crash "beside perf" "$tap_tmp/case" "perf record -e ntrace//u -o /tmp/p -- /usr/lib/ntrace/work 1000 >/dev/null 2>&1
		perf report --stats -i /tmp/p 2>/dev/null | grep -cE 'LOST|AUX.*(lost|trunc)'" "$insmod=panic" --reset warm --append panic=1
	is "beside perf: perf's recording has no loss" "$(sed -n 2p "$tap_tmp/case/said")" 0
	ok "beside perf: the record has gaps while perf used the sink" grep -q '^trace .* gaps of ' "$tap_tmp/case/said"
	"$O/bin/ntrace" script -i "$tap_tmp/case/flight" >"$tap_tmp/case/script" 2>/dev/null
	figure "beside perf: $(sed -n 's/^trace .*, \([0-9]* gaps of .*\)/\1/p' "$tap_tmp/case/said")"
	ok "beside perf: the recorder continues" [ "$(last_call "$tap_tmp/case" insmod guilty_panic)" -lt 100 ]
	rm -rf "$tap_tmp/case"
fi

# Wait until the workload runs, because perf traces only while it runs
snapshot='perf record -S -a -m,1M -e ntrace//k -o /tmp/p -- sh -c "touch /tmp/go; sleep 1000" >/tmp/log 2>&1 &
	until [ -e /tmp/go ]; do sleep 1; done; sleep 1'
# At the panic, perf record -S uses the sinks. The record must contain the trace that perf had not saved.
for options in "direct --harts 1" "funnel --harts 4" "sram --harts 1"; do
	what="perf -S, ${options%% *}, ${options##* }"
	wanted "$what" || continue
	need 6.12
	# shellcheck disable=SC2086
	crash "$what" "$tap_tmp/case" "$snapshot" \
		"$insmod=panic" --reset warm --append panic=1 --topology $options
	found "$what" "$tap_tmp/case" "$panics" insmod guilty_panic
	ok "$what: the record contains that perf used the sink" \
		grep -q '^trace .*, which a perf event used (perf, process [0-9]*)' "$tap_tmp/case/said"
	rm -rf "$tap_tmp/case"
done

# Two CPUs hold one lock each, and each CPU waits for the lock of the other CPU. The report must show both CPUs.
if wanted spin; then
	need 6.12
	BOARD_WATCHDOG=2 crash spin "$tap_tmp/case" : "$insmod=spin; sleep 20" --reset watchdog --model reset-lost=on --harts 2
	found spin "$tap_tmp/case" "$nobody" trouble-north guilty_take_south
	is "spin: the report has the later calls of the other thread" \
		"$([ "$(last_call "$tap_tmp/case" trouble-south guilty_take_north)" -lt 100 ] && echo few)" few
	"$O/bin/ntrace" flight calls -n 6 -i "$tap_tmp/case/flight" >"$tap_tmp/calls" 2>"$tap_tmp/err"
	sed 's/^/# /' "$tap_tmp/calls"
	ok "spin: the report has the calls of the first CPU in its column" \
		grep -q '^[^|]* trouble-north/[^|]*guilty_take_south => try_lock *|' "$tap_tmp/calls"
	ok "spin: the report has the calls of the second CPU beside them" \
		grep -q '|[^|]* trouble-south/[^|]*guilty_take_north => try_lock *$' "$tap_tmp/calls"
	rm -rf "$tap_tmp/case"
fi

# forms NAME FORMS BOARD-OPTIONS...: load the driver with each form of flight= in FORMS. For each form, write the
# state, the size and the kernel's messages to $tap_tmp/said
forms() {
	_of=$1 _forms=$2; shift 2
	"$top/tools/board/board" run --kernel 6.12 --timeout 300 --console "$tap_tmp/console" "$@" -- '
		F=/sys/devices/platform/ntrace-flight
		for form in '"$_forms"'; do
			rmmod ntrace; dmesg -c >/dev/null
			insmod /lib/ntrace/ntrace.ko flight="${form#=}"; sleep 1
			echo "$form: $(cat $F/state 2>/dev/null || echo none) $(cat $F/size 2>/dev/null)"
			dmesg | sed -n "s/.*light recorder/$form: &/p;s/.*ntrace: flight=/$form: &/p"
		done' >"$tap_tmp/said" 2>"$tap_tmp/err"
	sed 's/^/# /' "$tap_tmp/said"
}

# form FORM PATTERN: check that a line that forms() has written for flight=FORM matches PATTERN
form() {
	grep -F "$1: " "$tap_tmp/said" | grep "^[^:]*: " >"$tap_tmp/form"
	ok "$_of: flight=${1#=}: $2" grep -q -- "$2" "$tap_tmp/form"
}

if wanted forms; then
	forms "forms" "= =off =128K =300K =4M =16M =0 =64K =2G =50% =4Q =-1 =nothing =4M@ =4M@x =4M@0x80200000 =4M@0xb8400000x" \
		--flight 4M
	form "=" "recording 4194304"
	form "=off" "none $"
	form "=128K" "recording 131072"
	form "=300K" "recording 524288"
	form "=4M" "recording 4194304"
	form "=16M" "the size is reduced to 0x400000 bytes"
	form "=16M" "recording 4194304"
	for wrong in 0 64K 2G; do
		form "=$wrong" "the size must be 128 KiB to 1 GiB, not"
	done
	for wrong in 50% 4Q -1 nothing 4M@ 4M@x 4M@0xb8400000x; do
		form "=$wrong" "is neither SIZE nor SIZE@ADDRESS nor the name of a reserve_mem="
	done
	form "=4M@0x80200000" "Linux uses the memory at .*; exclude it from Linux by mem="
	for wrong in 0 64K 2G 50% 4Q -1 nothing 4M@ 4M@x 4M@0x80200000 4M@0xb8400000x; do
		form "=$wrong" "none $"
	done
	forms "forms, mem=900M" "=4M@0xb8400000 =5000@0xb8400000 =64K@0xb8400000" --append mem=900M
	form "=4M@0xb8400000" "recording 4194304"
	form "=5000@0xb8400000" "must be whole pages, and 128 KiB to 1 GiB"
	form "=64K@0xb8400000" "must be whole pages, and 128 KiB to 1 GiB"
	forms "forms, reserve_mem" "=flight" --append reserve_mem=2M:4096:flight
	form "=flight" "recording 2097152"
fi

# hostile NAME BOARD-OPTIONS...: read records with correct CRCs and hostile values. In every second record, the
# components that the record names are enabled. If the driver refuses the record, it must not change these components,
# because a debugger may use them.
hostile() {
	_what="hostile, $1"; shift
	wanted "$_what" || return 0
	"$top/tools/board/board" run --append mem=900M --timeout 1200 --console "$tap_tmp/console" "$@" -- '
		F=/sys/devices/platform/ntrace-flight i=0
		while [ $((i += 1)) -le 40 ]; do
			rmmod ntrace
			/usr/lib/ntrace/hostile-record 0xb8400000 0x400000 $i 0x18000000 0x18001000 || exit 1
			insmod /lib/ntrace/ntrace.ko flight=4M@0xb8400000 || exit 1
			sleep 1
			echo "found $(cat $F/state)"
			cat $F/record >/dev/null
			echo 1 >$F/clear 2>/dev/null || echo 1 >$F/enable
			echo "then $(cat $F/state) $((i % 2))"
		done' >"$tap_tmp/said" 2>"$tap_tmp/err"
	figure "$_what: $(sort "$tap_tmp/said" | uniq -c | xargs)"
	is "$_what: the recorder records after each record whose components were not enabled" "$(grep -c '^then recording 0' "$tap_tmp/said")" 20
	is "$_what: the driver works after each record" "$(grep -cE '^then (recording|idle)' "$tap_tmp/said")" 40
	ok "$_what: the driver keeps some of the records" grep -q '^found kept' "$tap_tmp/said"
	ok "$_what: the driver refuses some of the records" grep -q '^found damaged' "$tap_tmp/said"
	quiet "$_what"
}
# Use a kernel with /dev/mem, through which the test writes the records. The debug kernel has no /dev/mem
hostile "6.12" --kernel 6.12

# in_use NAME BOARD-OPTIONS...: use the machine while the recorder records. perf events start and end, and CPUs go
# offline and online. The record is stopped (sometimes as a panic stops it), read and cleared. The system sleeps, and
# the driver is unloaded. The events are those of storm_test, because one perf record takes seconds in a guest whose
# kernel is traced.
in_use() {
	_what="in use, $1"; shift
	wanted "$_what" || return 0
	make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
	"$top/tools/board/board" run --flight 4M --harts 4 --timeout 900 --console "$tap_tmp/console" "$@" -- '
		F=/sys/devices/platform/ntrace-flight
		at() { echo "$1 $(cat $F/state)"; }
		# Other tests measure durations, so this test allows a long time for each operation
		storm() { NTRACE_STORM=$2 NTRACE_SEED=$3 NTRACE_FAULTS=1 NTRACE_LIMIT_MS=100000 \
			/usr/lib/selftests/ntrace/storm_test >/tmp/$1 2>&1; echo "storm $1 $?"; }
		cpus() { for i in 1 2 3; do for o in 0 1; do for c in 1 2 3; do
			echo $o >/sys/devices/system/cpu/cpu$c/online; done; done; done; }
		files() { for i in 1 2 3 4 5 6; do
			echo x >$F/trigger; cat $F/record >/dev/null; echo 1 >$F/clear
			echo 0 >$F/enable; echo 1 >$F/enable; echo 0x$i >$F/config
			echo y >/proc/sysrq-trigger; sleep 1; echo 1 >$F/clear
		done; echo 0 >$F/config; } 2>/dev/null
		at "at first"
		storm one 60 '"${SEED:-1}"' & cpus & files & wait
		# Repeat these commands, because they may have failed above at a time when the driver was unloaded or
		# CPUs were offline
		{ echo 1 >$F/clear; echo 1 >$F/enable; } 2>/dev/null; at "after all of it"
		perf record -q -S -a -e ntrace//k -o /tmp/p -- true >/dev/null 2>&1; echo "perf $?"
		# Unmount the 9p file system, which does not survive a suspend. Use suspend-to-idle if the kernel does
		# not support deep suspend
		detach; echo 1 >/sys/module/suspend/parameters/pm_test_delay
		storm two 20 2 & { echo deep >/sys/power/mem_sleep; echo core >/sys/power/pm_test; echo mem >/sys/power/state; } 2>/dev/null ||
			{ echo devices >/sys/power/pm_test; echo freeze >/sys/power/state; }; echo "slept $?"; wait
		echo none >/sys/power/pm_test
		at "after sleep"
		for i in 1 2 3; do cpus & rmmod ntrace; insmod /lib/ntrace/ntrace.ko; wait; done
		at "loaded again"
		echo end >$F/trigger; ntrace flight | grep -v "^kernel\|^began\|  at "; echo ended' >"$tap_tmp/said" 2>"$tap_tmp/err"
	sed 's/^/# /' "$tap_tmp/said"
	for at in "at first" "after all of it" "after sleep" "loaded again"; do
		is "$_what: $at" "$(sed -n "s/^$at //p" "$tap_tmp/said")" recording
	done
	is "$_what: perf events, a suspend and random operations succeed" \
		"$(grep '^storm\|^perf\|^slept' "$tap_tmp/said" | sort | xargs)" "perf 0 slept 0 storm one 0 storm two 0"
	is "$_what: the record has the cause of its end" "$(sed -n 's/^cause  *//p' "$tap_tmp/said")" "user: end"
	is "$_what: the record has trace of each CPU" "$(grep -o ' of CPU [0-9 ]*' "$tap_tmp/said" | grep -o '[0-9]' | sort | xargs)" "0 1 2 3"
	ok "$_what: the guest ends" grep -qx ended "$tap_tmp/said"
	quiet "$_what"
}
for topology in direct funnel sram; do
	in_use "6.12, $topology" --kernel 6.12 --topology $topology
	[ ! -e "$O/root/kernel-debug/vmlinuz" ] || in_use "debug, $topology" --kernel debug --topology $topology
done

# The recorder cannot use the sinks of these boards. The driver must report this, and must work without the recorder.
for board in k3 p550; do
	wanted "$board" || continue
	forms "$board" "=4M" --board $board
	form "=4M" "idle 4194304"
	form "=4M" "the flight recorder does not record, because the encoders have no RAM sink"
done

# The decoded trace must equal the truth until the last instruction before the stop. The second boot loads no driver.
truth() {
	_what=$1; shift
	wanted "$_what" || return 0
	need 6.12
	gcc -O2 -Wall -Wextra -Wno-sign-compare -I"$top/tools/board/model" -o "$tap_tmp/branches" \
		"$top/tests/perf/branches.c" "$O/board/model/libnbmodel.a" || exit 1
	crash "$_what" "$tap_tmp/case" "cat /proc/cpuinfo >/out/cpuinfo" "$insmod=panic" --reset warm --append panic=1 \
		--truth "$tap_tmp/truth" "$@"
	"$O/bin/ntrace" script -F pid,tid,cpu,time,flags,ip,addr -i "$tap_tmp/case/flight" 2>/dev/null >"$tap_tmp/lines"
	# shellcheck disable=SC2046
	ok "$_what: the decoded trace equals the truth up to the stop" "$tap_tmp/branches" -r \
		$(awk '$1 == "processor" { cpu = $3 } $1 == "hart" && $2 == ":" { printf "-m %d=%d ", cpu, $3 }' \
			"$tap_tmp/case/cpuinfo") "$tap_tmp"/truth/hart*.truth <"$tap_tmp/lines"
	figure "$_what: $(tail -n 1 "$tap_tmp/out")"
	rm -rf "$tap_tmp/case" "$tap_tmp/truth" "$tap_tmp/lines"
}
truth "truth, direct, 1"
truth "truth, funnel, 4" --harts 4 --topology funnel
truth "truth, sram, 1" --topology sram

# A dead CPU holds all locks of the driver while another CPU panics. The guest needs much time to find the addresses
# of the locks.
crash_timeout=1200
for kernel in ${KERNELS:-$(kernels lts new)}; do
	each "locks, $kernel" "$kernel" "panic: locks: a dead CPU holds *" insmod "guilty_of_locks" : "$hold_locks" \
		--harts 2 --topology funnel --reset warm --append panic=1
done

# kdump KERNEL HOW BOARD-OPTIONS...: run the commands $kdump_before, load a crash kernel, and crash the kernel. HOW is
# the fault that the module ntrace-trouble causes
kdump_before=:
kdump() {
	_kernel=$1 _how=$2; shift 2
	"$top/tools/board/board" run --kernel "$_kernel" --mem 2G "$@" --timeout 600 --console "$tap_tmp/case/console" \
		--append "crashkernel=512M oops=panic" --out "$tap_tmp/case" -- '
		'"$kdump_before"'
		echo "state $(cat /sys/devices/platform/ntrace-flight/state)"
		cp /out/kexec /tmp/ && chmod +x /tmp/kexec
		/tmp/kexec -p /out/vmlinuz --initrd=/out/initrd --append="console=ttyS0 loglevel=5 panic=-1 \
			ntrace.mode=run nr_cpus=1 cryptomgr.notests initcall_blacklist=jent_mod_init" || exit 3
		'"$insmod=$_how; sleep 30" >"$tap_tmp/case/said" 2>"$tap_tmp/case/err"
	sed 's/^/# /' "$tap_tmp/case/said"
}

# crash_kernel KERNEL: write a crash kernel to $tap_tmp/case. This crash kernel saves the record
crash_kernel() {
	need "$1"
	"$top/tools/setup/setup" kexec >"$tap_tmp/setup" 2>&1 || { cat "$tap_tmp/setup"; exit 1; }
	mkdir -p "$tap_tmp/case" "$tap_tmp/crash/run"
	cat >"$tap_tmp/crash/run/command" <<-'E2'
		echo "state $(cat /sys/devices/platform/ntrace-flight/state)"
		insmod /usr/lib/ntrace/ntrace-trouble.ko how=none
		ntrace flight --vmcore /proc/vmcore 2>&1 | sed 's/^/vmcore /'
		[ -e /out/pages ] || ntrace flight
		if [ -e /out/pages ]; then ntrace flight save --vmcore /proc/vmcore -o /out/flight
		else ntrace flight save -o /out/flight --clear; fi
		echo "state $(cat /sys/devices/platform/ntrace-flight/state)"
	E2
	"$top/tools/board/guest/pack" "$tap_tmp/crash" "$tap_tmp/crash.cpio"
	# shellcheck disable=SC2046
	cat $("$top/tools/board/guest/mkimage" "$1") "$tap_tmp/crash.cpio" >"$tap_tmp/case/initrd"
	cp -L "$O/root/kexec/usr/sbin/kexec" "$O/root/kernel-$1/vmlinuz" "$tap_tmp/case/"
}

# Without the parameter crash_kexec_post_notifiers, the driver in the crash kernel finds the record
for kernel in ${KERNELS:-$(kernels lts new)}; do
	for topology in direct funnel sram; do
		for how in panic oops; do
			harts=4 cause=$panics
			[ $topology != direct ] || harts=1
			[ $how = panic ] || cause="oops: Unable to handle kernel *"
			what="kdump, $how, $kernel, $topology, $harts"
			wanted "$what" || continue
			crash_kernel "$kernel"
			kdump "$kernel" $how --flight 4M --harts $harts --topology $topology
			found "$what" "$tap_tmp/case" "$cause" insmod guilty_$how
			ok "$what: --vmcore reports why reserved memory is not in the crash dump" \
				grep -q '^vmcore .*a crash dump does not contain reserved memory' "$tap_tmp/case/said"
			rm -rf "$tap_tmp/case" "$tap_tmp/crash"
		done
	done
done

# dumped NAME BOARD-OPTIONS...: crash a kernel that records into its own memory, and find the record in the crash dump
dumped() {
	_what=$1; shift
	crash_kernel 6.12
	touch "$tap_tmp/case/pages"
	kdump 6.12 panic "$@"
	is "$_what: a record in memory of the kernel is found by --vmcore" \
		"$(sed -n 's/^vmcore cause  *//p' "$tap_tmp/case/said")" "$panics"
	"$O/bin/ntrace" script -i "$tap_tmp/case/flight" >"$tap_tmp/case/script" 2>/dev/null
	_rank=$(last_call "$tap_tmp/case" insmod guilty_panic)
	case $_rank in not*) _rank=1000000 ;; esac
	ok "$_what: guilty_panic is among the last 100 calls of insmod ($_rank calls are later)" [ "$_rank" -lt 100 ]
	is "$_what: the only decoding errors are about code that was not saved" "$(errors "$tap_tmp/case")" 0
}

# Record into pages that the driver allocates. Repeat this with a reserved region on the board, and with sinks whose
# writes bypass the caches. If the board has 2 GiB of memory, the first free pages are those that contained the
# initrd. A crash dump does not contain these pages, because /proc/iomem lists them as reserved. Therefore the driver
# must allocate other pages for the record of 4 MiB.
for beside in "" "--flight 4M" --incoherent; do
	case $beside in
	*flight*) what="kdump, pages beside a region" ;;
	*incoherent) what="kdump, pages that caches have" ;;
	*) what="kdump, pages" ;;
	esac
	wanted "$what" || continue
	kdump_before="rmmod ntrace; insmod /lib/ntrace/ntrace.ko flight=4M; sleep 1"
	# shellcheck disable=SC2086
	dumped "$what" $beside
	rm -rf "$tap_tmp/case" "$tap_tmp/crash"
done

# The crash dump must also contain the trace of perf record -S
if wanted "kdump, perf -S"; then
	kdump_before="rmmod ntrace; insmod /lib/ntrace/ntrace.ko flight=4M; sleep 1
		$snapshot"
	errors_after=-1
	dumped "kdump, perf -S" --flight 4M
	errors_after=1
	ok "kdump, perf -S: the record contains that perf used the sink" \
		grep -q '^vmcore trace .*, which a perf event used (perf, process [0-9]*)' "$tap_tmp/case/said"
	rm -rf "$tap_tmp/case" "$tap_tmp/crash"
fi
kdump_before=:

# debug NAME CAUSE COMM PATTERN BEFORE TROUBLE OPTIONS...: like each(), but with the debug kernel, which reports
# functions that sleep or take a wrong lock during a panic. The stack trace of the panic does not count as a report.
debug() {
	wanted "debug, $1" && [ -e "$O/root/kernel-debug/vmlinuz" ] || return 0
	_what="debug, $1" _cause=$2 _comm=$3 _pattern=$4 _before=$5 _trouble=$6; shift 6
	make -s -C "$top/tests/driver" O="$O" KVER=debug guest >&2 || exit 1
	crash "$_what" "$tap_tmp/case" "$_before" "$_trouble" --kernel debug --reset warm "$@"
	# KASAN and lockdep call several functions for each function of the kernel, so the number of calls after the
	# fault varies
	small=yes
	found "$_what" "$tap_tmp/case" "$_cause" "$_comm" "$_pattern"
	small=no
	# Remove the messages that the test provokes, because they are not faults
	sed -E '/Call Trace|Unable to handle kernel .* virtual address|Oops \[#1\]|BUG: soft lockup - CPU|INFO: task trouble-/d' \
		"$tap_tmp/case/console" >"$tap_tmp/console"
	quiet "$_what"
	rm -rf "$tap_tmp/case"
}
debug locks "panic: locks: a dead CPU holds *" insmod "guilty_of_locks" : "$hold_locks" --harts 2 --topology funnel \
	--append panic=1
debug oops "oops: Unable to handle kernel *" insmod "guilty_oops" : "$insmod=oops" --topology sram \
	--append "panic=1 oops=panic"
debug "hung task" "hung task: the task is blocked for too long" trouble-one "guilty_wait" \
	"echo 2 >/proc/sys/kernel/hung_task_timeout_secs" "$insmod=deadlock; sleep 60; reboot -f" --harts 2
debug "soft lockup" "panic: softlockup: hung tasks" insmod "guilty_lockup" \
	"echo 4 >/proc/sys/kernel/watchdog_thresh; echo 1 >/proc/sys/kernel/softlockup_panic" "$insmod=lockup" --append panic=1
debug reboot "reboot" reboot "__do_sys_reboot" : "reboot -f" --harts 2 --topology sram
debug SysRq "SysRq" sh "__handle_sysrq" : "echo y >/proc/sysrq-trigger; sleep 1; reboot -f" --harts 2 --topology funnel
debug user "user: enough" sh "trigger_store" : 'echo enough >$F/trigger; sleep 1; reboot -f' --harts 2
crash_timeout=300

if wanted damaged; then
	make -C "$top" tool >"$tap_tmp/make" 2>&1 || exit 1
	flight_build || exit 1
	damaged 10000 "${SEED:-7}"
fi
plan $tap_n
done_testing
