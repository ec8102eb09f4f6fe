#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every branch that perf prints of a system-wide recording is one that the truth has, in
# order, of that CPU, thread and process; tests/long has the larger run.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"

plan 4
truth_dir=$O/tests/perf-truth-short
truth_all 6.12 2 1
done_testing
