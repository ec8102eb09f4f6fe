#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The kselftests of selftests/ntrace, in the guest of the emulated board: on
# both kernels, on the largest and on the minimal hardware. All of them on each
# kernel and topology: tests/long/driver-topologies.t.
. "$(dirname "$0")/lib/tap.sh"
. "$(dirname "$0")/driver/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
# load_test's other half, which depends on how often the host lets the guest's timers
# come, is in tests/long/driver-load.t
tests="pmu_test;attr_test;filter_test;record_test;snapshot_test;sample_test;security_test;life_test;load_test -t reader_that_stops_is_told"

[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"
selftests "6.12, 2 harts" "$tests" --kernel 6.12 --harts 2
selftests "6.12, minimal hardware" "$tests" --kernel 6.12 --harts 1 --model caps=minimal
# a funnel, and an interrupt that comes for no reason too
guest_env=NTRACE_IRQ=spurious
selftests "7.2, interrupt" "$tests" --kernel 7.2 --harts 2 --topology interrupt --model fault.irq_spurious=50
guest_env=
# what depends on the sink
selftests "7.2, SRAM" "record_test;snapshot_test;load_test -t reader_that_stops_is_told" \
	--kernel 7.2 --harts 2 --topology sram
# what may be missing of address filters
selftests "6.12, comparators of ranges" "filter_test" --kernel 6.12 --model te.comp_modes=7,te.comps=2
# hardware that fails in the middle of its work: that is said, and what can be done is
guest_env="NTRACE_FAULTS=1 NTRACE_LIMIT_MS=2000"
selftests "6.12, hardware that gets stuck" storm_test --kernel 6.12 --harts 2 --model fault.stuck=300
ok "6.12, hardware that gets stuck: the log says what and where" \
	grep -E 'ntrace .*: trace .* did not become' "$tap_tmp/console"
plan $tap_n
done_testing
