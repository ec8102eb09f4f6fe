#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test an idle state in which a hart and its trace components lose their state. Run selftests on boards whose idle
# CPUs enter this state, and compare the decoded trace with the truth. tests/long/driver-topologies.t runs all
# selftests on each topology.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 && make -s -C "$top" tool >&2 || exit 1
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"

# make test leaves out the tests that do not depend on idle harts. tests/driver/selftests.t runs them.
selftests "6.12" "pmu_test;$(by_size "life_test -t deep_idle -t full_sink_of_a_cpu_without_power -t bursts_of_harts_that_idle -t cpu_goes_and_comes" \
	life_test)" --kernel 6.12 --harts 2 --deep-idle --stats "$tap_tmp/stats"
powered "6.12"
# Each event reads the difference between the time CSR and the counters of all harts, including sleeping harts
selftests "new, counters that are not the time CSR" "attr_test" --kernel new --harts "$(by_size 2 4)" --deep-idle --model te.ts_modes=8 \
	--stats "$tap_tmp/stats"
powered "new, counters that are not the time CSR"
# These counters restart after each idle state. The device tree describes their clock and its frequency
clocked='s/compatible = "qemu,trace-component".*/&\n clocks = <\&tick>; clock-names = "timestamp";/
	$a / { tick: tick { compatible = "fixed-clock"; #clock-cells = <0>; clock-frequency = <10000000>; }; };'
large_only selftests "new, clocks of the device tree" "pmu_test" --kernel new --model te.ts_modes=4 --dts-sed "$clocked"
selftests "new, counters that restart" "pmu_test" --kernel new --harts 2 --deep-idle --model te.ts_modes=4 \
	--dts-sed "$clocked" --stats "$tap_tmp/stats"
powered "new, counters that restart"
# The harts share components, which lose their state when both harts are idle. An event that waits on an idle CPU must
# not trace. The driver must not report this event each time that the CPU wakes.
selftests "new, funnel" "share_test -t event_that_waits_is_told_once;$(by_size pmu_test "pmu_test;sample_test;life_test")" --kernel new --harts 2 --deep-idle --topology funnel \
	--stats "$tap_tmp/stats"
powered "new, funnel"
# Each hart has an ATB bridge, which the driver leaves enabled between sessions
selftests "new, bridges" "$(by_size record_test "pmu_test;record_test;life_test")" --kernel new --harts 2 --deep-idle --topology k3 \
	--stats "$tap_tmp/stats"
powered "new, bridges"
# Two harts are busy for some milliseconds, and sleep afterwards
if large; then
	guest_env=NTRACE_LOAD_PAUSE=1500
	truth "6.12, busy now and then" reader_that_keeps_up_loses_nothing 2 256 --kernel 6.12 --harts 2 --deep-idle \
		--stats "$tap_tmp/stats"
	powered "6.12, busy now and then"
fi
plan $tap_n
done_testing
