#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test hardware like SpacemiT's K3. ATB bridges give the trace of each encoder an ID, and a CoreSight ETR writes the
# trace to memory in frames. Every branch that perf prints must be in the truth, with the same order, CPU, thread and
# process.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"

plan 6
truth_dir=$O/tests/perf-k3 truth_topology=k3
truth_all 6.12 2 1
# The metadata in the recording must map trace IDs to CPUs.
"$O/perf/new/x86_64/perf" script -D -i "$truth_dir/out/jit.data" 2>/dev/null |
	grep -a -E 'trace ID|PERF_RECORD_AUX ' >"$tap_tmp/dump"
is "a trace ID for each CPU" "$(grep -o 'trace ID [0-9]*' "$tap_tmp/dump" | sort -u | wc -l)" 2
is "all trace is in frames" "$(grep RECORD_AUX "$tap_tmp/dump" | grep -v -c 'flags: 0x100')" 0
done_testing
