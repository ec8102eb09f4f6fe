#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Decode damaged recordings with a perf that is built with sanitizers. tests/long decodes many more recordings.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/damaged.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "perf with sanitizers is built for an x86-64 host"
plan 1
if damaged_run 60; then pass "60 damaged recordings"; else fail "60 damaged recordings"; fi
done_testing
