#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test address filters, pause and resume, events of a cgroup, and snapshots, which perf requests from the driver.
# Repeat all tests as an unprivileged user.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"

kernel=$(kernels "${KERNEL:-new}")
need_perf_and_work "$kernel"
build_tool
cat >"$tap_tmp/guest/script" <<'E2'
cd /tmp
work=/usr/lib/ntrace/work
try() { n=$1; shift; perf record -B --no-bpf-event -o $n.data "$@" >$n.log 2>&1; echo "$n status $?"; tail -n 3 $n.log | sed "s/^/# $n: /"; }
try plain -m,4M -e ntrace//u -- $work 1000
try filter -m,4M -e ntrace//u --filter "filter inside @ $work" -- $work 1000
try between -m,4M -e ntrace//u --filter "start inside @ $work, stop outside @ $work" -- $work 1000
try from -m,4M -e ntrace//u --filter "start outside @ $work" -- $work 1000
try two -m,4M -e ntrace//u --filter "start inside @ $work, stop outside @ $work, stop main @ $work" -- $work 1000
mkdir -p cg && mount -t cgroup -o perf_event none cg && mkdir -p cg/some
try btm -m,4M -e ntrace/mode=3/u -- $work 1000
config=$(perf evlist -v -i btm.data | sed -n 's/^ntrace.*[{ ]config: \(0x[0-9a-f]*\).*/\1/p')
# Print config without trTeInstMode (bits 4:2). All other bits must have their default values.
printf 'btm config %x\n' $((config & ~0x1c))
printf 'default config %x mode %d\n' $(($(cat /sys/bus/event_source/devices/ntrace/cpu0/default_config) & ~0x1c)) $((config >> 2 & 7))
# This command does not use the driver. If it fails, the guest has a fault.
try control -a -e cpu-clock -G some -- true
cat >run.sh <<E3
echo \$\$ >/tmp/cg/some/cgroup.procs; exec $work 1000
E3
try cgroup -m,4M -a -e ntrace//u -G some -- sh -c "sh /tmp/run.sh; $work 10; sleep 0.1"
try snapshot -m,64K -Se -e ntrace//u -- $work 20000
# The guest decodes the traces of the kernel, because only the guest has the kernel's code and symbols.
echo 0 >/proc/sys/kernel/kptr_restrict
try paused -m,4M -e '{ntrace/aux-action=start-paused/k,syscalls:sys_enter_newuname/aux-action=resume/,syscalls:sys_exit_newuname/aux-action=pause/}' -- $work 1000
if grep -q 'unknown term .aux-action' paused.log; then
	echo "paused unknown"
else
	try kernel -m,4M -e ntrace//k -- $work 1000
	for n in paused kernel; do perf script -i $n.data --itrace=b -F comm,ip,sym,addr 2>>$n.log | grep -vw 0 >$n.branches; done
	echo "paused uname $(grep -c newuname paused.branches)"
	echo "paused all $(grep -c . paused.branches)"
	echo "kernel all $(grep -c . kernel.branches)"
fi
echo 2 >/proc/sys/kernel/kptr_restrict
echo 2 >/proc/sys/kernel/perf_event_paranoid
mkdir -p /tmp/user && chmod 777 /tmp/user
cp $work /tmp/user/work
busybox su user -c "cd /tmp/user && perf record -B --no-bpf-event -m,32K -o u.data -e ntrace//u -- ./work 100 >u.log 2>&1; echo user status \$?; tail -n 3 u.log | sed 's/^/# user: /'"
cp plain.data filter.data between.data from.data btm.data cgroup.data snapshot.data user/u.data /out
E2
"$top/tools/board/board" run --kernel "$kernel" --harts 1 --console "$tap_tmp/console" --out "$tap_tmp/guest" -- \
	"$hide_symbols; sh /out/script" >"$tap_tmp/said" 2>"$tap_tmp/err"
sed 's/^/# /' "$tap_tmp/said"

# Decode on the host, because perf in the guest would take a second for each recording.
mkdir -p "$tap_tmp/root/usr/lib/ntrace" "$tap_tmp/root/tmp/user"
cp "$O/tests/guest/$kernel/work" "$tap_tmp/root/usr/lib/ntrace/"
cp "$O/tests/guest/$kernel/work" "$tap_tmp/root/tmp/user/"
for n in plain filter between from btm cgroup snapshot u; do
	"$O/bin/ntrace" script --symfs "$tap_tmp/root" -i "$tap_tmp/guest/$n.data" -F comm,ip,sym,addr >"$tap_tmp/$n.branches" 2>"$tap_tmp/$n.err"
done
# count NAME PATTERN: print how many branches have PATTERN. Leave out the lines at which tracing starts or ends, because
# each interrupt ends the tracing of user mode.
count() { grep -vw 0 "$tap_tmp/$1.branches" | grep -c "$2"; }
# value NAME WHAT: print the value that the guest printed as "NAME WHAT VALUE"
value() { sed -n "s/^$1 $2 //p" "$tap_tmp/said"; }
is "a program is recorded" "$(value plain status)" 0
ok "a program is recorded: both functions are in the trace" [ "$(count plain ' inside')" -gt 1000 -a "$(count plain ' outside')" -gt 500 ]
is "address filter: perf succeeds" "$(value filter status)" 0
ok "address filter: the function is in the trace" [ "$(count filter ' inside')" -gt 1000 ]
is "address filter: other code is not in the trace" "$(count filter ' outside')" 0
is "from start to stop: perf succeeds" "$(value between status)" 0
ok "from start to stop: all code between them is in the trace" [ "$(count between ' inside')" -ge "$(count filter ' inside')" ]
is "from start to stop: no code after the stop is in the trace" "$(count between ' outside [^>]* main')" 0
is "from a start on: perf succeeds" "$(value from status)" 0
ok "from a start on: all later code and no earlier code is in the trace" [ "$(count from ' main')" -gt 1000 -a "$(count from '_start\|__libc_start')" -lt 3 ]
ok "two stops are refused" [ "$(value two status)" != 0 ]
is "mode=3: perf succeeds" "$(value btm status)" 0
ok "mode=3: the function is in the trace" [ "$(count btm ' inside')" -gt 1000 ]
is "mode=3: the config has mode 3, and all other bits have their default" "$(sed -n 's/^default config //p' "$tap_tmp/said")" "$(value btm config) mode 3"
if grep -q '^paused unknown' "$tap_tmp/said"; then
	skip "pause and resume" "this perf has no aux-action"
else
	is "pause and resume: perf succeeds" "$(value paused status)" 0
	ok "pause and resume: the system call is in the trace" [ "$(value paused uname)" -gt 0 ]
	ok "pause and resume: there is less trace than without" [ "$(value paused all)" -lt "$(value kernel all)" ]
fi
if [ "$(value control status)" != 0 ]; then
	skip "cgroup" "the guest cannot count the clock of a cgroup either"
else
	is "cgroup: perf succeeds" "$(value cgroup status)" 0
	# 1,000 rounds ran in the cgroup, and 10 rounds ran outside of the cgroup.
	is "cgroup: exactly the code that ran in the cgroup was traced" "$(count cgroup ' outside')" "$(count plain ' outside')"
fi
is "snapshot at the end: perf succeeds" "$(value snapshot status)" 0
ok "snapshot at the end: there is trace" [ "$(count snapshot .)" -gt 1000 ]
is "unprivileged: perf succeeds" "$(value user status)" 0
ok "unprivileged: there is trace" [ "$(count u .)" -gt 100 ]
is "unprivileged: no address of the kernel in it" "$(grep -c ffffffff "$tap_tmp/u.branches")" 0
quiet "perf"
plan $tap_n
done_testing
