#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Record the same program with `ntrace record` and perf record. `ntrace record` must not execute more instructions,
# and must not drop more trace than perf record. To find the amount of dropped trace, also record the program with a
# buffer that never fills.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"
. "$top/tests/command/recorder.sh"

plan 4
recorder_build command-cost
recorder_files || exit 1

# With --icount, time is the number of retired instructions. Count the instructions of a recorder and of all processes
# that the recorder starts
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
		perf --buildid-dir /tmp/perf record --no-buildid-mmap -e ntrace//u -m,64M -o pw.data -- ./work 1 >>said 2>&1 || exit 1
		./ntrace-static record --buildid-dir /tmp/ntrace -e ntrace//u -m 64M -o nw.data -- ./work 1 >>said 2>&1 || exit 1
		cp said p.data n.data pw.data nw.data /out
	E2
	"$top/tools/board/board" run --kernel 6.12 --icount --out "$out" --timeout 600 -- sh /out/go || return
	cat "$out/said"
	awk '{ printf "%.1f and %.1f ms more than the %.1f ms of the program: perf record, ntrace record\n",
		($2 - $1) / 1e6, ($3 - $1) / 1e6, $1 / 1e6; exit !($3 <= $2) }' "$out/cost"
}

symfs() {
	mkdir -p "$truth_dir/symfs/tmp" && cp -a "$O/root/guest/." "$truth_dir/symfs/" && cp "$tap_tmp/work" "$truth_dir/symfs/tmp/"
}
# kept NAME: print the bytes of trace, the reported instructions, and the number of AUX records after which trace was
# lost.
kept() {
	{
		"$O/bin/ntrace" stat --json "$out/$1.data" && "$O/bin/ntrace" report --functions --json --limit 1 --symfs "$truth_dir/symfs" -i "$out/$1.data"
	} 2>"$tap_tmp/err" | python3 -c 'import json, sys
t, counted = (json.loads(sys.stdin.readline()) for _ in range(2))
print(t["bytes"], counted["instructions"], t["losses"])'
}
# whole - check that no trace was lost in the two recordings with a large buffer
whole() {
	for which in pw nw; do
		now=$(kept $which)
		echo "$which: $now bytes, instructions, losses"; head -n 3 "$tap_tmp/err"
		case $now in *" 0") ;; *) return 1 ;; esac
	done
}
# compare COLUMN WHAT: compare the shares of the trace that perf record and ntrace record store. COLUMN is a column of
# the output of kept(), and WHAT is its unit. The share of ntrace record must not be smaller. A share may exceed 100 %,
# because trace restarts with longer messages after a loss
compare() {
	echo "$(kept p) $(kept pw) $(kept n) $(kept nw)" | awk -v c="$1" -v what="$2" '{
		perf = $c / $(c + 3); ntrace = $(c + 6) / $(c + 9)
		printf "perf record keeps %.1f %% of %d %s (lost %d times), ntrace record %.1f %% of %d (%d times)\n",
			100 * perf, $(c + 3), what, $3, 100 * ntrace, $(c + 9), $9
		exit !($(c + 3) > 0 && $c > 0 && ntrace >= perf) }'
}

ok "ntrace record executes no more instructions than perf record" cost
figure "$(tail -n 1 "$tap_tmp/out")"
symfs
ok "with a large buffer, no trace is lost" whole
ok "ntrace record keeps no fewer bytes of trace than perf record" compare 1 bytes
figure "$(tail -n 1 "$tap_tmp/out")"
ok "ntrace record keeps no fewer executed instructions than perf record" compare 2 instructions
figure "$(tail -n 1 "$tap_tmp/out")"
done_testing
