#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test timestamps of a counter that has stopped or restarted. In this case, commands must use the times at which the
# kernel read the trace, must report the fault, and must not print a call that lasts since time 0. Commands must not
# change correct times.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
wrong="anew anew-soon stopped stopped-long zero damaged" right="right waited"
for what in $wrong $right; do recording clock-$what || exit; done

# ticks WHAT: print the first time after each start of the trace, and the last time, in ticks of 100 ns. Fail if
# times decrease
ticks() {
	"$O/bin/ntrace" script -F time,ip -i "$tap_tmp/clock-$1.data" 2>"$tap_tmp/said" | awk '
		{ sub(":", "", $1); t = sprintf("%.0f", $1 * 10000000) + 0 }
		NR == 1 || NR == half + 1 { printf "%d ", t }
		t < last { print "goes back from", last, "to", t }
		{ last = t }
		END { print last }' half="$(($("$O/bin/ntrace" script -F ip -i "$tap_tmp/clock-$1.data" 2>/dev/null | wc -l) / 2))"
}
said() { ticks "$1" >/dev/null; grep -c "timestamps of CPU 0 did not advance or went back" "$tap_tmp/said"; }
# longest WHAT: print the time in ticks that the longest call took
longest() {
	"$O/bin/ntrace" script --calls --json -i "$tap_tmp/clock-$1.data" 2>/dev/null | python3 -c '
import json, sys
print(max(json.loads(line)["ns"] for line in sys.stdin) // 100)'
}

plan 12
is "right times do not change" "$(ticks right)" "1000000 1002000 1002016"
is "a counter that restarted: the second stretch begins at the time at which the kernel read the first stretch" "$(ticks anew)" "1000000 1001000 1001016"
is "a counter that restarted a short time before: the second stretch begins at the time at which the kernel read the first stretch" "$(ticks anew-soon)" "1000000 1001000 1001016"
is "a counter that stopped before the trace: the second stretch begins at the time at which the kernel read the first stretch" \
	"$(ticks stopped)" "800000 1001000 1001000"
is "a counter that stopped for thousands of messages: stretches have the times of the kernel" "$(ticks stopped-long)" "1001000 1001000 1001000"
is "a counter that is always 0: stretches have the times of the kernel" "$(ticks zero)" "1001000 1001000 1001000"
is "a message that waited in a queue keeps its time" "$(ticks waited)" "1000000 1000900 1000916"
is "the damaged time of one message does not change the times of other messages" "$(ticks damaged)" "1000000 1001000 1002016"
for what in $wrong; do said $what; done >"$tap_tmp/counts"
is "a message reports each wrong clock" "$(sort -u "$tap_tmp/counts")" 1
for what in $right; do said $what; done >"$tap_tmp/counts"
is "no message reports a right clock" "$(sort -u "$tap_tmp/counts")" 0
is "a call after the restart of the counter has its right duration" "$(longest anew)" "$(longest right)"
is "a call while the counter is 0 has the duration 0" "$(longest zero)" 0
done_testing
