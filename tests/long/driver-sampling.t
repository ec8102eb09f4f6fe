#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test AUX sampling on the debug kernel, because this kernel exports the functions that a module needs for AUX
# sampling. The branches that perf decodes from the samples must have been executed.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../driver/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
make -s -C "$top/tests/driver" O="$O" KVER=debug work >&2 || exit 1
[ -e "$O/root/kernel-debug/vmlinuz" ] || skip_all "the debug kernel is not set up; make setup"
[ -x "$O/perf/6.12/riscv64/perf" ] || skip_all "perf is not built; make perf"
make -s -C "$top/tools/board/model" O="$O" >&2 &&
	gcc -O2 -Wall -Wextra -Wno-sign-compare -I"$top/tools/board/model" -o "$tap_tmp/branches" \
		"$top/tests/perf/branches.c" "$O/board/model/libnbmodel.a" || exit 1

guest_timeout=600
selftests "debug kernel, 2 harts, one sink" sample_test --kernel debug --harts 2 --topology funnel
selftests "debug kernel, SRAM" sample_test --kernel debug --topology sram
selftests "debug kernel, an ETR" sample_test --kernel debug --harts 2 --topology k3

mkdir -p "$tap_tmp/guest"
cat >"$tap_tmp/guest/script" <<'E2'
cat /proc/cpuinfo >/out/cpuinfo
cd /tmp
perf record --aux-sample -c 300000 -m,64K -e '{ntrace//u,task-clock:u}' -o s.data -- /usr/lib/ntrace/work 5000 >/out/log 2>&1
echo "record $?"
echo "samples $(perf script -i s.data --itrace= -F event 2>/dev/null | grep -c task-clock)"
perf script -i s.data --itrace=be --ns -F pid,tid,cpu,time,flags,ip,addr >branches 2>>/out/log
echo "script $?"
# The samples of task-clock do not contain a CPU.
grep -v '\[-01\]' branches >/out/branches
E2
# recorded NAME BOARD-OPTIONS...: record AUX samples on this board. Check that each branch that perf decodes from the
# samples was taken, and that the samples have many branches
recorded() {
	_name=$1; shift
	rm -rf "$tap_tmp/truth"
	"$top/tools/board/board" run --kernel debug --timeout 500 --console "$tap_tmp/console" --truth "$tap_tmp/truth" \
		--out "$tap_tmp/guest" "$@" -- 'sh /out/script' >"$tap_tmp/said" 2>"$tap_tmp/err"
	sed 's/^/# /' "$tap_tmp/said" "$tap_tmp/guest/log"
	quiet "$_name"
	is "$_name: perf records and decodes samples" "$(grep -E '^(record|script) ' "$tap_tmp/said" | xargs)" "record 0 script 0"
	samples=$(sed -n 's/^samples //p' "$tap_tmp/said")
	ok "$_name: there are more than 20 samples" [ "${samples:-0}" -gt 20 ]
	"$tap_tmp/branches" -s "$tap_tmp"/truth/hart*.truth <"$tap_tmp/guest/branches" >"$tap_tmp/compared"
	is "$_name: each decoded branch was executed" $? 0
	sed 's/^/# /' "$tap_tmp/compared"
	figure "$_name: $samples samples of 4 KiB: $(tail -n 1 "$tap_tmp/compared")"
	ok "$_name: samples have more than 100 branches on average" \
		[ "$(sed -n '$s/^\([0-9]*\) branches compared.*/\1/p' "$tap_tmp/compared")" -gt $((100 * ${samples:-0})) ]
}

recorded "perf record --aux-sample"
recorded "perf record --aux-sample, an ETR" --topology k3
plan $tap_n
done_testing
