#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Decode damaged recordings with a perf that is built with sanitizers. 2,000 recordings are damaged at random. In each
# of the other recordings, one number in N-Trace's records has a limit value. Each number and each limit value is
# tested.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/damaged.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "perf with sanitizers is built for an x86-64 host"
plan 2
if damaged_run 2000; then pass "2000 damaged recordings"; else fail "2000 damaged recordings"; fi
rm -rf "$tap_tmp/bad"
if damaged_run words; then pass "each number at its ends"; else fail "each number at its ends"; fi
done_testing
