#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The driver must build without a warning for each kernel in the archive, for the kernels of the board, and for the
# next kernel. This test builds the next kernel, and runs the kselftests on it.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/driver/guest.sh"

builds() { # KERNEL [MAKE-ARGUMENTS]
	_kdir=$O/root/kernel-$1/build
	O="$tap_tmp/$1" KDIR="$_kdir" "$top/drivers/ntrace/build.sh" "$@" >"$tap_tmp/log" 2>&1 &&
		! grep -E '(warning|error):' "$tap_tmp/log" && [ -s "$tap_tmp/$1/drivers/$1/ntrace.ko" ]
}

for kernel in $(kernels lts new debug); do
	if [ -e "$O/root/kernel-$kernel/build" ]; then
		ok "for $kernel" builds "$kernel"
	else
		skip "for $kernel" "it is not set up; make setup"
	fi
done
"$top/tools/setup/setup" kernel-next >"$tap_tmp/setup" 2>&1
next=$(kernels next)
if [ "$next" != next ]; then
	ok "for $(cat "$O/root/kernel-next/version")" builds "$next"
	make -s -C "$top/selftests/ntrace" O="$O" >&2 && "$top/drivers/ntrace/build.sh" "$next" >&2 &&
		make -s -C "$top/tests/driver" O="$O" KVER="$next" guest >&2 || exit 1
	tests="pmu_test;attr_test;field_test;filter_test;record_test;snapshot_test;sample_test;security_test"
	# Leave out the test system_suspend. On the next kernel, Virtio's console does not work after a suspend,
	# even without the driver.
	tests="$tests;share_test;life_test -T system_suspend;load_test -t reader_that_stops_is_told;storm_test;fuzz_test"
	# The next kernel is built with checks for faults, so it is slower. This kernel reports locks that sleep in a
	# real-time kernel. The kernel's DMA debugging code has one of these locks, so disable this code.
	guest_env="NTRACE_FUZZ_SECONDS=5 NTRACE_LIMIT_MS=5000" guest_timeout=1200
	selftests "$next, 2 harts" "fail_test;$tests" --kernel next --harts 2 --append dma_debug=off
	selftests "$next, 4 harts share a sink" "$tests" --kernel next --harts 4 --topology funnel --append dma_debug=off
else
	skip "for the next kernel" "$(tail -n 1 "$tap_tmp/setup")"
fi
plan $tap_n
done_testing
