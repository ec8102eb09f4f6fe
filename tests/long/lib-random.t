#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/lib/random.t with 100,000 seeds. FIRST and SEEDS select some of the seeds, so that several machines can
# share the seeds, or one machine can continue. If a seed fails, the test prints the command that repeats this seed.
#
#   FIRST=1 SEEDS=100000 tests/run tests/long/lib-random.t
. "$(dirname "$0")/../harness/tap.sh"
first=${FIRST:-1}
seeds=${SEEDS:-100000}
build_sanitized && make -C "$top" lib >"$tap_tmp/make" 2>&1 &&
	make -C "$top/tests/random" O="$O" all sanitized >>"$tap_tmp/make" 2>&1 ||
	{ cat "$tap_tmp/make"; exit 1; }
plan 4
# For a tenth of the seeds, the program also decodes damaged copies of the trace. Some seeds are repeated with
# sanitizers.
ok "$seeds seeds from $first on" "$O/random/random" --seeds "$first" "$seeds"
ok "$((seeds / 10)) seeds, each with 10 damaged copies" \
	"$O/random/random" --seeds $((first + 1000000)) $((seeds / 10)) --flips 10
ok "$((seeds / 33)) seeds, each with 10 damaged copies, under the sanitizers" \
	env UBSAN_OPTIONS=halt_on_error=1 "$O/random/random-sanitized" --seeds $((first + 2000000)) $((seeds / 33)) --flips 10
ok "20,000 encoders that deviate in random ways" "$O/random/random" --zoo --seeds 1 20000
done_testing
