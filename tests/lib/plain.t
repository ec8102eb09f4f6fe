#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The parser of the decoder's fast path, which reads only short messages, must return the same
# fields as the parser of all messages, on each kind of processor (tests/lib/plain.c).
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top" lib >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
# plain FLAG...: build plain.c with these flags, and check that both parsers return the same fields
plain() {
	gcc -O2 -Wall -Wextra "$@" -I"$top/include" -I"$top/tools/lib/ntrace" -o "$tap_tmp/plain" \
		"$top/tests/lib/plain.c" "$O/lib/libntrace.a" -lpthread && "$tap_tmp/plain"
}
plan 2
ok "with the compiler's default options" plain
ok "without SSE2" plain -U__SSE2__
done_testing
