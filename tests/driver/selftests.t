#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The kselftests of selftests/ntrace, in the guest of the emulated board: on
# both kernels, on the largest and on the minimal hardware. All of them on each
# kernel and topology: tests/long/driver-topologies.t.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"

printf 'encoder te%% hart=%% to=ram%%\nramsink ram%% mode=both sram=65536\n' >"$tap_tmp/both"
make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
# load_test's other half, which depends on how often the host lets the guest's timers
# come, is in tests/long/driver-load.t
tests="pmu_test;attr_test;field_test;filter_test;record_test;snapshot_test;sample_test;security_test;life_test;load_test -t reader_that_stops_is_told"

[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"
selftests "6.12, 2 harts" "$tests" --kernel 6.12 --harts 2
selftests "6.12, minimal hardware" "$tests" --kernel 6.12 --harts 1 --model caps=minimal
# a funnel, and an interrupt that comes for no reason too
guest_env=NTRACE_IRQ=spurious
selftests "7.2, interrupt" "$tests" --kernel 7.2 --harts 2 --topology interrupt --model fault.irq_spurious=50
guest_env=
# events of an ordinary user come and go on each hart while others use the sink
selftests "6.12, 4 harts share a sink" "share_test;field_test -t src_is_told" --kernel 6.12 --harts 4 --topology funnel \
	--model funnel.fifo=256
# bridges, a CoreSight funnel and an ETR that writes frames
selftests "6.12, 4 harts share an ETR" "share_test;record_test;snapshot_test;life_test -t system_suspend" \
	--kernel 6.12 --harts 4 --topology k3
# registers that are older than the Trace Control Interface: no filters, no context
selftests "6.12, 4 harts share SiFive's funnel" "share_test;record_test;snapshot_test;attr_test;life_test" \
	--kernel 6.12 --board p550
# to the instruction: a timer that comes too late is no accident
guest_env=NTRACE_EXACT=1
selftests "6.12, timers" "life_test -t small_buffer_after_a_large_one" --kernel 6.12 --icount
guest_env=
# what depends on the sink
selftests "7.2, SRAM" "record_test;snapshot_test;load_test -t reader_that_stops_is_told" \
	--kernel 7.2 --harts 2 --topology sram
# memory of its own for a sink whose address is fixed
# shellcheck disable=SC2016
selftests "7.2, fixed memory" "record_test;snapshot_test" --kernel 7.2 --model \
	ram.smem_fixed=on,ram.smem_lowest=0xb0000000,ram.smem_highest=0xb003ffff --dts-sed '
	/trace@18001000 {/a memory-region = <\&own>;
	$a / { reserved-memory { #address-cells = <2>; #size-cells = <2>; ranges; own: own@b0000000 { reg = <0x0 0xb0000000 0x0 0x40000>; no-map; }; }; };'
# a sink of both kinds
selftests "6.12, SRAM and SMEM" "field_test" --kernel 6.12 --topology "$tap_tmp/both"
# two sinks for each encoder: one for all harts, and one of its own
selftests "6.12, a choice of sinks" "field_test" --kernel 6.12 --harts 2 --topology choice
# what may be missing of address filters, and machine mode, that a filter need not know
# and windows that the sink takes as powers of two only, where it makes others larger
selftests "6.12, comparators of ranges" "filter_test;security_test;record_test" --kernel 6.12 \
	--model te.comp_modes=7,te.comps=2,te.filter_levels=3,ram.sizes=2
# each bit comes late, and what reset leaves undefined is noise. One load late: a busy host may stop
# the guest between two loads for longer than the driver waits
selftests "6.12, late and undefined" "pmu_test;record_test;life_test" --kernel 6.12 --harts 2 --slow 4 \
	--model active-delay=1,enable-delay=1,empty-delay=1,ts-active-delay=1,undef=7
# sinks write past the caches: what the driver does not invalidate is not seen
selftests "6.12, memory that is not coherent" "record_test;snapshot_test" --kernel 6.12 --harts 2 --incoherent
# hardware that fails in the middle of its work: that is said, and what can be done is
guest_env="NTRACE_FAULTS=1 NTRACE_LIMIT_MS=5000"
selftests "6.12, hardware that gets stuck" storm_test --kernel 6.12 --harts 2 --model fault.stuck=300
[ -n "${ONLY:-}" ] || ok "6.12, hardware that gets stuck: the log says what and where" \
	grep -E 'ntrace .*: trace .* did not become' "$tap_tmp/console"
plan $tap_n
done_testing
