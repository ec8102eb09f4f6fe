#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the replay of recordings. At random positions, in steps, and at each execution of an address, a replay must
# report the same PC, thread, time and callers as one pass over the whole recording.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
ntrace=$O/bin/ntrace
gcc -D_GNU_SOURCE -g -O1 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -fsanitize=address,undefined \
	-I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" -o "$tap_tmp/replay" "$top/tests/session/replay.c" \
	"$O/lib/libntrace-session.a" "$O/lib/libntrace.a" -ldw -lelf -lzstd -lpthread || exit 1
recordings='good rounds late-mapping snapshot partial two-sources lost-kept lost-sink switches missing frames clock-anew'
recording $recordings || exit 1
cd "$tap_tmp" || exit 1
riscv64-linux-gnu-gcc -g -O1 -static -o requests "$top/tests/session/requests.c" &&
	"$top/tests/harness/pcs" pcs ./requests >/dev/null || exit 1

# replay NAME SEGMENT: print the differences between one pass over the recording NAME and a replay with segments of
# SEGMENT bytes
replay() { ./replay "$1.data" "$2" >out 2>&1 && grep -q ' 0 wrong$' out || { cat out; return 1; }; }

# encoded NAME OPTIONS: make a recording of all instructions that a program executed
encoded() {
	name=$1
	shift
	"$ntrace" encode --elf "${program:-requests}" --pcs pcs -o "$name.nt" ${times---timestamp} ${dialect:+--dialect sifive} "$@" &&
		python3 "$top/tests/session/mkrecording.py" ${times---timestamp} ${dialect:+--dialect 1} "${program:-requests}" "$name.nt" "$name.data"
}

# one_program FILE: replay a program in small segments
one_program() {
	program=${1##*/}
	riscv64-linux-gnu-gcc -g -O1 -static -o "$program" "$top/tests/session/$1.c" &&
		"$top/tests/harness/pcs" pcs "./$program" >/dev/null && encoded "$program" --sync-mode 1 --sync-max 2 &&
		replay "$program" 100
}

# main_ended FILE: replay a program, and check that its report has one call of main, which has ended
main_ended() {
	one_program "$1" && "$ntrace" report --json -i "$program.data" | grep '"function": "main".*"calls": 1, "open": 0,' >/dev/null
}

programs='recursion alloca coroutine-recursion setjmp-loop'
plan 28
for name in $recordings; do
	ok "the recording $name" replay "$name" 10
done
ok "a program in segments of 1,000 bytes, HTM" eval "encoded htm --sync-mode 1 --sync-max 2 && replay htm 1000"
ok "a program in segments of 1,000 bytes, BTM" eval "encoded btm --sync-mode 1 --sync-max 2 --mode btm && replay btm 1000"
# small NAME: replay the recording NAME, which must have many segments
small() { replay "$1" 1000 && [ "$(sed -n 's/ segments.*//p' out)" -gt 50 ]; }
ok "a program in segments of 1,000 bytes, without times" eval "times= && encoded timeless --sync-mode 1 --sync-max 2 && small timeless"
unset times
ok "a program in segments of 1,000 bytes, with messages of SiFive" eval "dialect=1 && encoded sifive --sync-mode 1 --sync-max 2 && small sifive"
dialect=
main=$(riscv64-linux-gnu-nm requests | awk '$3 == "main" { print $1 }')
ok "the index finds the call of main, although the loop of main executes in most segments" eval "ONCE=$main replay htm 1000"
# often() ends, and rarely() begins, in the same 8 bytes. often() ends with a jump to code without a symbol, such as an
# entry of a PLT. The index of the segments must not contain calls of often(), because they return in their segments
cat >beside.c <<-'E2'
	#include <stdlib.h>
	void often(void), rarely(void);
	asm(".option rvc\n.globl often, rarely\n"
	    ".balign 8\noften: lla t1, .Lentry\nc.jr t1\nrarely: c.addi a0, 2\nc.jr ra\n.size rarely, .-rarely\n"
	    "end: c.addi a0, 1\nc.jr ra\n.size end, .-end\n"
	    ".section .entry, \"ax\"\n.Lentry: lla t3, end\njalr t1, t3\n.text");
	int main(void)
	{
		for (int i = 0; i < 20000; i++) {
			often();
			if (i == 9000)
				rarely();
			free(malloc(i % 99));
		}
	}
E2
beside() {
	riscv64-linux-gnu-gcc -g -O1 -static -o beside beside.c && "$top/tests/harness/pcs" pcs ./beside >/dev/null &&
		program=beside encoded beside --sync-mode 1 --sync-max 2 &&
		ONCE=$(riscv64-linux-gnu-nm beside | awk '$3 == "rarely" { print $1 }') replay beside 1000 &&
		[ "$(sed -n 's/.*, \([0-9]*\) events.*/\1/p' out)" -lt 1000 ]
}
ok "the index finds the call of a function beside another function that executes often" beside
ok "a program in one segment" replay htm 0x1000000
ok "a segment is not larger than the distance of two messages with SYNC requires" small htm
# In a long loop, the first message after SYNC is ResourceFull
cat >loop.c <<-'E2'
	__attribute__((noinline)) static unsigned work(unsigned n)
	{
		for (unsigned i = 0; i < 50000; i++)
			n = n & 1 ? n * 5 + i : n >> 1;
		return n;
	}
	int main(void) { return work(1) + work(2) == 0; }
E2
loop() {
	program=loop
	riscv64-linux-gnu-gcc -g -O1 -fno-if-conversion -static -o loop loop.c && "$top/tests/harness/pcs" pcs ./loop >/dev/null &&
		encoded loop --sync-mode 1 --sync-max 0 && small loop
}
ok "a long loop in segments of 1,000 bytes" loop
for name in $programs; do
	ok "the program $name in segments of 100 bytes" main_ended "programs/$name"
done
# The index helps to find callers only if a thread has one stack. These programs use several stacks, so their replays
# decode more segments than replay.c allows. SWITCHES=1 disables this check
ok "coroutines whose function contains the switch" eval "SWITCHES=1 main_ended programs/inline-switch"
ok "longjmp() on several stacks" eval "SWITCHES=1 one_program switches"
# The function also jumps, on the same stack, to the address to which the switch of stacks jumps. This jump must not
# hide that the switch continues on another stack
coroutines_differ() {
	"$ntrace" export --format folded -i inline-switch.data -o folded && grep -q ';f0;body;work;leaf' folded &&
		grep -q ';f1;body;deeper;work;leaf' folded && ! grep ';f1;body;work\|f0;body;deeper' folded
}
ok "the calls of coroutines whose function contains the switch" coroutines_differ
done_testing
