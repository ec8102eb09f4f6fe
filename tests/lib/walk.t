#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Decode a program that hardly ever takes the same path twice, so that the decoder can hardly use
# stored results again. All PCs must be decoded, and flipped bits must be detected.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-walk
mkdir -p "$dir"
{ unit_build flips && "$top/tests/lib/walk" "$dir" 200000; } >"$tap_tmp/make" 2>&1 ||
	{ cat "$tap_tmp/make"; exit 1; }

# walk "ENCODE OPTIONS" "DECODE OPTIONS": encode the PCs of the program, decode the trace, and
# compare the PCs
walk() {
	# shellcheck disable=SC2086
	"$O/bin/ntrace" encode --elf "$dir/riscv" --pcs "$dir/walk.pcs" -o "$dir/nt" $1 $2 &&
		"$O/bin/ntrace" decode "$dir/nt" --elf "$dir/riscv" --pcs $2 >"$dir/pcs" &&
		cmp "$dir/pcs" "$dir/walk.pcs"
}

plan 11
ok "HTM" walk "" ""
ok "HTM, HIST in parts" walk "--hist-bits 5" ""
ok "HTM, timestamps, of one source" walk "--src 7" "--timestamp --src-bits 4"
ok "HTM, sequential jumps" walk "" --sequential-jump
ok "HTM, all jumps" walk "" --all-jumps
ok "HTM, implicit return" walk "" --implicit-return
ok "HTM, implicit return and sequential jumps" walk "--hist-bits 9" "--implicit-return --sequential-jump"
ok "BTM" walk "--mode btm" ""
ok "BTM, implicit return, timestamps" walk "--mode btm" "--implicit-return --timestamp"
for mode in htm btm; do
	"$O/bin/ntrace" encode --elf "$dir/riscv" --pcs "$dir/walk.pcs" -o "$dir/$mode" \
		--mode $mode --sync-mode 1 --sync-max 6 || exit 1
	ok "$mode: after a flipped bit, the trace from the next SYNC on is right" \
		"$dir/flips" "$dir/riscv" "$dir/$mode" 500 20261121 $mode
	figure "$(cat "$tap_tmp/out")"
done
done_testing
