#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# No stream that takes long for its size may take many times as long as it did before
# (tests/lib/worst.c), relative to a plain stream on the same machine.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-worst
mkdir -p "$dir"
unit_build worst >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
plan 1
ok "time for what a stream gives out, or for each message" "$dir/worst"
done_testing
