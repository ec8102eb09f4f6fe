#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A command that is asked for something that is not there exits with 1, says what there is, and leaves the
# file of -o as it was.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
recording_as perf good || exit 1
ntrace=$O/bin/ntrace
cd "$tap_tmp" || exit
"$ntrace" decode --pcs --elf calls perf.data >pcs &&
	"$ntrace" encode --elf calls --pcs pcs -o source.nt --src-bits 4 --src 3 || exit
# Make a recording without its trace
python3 - perf.data empty.data <<'E2' || exit
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
begin, size = struct.unpack_from("<QQ", data, 40)
at, kept = begin, b""
while at < begin + size:
    kind, misc, length = struct.unpack_from("<IHH", data, at)
    after = struct.unpack_from("<Q", data, at + 8)[0] if kind == 71 else 0
    if kind not in (11, 71):
        kept += data[at:at + length]
    at += length + after
# The header announces no features, because their sections are dropped
data[72:104] = bytes(32)
struct.pack_into("<Q", data, 48, len(kept))
open(sys.argv[2], "wb").write(data[:begin] + kept)
E2

# nothing SENTENCE ARGUMENT...: expect exit status 1, the sentence on standard error, and an unchanged file
nothing() {
	_sentence=$1; shift
	echo before >file
	"$ntrace" "$@" >out 2>err
	_rc=$?
	[ $_rc -eq 1 ] && grep -q -e "$_sentence" err && [ "$(cat file)" = before ] && return
	echo "$*: status $_rc: $(cat err)"
	return 1
}
# Run each COMMAND that accepts a filter, with the arguments added
filtered() {
	_what=$1; shift
	for command in report "report --functions" "report --insns" "report --stack" script "script --calls" "script --insns" \
		"html -o file" "export --format jsonl -o file" "export --format chrome -o file" "export --format perfetto -o file" \
		"export --format speedscope -o file" "export --format folded -o file" "slow outer"; do
		nothing "$_what" $command -i perf.data "$@" || return
	done
}
function() {
	for command in report "report --stack" "report --functions" script "script --calls" "script --insns"; do
		nothing "nearest names of functions that ran are outer" $command -i perf.data --function oter || return
	done
	nothing "nearest names of functions that ran are outer" slow -i perf.data oter
}
object() {
	for format in bolt callgrind lcov llvm; do
		nothing "path ends with 'tools'. These were: .*/calls" profile --$format --object tools -i perf.data -o file || return
	done
}
no_lines() {
	for format in lcov gcov llvm gcc; do
		"$ntrace" profile --$format -i perf.data -o other >/dev/null 2>err
		grep -q "needs a build with" err && continue
		nothing "no line information, as of .*/calls: build programs with -g" profile --$format -i perf.data -o file || return
	done
}
source_id() {
	for command in dump "decode --elf calls" "decode --pcs --elf calls" "decode --counts --elf calls" "decode --stats --elf calls"; do
		nothing "no message matched --src 9. The trace has the sources 3" $command --src-bits 4 --src 9 source.nt || return
	done
}
cpu_of_raw() {
	for command in dump "decode --elf calls" stat; do
		nothing "no trace of CPU 7, but of these, for --cpu: 0" $command --cpu 7 perf.data || return
	done
}
no_trace() {
	for command in report "report --insns" "report --stack" script "script --calls" "html -o file" "export --format jsonl -o file" \
		"inject -o file" "profile --bolt -o file" "slow outer" "split -n 2 -o shards"; do
		nothing "no trace that can be decoded: nothing that the event selects has run" $command -i empty.data || return
	done
	[ ! -e shards ] || return
	for command in dump "decode --elf calls" stat; do
		nothing "has no trace of a CPU" $command empty.data || return
	done
}
there="The recording has trace of CPU 0, thread 1234 (calls), from 0.1[0-9]* to 0.1"

# PERF_RECORD_AUX refers to trace that the file does not have, as after a full disk or kill -9
missing() {
	python3 - perf.data cut.data <<-'E2' || return
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		begin, size = struct.unpack_from("<QQ", data, 40)
		at, kept = begin, b""
		while at < begin + size:
		    kind, misc, length = struct.unpack_from("<IHH", data, at)
		    after = struct.unpack_from("<Q", data, at + 8)[0] if kind == 71 else 0
		    record = data[at:at + length + after]
		    if kind == 71:
		        # The trace is 16 bytes shorter than PERF_RECORD_AUX reports
		        struct.pack_into("<Q", record, 8, (after - 16) & ~7)
		        record = record[:length + ((after - 16) & ~7)]
		    kept += record
		    at += length + after
		data[72:104] = bytes(32)
		struct.pack_into("<Q", data, 48, len(kept))
		open(sys.argv[2], "wb").write(data[:begin] + kept)
	E2
	for command in report script "html -o file" "profile --counts -o file"; do
		"$ntrace" $command -i cut.data >out 2>err || { echo "$command: status $?"; cat err; return 1; }
		grep -q "[0-9]* bytes of trace, [0-9.]* %, are not in the recording" err || { echo "$command:"; cat err; return 1; }
		"$ntrace" $command --strict -i cut.data >out 2>err
		[ $? -eq 1 ] || { echo "$command --strict: $?"; cat err; return 1; }
	done
	"$ntrace" profile --counts -i cut.data 2>/dev/null | grep "^lost" | grep -v "^lost 0 0 0"
}

# excluded ARGUMENT...: expect that the arguments are refused as wrong usage
excluded() {
	"$ntrace" "$@" -i perf.data >out 2>err
	rc=$?
	[ $rc -eq 2 ] && [ ! -s out ] && grep -q "exclude each other\|is for" err && return
	echo "$*: status $rc: $(cat err)"
	return 1
}
all_excluded() {
	excluded report --lines --insns && excluded report --functions --stack && excluded report --stack --sort self &&
		excluded script --calls --insns && excluded script --events --branches && excluded script -F tid --json &&
		excluded script --events --function outer
}
# refused SENTENCE ARGUMENT...: expect exit status 2 within 10 seconds, the sentence, and no output
refused() {
	_sentence=$1; shift
	timeout 10 "$ntrace" "$@" >out 2>err
	_rc=$?
	[ $_rc -eq 2 ] && [ ! -s out ] && grep -q -e "$_sentence" err && return
	echo "$*: status $_rc: $(cat err)"
	return 1
}
no_file() {
	for command in dump stat "decode --elf calls" merge "report -i" "flight show -i" "encode --elf calls -o file --pcs"; do
		refused "nosuch.*: No such file or directory" $command nosuch || return
	done
	for option in --symfs --buildid-dir --modules; do
		refused "$option is a folder, and 'nosuch' is none" report -i perf.data $option nosuch || return
	done
}
no_effect() {
	for option in "--src 9" --timestamp "--mode btm" --middle --frames "--encoder sifive0"; do
		for command in dump "decode --elf calls"; do
			refused "recording, which says how it was encoded" $command $option perf.data || return
		done
	done
	refused "for which --cpu is" dump --cpu 0 source.nt && refused "exclude each other" decode --pcs --counts --elf calls perf.data
}
# Cut the recording in the descriptions at its end, and inside its header
cut() {
	size=$(stat -c %s perf.data)
	for less in 1 100 200; do
		head -c $((size - less)) perf.data >short.data
		"$ntrace" report -i short.data >out 2>err && grep -q "the recording was cut short" err || { echo "$less: $(cat err)"; return 1; }
	done
	head -c 50 perf.data >short.data
	refused "it ends inside its header" report -i short.data && refused "no file of counts" merge /dev/zero
}
# Errors of the trace change the status only if the user asks for it
strict() {
	python3 "$top/tests/perf/mkcalls.py" calls bad.data partial >/dev/null || return
	for command in report script "html -o file" "export --format jsonl -o file" "profile --counts -o file" "inject --period 3 -o file"; do
		"$ntrace" $command -i bad.data >out 2>err || { echo "$command: status $?"; cat err; return 1; }
		"$ntrace" $command -i bad.data --strict >out 2>err
		[ $? -eq 1 ] || { echo "$command --strict: $(cat err)"; return 1; }
		"$ntrace" $command -i perf.data --strict >out 2>err || { echo "$command --strict of good trace"; return 1; }
	done
}

plan 16
ok "every command with --cpu says which CPUs the recording has" filtered "--cpu 99.*$there" --cpu 99
ok "every command with --tid says which threads the recording has" filtered "--tid 999.*$there" --tid 999
ok "every command with --time says which times the recording has" filtered "--time.*$there" --time 9999,
ok "a name of no function is answered by the nearest names" function
ok "a name of no object is answered by those that were executed" object
ok "a profile of programs without line information is not written" no_lines
ok "a source that raw trace does not have is answered by those it has" source_id
ok "a CPU without trace is answered by those that have some" cpu_of_raw
ok "a recording without trace is reported by every command" no_trace
ok "samples that are too far apart are reported" nothing "no sample was made: 33 instructions" inject -i perf.data --period 1000 -o file
ok "options that exclude each other or have no effect are refused" all_excluded
ok "a file or folder that does not exist is named, with the reason" no_file
ok "options that have no effect on the input are refused" no_effect
ok "a recording without its end is read, and said to be cut short" cut
ok "trace that a recording names and does not have is reported and counts as lost" missing
ok "errors of the trace decide the exit status only with --strict" strict
done_testing
