#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Trace 4 busy harts system-wide, and compare the trace with the truth. Each loss must be reported. In the first run,
# the reader is fast enough. In the second run, the reader pauses for 5 seconds. In these two runs, each hart has a
# buffer of 1 MiB. Further runs use each topology. Trace is lost if the sinks have their own small memories.
#
# NTRACE_LOAD_TOPOLOGY_SECONDS is the time for each topology (3 seconds). TOPOLOGIES= selects topologies, and
# ONLY=PATTERN selects runs by name. NTRACE_LOAD_AUX is the size of each hart's buffer in the runs with topologies
# (32 MiB). NTRACE_LOAD_SECONDS is the time for the other runs (60 seconds).
# NTRACE_LOAD_SLOW (12) and NTRACE_LOAD_MIPS (50) limit the speed of the guest, because the 4 harts share the host's
# processors. The clock of the harts is slower than the host's clock by the factor NTRACE_LOAD_SLOW. Each hart
# executes at most NTRACE_LOAD_MIPS million instructions in a second of this clock. Without these limits, the reader
# and the driver would have too little time for the trace of 4 harts, and timers would be late because other harts
# run. The trace is stored in the guest's memory. If the host is too slow and the reader is late, the result is a
# skip, and the loss must still be reported.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../driver/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 && make -s -C "$top" tool >&2 || exit 1
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"
seconds=${NTRACE_LOAD_SECONDS:-60}
slow=${NTRACE_LOAD_SLOW:-12}
mips=${NTRACE_LOAD_MIPS:-50}

# The trace needs about 2 bits for each instruction. Reserve a little more memory than this in the guest, which stores
# the trace.
room=$((seconds * mips / 3 + 100))
mem=$((4 * room / 1024 + 2))G
guest_env=NTRACE_LOAD_SLOW=$slow
truth "reader that keeps up, new, 4 harts" reader_that_keeps_up_loses_nothing "$seconds" $room \
	--kernel new --harts 4 --slow "$slow" --mips "$mips" --mem $mem
# In the next run, each hart's AUX buffer is too small for the trace of the 5 s in which the reader pauses, so trace is
# lost. The clock is slower than the host's clock only by the factor 4.
slow=4
guest_env=NTRACE_LOAD_SLOW=$slow
truth "reader away for 5 s, new, 4 harts" reader_that_was_away_gets_the_rest "$seconds" $room \
	--kernel new --harts 4 --slow "$slow" --mips "$mips" --mem $mem
# The next runs have a single hart, which executes faster, and whose timers are not late.
guest_env=
truth "reader that keeps up, 6.12, 1 hart, --icount" reader_that_keeps_up_loses_nothing 3 1000 \
	--kernel 6.12 --icount --mem 3G
# All harts of a shared sink write to the buffer of one hart. Make the buffers larger, and slow down the clock of
# these harts, to give the reader enough time.
seconds=${NTRACE_LOAD_TOPOLOGY_SECONDS:-3}
room=$((seconds * mips / 3 + 100))
mem=$((4 * room / 1024 + 2))G
for topology in ${TOPOLOGIES:-direct funnel funnel2 interrupt mixed sram choice k3 p550}; do
	slow=${NTRACE_LOAD_SLOW:-24}
	guest_env="NTRACE_LOAD_SLOW=$slow NTRACE_LOAD_AUX=${NTRACE_LOAD_AUX:-32}"
	case $topology in
	sram | mixed) test=loss_is_flagged ;;
	*) test=reader_that_keeps_up_loses_nothing ;;
	esac
	truth "$topology, new, 4 harts" $test "$seconds" $room \
		--kernel new --harts 4 --topology "$topology" --slow "$slow" --mips "$mips" --mem $mem
done
plan $tap_n
done_testing
