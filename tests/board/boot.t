#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Trace firmware and Linux from reset on, and compare the decoded trace with the truth. make test-all compares the whole
# boot, and in make test, tests/board/guest.t compares a whole boot. Also compare at least the first 12 million
# instructions in the modes that tests/board/boot-modes.sh lists. tests/long/board-verify-boot.t compares whole boots in
# these modes. If the path to the sink is slow, the decoded code must lack exactly the code whose loss the trace reports.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/boot.sh"
. "$(dirname "$0")/boot-modes.sh"
boot_setup
plan $(($(modes | grep -vc '^HTM|') + $(by_size 4 7)))

LEAST=$(by_size 20000000 1000000000)
# shellcheck disable=SC2046
boot_verify "$(by_size "first 20 million instructions" "whole boot"), HTM" boot-control=$htm "" $(by_size "--limit 20000000" "")
LEAST=$(by_size 12000000 35000000)
MODES='^(HTM[^|]|[^H])' boot_modes --limit "$(by_size 10000000 30000000)"

# overflow NAME MODEL: boot with a slow path to the sink, and check that the trace reports all losses
overflow() {
	boot_trace "$1" "$2,te.fifo_depth=256" --limit 30000000 || return
	boot_compare ""
	_bad=$?
	_overflows=$(sum overflows)
	figure "$1: $_overflows overflows, $(compared 1) instructions compared, $(compared 2) differences," \
		"$(compared 3) gaps declared, $(compared 5) instructions missing outside of them," \
		"$(sum blocks_lost) blocks passed meanwhile"
	ok "$1: the decoded trace equals the truth except for reported losses" \
		[ "$_bad $((_overflows > 1000)) $(($(compared 1) > 10000000))" = "0 1 1" ]
	is "$1: the trace reports each loss once" "$(compared 3)" "$_overflows"
	"$O/bin/ntrace" dump "$tap_tmp/boot/ram0.ntrace" | awk '
		/ Error / { errors++ }
		was && !/ProgTraceSync.*SYNC=7/ { bad++ }
		{ was = / Error / }
		/SYNC=7/ { syncs++ }
		END { print errors + 0, syncs + was, bad + 0 }' >"$tap_tmp/errors"
	is "$1: each loss has an Error message, and then ProgTraceSync with SYNC 7" "$(cat "$tap_tmp/errors")" \
		"$_overflows $_overflows 0"
}
overflow "slow path to the sink, HTM" boot-control=$htm,te.fifo_rate=12
large_only overflow "slow path to the sink, BTM" boot-control=$btm,te.fifo_rate=24
done_testing
