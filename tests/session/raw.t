#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test that all views print the same for files of trace bytes (--raw) and for a recording of the same
# trace, with or without options for the encoder.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
calls_program -g && recording good two-sources || exit 1
cd "$tap_tmp" || exit
# Copy the trace of each buffer in a recording to a file
cat >cut.py <<'E2'
import struct, sys
data, out = open(sys.argv[1], 'rb').read(), {}
at, size = struct.unpack_from('<QQ', data, 40)
end = at + size
while at < end:
    kind, _, length = struct.unpack_from('<IHH', data, at)
    if kind == 71:
        n, = struct.unpack_from('<Q', data, at + 8)
        cpu, = struct.unpack_from('<I', data, at + 40)
        out[cpu] = out.get(cpu, b'') + data[at + length:at + length + n]
        length += n
    at += length
for cpu in out:
    open(f'{sys.argv[2]}.{cpu}', 'wb').write(out[cpu])
E2
python3 cut.py good.data good && python3 cut.py two-sources.data two || exit 1
clock="--timestamp --freq 10000000"

# Remove fields that only a recording has, which are thread names, kernel symbols, and the time at which the last
# trace ended
plain() { sed -E 's/"(comm|pid|tid)": *("[^"]*"|[0-9]+),? ?//g; s/ *\[*kernel.kallsyms\]*(\+0x[0-9a-f]+)?/ KERNEL/g' | grep -v -e KERNEL -e ffffffff80000000 -e "not running" -e "^CPU" -e "slowest call" -e '^call .* in thread ' -e cob=; }
# same ARGUMENT...: check that the command prints the same for the recording and for the file of its trace bytes, and
# that the output is not empty
same() {
	"$ntrace" "$@" -i good.data 2>err | plain >wanted
	# shellcheck disable=SC2086
	"$ntrace" "$@" --raw good.0 --elf calls $clock 2>>err | plain >got
	cat err
	[ -s got ] && diff wanted got
}
written() { # KIND FILE ARGUMENT...
	"$ntrace" "$@" -o wanted -i good.data 2>err
	# shellcheck disable=SC2086
	"$ntrace" "$@" -o got --raw good.0 --elf calls $clock 2>>err
	cat err
	[ -s got ] && plain <wanted >wanted.plain && plain <got | diff wanted.plain -
}
# If no option describes the encoder, ntrace detects the settings of the encoder
detected() {
	"$ntrace" script --calls -F time,sym,dso --raw good.0 --elf calls --freq 10000000 2>err | tee got
	cat err
	grep -q "^ntrace: detected --timestamp .*--elf calls good.0" err && "$ntrace" script --calls -F time,sym,dso -i good.data | diff - got
}
# In raw trace of several sources, each SRC is a CPU
sources() {
	# Raw trace does not show that the program was started three times, so do not compare the calls of _start
	"$ntrace" script --calls -F time,sym,dso -i two-sources.data | grep -v _start | sort >wanted
	# shellcheck disable=SC2086
	"$ntrace" script --calls -F time,sym,dso --raw two.0 --elf calls --src-bits 4 $clock 2>err | grep -v _start | sort >got
	cat err
	[ -s got ] && diff wanted got && "$ntrace" report --cpu 1 -i two-sources.data | grep inner >wanted
	# shellcheck disable=SC2086
	"$ntrace" report --cpu 1 --raw two.0 --elf calls --src-bits 4 $clock | grep inner | diff wanted -
}
files() {
	"$ntrace" report --raw good.0 --raw good.0 --raw good.0 --elf calls $clock >got 2>err
	cat got err
	grep -q "^CPU 2:" got && grep -Eq '^ +9 .* outer' got
}
offset() {
	for at in 8000 40000; do
		"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -nostdlib -static -Wl,-Ttext=0x$at -o at-$at "$top/tests/perf/calls.S" || return
	done
	# shellcheck disable=SC2086
	"$ntrace" report --raw good.0 --elf at-40000 --elf at-8000@0x8000 $clock | tee got && grep -Eq '^ +3 .* outer' got
}
# The number of instructions in report and info must equal the number of lines of decode --pcs
counted() { # FILE ELF
	"$ntrace" decode --detect --pcs --elf "$2" "$1" 2>err | sort | uniq -c | awk '{ print $1, $2 }' | sort >pcs
	"$ntrace" report --insns --limit 0 --raw "$1" --elf "$2" 2>>err | sed -nE 's/^ *([0-9]+) .*(0x)?\b([0-9a-f]{5,}) .*/\1 0x\3/p' | sort >got
	[ "$(awk '{ n += $1 } END { print n }' pcs)" -gt 10 ] &&
		[ "$("$ntrace" info --raw "$1" --elf "$2" 2>/dev/null | sed -n 's/^CPU 0: \([0-9]*\) instr.*/\1/p')" -eq "$(awk '{ n += $1 } END { print n }' pcs)" ]
}
all_cases() {
	rtl=$top/tests/dialect/rtl
	for file in "$rtl"/*.nt "$top/samples/primes.nt"; do
		elf=${file%.nt}.elf
		[ -e "$elf" ] || elf=$top/samples/primes
		case $file in */jtc-* | */overflow* | */srcbits0* | */text-vector*) continue ;; esac
		counted "$file" "$elf" || { echo "$file"; cat err; return 1; }
		for view in "report --stack" "script --branches" "export --format folded -o written" "html -o written" "profile --bolt" info; do
			# shellcheck disable=SC2086
			"$ntrace" $view --raw "$file" --elf "$elf" >got 2>err || { echo "$view $file: $?"; cat err; return 1; }
		done
	done
}
# Read CoreSight frames with two trace IDs. Each trace ID belongs to one encoder
frames() {
	python3 "$top/tests/dialect/formatter.py" framed 3=good.0 5=good.0 &&
		"$ntrace" report --raw framed --frames --elf calls $clock >got 2>err
	rc=$?
	cat got err
	[ $rc -eq 0 ] && grep -q "^CPU 5:" got && grep -Eq '^ +6 .* outer' got
}
# A loss must be reported even if the trace has no times
lossy() {
	"$ntrace" info --strict --encoder accemic --raw "$top/tests/dialect/rtl/jtc-7014.nt" --elf "$top/tests/dialect/rtl/jtc-7014.elf" >got 2>err
	rc=$?
	cat got err
	[ $rc -eq 1 ] && grep -q "^CPU 0: trace is missing in [0-9]* places*" got && grep -q "because it could not be decoded" err
}
# The JSON output must have the same calls and instructions as the table
rows_of_json() {
	"$ntrace" report --limit 0 -i good.data >table && "$ntrace" report --json -i good.data >json && python3 - <<-'E2'
		import json, re
		first, *rows = [json.loads(line) for line in open('json')]
		table = [line.split() for line in open('table') if re.match(r'^ +\d+(\+\d+)? ', line) and '[' in line]
		assert first['instructions'] == sum(r['self_insns'] for r in rows) and first['errors'] == 0, first
		assert len(rows) == len(table) > 1, (rows, table)
		wrong = [(r, t) for r, t in zip(rows, table)
		         if t[0] != str(r['calls']) + ('+%d' % r['open'] if r['open'] else '') or t[-2] != r['function']]
		assert not wrong, wrong
	E2
}
# Without times, functions are sorted by their instructions, including those of callees, and times are not summed
untimed() {
	"$ntrace" report --raw "$top/tests/dialect/rtl/good-htm.nt" --elf "$top/tests/dialect/rtl/good-htm.elf" 2>err | tee got
	[ "$(sed -n 's/.*+0x\([0-9a-f]*\) .*/\1/p' got | xargs)" = "120f2 131e0 19d12 1a05c 1a04e 1a058" ] && ! grep -qE "not running|CPU 0|slowest" got
}
refused() { # SENTENCE ARGUMENT...
	_sentence=$1; shift
	"$ntrace" report "$@" >got 2>err
	rc=$?
	cat err
	[ $rc -eq 2 ] && [ ! -s got ] && grep -qe "$_sentence" err
}
piped() { "$ntrace" report --raw - --elf calls $clock <good.0 2>err | head -n 1 | grep "^33 instructions, .* 6 calls"; }

plan 30
ok "script --calls" same script --calls -F time,sym,dso
ok "script --branches" same script -F cpu,time,flags,ip,sym,dso,addr
ok "script --insns" same script --insns -F cpu,time,ip,sym,dso
ok "script --json" same script --calls --json
ok "report" same report
ok "report --json" same report --json
ok "report --json has the rows and sums of the table" rows_of_json
ok "report --functions" same report --functions
ok "report --insns" same report --insns
ok "report --stack" same report --stack
ok "slow" same slow outer
ok "profile --callgrind" written profile --callgrind
ok "profile --lcov" written profile --lcov
ok "profile --bolt" written profile --bolt
ok "export folded" written export --format folded
ok "the options of the encoder are detected" detected
ok "each SRC of a stream is a CPU" sources
ok "several files are several CPUs" files
ok "several programs, one of which is loaded at another address" offset
ok "trace from a pipe" piped
ok "CoreSight frames" frames
ok "all views read the traces of tests/dialect/rtl" all_cases
ok "errors of trace without times are reported" lossy
ok "without times, report sorts by instructions" untimed
ok "--raw without --elf is refused" refused "needs the code" --raw good.0
ok "a recording together with an option for the encoder is refused" refused "describe --raw" -i good.data --timestamp
ok "a recording together with --raw is refused" refused "exclude each other" -i good.data --raw good.0 --elf calls
: >empty
ok "a trace file that does not exist is reported" refused "nosuch: No such file or directory" --raw nosuch --elf calls
ok "an empty trace file is reported" refused "empty: the file is empty" --raw empty --elf calls
ok "a folder is refused as a trace file" refused "must be in a file" --raw . --elf calls
done_testing
