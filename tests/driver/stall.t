#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test harts that share a sink, and that stall instead of losing trace (stall=1, in user mode). One hart saves the
# trace and sets up the sink's next window. Meanwhile, the other harts must stall, and no trace may be lost.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 && make -s -C "$top/tools/board/model" O="$O" >&2 &&
	gcc -O2 -Wall -Wextra -Wno-sign-compare -I"$top/tools/board/model" -o "$tap_tmp/untraced" \
		"$top/tests/driver/untraced.c" "$O/board/model/libnbmodel.a" || exit 1
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"
seconds=${NTRACE_LOAD_SECONDS:-$(by_size 1 2)}

for topology in ${TOPOLOGIES:-funnel}; do
	rm -rf "$tap_tmp/truth"
	"$top/tools/board/board" run --kernel "${KERNEL:-6.12}" --harts "${HARTS:-2}" --topology "$topology" --slow 4 \
		--timeout 2000 --truth "$tap_tmp/truth" --stats "$tap_tmp/stats" --console "$tap_tmp/console" -- \
		"NTRACE_LOAD_STALL=1 NTRACE_LOAD_SECONDS=$seconds \
			/usr/lib/selftests/ntrace/load_test -t reader_that_keeps_up_loses_nothing" >"$tap_tmp/said" 2>"$tap_tmp/err"
	# Print the lines of load_test. If the sink gets full, load_test reports that its reader was late, but no trace
	# is lost, because the harts stall
	grep '^#' "$tap_tmp/said" || sed 's/^/# /' "$tap_tmp/err" | head -n 20
	ok "$topology: the trace of all harts is recorded" grep -E '^ok 1' "$tap_tmp/said"
	quiet "$topology"
	"$tap_tmp/untraced" "$tap_tmp"/truth/hart*.truth >"$tap_tmp/untraced.out"
	sed 's/^/# /' "$tap_tmp/untraced.out"
	figure "$topology: $(awk '{ n += $3; m += $9; g += $12 } END {
		printf "%.1f M instructions of user mode, %d missed in %d gaps", n / 1e6, m, g }' "$tap_tmp/untraced.out")"
	is "$topology: user mode is traced on each hart" \
		"$(grep -c ' [0-9]\{6,\} instructions of user mode traced' "$tap_tmp/untraced.out")" "${HARTS:-2}"
	is "$topology: no instruction is missed" "$(grep -c ' 0 missed' "$tap_tmp/untraced.out")" "${HARTS:-2}"
	is "$topology: no encoder has lost a message" "$(grep -c 'overflows=0 blocks_lost=0' "$tap_tmp/stats")" "${HARTS:-2}"
done
# This FIFO drains too slowly. Without stall=1, the trace must report losses. With stall=1, no trace may be lost.
guest_env=NTRACE_SLOW_FIFO=1
selftests "slow FIFO" "record_test -t encoder_without_room_says_so_or_stalls" --kernel "${KERNEL:-6.12}" \
	--model te.fifo_depth=64,te.fifo_rate=2 --stats "$tap_tmp/stats"
is "slow FIFO: each loss of the encoder is an Error message of the trace" \
	"$(sed -n 's/.*stall=0: \([0-9]*\) Error.*/\1/p' "$tap_tmp/out")" \
	"$(sed -n 's/^te.* overflows=\([0-9]*\) .*/\1/p' "$tap_tmp/stats")"
plan $tap_n
done_testing
