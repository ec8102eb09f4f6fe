#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Decode the traces of random programs. tests/random executes and encodes them according to the text
# of the specification.
. "$(dirname "$0")/../harness/tap.sh"
{ [ -n "${QUICK:-}" ] || build_sanitized; } && make -C "$top" lib >"$tap_tmp/make" 2>&1 &&
	make -C "$top/tests/random" O="$O" all $([ -n "${QUICK:-}" ] || echo sanitized) >>"$tap_tmp/make" 2>&1 ||
	{ cat "$tap_tmp/make"; exit 1; }
# tests/mutations needs only enough seeds to detect its changes
if [ -n "${QUICK:-}" ]; then
	plan 1
	ok "200 seeds, each with 4 damaged copies" "$O/random/random" --seeds 1 200 --flips 4
	done_testing
fi
plan 3
seeds=$(by_size 100 1000) sanitized=$(by_size 20 300)
ok "$seeds seeds, each with 4 damaged copies" \
	"$O/random/random" --seeds 1 $seeds --flips 4
ok "$sanitized seeds, each with 4 damaged copies, under the sanitizers" \
	env UBSAN_OPTIONS=halt_on_error=1 "$O/random/random-sanitized" --seeds 1001 $sanitized --flips 4
# tests/long/lib-random.t repeats this with 20,000 seeds
ok "encoders that deviate in random ways" "$O/random/random" --zoo --seeds 1001 $(by_size 200 2000)
done_testing
