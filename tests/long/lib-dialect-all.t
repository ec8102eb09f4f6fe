#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run the long form of tests/lib/dialect.t, with 20,000 programs, and with 100 million instructions of one program.
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top" lib >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
gcc -g -O2 -I"$top/include" -o "$tap_tmp/roundtrip" "$top/tests/dialect/roundtrip.c" \
	"$top/tests/dialect/encoder.c" "$top/tests/dialect/program.c" "$O/lib/libntrace.a" \
	-lpthread || exit 1
plan 2
ok "20,000 programs" "$tap_tmp/roundtrip" run 20000 50000 1000
ok "100 million instructions" "$tap_tmp/roundtrip" run 1 100000000 2
done_testing
