#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check the call chains of perf after a loss of trace. Each thread that may have run during the gap must lose its call
# chain. The other threads must keep their call chains.
. "$(dirname "$0")/../harness/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
data=$top/tests/perf
# KVERS=new tests only the newest perf
kvers=${KVERS:-$(perfs $(by_size new "lts new"))}
plan $(($(echo "$kvers" | wc -w) * 19))

calls_program || exit

# last_chain WHAT: print the chain of the first thread's last instruction, innermost function first
last_chain() {
	recording_as "$1" "lost-$1" || return
	"$O/perf/$kver/x86_64/perf" script -i "$tap_tmp/$1.data" --itrace=i1ig --tid 1234 -F ip,sym 2>/dev/null |
		awk '!NF { last = out; out = ""; next } { out = out (out == "" ? "" : " ") $NF } END { print out == "" ? last : out }'
}

for kver in $kvers; do
	"$top/tools/perf/build.sh" $kver x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
	me="perf $kver:"
	is "$me trace that continues after a pause keeps the calls" "$(last_chain kept)" "outer _start"
	is "$me zeros with which perf has padded the trace do not drop the calls" "$(last_chain kept-padded)" "outer _start"
	is "$me PERF_RECORD_AUX has the flag TRUNCATED" "$(last_chain truncated)" "done"
	is "$me PERF_RECORD_AUX has the flag PARTIAL" "$(last_chain partial)" "done"
	is "$me PERF_RECORD_AUX has the flag PARTIAL, and its trace ends with a whole message" "$(last_chain whole)" "done"
	is "$me the thread has run on a CPU that is not traced" "$(last_chain untraced)" "done"
	is "$me the thread has run on a CPU that is not traced, for the second time" "$(last_chain untraced-again)" "done"
	is "$me the thread has run on another CPU during a gap of that CPU" "$(last_chain elsewhere)" "done"
	is "$me the thread has run on another CPU whose encoder could not be started" "$(last_chain refused)" "done"
	is "$me the thread has run with an event that was disabled" "$(last_chain swapped)" "done"
	is "$me the thread has run with an event that was disabled, and no thread has run on its CPU afterwards" "$(last_chain swapped-alone)" "done"
	is "$me an event was disabled, and the thread was traced all the time" "$(last_chain disabled-kept)" "outer _start"
	is "$me an event was disabled, and the thread was traced all the time, and each switch is reported by two events" "$(last_chain disabled-kept-twice)" "outer _start"
	is "$me each switch is reported by two events, one of which was disabled" "$(last_chain swapped-twice)" "done"
	is "$me a gap on a CPU on which the thread has not run" "$(last_chain beside)" "outer _start"
	# Without switch events, the thread that runs on the CPU is unknown
	is "$me without switch events: trace that continues after a pause" "$(last_chain blind-kept)" "outer _start"
	is "$me without switch events: another CPU has a gap" "$(last_chain blind-elsewhere)" "done"
	is "$me without switch events: another CPU could not be traced" "$(last_chain blind-refused)" "done"
	is "$me without switch events: a gap drops the calls of all threads" "$(last_chain blind-beside)" "outer"
done
done_testing
