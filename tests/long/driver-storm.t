#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A thousand operations in random order, on the debug kernel, on 4 harts of a stock
# one, and on hardware that gets stuck; and five minutes of random attributes.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../driver/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
[ -e "$O/root/kernel-debug/vmlinuz" ] || skip_all "the debug kernel is not set up; make setup"

guest_timeout=3000
guest_env="NTRACE_STORM=1000 NTRACE_LIMIT_MS=10000"
selftests "debug kernel, 2 harts" storm_test --kernel debug --harts 2
guest_env="NTRACE_FUZZ_SECONDS=300"
selftests "debug kernel, 2 harts, fuzzed" fuzz_test --kernel debug --harts 2
guest_env="NTRACE_STORM=1000"
selftests "7.2, 4 harts" storm_test --kernel 7.2 --harts 4
selftests "7.2, funnel" storm_test --kernel 7.2 --harts 2 --topology funnel
guest_env="NTRACE_STORM=1000 NTRACE_FAULTS=1 NTRACE_LIMIT_MS=2000"
selftests "6.12, hardware that gets stuck" storm_test --kernel 6.12 --harts 2 --model fault.stuck=1000
plan $tap_n
done_testing
