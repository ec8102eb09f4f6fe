#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The encoder reports an scontext of 0 in each Ownership message, because the hart lacks scontext, or the firmware
# denies access to scontext. In this case, perf must take the threads from the kernel's context switches.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"

plan 6
# Use a hart like that of the P550, with an encoder of N-Trace 1.0
truth_dir=$O/tests/perf-scontext truth_board=p550 truth_topology=direct
truth_all 6.12 1 1
"$O/perf/new/x86_64/perf" script -D -i "$truth_dir/out/jit.data" 2>/dev/null >"$tap_tmp/dump"
ok "the trace has Ownership messages" grep -q 'Ownership.* scontext=0x0' "$tap_tmp/dump"
ok "the metadata reports that scontext is not the thread" grep -q 'Thread in scontext  0' "$tap_tmp/dump"
done_testing
