#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Use a perf that has sanitizers. Decode 2,000 damaged recordings, and recordings in which one
# number of N-Trace's records has a limit value, for each number and each limit value.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/damaged.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "perf with sanitizers is built for an x86-64 host"
plan 2
if damaged_run 2000; then pass "2000 damaged recordings"; else fail "2000 damaged recordings"; fi
rm -rf "$tap_tmp/bad"
if damaged_run words; then pass "each number at its ends"; else fail "each number at its ends"; fi
done_testing
