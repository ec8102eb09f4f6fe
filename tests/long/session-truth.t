#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check calls, counts and latencies of tests/session/hostile.c and tests/perf/work.c on two harts, with and without
# the kernel. Each call must be in the truth. A perf without N-Trace reads the file of `ntrace inject`. This perf must
# read all branches that a perf with N-Trace decodes. If trace was lost, all call chains must be possible.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"

plan 12
truth_dir=$O/tests/session-truth
truth_build 6.12
lib=$O/root/guest/usr/lib/riscv64-linux-gnu
fields=pid,tid,cpu,time,flags,ip,sym,symoff,dso,addr
out=$truth_dir/out

build() {
	for what in "hostile -fexceptions $top/tests/session/hostile.c $top/tests/perf/catch.S $lib/libstdc++.so.6 -Wl,-rpath-link,$lib -lpthread -ldl" \
		"hostile.so -fPIC -shared $top/tests/session/hostile-lib.c" "lost $top/tests/perf/lost.c -lpthread"; do
		# shellcheck disable=SC2086
		"$O/root/bin/riscv64-guest-gcc" -O2 -g -o "$out/"$what || return
	done
	cp "$tap_tmp/work" "$out/"
}

record() {
	rm -rf "$truth_dir" && mkdir -p "$out" && build || return
	cat >"$out/go" <<-'E2'
		cp /proc/cpuinfo /out/cpuinfo
		cd /tmp && cp /out/work /out/lost /out/hostile /out/hostile.so .
		export PERF_BUILDID_DIR=/tmp/debug
		record() { perf --buildid-dir /tmp/debug record --kcore "$@" >>/out/record.log 2>&1; }
		record -a -m,16M -e ntrace// -o all.data -- sh -c '
			/tmp/hostile 3 /tmp/hostile.so >/tmp/threads && /tmp/work 1 /tmp >>/tmp/threads
			for task in /proc/$PPID/task/*; do echo thread ${task##*/} of $PPID; done >>/tmp/threads' || exit 1
		record -m,4M -e ntrace//u -o user.data -- sh -c '/tmp/hostile 3 /tmp/hostile.so >>/tmp/threads' || exit 1
		record -a -m,16 -e ntrace// -o lost.data -- sh -c '/tmp/lost 300; /tmp/hostile 1 /tmp/hostile.so' || exit 1
		perf --buildid-dir /tmp/debug inject -j -i all.data -o jit.data >>/out/record.log 2>&1 || exit 1
		tar -cf /out/files.tar jit.data user.data lost.data threads debug jitted*
	E2
	"$top/tools/board/board" run --kernel 6.12 --harts 2 --truth "$truth_dir/truth" --out "$out" --timeout 900 -- sh /out/go &&
		out_files "$out" && truth_symfs 6.12 && cp "$out/lost" "$out/hostile" "$out/hostile.so" "$truth_root/tmp/"
}

ntrace() { _what=$1; shift; "$O/bin/ntrace" "$_what" --symfs "$truth_root" --buildid-dir "$truth_root/.debug" "$@"; }

# Check the truth of the first two recordings immediately. Keep the truth of the third recording for later.
verify() {
	# shellcheck disable=SC2046
	for f in jit user; do ntrace script -F $fields -i "$out/$f.data"; done |
		"$tap_tmp/branches" -v "$truth_dir/verified" -t "$out/threads" $(truth_harts) "$truth_dir"/truth/hart*.truth |
		tail -n 1 | tee "$tap_tmp/last"
	grep -q ' 0 wrong, 0 of a wrong kind, 0 of a wrong thread, 0 of a wrong process, 0 out of order,.* 0 errors' "$tap_tmp/last"
}

calls() {
	for f in jit user; do ntrace script --calls --json -i "$out/$f.data" || return; done >"$truth_dir/calls.json"
	python3 "$top/tests/session/calls.py" "$truth_dir/verified" "$truth_dir/calls.json"
}

# Compare the counts of each function (nt_flow_count()) with the instructions of the verified branches
counts() {
	for f in jit user; do
		ntrace script --insns -F sym,dso -i "$out/$f.data" 2>/dev/null | awk '/error type/ { next } { n[$2 " " $3]++ } END {
			for (k in n) { name = k; sub(/\(.*\//, "(", name); all[name] += n[k] }
			for (k in all) print all[k], k
		}' | tr '()' '[]' | sed 's/\[\[/[/;s/\]\]/]/' | sort >"$tap_tmp/one-by-one"
		ntrace report --functions --limit 0 -i "$out/$f.data" 2>/dev/null | awk 'NR > 3 && NF { print $1, $3, $4 }' |
			sed 's/\[\[/[/;s/\]\]/]/' | sort >"$tap_tmp/counted"
		[ "$(wc -l <"$tap_tmp/counted")" -gt 50 ] && diff "$tap_tmp/one-by-one" "$tap_tmp/counted" || return
		awk -v f=$f '{ n += $1 } END { print f ": " n " instructions of " NR " functions" }' "$tap_tmp/counted"
	done
}

# The tree of all calls and the table must have the same numbers for each function.
stacks() {
	gcc -D_GNU_SOURCE -O2 -I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" -o "$tap_tmp/stacks" \
		"$top/tests/session/stacks.c" "$O/lib/libntrace-session.a" "$O/lib/libntrace.a" -ldw -lelf -lzstd -lpthread || return
	for f in jit user lost; do "$tap_tmp/stacks" "$out/$f.data" "$truth_root" "$truth_root/.debug" || return; done
}

decoder() { "$O/perf/new/x86_64/perf" script --symfs "$truth_root" "$@" 2>/dev/null; }

# A perf without N-Trace must read the branches from the file that `ntrace inject` has written. Use the host's perf,
# which does not support N-Trace. If the host has no perf, use the perf of this tree.
other_perf() { if command -v perf >/dev/null; then echo perf; else echo "$O/perf/6.12/x86_64/perf"; fi; }

inject() {
	ntrace inject --all-branches --last-branches 64 -i "$out/user.data" -o "$truth_dir/user.inject" || return
	decoder -i "$out/user.data" --itrace=be -F tid,cpu,ip,addr >"$truth_dir/user.branches"
	"$(other_perf)" script --symfs "$truth_root" -i "$truth_dir/user.inject" -F tid,cpu,brstack 2>/dev/null |
		python3 "$top/tests/session/inject.py" "$truth_dir/user.branches"
}

lost() {
	ntrace inject --strict --period 500 --last-branches 0 -i "$out/lost.data" -o "$truth_dir/lost.inject"
	[ $? -eq 1 ] || return
	"$(other_perf)" script --symfs "$truth_root" -i "$truth_dir/lost.inject" -F comm,tid,ip,sym 2>/dev/null |
		python3 "$top/tests/session/lost.py"
}

ok "recorded" record
ok "all branches are right" verify
ok "all calls, their counts and latencies are right" calls
figure "$(tail -n 1 "$tap_tmp/out")"
ok "the counts of each function are right" counts
figure "$(tail -n 2 "$tap_tmp/out")"
ok "the tree of all calls agrees with the table of functions" stacks
ok "inject: all branches" inject
figure "$(tail -n 1 "$tap_tmp/out")"
ntrace report -i "$out/lost.data" >"$tap_tmp/report" 2>/dev/null
ok "trace was lost" grep -q 'trace was lost [1-9][0-9]* time' "$tap_tmp/report"
figure "$(head -n 1 "$tap_tmp/report")"
ok "all call chains of the recording with losses are possible" lost
figure "$(tail -n 1 "$tap_tmp/out")"
for what in report "script --calls" "slow leafA" "inject -o $truth_dir/one"; do
	# shellcheck disable=SC2086
	set -- $what; command=$1; shift
	ntrace "$command" --threads 1 "$@" -i "$out/lost.data" >"$tap_tmp/one" 2>/dev/null
	if [ "$command" = inject ]; then cp "$truth_dir/one/data" "$tap_tmp/one"; fi
	ntrace "$command" --threads 4 "$@" -i "$out/lost.data" >"$tap_tmp/four" 2>/dev/null
	if [ "$command" = inject ]; then cp "$truth_dir/one/data" "$tap_tmp/four"; fi
	ok "$what: one thread and four threads print the same" cmp "$tap_tmp/one" "$tap_tmp/four"
done
done_testing
