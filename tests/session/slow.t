#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check the reasons that `ntrace slow` prints. mkslow.py makes a recording in which each slow call has another reason.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
cd "$tap_tmp" || exit
for part in program:0x10000 kernel:0xffffffff80000000; do
	"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -nostdlib -static -Wl,-e,_start -Wl,-Ttext="${part#*:}" -o "${part%:*}" \
		"$top/tests/session/slow.S" || exit
done
python3 "$top/tests/session/mkslow.py" program kernel recording || exit
ntrace() { command=$1; shift; "$O/bin/ntrace" "$command" -i recording "$@" 2>&1; }

# reason NTH: print the position of the NTH slowest call, and the reasons
reason() {
	ntrace slow work --nth "$1" | sed -n -e 's/^\(call [0-9]* of [0-9]*\), in thread 1234, from .*/\1/p' -e '/^ .* call  .*call$/q' -e 's/^  \([^ ].*\)/\1/p'
}
# tree NTH: print the function of the NTH slowest call and its callees, with the number of calls of each
tree() { ntrace slow work --nth "$1" --limit 0 | sed -n 's/^ *[0-9.]* [num]*s *\([0-9]* x\) .* \(  *[(a-z].*\)/\1 \2/p' | sed 's/  */ /g'; }

# sums: check that the times of all functions, threads and kinds of code of the recording add up
sums() {
	python3 - "$O/bin/ntrace" <<-'E2'
		import json, re, subprocess, sys
		def run(*args):
		    return subprocess.run([sys.argv[1], *args, '-i', 'recording'], capture_output=True, text=True, check=True).stdout
		def rows(member, *args):
		    return [row for row in map(json.loads, run(*args, '--json', '--limit', '0').splitlines()) if member in row]
		def total(member, table):
		    return sum(row[member] for row in table)
		threads, functions = rows('tid', 'info'), rows('self_ns', 'report')
		assert total('self_ns', functions) == total('on_cpu_ns', threads) > 0
		assert total('self_insns', functions) == total('instructions', threads) > 0
		for thread in threads:
		    table = rows('self_ns', 'report', '--tid', str(thread['tid']))
		    ran = total('self_ns', table)
		    print(thread['comm'], 'ran', ran, 'ns, longest function', max(row['on_cpu_ns'] for row in table))
		    # The table of functions adds the time of a context switch to the thread that ran before it
		    assert abs(ran - thread['on_cpu_ns']) <= 4000
		    assert all(row['on_cpu_ns'] <= ran and row['self_ns'] <= row['on_cpu_ns'] <= row['total_ns'] for row in table)
		units = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}
		line = re.search(r'^CPU 0: (.*)', run('report'), re.M)[1]
		length, *parts = (float(number) * units[unit] for number, unit in re.findall(r'([0-9.]+) ([num]?s)\b', line))
		print(line)
		assert len(parts) >= 3 and abs(length - sum(parts)) <= length / 1000
	E2
}

plan 31
ok "the times of functions, threads and kinds of code add up" sums
is "slow: the thread slept" "$(reason 1)" "call 7 of 12
502 us in which its thread did not run; in the median call, 0 ns"
is "slow: the same instructions took longer, for an unknown reason" "$(reason 2)" "call 4 of 12
100 us in 7 instructions of the function and its callees; in the median call, 300 ns in 7
The same number of instructions took longer. Memory, firmware or untraced kernel code delayed them, or the trace has too few timestamps to tell."
is "slow: more instructions were executed" "$(reason 3)" "call 6 of 12
70.2 us in 1007 instructions of the function and its callees; in the median call, 300 ns in 7"
is "slow: interrupts in exceptions are not part of the exceptions, whose causes are counted" "$(reason 4)" "call 5 of 12
4.30 us in 5 exceptions (3 do_page_fault, 2 do_trap_insn_illegal); the median call had none
40.8 us in 4 interrupts; the median call had none"
is "slow: another function was called" "$(reason 5)" "call 8 of 12
it called extra, which took 40.0 us; the median call did not call that
40.2 us in 7 instructions of the function and its callees; in the median call, 300 ns in 7"
is "slow: no reason for a call that took as long as the median call" "$(reason 6)" "call 12 of 12"
is "slow --json has the position of the call" "$(ntrace slow work --json --nth 4 | sed -n 's/.*"number": \([0-9]*\),.*/\1/p')" 5
is "slow: an interrupt and an exception of one function are two rows" "$(tree 4)" "1 x work
5 x (exception) handle_exception
3 x do_page_fault > (interrupt) handle_exception > do_irq
2 x do_trap_insn_illegal
1 x (interrupt) handle_exception > do_irq
1 x usual"
is "report --callees: a function has one row for the calls by exceptions, and another for those by interrupts" \
	"$(ntrace report --callees handle_exception | sed -n 's/  */ /g; s/^.* \([0-9+]*\) [0-9]* \(([a-z]*) handle_exception\).*/\1 \2/p')" "6 (exception) handle_exception
1+1 (interrupt) handle_exception"
is "slow: calls by different kinds of traps are compared" "$(ntrace slow handle_exception | sed -n 's/  */ /g; s/^ .* 1 x .* 1 x (\(.*\),.*/\1/p')" \
	"exception) handle_exception"
is "report --callers: only functions that a trap has entered are marked" \
	"$(ntrace report --callers handle_exception | grep -E '\((exception|interrupt)\) (work|_start)')" ""

# The recording has two threads. Two calls of do_trap_insn_illegal have a duration of 0
is "report: the threads are before the functions, the longest first" "$(ntrace report | sed -n '/ thread /,/^$/s/^ *//p' | sed 's/  */ /g')" \
	"ran insns thread (--tid N shows the functions of one thread)
500 us 7 other (2234)
275 us 1181 slow (1234)"
is "report: no threads in a report of one thread" "$(ntrace report --tid 1234 | grep -c ' thread ')" 0
is "report: why a function has instructions and no time" "$(ntrace report | sed -n 's/^.* 0 ns .* 6  do_tr.*/0 ns/p; s/^0 ns: .*, //p') $(ntrace report --stack | grep -c "^0 ns: ")" \
	"0 ns
because only messages of the trace have times 1"
# 5004 ticks after the kernel had chosen thread 2234, it chose the next thread. Thread 2234 still executed code for 20
# ticks, until the kernel switched to the next thread
is "a thread ran from the time at which it was chosen until the next thread was chosen, as in sched_switch" \
	"$(ntrace info --json | sed -n 's/.*"tid": 2234,.*"on_cpu_ns": \([0-9]*\),.*/\1/p')" 500400
# The program and the kernel are two objects. Each command must print the same lines for both objects together as
# without --object. Do not compare the callers in a line, because they may be in the other object
kernel='[kernel.kallsyms]'
rows() { ntrace "$@" | sed -n 's/.*  \([_a-z]*\) \[.*/\1/p' | sort; }
is "report --object: the functions of a file, by the end of its path" "$(rows report --object "${tap_tmp##*/}/program" | tr '\n' ' ')" "_start extra usual work "
is "report --object: the functions of the kernel" "$(rows report --object "$kernel" | tr '\n' ' ')" \
	"__switch_to do_irq do_page_fault do_trap_insn_illegal handle_exception sleep "
is "--object does not select a file by a part of its name" "$(ntrace report --object gram | grep -c 'nothing matched with --object gram.*code of .*/program')" 1
for form in script "script --calls" "script --insns" "query --limit 0 *"; do
	set -f
	is "$form --object: each line belongs to one of two objects" "$( (ntrace $form --object 'prog*'; ntrace $form --object "$kernel") | sed 's/ < .*//' | sort | md5sum)" \
		"$(ntrace $form | sed 's/ < .*//' | sort | md5sum)"
	set +f
done
is "report --insns --object: the sum of both objects" \
	"$( (ntrace report --insns --limit 0 --object program; ntrace report --insns --limit 0 --object "$kernel") | awk '$1 ~ /^[0-9]+$/ && $2 ~ /%|[.]/ { sum += $1 } END { print sum }')" \
	"$(ntrace report --insns --limit 0 | awk '$1 ~ /^[0-9]+$/ && $2 ~ /%|[.]/ { sum += $1 } END { print sum }')"
is "slow --object: a function of another file is not found" "$(ntrace slow work --object "$kernel" | grep -c 'no call of work')" 1
is "diff --comm: only the threads of that name are compared" "$("$O/bin/ntrace" diff --kernel --comm 'oth*' recording recording)" "No difference in 1 thread"
is "diff --object: only the functions of the file are compared" "$("$O/bin/ntrace" diff --kernel --object "$kernel" recording recording)" "No function differs"
# In the recording, 3,000 calls of deep are nested, and the thread was switched out while 1,000 and 2,000 of them were open
python3 "$top/tests/session/mkslow.py" program kernel recording 3000 || exit
ok "the times add up in a recursion of 3,000 calls" sums
# exceptions JSON: print each exception with its depth, and the number of depths at which function deep was called
exceptions() { sed -n 's/{"function": "\([a-z_]*\)",.*"entry": "\([a-z]*\)", "depth": \([0-9]*\), "calls": \([0-9]*\), "open": 0,.*/\1 \2 \3 \4/p' |
	awk '$1 == "deep" && $4 == 1 { nr++ } $2 == "exception" { print $3, $4 } END { print nr }' | sort -n; }
is "slow: all of 3,000 nested calls are known after a switch to another thread" "$(ntrace slow work --json | exceptions)" \
	"1002 1
2002 1
3000"
is "report --stack: all of 3,000 nested calls are known after a switch to another thread" \
	"$(ntrace report --stack --limit 0 | sed -n 's/  */ /g; s/^.* \([0-9+]*\) [0-9]* \(work\|deep > ... > deep\), .*/\1 \2/p')" "3 work
1 deep > ... > deep
1 deep > ... > deep"

# In one call of work, one of ten calls of leaf is long. Its sum must not look like that of ten equal calls
cat >one.c <<-'E2'
	#define NOINLINE __attribute__((noinline, noclone))
	NOINLINE void leaf(int n) { while (n--) asm volatile("nop"); }
	NOINLINE void work(int n) { for (int i = 0; i < 10; i++) leaf(i == 5 ? n : 1); }
	int main(void) { for (int i = 0; i < 5; i++) work(i == 3 ? 3000 : 1); }
E2
one_long() {
	riscv64-linux-gnu-gcc -g -O1 -static -o one one.c && "$top/tests/harness/pcs" pcs ./one >/dev/null &&
		"$O/bin/ntrace" encode --elf one --pcs pcs -o nt --timestamp &&
		python3 "$top/tests/session/mkrecording.py" --timestamp one nt one.data &&
		"$O/bin/ntrace" slow -i one.data --limit 0 work >said && cat said &&
		grep -q '10 x .* leaf, one of them for ' said && ! grep -q 'work, one of' said
}
if command -v qemu-riscv64-static >/dev/null; then
	ok "slow: a call that is much longer than the others of its row is named" one_long
else
	skip "slow: a call that is much longer than the others of its row is named" "there is no qemu-riscv64-static"
fi
done_testing
