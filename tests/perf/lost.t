#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check call chains after a loss. Each thread that may have run in the gap must lose its call chain,
# and the other threads must keep theirs.
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
	is "$me trace that goes on, later, keeps the calls" "$(last_chain kept)" "outer _start"
	is "$me zeros that perf has padded with keep the calls, too" "$(last_chain kept-padded)" "outer _start"
	is "$me PERF_RECORD_AUX says truncated" "$(last_chain truncated)" "done"
	is "$me PERF_RECORD_AUX says partial" "$(last_chain partial)" "done"
	is "$me PERF_RECORD_AUX says partial, of whole messages" "$(last_chain whole)" "done"
	is "$me the thread has been on a CPU that is not traced" "$(last_chain untraced)" "done"
	is "$me the thread has been on a CPU that is not traced, as it had been before" "$(last_chain untraced-again)" "done"
	is "$me the thread has been on another CPU, in a gap there" "$(last_chain elsewhere)" "done"
	is "$me the encoder of another CPU could not be started" "$(last_chain refused)" "done"
	is "$me the thread has run with an event that was disabled" "$(last_chain swapped)" "done"
	is "$me the thread has run with an event that was disabled, and nobody has run on its CPU after it" "$(last_chain swapped-alone)" "done"
	is "$me an event was disabled, and the thread was traced all the time" "$(last_chain disabled-kept)" "outer _start"
	is "$me an event was disabled, and the thread was traced all the time, and each switch is reported by two events" "$(last_chain disabled-kept-twice)" "outer _start"
	is "$me each switch is reported by two events, one of which was disabled" "$(last_chain swapped-twice)" "done"
	is "$me a gap on a CPU where the thread has not been" "$(last_chain beside)" "outer _start"
	# Without switch events, the threads on that CPU are unknown
	is "$me without switch events: trace that goes on" "$(last_chain blind-kept)" "outer _start"
	is "$me without switch events: another CPU has a gap" "$(last_chain blind-elsewhere)" "done"
	is "$me without switch events: another CPU could not be traced" "$(last_chain blind-refused)" "done"
	is "$me without switch events: a gap drops the calls of all" "$(last_chain blind-beside)" "outer"
done
done_testing
