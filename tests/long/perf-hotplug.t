#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A hart goes offline and online repeatedly while perf records. One recording traces all harts, and perf loses the
# event of the hart that goes offline. Another recording traces one program, whose threads leave this hart and return
# to it. Every branch that perf prints must be in the truth, with the same order and CPU. If buffers are small, trace
# is also lost. BOARDS=, SIZES= and KERNEL= select boards, buffer sizes and the kernel.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"

kernel=$(kernels "${KERNEL:-lts}")
truth_build "$kernel"
# perf cannot open events on a CPU that is going offline, so wait until perf has started the program
truth_before='(until [ -e /tmp/threads ]; do sleep 0.1; done; while sleep 0.4; do
	for on in 0 1; do echo $on >/sys/devices/system/cpu/cpu1/online; sleep 0.2; done; echo turn >>/out/turns
done) &'
# The P550 cannot exclude machine mode, so name the file with the firmware's code
printf '[ntrace]\n\tfirmware = %s@0x80000000\n' "$O/root/firmware/fw_dynamic.elf" >"$tap_tmp/config"
export PERF_CONFIG="$tap_tmp/config"
# When perf loses the events of the offline CPU, perf also loses this CPU's events about programs, so the process of a
# branch may be unknown
truth_flags=-u
for board in ${BOARDS:-k3 p550 funnel}; do
	case $board in
	p550) truth_board=p550 truth_topology=p550 ;;
	*) truth_board='' truth_topology=$board ;;
	esac
	for truth_size in ${SIZES:-16M 128K}; do
	for truth_who in -a ''; do
		what="$board, $truth_size${truth_who:+, all harts}"
		truth_dir=$O/tests/perf-hotplug-$board-$truth_size$truth_who
		ok "$what: recorded" truth_record "$kernel" 2 "${ROUNDS:-3}"
		figure "$what: offline and back $(wc -l <"$truth_dir/out/turns") times"
		ok "$what: all branches are right" truth_compare
		figure "$what: $truth_last"
		ok "$what: ntrace script: all branches are right" truth_compare_ntrace
		figure "ntrace: $what: $truth_last"
		ok "$what: at least a million branches were compared" [ "$(truth_number branches)" -ge 1000000 ]
	done
	done
done
plan $tap_n
done_testing
