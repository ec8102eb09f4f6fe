#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# As tests/lib-random.t, 100,000 seeds.
. "$(dirname "$0")/../lib/tap.sh"
make -C "$top" lib >"$tap_tmp/make" 2>&1 &&
	make -C "$top/tests/random" O="$O" all sanitized >>"$tap_tmp/make" 2>&1 ||
	{ cat "$tap_tmp/make"; exit 1; }
plan 3
ok "100,000 seeds" "$O/random/random" --seeds 1 100000
ok "10,000 seeds, each with 10 damaged copies" \
	"$O/random/random" --seeds 200001 10000 --flips 10
ok "3,000 seeds, each with 10 damaged copies, under the sanitizers" \
	"$O/random/random-sanitized" --seeds 300001 3000 --flips 10
done_testing
