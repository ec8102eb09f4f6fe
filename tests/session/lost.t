#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check the call chains of `ntrace inject` after a loss of trace. Each thread that may have run during the gap must
# lose its call chain. The other threads must keep their call chains. tests/perf/lost.t tests perf in the same way.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/harness/grows.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
make -C "$top" tool >"$tap_tmp/make" 2>&1 && "$top/tools/perf/build.sh" new x86_64 >>"$tap_tmp/make" 2>&1 &&
	calls_program || exit 1
plan 24

# last_chain WHAT: print the chain of the first thread's last instruction, innermost function first
last_chain() {
	recording_as "$1" "lost-$1" || return
	"$O/bin/ntrace" inject --period 1 -i "$tap_tmp/$1.data" -o "$tap_tmp/out.data" >"$tap_tmp/said" 2>&1 ||
		{ cat "$tap_tmp/said"; return 1; }
	"$O/perf/new/x86_64/perf" script -i "$tap_tmp/out.data" --tid 1234 -F ip,sym 2>/dev/null |
		awk '!NF { last = out; out = ""; next } { out = out (out == "" ? "" : " ") $NF } END { print out == "" ? last : out }'
}

# seconds THREADS: print the processor time for a recording with THREADS threads, each of which runs twice
seconds() {
	recording_as many "many-threads-$1" || return
	least_time "$O/bin/ntrace" inject --period 1 -i "$tap_tmp/many.data" -o "$tap_tmp/out.data"
}

is "trace that continues after a pause keeps the calls" "$(last_chain kept)" "outer _start"
is "zeros with which perf has padded the trace do not drop the calls" "$(last_chain kept-padded)" "outer _start"
is "PERF_RECORD_AUX has the flag TRUNCATED" "$(last_chain truncated)" "done"
is "PERF_RECORD_AUX has the flag PARTIAL" "$(last_chain partial)" "done"
is "PERF_RECORD_AUX has the flag PARTIAL, and its trace ends with a whole message" "$(last_chain whole)" "done"
is "the thread has run on a CPU that is not traced" "$(last_chain untraced)" "done"
is "the thread has run on a CPU that is not traced, for the second time" "$(last_chain untraced-again)" "done"
is "the thread has run on another CPU during a gap of that CPU" "$(last_chain elsewhere)" "done"
is "the thread has run on another CPU whose encoder could not be started" "$(last_chain refused)" "done"
is "the thread has run with an event that was disabled" "$(last_chain swapped)" "done"
is "the thread has run with an event that was disabled, and no thread has run on its CPU afterwards" "$(last_chain swapped-alone)" "done"
is "an event was disabled, and the thread was traced all the time" "$(last_chain disabled-kept)" "outer _start"
is "an event was disabled, and the thread was traced all the time, and each switch is reported by two events" "$(last_chain disabled-kept-twice)" "outer _start"
is "each switch is reported by two events, one of which was disabled" "$(last_chain swapped-twice)" "done"
is "a gap on a CPU on which the thread has not run" "$(last_chain beside)" "outer _start"
# Without switch events, the thread that runs on the CPU is unknown
is "without switch events: trace that continues after a pause" "$(last_chain blind-kept)" "outer _start"
is "without switch events: another CPU has a gap" "$(last_chain blind-elsewhere)" "done"
is "without switch events: another CPU could not be traced" "$(last_chain blind-refused)" "done"
is "without switch events: a gap drops the calls of all threads" "$(last_chain blind-beside)" "outer"
# Another program used the sink of CPU 1, so trace was lost although no buffer was too small.
recording collision || exit
"$O/bin/ntrace" script -i "$tap_tmp/collision.data" >"$tap_tmp/said" 2>&1
is "another program used the sink" "$? $(grep error "$tap_tmp/said" | sed 's/.*cpu/cpu/')" \
	"0 cpu 1 pid 2234 tid 2234 ip 0 code 5: another program used the sink: trace is missing"
"$O/bin/ntrace" script --json -i "$tap_tmp/collision.data" >"$tap_tmp/said" 2>&1
is "another program used the sink: the error in JSON" "$(grep -o '"error": "[^"]*"' "$tap_tmp/said")" '"error": "another program used the sink"'
recording truncated || exit
is "a full buffer: the error advises a larger buffer" "$("$O/bin/ntrace" script -i "$tap_tmp/truncated.data" 2>/dev/null | sed -n 's/.* code 1: //p')" \
	"trace was lost (try perf record -m,SIZE)"
ok "the time to look up the calls of threads grows in proportion to their number" grows "$(seconds $(by_size 1000 4000))" "$(seconds $(by_size 4000 16000))"
"$O/perf/new/x86_64/perf" script -i "$tap_tmp/out.data" -F ip,sym >"$tap_tmp/chains"
is "each of the 7 instructions of each of the threads has its calls" "$(grep -c ' _start$' "$tap_tmp/chains")" $((7 * $(by_size 4000 16000)))
done_testing
