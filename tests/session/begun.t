#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check the calls of recordings that begin inside of calls, or that stop and restart at random. Three conditions must be
# true. The outermost calls of a thread take no longer than the thread. The tree of calls equals the stacks of the
# exports, which are computed from the times of calls. The instructions of each function equal the instructions that
# ntrace counts without calls.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
need_tool qemu-riscv64-static qemu-user-static
cd "$tap_tmp" || exit
gcc -D_GNU_SOURCE -O2 -I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" -o stacks "$top/tests/session/stacks.c" \
	"$O/lib/libntrace-session.a" "$O/lib/libntrace.a" -ldw -lelf -lzstd -lpthread || exit 1

# make test runs three programs that use their stacks in different ways. The size of a program is the length of its
# list of instructions
programs=$(by_size "coroutine-recursion longjmp generators" "callbacks coroutine-jr coroutine-recursion coroutine-ret generators
	longjmp longjmp-recursion recursion setcontext setjmp-loop siglongjmp swapcontext tail tree")

sums() { awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (k in sum) print k, sum[k] }' | LC_ALL=C sort; }
by_function() { sed -n 's/^{"function": "\([^"]*\)".*"self_insns": \([0-9]*\).*/\1 \2/p' | grep -v ' 0$' | sums; }

# cut_agrees PROGRAM WHAT SEED: make a recording without the instructions that begun.py removes, and check that all
# numbers of the recording agree. WHAT is "start" or "stops", as for begun.py
cut_agrees() {
	python3 "$top/tests/session/begun.py" "$2" "$3" <"$1.pcs" >cut &&
		"$O/bin/ntrace" encode --timestamp --elf "$1" --pcs cut -o trace &&
		python3 "$top/tests/session/mkrecording.py" --timestamp "$1" trace perf.data && ./stacks perf.data &&
		./stacks perf.data paths >paths && "$O/bin/ntrace" export --format folded --insns -i perf.data -o folded || return
	# the outermost call must have started before the recording
	"$O/bin/ntrace" report --stack -i perf.data | grep -qE '^ +[0-9.]+ .* [0-9]+\+[1-9][0-9]* +[0-9]+  ' || return
	sums <paths >got && sed 's/^[^;]*;//' folded | sums | diff got - || return
	"$O/bin/ntrace" report --json -i perf.data >calls && "$O/bin/ntrace" report --functions --json -i perf.data >insns || return
	by_function <calls >got && by_function <insns | diff got -
}

program_agrees() {
	[ -f "$1.pcs" ] || { riscv64-linux-gnu-gcc -O1 -static -o "$1" "$top/tests/session/programs/$1.c" &&
		"$top/tests/harness/pcs" "$1.pcs" "$1" >/dev/null; } || return
	for seed in $(by_size 2 "1 2 3 4 5"); do
		cut_agrees "$1" "$2" "$seed" || { echo "# seed $seed"; return 1; }
	done
}

# Make a recording with more open calls of signal handlers than ntrace stores. Each start of the trace looks like a
# signal
many_signals() {
	python3 "$top/tests/session/mkrecording.py" --timestamp "$top/samples/primes" "$top/samples/primes.nt" perf.data 600 && ./stacks perf.data || return
	"$O/bin/ntrace" report --json -i perf.data | by_function >got
	"$O/bin/ntrace" report --functions --json -i perf.data | by_function | diff got -
}

# Make a recording of threads that take turns on two CPUs, and that seldom execute a branch
turns() {
	calls_program && python3 "$top/tests/session/switched.py" make calls perf.data && ./stacks perf.data &&
		python3 "$top/tests/session/switched.py" "$O/bin/ntrace" perf.data
}

# Make a recording of a kernel whose function inner is named __switch_to. The emulated board pauses between the write of
# a thread id, the event sched_switch and the return of __switch_to, because the host then runs other programs.
paused_turns() {
	mkdir -p paused/kcore_dir && calls_program -Wl,-Ttext=0xffffffff80000000 -o paused/kcore_dir/kcore &&
		"${CROSS_COMPILE:-riscv64-linux-gnu-}nm" paused/kcore_dir/kcore | sed 's/ inner/ __switch_to/' >paused/kcore_dir/kallsyms &&
		python3 "$top/tests/session/switched.py" make calls paused/data paused &&
		python3 "$top/tests/session/switched.py" "$O/bin/ntrace" paused
}

# Coroutines switch by "jalr t0, ra", which the specification takes for a return and a call. A trace that stops at each
# switch must have as many calls as one that does not stop
stops_at_swaps() {
	sed 's/jr ra/jalr t0, ra/' "$top/tests/session/programs/coroutine-ret.c" >swap.c &&
		riscv64-linux-gnu-gcc -O1 -static -o swap swap.c && "$top/tests/harness/pcs" swap.pcs swap >/dev/null || return
	swap=$(riscv64-linux-gnu-objdump -d --no-show-raw-insn swap | awk '/jalr\tt0,ra/ { sub(":", "", $1); print "0x" $1 }')
	for stop in "" "$swap"; do
		awk -v stop="$stop" '{ print } $1 == stop { print "-" }' swap.pcs >cut && "$O/bin/ntrace" encode --timestamp --elf swap --pcs cut -o trace &&
			python3 "$top/tests/session/mkrecording.py" --timestamp swap trace perf.data &&
			"$O/bin/ntrace" report --json -i perf.data >"calls$stop" && grep -q '"function": "work".*"calls": 60,' "calls$stop" || return
	done
	[ "$swap" ] && diff calls "calls$swap"
}

plan "$(by_size 10 32)"
ok "a trace that starts 600 times" many_signals
ok "a trace that stops at each swap of coroutines" stops_at_swaps
ok "threads have the time on a CPU that perf's records of switches have" turns
ok "threads have the time on a CPU that the events sched_switch have, even if the board pauses at each switch" paused_turns
for program in $programs; do
	ok "$program: the recording begins inside of calls" program_agrees "$program" start
	ok "$program: the trace stops and starts at random" program_agrees "$program" stops
done
done_testing
