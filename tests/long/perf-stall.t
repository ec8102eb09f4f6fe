#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Trace user mode of 2 harts that share a sink, and that stall instead of losing trace (stall=1). perf must print
# every branch of the truth, with its order, CPU, thread and process.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"

plan 6
truth_dir=$O/tests/perf-stall truth_topology=funnel truth_event=ntrace/stall=1/u
truth_all 6.12 2 1
is "nothing is lost" "$(truth_number gaps) $(truth_number missing)" "0 0"
is "the recorded event traces user mode with stall=1" "$("$O/perf/new/x86_64/perf" evlist -v -i "$truth_dir/out/jit.data" 2>/dev/null |
	grep -c '^ntrace/stall=1/u.*exclude_kernel: 1')" 1
done_testing
