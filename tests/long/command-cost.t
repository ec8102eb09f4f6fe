#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ntrace record` beside perf record of the same program: it executes no more instructions, and loses no
# more trace.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"
. "$top/tests/command/recorder.sh"

plan 2
recorder_build command-cost
recorder_files || exit 1

# Under --icount, time is the count of retired instructions: of a recorder with all that it starts
cost() {
	cat >"$out/go" <<-'E2'
		cd /tmp && cp /out/work /out/ntrace-static . && export PERF_BUILDID_DIR=/tmp/debug
		mkdir perf ntrace
		# busybox's date has no nanoseconds
		now() { sed -n 's/^now at \([0-9]*\) nsecs$/\1/p' /proc/timer_list; }
		begin=$(now)
		./work 1 >/dev/null
		alone=$(now)
		perf --buildid-dir /tmp/perf record --no-buildid-mmap -e ntrace//u -m,256K -o p.data -- ./work 1 >said 2>&1 || exit 1
		perf=$(now)
		./ntrace-static record --buildid-dir /tmp/ntrace -e ntrace//u -m 256K -o n.data -- ./work 1 >>said 2>&1 || exit 1
		ntrace=$(now)
		echo $((alone - begin)) $((perf - alone)) $((ntrace - perf)) >/out/cost
		cp said p.data n.data /out
	E2
	"$top/tools/board/board" run --kernel 6.12 --icount --out "$out" --timeout 600 -- sh /out/go || return
	cat "$out/said"
	awk '{ printf "%.1f and %.1f ms more than the %.1f ms of the program: perf record, ntrace record\n",
		($2 - $1) / 1e6, ($3 - $1) / 1e6, $1 / 1e6; exit !($3 <= $2) }' "$out/cost"
}
# Prints how often trace was lost in a recording.
losses() { "$O/bin/ntrace" report --functions -i "$out/$1" 2>/dev/null | sed -nE '1s/.*trace was lost ([0-9]+) times.*/\1/p'; }

ok "it executes no more instructions than perf record" cost
figure "$(tail -n 1 "$tap_tmp/out")"
perf_lost=$(losses p.data) ntrace_lost=$(losses n.data)
ok "and loses no more trace: ${ntrace_lost:-0} times, perf ${perf_lost:-0} times" [ "${ntrace_lost:-0}" -le "${perf_lost:-0}" ]
done_testing
