#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A database of calls that is larger than 1 GiB, where SQLite leaves a page out, and has three levels of pages.
. "$(dirname "$0")/../harness/tap.sh"
gcc -O2 -Wall -Wextra -D_GNU_SOURCE -I"$top/tools/ntrace" -o "$tap_tmp/rows" "$top/tests/pictures/rows.c" \
	"$top/tools/ntrace/sqlite-rows.c" -lsqlite3 2>"$tap_tmp/gcc" || skip_all "$(head -n 1 "$tap_tmp/gcc")"
plan 1
ok "SQLite reads 48 million rows" "$tap_tmp/rows" "$tap_tmp/db" 48000000
done_testing
