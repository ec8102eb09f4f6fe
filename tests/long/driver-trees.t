#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Load the driver with device trees that have errors in random places, on each board. The kernel must not report a
# fault, the driver must load and unload, and perf must end, with or without trace. BOARDS="OPTIONS;..." selects
# boards. TREES=N is the number of trees for each board (30), and SEED is the number of the first tree (1).
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../driver/guest.sh"

need_perf_and_work 6.12
trees=${TREES:-30} seed=${SEED:-1}

# on OPTIONS: boot the board with these options once for each damaged device tree that wrong-tree.py makes, and load the
# driver
on() {
	# shellcheck disable=SC2086
	"$top/tools/board/board" dtb --harts 2 $1 >"$tap_tmp/right" || exit 1
	bad=0 traced=0 pmus=0 n=$((seed - 1))
	while [ $((n += 1)) -lt $((seed + trees)) ]; do
		python3 "$top/tests/driver/wrong-tree.py" $n <"$tap_tmp/right" >"$tap_tmp/wrong" || exit 1
		# shellcheck disable=SC2086
		"$top/tools/board/board" run --timeout 200 --harts 2 $1 --console "$tap_tmp/console" \
			--dts-sed "1r $tap_tmp/wrong
				d" -- 'sleep 1
			for i in 1 2; do
				[ ! -e /sys/bus/event_source/devices/ntrace/type ] || echo PMU
				timeout 30 perf record -B --no-bpf-event -q -a -m,64K -e ntrace// -o /tmp/p -- true >/tmp/log 2>&1
				case $? in 124) echo hang ;; 0) perf report --stats -i /tmp/p 2>/dev/null | grep -q "AUXTRACE events" && echo traced ;; esac
				rmmod ntrace || echo stays
				insmod /lib/ntrace/ntrace.ko || echo away
			done
			echo alive' >"$tap_tmp/said" 2>"$tap_tmp/err"
		# Only count messages of the driver, because the kernel itself reports errors of some properties
		[ "$(grep -cE '^(hang|stays|away)' "$tap_tmp/said") $(grep -c '^alive' "$tap_tmp/said")" = "0 1" ] &&
			! grep -qE "$complaints" "$tap_tmp/console" || {
			bad=$((bad + 1))
			echo "# $1, tree $n: $(head -n 1 "$tap_tmp/wrong")"
			sed 's/^/# /' "$tap_tmp/said" "$tap_tmp/err" | head -n 10
			grep -E -A 25 -m 1 "$complaints" "$tap_tmp/console" | sed 's/^/# /'
		}
		pmus=$((pmus + $(grep -c '^PMU' "$tap_tmp/said")))
		traced=$((traced + $(grep -c '^traced' "$tap_tmp/said")))
	done
	figure "$1: $trees trees, loaded twice each: $pmus times there was a PMU, $traced times it traced"
	is "$1: no tree causes a fault of the kernel or the driver" $bad 0
	# Check that the device trees are not damaged too little (the driver always traces) or too much (it never does)
	ok "$1: some trees are traced, and some are not" [ $traced -gt 0 ] && [ $traced -lt $((2 * trees)) ]
}

list=${BOARDS:---topology direct;--topology funnel;--board k3;--board p550}
while [ -n "$list" ]; do
	on "${list%%;*}"
	case $list in *\;*) list=${list#*;} ;; *) list= ;; esac
done
plan $tap_n
done_testing
