#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test `ntrace report --functions, --lines, --inline and --insns`. Counts must equal the instructions
# that QEMU executed, and lines and inlined functions must equal the output of binutils' addr2line.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
ntrace=$O/bin/ntrace
program=$tap_tmp/lines
riscv64-linux-gnu-gcc -O2 -g -static -o "$program" "$top/tests/session/lines.c" &&
	"$top/tests/harness/pcs" "$tap_tmp/pcs" "$program" &&
	"$ntrace" encode --elf "$program" --pcs "$tap_tmp/pcs" -o "$tap_tmp/nt" &&
	python3 "$top/tests/session/mkrecording.py" "$program" "$tap_tmp/nt" "$tap_tmp/perf.data" || exit 1

counts() { # WHAT OPTION...
	what=$1; shift
	"$ntrace" report "$@" --limit 0 -i "$tap_tmp/perf.data" >"$tap_tmp/report" &&
		python3 "$top/tests/session/profile.py" "$what" "$program" "$tap_tmp/pcs" <"$tap_tmp/report"
}
first() { "$ntrace" report -i "$tap_tmp/perf.data" "$@" | sed -n 4p; }

# The tree must have the same calls as the table. The tree of one function must have the calls that this function
# made.
tree() {
	gcc -D_GNU_SOURCE -O2 -I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" -o "$tap_tmp/stacks" \
		"$top/tests/session/stacks.c" "$O/lib/libntrace-session.a" "$O/lib/libntrace.a" -ldw -lelf -lzstd -lpthread &&
		"$tap_tmp/stacks" "$tap_tmp/perf.data"
}
tree_is() { # compare the calls and the names in each line; a function that was inlined into main() calls work()
	"$ntrace" report --stack --function main -i "$tap_tmp/perf.data" |
		sed -nE 's/^ *0 ns +(0 ns|-) +([0-9]+) +[0-9]+ +(.*)/\2 \3/p' >"$tap_tmp/got"
	printf '%s\n' '1 main' '20 (inlined) helper > work' '20 recurse' | diff - "$tap_tmp/got"
}

# one_unit FUNCTIONS: record a program that calls FUNCTIONS functions of one source file
one_unit() {
	awk -v nr="$1" 'BEGIN {
		print "volatile int v;\nstatic inline __attribute__((always_inline)) int twice(int x) { return v += x, v * 2; }"
		for (i = 0; i < nr; i++)
			print "__attribute__((noinline)) int f" i "(int x) { v = x; if (x & 1) v = twice(x); return v ^ " i "; }"
		print "int main(void) {"
		for (i = 0; i < nr; i++)
			print "f" i "(" i ");"
		print "return 0; }" }' >"$tap_tmp/unit.c" &&
		riscv64-linux-gnu-gcc -static -g -O2 -o "$tap_tmp/unit" "$tap_tmp/unit.c" &&
		"$top/tests/harness/pcs" "$tap_tmp/unit.pcs" "$tap_tmp/unit" &&
		"$ntrace" encode --elf "$tap_tmp/unit" --pcs "$tap_tmp/unit.pcs" -o "$tap_tmp/unit.nt" &&
		python3 "$top/tests/session/mkrecording.py" "$tap_tmp/unit" "$tap_tmp/unit.nt" "$tap_tmp/unit.data"
}
# at_most TIMES COMMAND COMMAND: the first command takes at most TIMES the processor time of the second
at_most() {
	python3 -c '
import os, subprocess, sys
def seconds(command):
    before = os.times().children_user
    subprocess.run(command.split(), check=True, stdout=subprocess.DEVNULL)
    return os.times().children_user - before
times, a, b = int(sys.argv[1]), seconds(sys.argv[2]), seconds(sys.argv[3])
print(f"{a:.2f} s and {b:.2f} s")
sys.exit(a > times * max(b, 0.01))' "$@"
}

plan 11
ok "report --stack prints the tree of all calls" tree
ok "report --stack prints the tree of one function" tree_is
ok "report --insns counts each instruction" counts insns --insns
ok "report --insns --tid counts each instruction of a thread" counts insns --insns --tid 1234
ok "report --functions counts each function" counts functions --functions
ok "report --lines counts each line" counts lines --lines
ok "report --inline counts each line, and the inlined lines by their caller" counts inline --inline
# If each line were searched in its whole compilation unit, this would take over 100 times as long
ok "lines of a unit of 1500 functions take at most 30 times as long as its functions" \
	eval 'one_unit 1500 && at_most 30 "$ntrace report --lines -i $tap_tmp/unit.data" \
	"$ntrace report --functions -i $tap_tmp/unit.data"'
ok "report --function selects one function" [ "$("$ntrace" report --functions --function work -i "$tap_tmp/perf.data" | wc -l)" -eq 4 ]
is "another thread executed nothing" "$("$ntrace" report --functions --tid 99 -i "$tap_tmp/perf.data" | head -n 1)" \
	"0 instructions"
is "report --functions prints the number of all instructions" "$("$ntrace" report --functions -i "$tap_tmp/perf.data" | head -n 1)" \
	"$(wc -l <"$tap_tmp/pcs") instructions"
done_testing
