#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ntrace verify` keeps the code of a host and that of its guest apart, at the same addresses, too.
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top" tool >"$tap_tmp/make" 2>&1 && make -C "$top/tools/board/model" O="$O" all >>"$tap_tmp/make" 2>&1 &&
	"${CC:-cc}" -O2 -Wall -Wextra -Werror -I"$top/tools/board/model" -o "$tap_tmp/verify-guest" \
		"$top/tests/model/verify-guest.c" "$O/board/model/libnbmodel.a" || { cat "$tap_tmp/make"; exit 1; }
plan 3

# verified WHERE: what verify says of 100,000 turns, of five instructions
verified() {
	"$tap_tmp/verify-guest" "$1" 100000 "$tap_tmp/truth" "$tap_tmp/nt" &&
		"$O/bin/ntrace" verify --truth "$tap_tmp/truth" --trace "$tap_tmp/nt" 2>&1 | tail -n 1
}
all="500000 instructions compared, 0 differences, 0 gaps declared with 0 instructions, 0 missing outside gaps"
is "at two addresses" "$(verified other)" "$all"
is "at the same address" "$(verified same)" "$all"
# the check must be able to fail
"$tap_tmp/verify-guest" other 100 "$tap_tmp/truth" "$tap_tmp/other"
"$O/bin/ntrace" verify --truth "$tap_tmp/truth" --trace "$tap_tmp/nt" >"$tap_tmp/said" 2>&1
is "a trace of another address is another" "$? $(grep -c 'first difference' "$tap_tmp/said")" "1 1"
done_testing
