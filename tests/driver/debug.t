#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the driver in a debug kernel, which has KASAN, lockdep, kmemleak, and checks of the DMA API
# and of sleeping in atomic context. Run the KUnit tests of the register logic, the kselftests,
# operations in random order, and random attributes. One board has a sink for each encoder. The
# other board has a shared sink that sends interrupts, and its idle CPUs lose their state. The
# kernel must not report a fault.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
[ -e "$O/root/kernel-debug/vmlinuz" ] || skip_all "the debug kernel is not set up; make setup"
[ -e "$O/tests/kunit/ntrace-kunit.ko" ] || make -s -C "$top/tests/driver" O="$O" kunit >&2 || exit 1

# Everything is slower in a debug kernel, so the time limit is longer. kmemleak also scans all memory
guest_timeout=900
guest_env="NTRACE_LIMIT_MS=10000 NTRACE_STORM=25 NTRACE_FUZZ_SECONDS=5"
guest_first="insmod /usr/lib/ntrace/ntrace-kunit.ko; dmesg"
selftests "debug kernel, 2 harts" "record_test;snapshot_test;sample_test;storm_test;fuzz_test" \
	--kernel debug --harts 2 --mem 512M --append kunit.enable=1
sed -n 's/^\[[^]]*\]  *\(\(not \)\{0,1\}ok [0-9]* .*\)/\1/p' "$tap_tmp/out" >"$tap_tmp/cases"
while read -r line; do
	case $line in
	*ntrace-registers*) ;;
	"ok "*) pass "KUnit: ${line#ok * }" ;;
	"not ok "*) fail "KUnit: ${line#not ok * }" ;;
	esac
done <"$tap_tmp/cases"
is "KUnit: the suite passes" "$(grep -c '^\[[^]]*\] ok 1 ntrace-registers' "$tap_tmp/out")" 1
[ "$tap_failed" = 0 ] || grep KTAP -A 60 "$tap_tmp/out" | sed 's/^/# /'
guest_first=:
selftests "debug kernel, interrupt" "pmu_test;attr_test;filter_test;life_test;storm_test" \
	--kernel debug --harts 2 --mem 512M --topology interrupt --deep-idle --stats "$tap_tmp/stats"
powered "debug kernel, interrupt"
plan $tap_n
done_testing
