#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Harts share a sink, which is often full because its buffers are small. perf and `ntrace script` must report each
# missing branch of a hart as a loss of this hart in the right place. All branches that they print must have been
# executed. TOPOLOGIES, HARTS and SIZES are lists of topologies, numbers of harts and sizes of buffers.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"

# Record on TOPOLOGY with HARTS and a buffer of SIZE, and print 4 results
# shellcheck disable=SC2016
losses_of() {
	truth_topology=$1 truth_size=$3 truth_board='' truth_firmware='' truth_flags=-l truth_before=true truth_append=
	[ "$1" != p550 ] || truth_board=p550 truth_firmware=$firmware
	# A full ETR overwrites the oldest trace, so branches.c needs the option -r.
	[ "$1" != k3 ] || truth_flags=-lr
	# Let the driver wait longer for the module that emulates the power controller, because the host may be slow.
	[ "$1" != power ] || truth_append=deferred_probe_timeout=3600 truth_before='insmod /usr/lib/ntrace/ntrace-power.ko
		for n in $(seq 120); do cmp -s /sys/bus/event_source/devices/ntrace/cpumask /sys/devices/system/cpu/online && break; sleep 0.5; done'
	# If the board has more harts than the host has processors, harts mostly execute loops that wait for a lock.
	truth_clock=
	[ "$2" -lt 4 ] || truth_clock='--slow 10 --mips 50'
	# On a fast host, perf may read all trace in time. Stop perf while a busy loop fills the buffers. Repeat this,
	# so that trace follows at least one loss.
	ok "$1, $2 harts, -m,$3: recorded" truth_record 6.12 "$2" 1 'for i in 1 2 3; do
		kill -STOP $PPID; n=0; while [ $n -lt 3000 ]; do n=$((n + 1)); done; kill -CONT $PPID; sleep 0.2; done'
	ok "$1, $2 harts, -m,$3: perf reports each loss in its place" truth_compare
	figure "$1, $2 harts, -m,$3, perf: $truth_last"
	ok "$1, $2 harts, -m,$3: some of the trace is lost" \
		awk '/^hart/ { told += $7; n += $3 } END { exit !told || n < 100 }' "$tap_tmp/compared"
	ok "$1, $2 harts, -m,$3: ntrace script reports each loss in its place" truth_compare_ntrace
	figure "$1, $2 harts, -m,$3, ntrace: $truth_last"
}

truth_dir=$O/tests/perf-shared-sink truth_part=${truth_part:-$(by_size 20 1)}
truth_build 6.12
# The p550 cannot exclude machine mode, so name the ELF file with the firmware's code.
firmware=$O/root/firmware/fw_dynamic.elf@0x80000000
printf '[ntrace]\n\tfirmware = %s\n' "$firmware" >"$tap_tmp/config"
export PERF_CONFIG="$tap_tmp/config"
topologies=${TOPOLOGIES:-$(by_size funnel "funnel funnel2 p550 interrupt mixed power k3")}
harts=${HARTS:-$(by_size 2 "2 4")} sizes=${SIZES:-$(by_size 128K "128K 64K")}
case $topologies in
*power*) make -s -C "$top/tests/driver" O="$O" KVER=6.12 guest >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; } ;;
esac
plan $((4 * $(echo "$topologies" | wc -w) * $(echo "$harts" | wc -w) * $(echo "$sizes" | wc -w)))
for topology in $topologies; do
	for n in $harts; do
		for size in $sizes; do losses_of "$topology" "$n" "$size"; done
	done
done
done_testing
