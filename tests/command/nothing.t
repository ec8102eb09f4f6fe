#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# If a user asks a command for data that the recording lacks, the command must exit with 1, must print which data the
# recording has, and must not change the output file of -o.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
recording_as perf good && python3 "$top/tests/session/mkevents.py" "$tap_tmp/calls" "$tap_tmp/events.data" || exit 1
ntrace=$O/bin/ntrace
cd "$tap_tmp" || exit
"$ntrace" decode --pcs --elf calls perf.data >pcs &&
	"$ntrace" encode --elf calls --pcs pcs -o source.nt --src-bits 4 --src 3 || exit
# Write CoreSight frames with trace ID 3. Bytes with ID 0 fill up the last frame
python3 - source.nt frames.nt <<'E2' || exit
import sys
data, out = open(sys.argv[1], "rb").read(), b""
for at in range(0, len(data), 14):
    part = data[at:at + 14]
    frame = [3 << 1 | 1, *part] + [1 if (len(part) + k) % 2 else 0xff for k in range(14 - len(part))]
    aux = 0
    for k in range(2, len(part) + 1, 2):
        aux |= (frame[k] & 1) << k // 2
        frame[k] &= 0xfe
    out += bytes(frame + [aux])
open(sys.argv[2], "wb").write(out)
E2
# Make a copy of a recording without its trace
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
# Clear the header's bitmap of features, because the new file omits the sections of all features
data[72:104] = bytes(32)
struct.pack_into("<Q", data, 48, len(kept))
open(sys.argv[2], "wb").write(data[:begin] + kept)
E2

# nothing SENTENCE ARGUMENT...: expect exit status 1, the sentence on standard error, and an unchanged output file
nothing() {
	_sentence=$1; shift
	echo before >file
	"$ntrace" "$@" >out 2>err
	_rc=$?
	[ $_rc -eq 1 ] && grep -q -e "$_sentence" err && [ "$(cat file)" = before ] && return
	echo "$*: status $_rc: $(cat err)"
	return 1
}
# Print the forms of all commands. A form is a command with options that change its output. The word "none" precedes
# a form if the form has no options that select data, or if its command belongs to ntrace-dev
all_forms() {
	for form in report "report --functions" "report --insns" "report --stack" "report --lines" "report --inline" script \
		"script --calls" "script --insns" "script --events" info "slow outer" "annotate outer" "query outer" "query --count outer" audit "html -o file" "inject -o file" "split -n 2 -o shards" "share -o file" "share --list" \
		"flight calls" dump "decode --elf calls" "decode --pcs --elf calls" \
		"decode --stats --elf calls" stat "none diff" "none gdb" "none doctor" "none merge" "none probe" "none setup" "none record" "none bench" \
		"none encode" "none verify"; do
		echo "$form"
	done
	for format in jsonl chrome perfetto speedscope folded pprof sqlite; do echo "export --format $format -o file"; done
	echo "export --format parquet -o folder"
	for format in counts lcov gcov llvm bolt callgrind; do echo "profile --$format -o file"; done
}
# Write the list of the command forms that this build supports. Without options that select data, each must print data
all_forms | while read -r form; do
	case $form in
	none* | decode* | dump* | stat*) ;;
	*events*) "$ntrace" $form -i events.data >out 2>&1 || continue ;;
	*) "$ntrace" $form -i perf.data 2>&1 >/dev/null | grep -q "needs a build with" && continue ;;
	esac
	echo "$form"
done >forms
for command in $(sed 's/ .*//' forms | sort -u); do "$ntrace" help "$command" >"help-$command" 2>/dev/null; done
all_commands() {
	sed 's/^none //; s/ .*//' forms | sort -u >known
	"$ntrace" help | sed -n 's/^  \([a-z]\+\) .*/\1/p' | sort | diff - known
}
# input FORM FILE: print the argument by which this form of a command reads FILE
input() { case $1 in decode* | dump* | stat*) echo "$2" ;; *--events*) echo "-i events.data" ;; *) echo "-i $2" ;; esac; }
# Return success if this form of a command must refuse the option, and has refused it
refuses() {
	case $1,$2 in
	*--events*,--function | *--counts*-o*,--object) refused "$2 is for" $1 -i perf.data "$2" x ;;
	dump*,* | decode*,* | stat*,*) return 1 ;;
	*,--src | *,--frames=*) refused "describe --raw FILE" $1 -i perf.data "${2%%=*}=9" ;;
	*) return 1 ;;
	esac
}
# asked FILE SENTENCE OPTION...: run each form of each command on FILE with the OPTIONs, which match no data, and expect
# SENTENCE. A command that does not have the first OPTION must refuse it
asked() {
	_file=$1 _what=$2; shift 2
	_last=-
	while read -r form; do
		case $form in none* | "$_last"*) continue ;; esac
		if ! grep -qE -e "(^|[ ,])${1%%=*}( |,|=|\[|$)" "help-${form%% *}"; then
			_last=${form%% *}
			refused "^ntrace" $form $(input "$form" "$_file") "$@" || return
		elif ! refuses "$form" "$1"; then
			nothing "$_what" $form $(input "$form" "$_file") "$@" || return
		fi
	done <forms
}
no_lines() {
	grep -e "--lines\|--inline\|--lcov\|--gcov\|--llvm" forms >list
	while read -r form; do
		nothing "no line information, for example of .*/calls: build programs with -g" $form -i perf.data || return
	done <list
}
no_trace() {
	rm -rf shards
	grep -v "^none\|--events" forms >list
	while read -r form; do
		what="no trace that can be decoded: nothing that the event selects has run"
		case $form in
		dump* | decode* | stat*) what="has no trace of a CPU" ;;
		esac
		nothing "$what" $form $(input "$form" empty.data) || return
	done <list
	[ ! -e shards ]
}
no_events() {
	nothing "the recording has no tracepoints" script --events -i perf.data &&
		nothing "the recording has no tracepoints" script --events -i perf.data --time 9999, &&
		nothing "no sample was made: 33 instructions" inject -i perf.data --period 1000 -o file &&
		nothing "has 3 calls of outer" slow -i perf.data outer --nth 4 &&
		nothing "nearest names of functions that ran are outer" slow -i perf.data oter &&
		nothing "nearest names of functions that ran are outer" slow -i perf.data 'out[x-z]*' &&
		nothing "$there" query -i perf.data 'ns>99999999999' && nothing "--pid 99.*$there" gdb --stdio -i perf.data --pid 99
}
there="The recording has trace of CPU 0, thread 1234 (calls), from 0.1[0-9]* to 0.1"

# PERF_RECORD_AUX describes trace that the file lacks. A full disk or kill -9 leaves this kind of recording
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
		grep -q "[0-9]* bytes of trace, [0-9.]* %, are listed in the recording, but missing" err || { echo "$command:"; cat err; return 1; }
		"$ntrace" $command --strict -i cut.data >out 2>err
		[ $? -eq 1 ] || { echo "$command --strict: $?"; cat err; return 1; }
	done
	"$ntrace" profile --counts -i cut.data 2>/dev/null | grep "^lost" | grep -v "^lost 0 0 0"
}

# excluded ARGUMENT...: expect that the command refuses these arguments as wrong usage
excluded() {
	"$ntrace" "$@" -i perf.data >out 2>err
	rc=$?
	[ $rc -eq 2 ] && [ ! -s out ] && grep -q "exclude each other\|is for" err && return
	echo "$*: status $rc: $(cat err)"
	return 1
}
all_excluded() {
	excluded report --lines --insns && excluded report --functions --stack && excluded report --stack --sort self &&
		excluded script --calls --insns && excluded script --events --branches && excluded script -F tid --json && excluded query --count --json outer && excluded query --json --print time outer &&
		excluded script --events --function outer && excluded profile --counts --object calls &&
		excluded profile --bolt --kcore calls && refused "has no code of the kernel" share --kernel --list -i perf.data && excluded inject --period 3 --all-branches -o file &&
		excluded report --callers outer --callees inner && excluded report --callers outer --function inner && excluded report --function outer --callees inner && excluded export --format chrome --insns -o file &&
		refused "--count prints one number" query --count --limit 1 outer -i perf.data &&
		refused "--count prints one number" query --count --limit 0 outer -i perf.data && refused "--count prints one number" query --count --sort time outer -i perf.data && refused "-F needs sym" script -F ip,symoff -i perf.data &&
		refused "--calls does not print cpu" script --calls -F time,cpu -i perf.data && refused "--insns does not print addr" script --insns -F ip,addr -i perf.data &&
		refused "--events does not print sym" script --events -F time,sym -i events.data && "$ntrace" profile --counts -i perf.data -o counts &&
		refused "^ntrace: a filter such as --time needs a recording, but counts has only counts" profile --bolt --time 1,2 -i counts &&
		refused "--time expects" report --time , -i perf.data
}
# refused SENTENCE ARGUMENT...: expect exit status 2 within 100 seconds, also on a busy host, the sentence, and no output
refused() {
	_sentence=$1; shift
	timeout 100 "$ntrace" "$@" >out 2>err
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
		refused "$option must name a folder, and 'nosuch' is not one" report -i perf.data $option nosuch || return
	done
}
no_effect() {
	for option in "--src 9" --timestamp "--mode btm" --middle --frames "--encoder sifive0"; do
		for command in dump "decode --elf calls"; do
			refused "recording, which contains the settings of the encoder" $command $option perf.data || return
		done
	done
	for command in info "share --list" "inject -o file"; do
		refused "unrecognized option '--mangled'" $command --mangled -i perf.data && refused "unrecognized option '--modules'" $command --modules . -i perf.data || return
	done
	for command in report "script --calls" "annotate outer" "diff perf.data"; do
		[ "$command" = "diff perf.data" ] && set -- perf.data || set -- -i perf.data
		refused "has no code of the kernel, so --modules cannot be given" $command --modules . "$@" || return
	done
	refused "raw trace" stat --elf calls perf.data && refused "raw trace" decode --detect --elf calls perf.data && refused "so --cpu cannot be given" dump --cpu 0 source.nt && refused "exclude each other" decode --pcs --stats --elf calls perf.data
}
# Cut off the end of a recording, inside the descriptions of features, and also inside its header
cut() {
	size=$(stat -c %s perf.data)
	for less in 1 100 200; do
		head -c $((size - less)) perf.data >short.data
		"$ntrace" report -i short.data >out 2>err && grep -q "the recording was cut short" err || { echo "$less: $(cat err)"; return 1; }
	done
	head -c 50 perf.data >short.data
	refused "it ends inside its header" report -i short.data && refused "is not a file of counts" merge /dev/zero
}
# Trace errors must change the exit status only if the user asks for this
strict() {
	python3 "$top/tests/perf/mkcalls.py" calls bad.data partial >/dev/null || return
	cp bad.data bad-again.data && cp perf.data again.data || return
	grep -v "^none\|^dump\|^decode\|^stat\|^split\|^flight\|--events\|--lines\|--inline\|--lcov\|--gcov\|--llvm" forms | sed 's/^inject/inject --period 3/' >list
	{ sed 's/$/ -i bad.data/' list; echo "diff bad.data bad-again.data"; } | while read -r command; do
		"$ntrace" $command >out 2>err || { echo "$command: status $?"; cat err; return 1; }
		"$ntrace" $command --strict >out 2>err
		[ $? -eq 1 ] || { echo "$command --strict: $(cat err)"; return 1; }
		good=$(echo "$command" | sed 's/bad-//; s/bad.data/perf.data/')
		"$ntrace" $good --strict >out 2>err || { echo "$good --strict"; return 1; }
	done && refused "--strict cannot be given" gdb --stdio --strict -i perf.data
}

# Every command that prints trace must print the percentage of missing trace, the reason and a cure
lost() {
	python3 "$top/tests/perf/mkcalls.py" calls bad.data partial >/dev/null || return
	grep -v "^none\|^dump\|^decode\|^stat$\|^split\|^share\|--events" forms >list
	while read -r form; do
		"$ntrace" $form $(input "$form" bad.data) >out 2>err
		grep -q "missing trace: 98.4 % of the time, an estimated 98.[0-9] % of the instructions and 98.[0-9] % of the bytes$" err &&
			grep -q "trace of 98.4 % of the time is missing, because the sink was full (1 time): record with larger buffers" err && continue
		echo "$form: $(cat err)"
		return 1
	done <list
	# gaps.data lacks the code of some executed instructions. A message must name this reason, even though these
	# instructions take no time. busy.data lacks all trace of a CPU, so no message may estimate the number of
	# missing instructions
	python3 "$top/tests/perf/mkcalls.py" calls gaps.data missing >/dev/null && python3 "$top/tests/perf/mkcalls.py" calls busy.data collision >/dev/null || return
	while read -r form; do
		"$ntrace" $form $(input "$form" gaps.data) 2>&1 >out | grep -q "because code is missing.*: copy it here" || { echo "$form: no reason"; return 1; }
		"$ntrace" $form $(input "$form" busy.data) 2>&1 >out | grep -q "missing trace: 50.0 % of the time, and an unknown part of the instructions and bytes, because no trace of a CPU was decoded$" || { echo "$form: an estimate"; return 1; }
	done <list
	# The trace of far.data is cut off. No command may print that the program did not run
	python3 "$top/tests/perf/mkcalls.py" calls far.data far-offset >/dev/null || return
	printf 'gdb --stdio%s\n' "" " --pid 1234" " --pid 9" >>list
	while read -r form; do
		"$ntrace" $form $(input "$form" far.data) >out 2>&1
		if ! grep -q "trace is missing 1 time, because the recording was not completely" out || grep -q "nothing that the event" out; then
			echo "$form: $(cat out)"
			return 1
		fi
	done <list
	"$ntrace" stat bad.data 2>&1 | grep "trace is missing in 1 place: ntrace info -i bad.data" || return
	! "$ntrace" script -i perf.data 2>&1 | grep "missing trace" && ! "$ntrace" report --insns -i perf.data 2>&1 | grep "missing trace"
}
plan 24
ok "the list of forms above has every command" all_commands
ok "--cpu of a CPU without trace: every command says which CPUs have trace" asked perf.data "CPU 99.*of CPU 0\|no trace of CPU 99. --cpu can be one of these: 0\|--cpu 99.*$there" --cpu 99
ok "--tid of a thread that did not run: every command says what was recorded" asked perf.data "--tid 999.*$there" --tid 999
ok "--pid of a process that did not run: every command says what was recorded" asked perf.data "--pid 999.*$there" --pid 999
ok "--comm with a name that no thread has: every command says what was recorded" asked perf.data "--comm nob\*.*$there" --comm 'nob*'
ok "--time after the end: every command says what was recorded" asked perf.data "--time.*$there" --time 9999,
ok "--time before the start: every command says what was recorded" asked perf.data "--time.*$there" --time ,0.05
ok "--cpu and --tid of a thread that did not run there: every command says what was recorded" asked perf.data "--cpu 0.*--tid 999.*$there" --tid 999 --cpu 0
ok "--function with an unknown name: every command says the nearest names" asked perf.data "nearest names of functions that ran are outer.*$there" --function oter
ok "--function with a pattern that no function matches: every command says the nearest names" asked perf.data "nearest names of functions that ran are outer.*$there" --function 'out[x-z]*'
ok "--function that did not run in --time: every command says which times were recorded" asked perf.data "outer.*--time.*$there" --function outer --time 9999,
ok "--object that did not run: every command says which objects ran" asked perf.data "--object tools.*, code of .*/calls" --object tools
ok "--src that raw trace lacks: every command says which sources it has" asked source.nt "no message matched --src 9. The trace has the sources 3" --src 9 --src-bits 4
ok "--frames with a trace ID that they lack: every command says which trace IDs they have" asked frames.nt "no message matched --frames=9.* The trace has the trace IDs 3" --frames=9
ok "programs without line information: commands that print lines say so" no_lines
ok "tracepoints, samples and calls that do not exist: the message says what was recorded" no_events
ok "a recording without trace is reported by every command" no_trace
ok "options that exclude each other or have no effect are refused" all_excluded
ok "a file or folder that does not exist is named, with the reason" no_file
ok "options that have no effect on the input are refused" no_effect
ok "a recording whose end is missing is read, and a message says that it was cut short" cut
ok "trace that a recording lists but lacks is reported, and counts as lost" missing
ok "missing trace is reported in percent, with its reason and a cure, in every view" lost
ok "errors of the trace change the exit status only with --strict" strict
done_testing
