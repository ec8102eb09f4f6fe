#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run all kselftests of selftests/ntrace on both kernels, on the debug kernel, and on each topology of the board.
# KERNELS= and TOPOLOGIES= select some of these, and ONLY=PATTERN selects runs by name.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../driver/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
# The speed of a reader depends on the host, so only long/driver-load and long/driver-truth test this speed.
tests="pmu_test;attr_test;field_test;filter_test;record_test;snapshot_test;sample_test;security_test;share_test;life_test;load_test -t reader_that_stops_is_told;storm_test;fuzz_test"

[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"
topologies=${TOPOLOGIES:-direct funnel funnel2 interrupt mixed sram choice k3 p550}

# limits KERNEL: set longer limits for the debug kernel, which is slow and scans all memory for leaks
limits() { # KERNEL
	limits="NTRACE_FUZZ_SECONDS=5 NTRACE_LIMIT_MS=5000"
	more="" guest_timeout=900
	[ "$1" = debug ] || return 0
	limits="$limits NTRACE_LIMIT_MS=10000 NTRACE_STORM=25"
	more="--mem 512M" guest_timeout=2000
}

for kernel in ${KERNELS:-$(kernels lts new debug)}; do
	limits "$kernel"
	for topology in $topologies; do
		guest_env=$limits
		# shellcheck disable=SC2086
		selftests "$kernel, $topology" "$tests" --kernel $kernel --harts 2 --topology $topology $more
	done
	# shellcheck disable=SC2086
	selftests "$kernel, minimal hardware" "$tests" --kernel $kernel --model caps=minimal $more
	guest_env="$limits NTRACE_IRQ=lost"
	# shellcheck disable=SC2086
	selftests "$kernel, interrupt that is lost" life_test --kernel $kernel --harts 2 \
		--topology interrupt --model fault.irq_lost=on $more
	guest_env=$limits
	for topology in direct funnel funnel2 sram; do
		name="$kernel, $topology, idle harts lose their state"
		case $name in *${ONLY:-}*) ;; *) continue ;; esac
		# shellcheck disable=SC2086
		selftests "$name" "$tests" --kernel $kernel --harts 2 --topology $topology --deep-idle \
			--stats "$tap_tmp/stats" $more
		powered "$name"
	done
done
plan $tap_n
done_testing
