#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Trace threads of an ordinary user, which yield the CPU all the time, on 4 harts. Trace them for ten minutes on each
# topology, with the debug kernel and with the newest kernel. SECONDS_EACH= sets a shorter time.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../driver/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
[ -e "$O/root/kernel-debug/vmlinuz" ] || skip_all "the debug kernel is not set up; make setup"

seconds=${SECONDS_EACH:-600}
guest_timeout=$((3 * seconds + 600))
# share_test has two cases with threads that yield. Each case gets half of the time.
guest_env="NTRACE_SECONDS=$((seconds / 2))"
for kernel in ${KERNELS:-$(kernels debug new)}; do
	for topology in ${TOPOLOGIES:-funnel direct funnel2 interrupt mixed sram choice k3 p550}; do
		selftests "$kernel, $topology" share_test --kernel "$kernel" --harts 4 \
			--topology "$topology"
	done
done
plan $tap_n
done_testing
