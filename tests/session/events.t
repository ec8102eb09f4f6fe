#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ntrace script` and `ntrace export` must print the recorded tracepoints with names and fields, in the order of time
# with the trace. Damaged formats and samples must not crash a build with sanitizers.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/says.sh"
damaged=${DAMAGED:-40}

build_tool
calls_program || exit 1
ntrace=$O/bin/ntrace
! grep -q "built without libtraceevent" "$ntrace" || skip_all "this build has no libtraceevent; on Debian: apt-get install libtraceevent-dev"
record() { python3 "$top/tests/session/mkevents.py" "$tap_tmp/calls" "$@"; }
data=$tap_tmp/good.data
record "$data" && record "$tap_tmp/pipe.data" pipe && record "$tap_tmp/short.data" short || exit 1
events() { "$ntrace" script "$@" | grep -a 'sched:'; }

cat >"$tap_tmp/wanted" <<'E2'
           calls    1234/1234    [000]     0.100000001: sched:sched_process_exec: filename=/bin/l? pid=9 old_pid=-8
           calls    1234/1234    [000]     0.100000350: sched:sched_switch: prev_comm=sh\x1b"< prev_pid=7 prev_prio=120 prev_state=-1 set=01020304 where=0xffffffff80001234 args=0xe,0x2400
E2
text_is() {
	events "$@" | LC_ALL=C sed 's/\xff/?/' >"$tap_tmp/got"
	diff "$tap_tmp/wanted" "$tap_tmp/got"
}
# Tracepoints must be printed between lines of the trace, and times must never decrease
in_order() {
	for what in --branches --insns --calls; do
		"$ntrace" script $what -F time -i "$data" >"$tap_tmp/got" || return
		LC_ALL=C sort -s -c -n "$tap_tmp/got" && [ "$(grep -ac sched: "$tap_tmp/got")" -eq 2 ] || return
		tail -n 1 "$tap_tmp/got" | grep -v sched: || return
	done
}
json_is() {
	"$ntrace" script "$@" --json -i "$data" | python3 -c '
import json, sys
lines = [json.loads(line) for line in sys.stdin]
got = [(x["time"], x["event"], x["fields"], x["tid"]) for x in lines if "event" in x]
print(got)
wanted = [(100000001, "sched:sched_process_exec", {"filename": "/bin/l\ufffd", "pid": 9, "old_pid": -8}, 1234),
          (100000350, "sched:sched_switch", {"prev_comm": "sh\x1b\"<", "prev_pid": 7, "prev_prio": 120,
           "prev_state": -1, "set": "01020304", "where": "0xffffffff80001234",
           "args": "0xe,0x2400"}, 1234)]
sys.exit(got != wanted or [x["time"] for x in lines] != sorted(x["time"] for x in lines))'
}
filtered() {
	[ "$(events --time 0.1000003, -i "$data" | wc -l)" -eq 1 ] && [ -z "$(events --tid 5 -i "$data")" ] &&
		[ -z "$(events --function outer -i "$data")" ] && [ "$(events --events -i "$data" | wc -l)" -eq 2 ] &&
		[ "$("$ntrace" script --events -i "$data" | wc -l)" -eq 2 ]
}
short_is() {
	events -i "$tap_tmp/short.data" >"$tap_tmp/got"
	sed -n '3,$p' "$tap_tmp/got"
	grep -aq '0.100000400: .*prev_comm=sh.* prev_pid=[0-9]* prev_prio=\[damaged\].* where=\[damaged\]' "$tap_tmp/got" &&
		grep -aq '0.100000401: .*filename=\[damaged\] pid=9' "$tap_tmp/got" &&
		grep -aq 'sched:hostile: far=\[damaged\] name=\[damaged\]' "$tap_tmp/got"
}
damaged_never_crash() {
	build_sanitized ||
		{ echo "this host's compiler has no sanitizers"; return 0; }
	# libtraceevent loses a few bytes of memory if it cannot read a format. Ignore this leak, which is not a fault
	# of ntrace
	echo leak:libtraceevent.so >"$tap_tmp/suppressions"
	seed=0 said=0
	while [ $seed -lt "$damaged" ]; do
		record "$tap_tmp/damaged.data" damage=$seed
		LSAN_OPTIONS=suppressions=$tap_tmp/suppressions:print_suppressions=0 UBSAN_OPTIONS=halt_on_error=1:exitcode=99 ASAN_OPTIONS=exitcode=99 timeout 60 \
			"$O/sanitized/bin/ntrace" script -i "$tap_tmp/damaged.data" >"$tap_tmp/said" 2>&1
		rc=$?
		if [ $rc -gt 2 ] || grep -aqE 'Sanitizer|runtime error' "$tap_tmp/said"; then
			echo "seed $seed: exit $rc"
			head -n 20 "$tap_tmp/said"
			return 1
		fi
		! grep -aq '^ntrace: the formats of tracepoints' "$tap_tmp/said" || said=$((said + 1))
		seed=$((seed + 1))
	done
	echo "$damaged recordings, $said with a sentence about formats"
	[ $said -gt 0 ]
}

# export_is FORMAT: export the recording, and check the tracepoints in the exported file
export_is() {
	"$ntrace" export --format "$1" -o "$tap_tmp/exported" -i "$data" || return
	case $1 in
	jsonl | chrome)
		python3 - "$1" "$tap_tmp/exported" <<'E3' ;;
import json, sys
with open(sys.argv[2], encoding='utf-8') as f:
    if sys.argv[1] == 'jsonl':
        lines = [json.loads(line) for line in f]
        got = [(x['time'], x['event'], x['fields']['prev_pid' if 'prev_pid' in x['fields'] else 'old_pid'], x['tid']) for x in lines if 'event' in x]
        times = [x['time'] for x in lines]
    else:
        lines = json.load(f)['traceEvents']
        got = [(round(x['ts'] * 1000), x['name'], x['args']['prev_pid' if 'prev_pid' in x['args'] else 'old_pid'], x['tid']) for x in lines if x['ph'] == 'i']
        times = [x['ts'] for x in lines]
print(len(lines), got)
sys.exit(got != [(100000001, 'sched:sched_process_exec', -8, 1234), (100000350, 'sched:sched_switch', 7, 1234)] or
         times != sorted(times) or len(lines) < 8)
E3
	sqlite)
		python3 -c 'import json, sqlite3, sys
got = [(*row[:-1], json.loads(row[-1])["pid"]) for row in sqlite3.connect(sys.argv[1]).execute("SELECT time, cpu, tid, comm, event, fields FROM events WHERE event LIKE ?", ["%exec"])]
print(got)
sys.exit(got != [(100000001, 0, 1234, "calls", "sched:sched_process_exec", 9)])' "$tap_tmp/exported" ;;
	perfetto) grep -aq 'tracepoints, CPU 0' "$tap_tmp/exported" && [ "$(grep -ao 'sched:sched_[a-z_]*' "$tap_tmp/exported" | wc -l)" -eq 2 ] ;;
	esac
}

plan 18
for format in jsonl chrome perfetto; do ok "export --format $format" export_is $format; done
if "$ntrace" export --format sqlite 2>&1 | grep -q 'in a build with'; then
	skip "export --format sqlite" "this build has no libsqlite3"
else
	ok "export --format sqlite" export_is sqlite
fi
ok "script prints tracepoints by name, with fields, between branches" text_is -i "$data"
ok "a recording from a pipe has the same tracepoints" text_is -i "$tap_tmp/pipe.data"
ok "tracepoints are in the order of time, between branches, instructions or calls" in_order
for what in --branches --calls --insns --events; do ok "script $what --json" json_is $what; done
ok "filters by CPU, thread and time select tracepoints" filtered
ok "fields of samples that are too short are marked as damaged" short_is
record "$tap_tmp/none.data" no-formats && record "$tap_tmp/big.data" big && record "$tap_tmp/cut.data" cut=1200
ok "a recording without formats" says 0 "has tracepoints, but not their formats" "$ntrace" script -i "$tap_tmp/none.data"
is "a recording without formats: tracepoints are printed without their fields" "$("$ntrace" script --events -i "$tap_tmp/none.data" 2>/dev/null | grep -c ' tracepoint:3[0-9]*:$')" 2
ok "formats of a big-endian machine are reported" says 0 "of a big-endian machine" "$ntrace" script -i "$tap_tmp/big.data"
ok "formats that were cut short: complete formats are used" says 0 "sched:sched_switch: prev_comm=sh" "$ntrace" script -i "$tap_tmp/cut.data"
ok "damaged formats and samples cause no report of a sanitizer" damaged_never_crash
done_testing
