#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Harts share sinks that get full. `ntrace script` must report each loss for each hart, between the branches
# before and after it. SCHEDULES is the number of random schedules.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/losses.sh"
build_tool
losses_build || exit 1
tool=ntrace

losses_script() {
	"$O/bin/ntrace" script -F pid,tid,cpu,time,flags,ip,addr -i "$tap_tmp/windows.data" 2>/dev/null
}

# Print the calls of inner by the thread of hart 0
inner_calls() {
	"$O/bin/ntrace" script --calls --tid 1234 -i "$tap_tmp/windows.data" 2>/dev/null | grep -c inner
}

plan 45
losses_all
for how in "" twice; do
	# shellcheck disable=SC2086
	losses_windows "1:01 0:01 1!:01 0:0r1" ratified $how
	"$O/bin/ntrace" report -i "$tap_tmp/windows.data" >"$tap_tmp/report$how" 2>"$tap_tmp/said$how"
done
is "a record of perf that is repeated is no loss" "$(cat "$tap_tmp/saidtwice")" "$(cat "$tap_tmp/said")"
ok "a record of perf that is repeated changes no call" cmp "$tap_tmp/report" "$tap_tmp/reporttwice"
for dialect in "" ratified; do
	# shellcheck disable=SC2086
	losses_windows "0:01 1!:1 0:0i1" $dialect
	is "ntrace, ${dialect:-sifive}: a call that a loss interrupts is not printed" "$(inner_calls)" 0
	# shellcheck disable=SC2086
	losses_windows "1:01 1!:1 0:01 0:0i1" $dialect
	is "ntrace, ${dialect:-sifive}: a call that begins after a loss is printed" "$(inner_calls)" 1
	# shellcheck disable=SC2086
	losses_windows "0!:10 0:0i" $dialect frames
	is "ntrace, ${dialect:-sifive}: the trace after a full window of a ring is complete" "$(inner_calls)" 1
	# shellcheck disable=SC2086
	losses_windows "0!:10 0:0i" $dialect frames owners
	losses_script | grep -o '[0-9]*\.[0-9]\{9\}' >"$tap_tmp/times"
	ok "ntrace, ${dialect:-sifive}: a loss is not later than the start of trace that follows it" sort -c "$tap_tmp/times"
done
# Windows 2 and 5 of 8 are full. Window 1 ends at 100.190 ms, and hart 0 has no trace until its encoder restarts at
# 100.301 ms, and from 100.5012 to 100.601 ms. Hart 1 has no trace from 100.213 to 100.311 ms and from 100.490 to
# 100.611 ms. The recording lasts from 100.001 to 100.790 ms.
losses_windows "1:01 0:01 1!:1 0:0r1 1:01 1!:0 0:01 0:01"
"$O/bin/ntrace" report -i "$tap_tmp/windows.data" >"$tap_tmp/report" 2>"$tap_tmp/err"
is "report prints the missing time of each CPU" "$(sed -n 's/ us is missing, \([0-9.]*\) % of .*/ \1/p' "$tap_tmp/report" | xargs)" \
	"CPU 0: trace of 211 26.7 CPU 1: trace of 230 29.1"
is "report prints the missing share of the time of both CPUs, the reason, and a cure" \
	"$(grep -o 'missing trace: .* of the time\|[0-9.]* % of the time is missing, because the sink was full (4 times): record with larger buffers' "$tap_tmp/err")" \
	"missing trace: 27.9 % of the time
27.9 % of the time is missing, because the sink was full (4 times): record with larger buffers"
is "script --cpu prints only the losses of this CPU" \
	"$("$O/bin/ntrace" script --cpu 0 -i "$tap_tmp/windows.data" 2>/dev/null | sed -n 's/.*error.* cpu \([0-9]*\) .*/\1/p' | xargs)" "0 0"
"$O/bin/ntrace" info -i "$tap_tmp/windows.data" >"$tap_tmp/info" 2>"$tap_tmp/info-err"
ok "info prints the same lines about missing trace as report" sh -c \
	'grep "is missing," "$1/report" >"$1/wanted" && grep "is missing," "$1/info" | diff "$1/wanted" - && diff "$1/err" "$1/info-err"' - "$tap_tmp"
losses_windows "1:01 1!:1 1!:1 1!:1 1!:1 1!:1 0:01"
is "info estimates the missing instructions and bytes also if most of the time is missing" \
	"$("$O/bin/ntrace" info -i "$tap_tmp/windows.data" 2>&1 | grep -c 'is missing, [0-9.]* % of the time, and an estimated [1-9][0-9]* instructions and [1-9][0-9]* bytes')" 2
# The first window is full, and all its messages are of hart 1. Therefore the trace of hart 0 begins only in the second
# window, at 100.101 ms. Hart 1 has no trace from 100.002 to 100.111 ms. The whole trace lasts from 100.001 to
# 100.290 ms.
losses_windows "0!:1 0:01 1:01"
"$O/bin/ntrace" info -i "$tap_tmp/windows.data" >"$tap_tmp/info" 2>"$tap_tmp/info-err"
is "info: a loss before the first trace of a CPU lasts from the start of the recording's trace" \
	"$(sed -n 's/ us is missing, \([0-9.]*\) % of .*/ \1/p' "$tap_tmp/info" | xargs)" "CPU 0: trace of 100 34.6 CPU 1: trace of 109 37.6"
is "info: the share of a reason is not larger than the missing share" "$(grep -o '[0-9.]* % of the time' "$tap_tmp/info-err" | xargs)" \
	"36.1 % of the time 36.1 % of the time"
# The record of the loss is at 100.090 ms, and the first trace of hart 0 at 100.101 ms.
losses_windows "0!: 0:01 1:01"
is "info: a loss that is reported before the first trace of all CPUs" "$("$O/bin/ntrace" info -i "$tap_tmp/windows.data" 2>/dev/null | grep -o 'CPU.* us is missing')" \
	"CPU 0: trace of 11.0 us is missing"
losses_windows "0:01 0:01"
is "info reports that no trace is missing" "$("$O/bin/ntrace" info -i "$tap_tmp/windows.data" 2>&1 | grep missing)" "No trace is missing"
ok "ntrace reports each loss of ${SCHEDULES:-60} random schedules in its place" \
	losses_schedules "$O/bin/ntrace" 1 "${SCHEDULES:-60}"
# In schedule 9565, the only sink writes a window for harts 1 and 2, and the next window for harts 0 and 3. ntrace must
# not assume that these are two sinks.
ok "ntrace: two buffers without a common hart may belong to one sink" losses_schedules "$O/bin/ntrace" 9565 9565
done_testing
