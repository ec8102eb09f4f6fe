#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Do a thousand operations in random order on the debug kernel, on 4 harts in each topology, on the hardware of the K3
# and the P550, and on hardware that gets stuck. OPERATIONS= sets a smaller number, NTRACE_SEED= repeats an order, and
# ONLY=PATTERN selects runs by name.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/driver/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
[ -e "$O/root/kernel-debug/vmlinuz" ] || skip_all "the debug kernel is not set up; make setup"

# This limit is longer than the limit of the kselftest for a storm, because the guest also boots and searches for
# leaks.
guest_timeout=4200
storm="NTRACE_STORM=${OPERATIONS:-1000} ${NTRACE_SEED:+NTRACE_SEED=$NTRACE_SEED}"
guest_env="$storm NTRACE_LIMIT_MS=10000"
# NTRACE_LIMIT_MS limits all operations except a reload of the driver. storm_test derives the limit of a reload from
# the time of a reload without trace on the same kernel and topology.
selftests "debug kernel, 2 harts" storm_test --kernel debug --harts 2
selftests "debug kernel, funnel" storm_test --kernel debug --harts 4 --topology funnel --mem 2G
for topology in ${TOPOLOGIES:-direct funnel funnel2 interrupt mixed sram choice k3}; do
	selftests "new, $topology" storm_test --kernel new --harts 4 --topology "$topology"
done
for kernel in $(kernels lts new); do
	selftests "$kernel, the K3's hardware" storm_test --kernel $kernel --board k3
	selftests "$kernel, the P550's hardware" storm_test --kernel $kernel --board p550
done
guest_env="$storm NTRACE_FAULTS=1 NTRACE_LIMIT_MS=2000"
selftests "6.12, hardware that gets stuck" storm_test --kernel 6.12 --harts 2 --model fault.stuck=1000
plan $tap_n
done_testing
