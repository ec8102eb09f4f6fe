#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The fuzzing corpus and mutations of it, under the sanitizers; tests/fuzz has the fuzzers.
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top/tests/fuzz" O="$O" replay >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
plan 4
for kind in message flow elf frames; do
	if "$O/fuzz/replay-$kind" 100 "$top/tests/fuzz/corpus/$kind"/* \
		>"$tap_tmp/out" 2>&1; then
		pass "$kind: $(tail -n 1 "$tap_tmp/out"), 100 mutations each"
	else
		fail "$kind"
		tail -n 20 "$tap_tmp/out" | sed 's/^/# /'
	fi
done
done_testing
