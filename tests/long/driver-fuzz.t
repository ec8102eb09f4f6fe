#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Use random attributes and operations on the PMU for half an hour as root, and for half an hour as an ordinary user
# with perf_event_paranoid 2. The test runs on the debug kernel, and on harts that share a sink. SECONDS_EACH= sets a
# shorter time.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/driver/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
[ -e "$O/root/kernel-debug/vmlinuz" ] || skip_all "the debug kernel is not set up; make setup"

seconds=${SECONDS_EACH:-1800}
guest_timeout=$((3 * seconds + 900))
for topology in ${TOPOLOGIES:-funnel}; do
	guest_env="NTRACE_FUZZ_SECONDS=$seconds"
	selftests "$topology, root" fuzz_test --kernel debug --harts 4 --topology "$topology"
	guest_env="NTRACE_FUZZ_SECONDS=$seconds NTRACE_FUZZ_USER=1"
	selftests "$topology, an ordinary user" fuzz_test --kernel debug --harts 4 --topology "$topology"
done
plan $tap_n
done_testing
