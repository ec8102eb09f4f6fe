#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every branch that perf prints of a system-wide recording is one that the truth has, in
# order, of that CPU, thread and process; tests/long has the larger run.
. "$(dirname "$0")/lib/tap.sh"
. "$top/tests/perf/truth.sh"

plan 4
truth_dir=$O/tests/perf-truth-short
truth_build 6.12
ok "recorded on 2 harts, Linux 6.12" truth_record 6.12 2 1
ok "all branches are right" truth_compare
figure "$truth_last"
is "no errors" "$(truth_number errors)" 0
ok "ntrace script: all branches are right" truth_compare_ntrace
figure "ntrace: $truth_last"
done_testing
