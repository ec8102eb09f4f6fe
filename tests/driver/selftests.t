#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run the kselftests of selftests/ntrace in the guest of the emulated board, on both kernels, on the hardware with the
# most and with the fewest features. tests/long/driver-topologies.t runs all kselftests on each kernel and topology.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"

# Each encoder can send to two sinks. One sink is private, and all harts share the other sink. The private sink can write
# to an SRAM, of which the driver uses only a part, and to system memory.
sed 's/funnel,ram%/ram%,funnel/; s/ sram=[0-9]*/ sram=1048576/' "$top/tools/board/topology/choice" >"$tap_tmp/choice"
make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
# Run only one case of load_test. The case reader_that_keeps_up_loses_nothing needs timers of the guest that expire on
# time, so tests/long/driver-load.t runs it.
tests="pmu_test;attr_test;field_test;filter_test;record_test;snapshot_test;sample_test;security_test;life_test;load_test -t reader_that_stops_is_told"

# make test runs all of record_test on the first board, and in tests/driver/idle.t on the newer kernel. On boards whose
# sinks differ, it runs only these tests, which fill the windows of a sink and read all of their trace.
windows=$(by_size "record_test -t own_thread -t two_cpus_at_once -t buffer_goes_around_many_times -t full_buffer_is_flagged_and_goes_on_after_reading" \
	record_test)
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"
selftests "6.12, 2 harts" "$tests" --kernel 6.12 --harts 2
selftests "6.12, minimal hardware" "$(by_size "pmu_test;attr_test;field_test;filter_test" "$tests")" --kernel 6.12 --harts 1 --model caps=minimal
# This board has a funnel, and an interrupt that sometimes occurs for no reason.
guest_env=NTRACE_IRQ=spurious
# tests/driver/idle.t runs pmu_test and attr_test on the same kernel.
selftests "new, interrupt" "$(by_size "$windows;snapshot_test;life_test -t interrupt_of_a_full_sink -t cpu_goes_and_comes;load_test -t reader_that_stops_is_told" "$tests")" --kernel new --harts 2 --topology interrupt --model fault.irq_spurious=50
guest_env=
# Events of an unprivileged user start and end on each hart while other events use the sink.
guest_env=NTRACE_SECONDS=$(by_size 1 2)
selftests "6.12, 4 harts share a sink" "share_test;field_test -t src_is_told" --kernel 6.12 --harts 4 --topology funnel \
	--model funnel.fifo=256
guest_env=
# This board has ATB bridges, a CoreSight funnel, and an ETR that writes frames.
selftests "6.12, harts share an ETR" "$(by_size "$windows;snapshot_test" \
	"share_test;record_test;snapshot_test;life_test -t system_suspend")" --kernel 6.12 --harts "$(by_size 2 4)" --topology k3
# These registers are older than the Trace Control Interface, and have no filters and no context.
selftests "6.12, harts share SiFive's funnel" "$(by_size "$windows;attr_test" \
	"share_test;record_test;snapshot_test;attr_test;life_test")" --kernel 6.12 --board p550 --harts "$(by_size 2 4)"
# With --icount, time counts instructions, so no timer expires late because of a busy host.
guest_env=NTRACE_EXACT=1
selftests "6.12, timers" "life_test -t small_buffer_after_a_large_one" --kernel 6.12 --icount
guest_env=
# The results of these tests depend on the kind of sink.
selftests "new, SRAM" "$windows;snapshot_test;load_test -t reader_that_stops_is_told" \
	--kernel new --harts "$(by_size 1 2)" --topology sram
# The address of this sink is fixed, so the device tree reserves the memory at this address.
# shellcheck disable=SC2016
selftests "new, fixed memory" "$windows;snapshot_test" --kernel new --model \
	ram.smem_fixed=on,ram.smem_lowest=0xb0000000,ram.smem_highest=0xb003ffff --dts-sed '
	/trace@18001000 {/a memory-region = <\&own>;
	$a / { reserved-memory { #address-cells = <2>; #size-cells = <2>; ranges; own: own@b0000000 { reg = <0x0 0xb0000000 0x0 0x40000>; no-map; }; }; };'
# Each encoder sends to two sinks, and the driver uses the first one, which no other encoder uses. It can write to an SRAM
# and to system memory, and the driver lets it write to system memory.
selftests "6.12, encoders with two sinks, of which one has two memories" "record_test -t own_thread" --kernel 6.12 --harts 2 --topology "$tap_tmp/choice"
# Address filters may lack features, and may lack machine mode. This sink accepts only windows whose size is a power
# of two, and enlarges other windows. The sink always stops at the end of a window. The encoder's filter has comparators
# for two ranges, but can trace only one range. The kernel detects writes past the ends of allocations (slub_debug).
selftests "6.12, comparators of ranges" "$(by_size "filter_test;$windows" "filter_test;security_test;record_test;snapshot_test")" --kernel 6.12 \
	--model te.comp_modes=7,te.comps=2,te.filters=1,te.filter_levels=3,ram.sizes=2,ram.stop_fixed=on \
	--append slub_debug=FZ
# Each bit changes late, and undefined bits are noise after reset. The delay of a bit is one read of the register. A
# delay in time would be wrong, because a busy host may stop the guest between two reads for longer than the driver
# waits.
selftests "6.12, late and undefined" "$(by_size "pmu_test;$windows" "pmu_test;record_test;life_test")" --kernel 6.12 --harts 2 --slow 4 \
	--model active-delay=1,enable-delay=1,empty-delay=1,ts-active-delay=1,undef=7
# These sinks write past the caches. A CPU does not see the trace until the driver invalidates the CPU's caches.
selftests "6.12, memory that is not coherent" "$windows;snapshot_test" --kernel 6.12 --harts 2 --incoherent
# The memory of this sink is a reserved region without no-map, so the kernel maps this region.
# shellcheck disable=SC2016
large_only selftests "6.12, reserved memory that is not coherent" "record_test;snapshot_test" --kernel 6.12 --incoherent --dts-sed '
	/trace@18001000 {/a memory-region = <\&own>;
	$a / { reserved-memory { #address-cells = <2>; #size-cells = <2>; ranges; own: own@b0000000 { reg = <0x0 0xb0000000 0x0 0x40000>; }; }; };'
# The sink's memory is the region of the run before, but with no-map, so the kernel does not map it. The harts of this
# board cannot map memory without caches (Svpbmt).
# shellcheck disable=SC2016
selftests "6.12, reserved memory without caches" "$windows;snapshot_test" --kernel 6.12 --incoherent --dts-sed '
	/trace@18001000 {/a memory-region = <\&own>;
	$a / { reserved-memory { #address-cells = <2>; #size-cells = <2>; ranges; own: own@b0000000 { reg = <0x0 0xb0000000 0x0 0x40000>; no-map; }; }; };'
# This hardware fails while it is used. The driver must report the failure, and continue as far as possible.
guest_env="NTRACE_FAULTS=1 NTRACE_LIMIT_MS=5000"
selftests "6.12, hardware that gets stuck" storm_test --kernel 6.12 --harts 2 --model fault.stuck=300
[ -n "${ONLY:-}" ] || ok "6.12, hardware that gets stuck: the log says what and where" \
	grep -E 'ntrace .*: trace .* did not become' "$tap_tmp/console"
# In this run, functions of the driver fail. The kernel checks that nothing writes beyond the end of allocated memory,
# and overwrites freed memory.
for kver in $(kernels $(by_size lts "lts new")); do
	make -s -C "$top/tests/driver" O="$O" KVER=$kver guest >&2 || exit 1
done
guest_env=
selftests "6.12, functions that fail" fail_test --kernel 6.12 --harts 2 --topology funnel --append slub_debug=FZP
large_only selftests "new, functions that fail" fail_test --kernel new --harts 2 --append slub_debug=FZP
# An unprivileged user must not be able to stop the flight recorder or to take a sink from the recorder.
for kver in $(kernels $(by_size lts "lts new")); do
	selftests "$kver, flight recorder" flight_test --kernel $kver --harts $(by_size 2 4) --topology funnel --flight 4M
done
plan $tap_n
done_testing
