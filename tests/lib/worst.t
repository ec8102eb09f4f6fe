#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Decode streams that take long for their size, and compare the time with that of an ordinary stream
# on the same machine. tests/lib/worst.c has the streams and the limits.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-worst
mkdir -p "$dir"
unit_build worst >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
plan 1
ok "no stream takes longer than its limit, for each range or for each message" "$dir/worst"
done_testing
