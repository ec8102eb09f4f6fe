#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run the fuzz targets of tests/fuzz under the sanitizers, with the stored corpus and mutations of it as input.
. "$(dirname "$0")/../harness/tap.sh"
build_sanitized && make -C "$top/tests/fuzz" O="$O" replay >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
plan 4
export UBSAN_OPTIONS=halt_on_error=1
mutations=$(by_size 20 100)
for kind in message flow elf frames; do
	if "$O/fuzz/replay-$kind" $mutations "$top/tests/fuzz/corpus/$kind"/* \
		>"$tap_tmp/out" 2>&1; then
		pass "$kind: $(tail -n 1 "$tap_tmp/out"), $mutations mutations each"
	else
		fail "$kind"
		tail -n 20 "$tap_tmp/out" | sed 's/^/# /'
	fi
done
done_testing
