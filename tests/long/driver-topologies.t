#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The kselftests of selftests/ntrace on both kernels and each topology of the board.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../driver/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
tests="pmu_test;attr_test;filter_test;record_test;snapshot_test;sample_test;security_test;life_test;load_test -t reader_that_stops_is_told"

[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"
for kernel in 6.12 7.2; do
	for topology in direct funnel funnel2 interrupt mixed sram choice k3 p550; do
		selftests "$kernel, $topology" "$tests" --kernel $kernel --harts 2 --topology $topology
	done
	selftests "$kernel, minimal hardware" "$tests" --kernel $kernel --model caps=minimal
	guest_env=NTRACE_IRQ=lost
	selftests "$kernel, interrupt that is lost" life_test --kernel $kernel --harts 2 \
		--topology interrupt --model fault.irq_lost=on
	guest_env=
	for topology in direct funnel funnel2 sram; do
		selftests "$kernel, $topology, idle harts lose their state" "$tests" --kernel $kernel --harts 2 \
			--topology $topology --deep-idle --stats "$tap_tmp/stats"
		powered "$kernel, $topology, idle harts lose their state"
	done
done
plan $tap_n
done_testing
