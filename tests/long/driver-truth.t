#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Nothing is lost, or it is said: system-wide trace of 4 busy harts with 1 MiB for
# each, compared with what ran. First with a reader that keeps up, then with one that
# is away for 5 seconds, then on each topology. On those with small memories of their own, trace is lost.
#
# NTRACE_LOAD_TOPOLOGY_SECONDS: for each topology, 3 if not given; TOPOLOGIES= picks some; ONLY=PATTERN
# takes runs of such a name.
# NTRACE_LOAD_SECONDS: 60 if not given. The clock of 4 harts is slower than the host's
# (NTRACE_LOAD_SLOW, 12), and a hart does what one of NTRACE_LOAD_MIPS (50) would, as they share
# its processors: what a reader and a driver can do in a second is to be in proportion to what
# 4 harts write in it, and a timer is not to be late because the others are at work. The trace is
# kept in the guest's memory. A host may still be so slow that a reader is late: that is a skip,
# and is to be flagged as any loss.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../driver/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 && make -s -C "$top" tool >&2 || exit 1
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"
seconds=${NTRACE_LOAD_SECONDS:-60}
slow=${NTRACE_LOAD_SLOW:-12}
mips=${NTRACE_LOAD_MIPS:-50}

# An instruction needs 2 bits, and the buffer has a bit more than that.
room=$((seconds * mips / 3 + 100))
mem=$((4 * room / 1024 + 2))G
guest_env=NTRACE_LOAD_SLOW=$slow
truth "reader that keeps up, new, 4 harts" reader_that_keeps_up_loses_nothing "$seconds" $room \
	--kernel new --harts 4 --slow "$slow" --mips "$mips" --mem $mem
# This is more than the buffer can take.
slow=4
guest_env=NTRACE_LOAD_SLOW=$slow
truth "reader away for 5 s, new, 4 harts" reader_that_was_away_gets_the_rest "$seconds" $room \
	--kernel new --harts 4 --slow "$slow" --mips "$mips" --mem $mem
# One hart alone writes more, and no timer is late there.
guest_env=
truth "reader that keeps up, 6.12, 1 hart, --icount" reader_that_keeps_up_loses_nothing 3 1000 \
	--kernel 6.12 --icount --mem 3G
# The reader must serve all harts of a shared sink with the buffer of one, so slow their clock down.
seconds=${NTRACE_LOAD_TOPOLOGY_SECONDS:-3}
room=$((seconds * mips / 3 + 100))
mem=$((4 * room / 1024 + 2))G
for topology in ${TOPOLOGIES:-direct funnel funnel2 interrupt mixed sram choice k3 p550}; do
	slow=${NTRACE_LOAD_SLOW:-24}
	guest_env=NTRACE_LOAD_SLOW=$slow
	case $topology in
	sram | mixed) test=loss_is_flagged ;;
	*) test=reader_that_keeps_up_loses_nothing ;;
	esac
	truth "$topology, new, 4 harts" $test "$seconds" $room \
		--kernel new --harts 4 --topology "$topology" --slow "$slow" --mips "$mips" --mem $mem
done
plan $tap_n
done_testing
