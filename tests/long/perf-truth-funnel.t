#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Record 4 harts behind a funnel, which write to one sink. SRC distinguishes the messages of the harts. Every branch
# that perf prints must be in the truth, with the same order, CPU, thread and process.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"

plan 4
truth_dir=$O/tests/perf-truth-funnel truth_topology=funnel
kernel=$(kernels "${KERNEL:-new}")
truth_build "$kernel"
ok "Linux $kernel: recorded on 4 harts" truth_record "$kernel" 4 "${ROUNDS:-3}"
ok "Linux $kernel: all branches are right" truth_compare
figure "Linux $kernel: $truth_last"
truth_speed
ok "Linux $kernel: there are at least a million branches" [ "$(truth_number branches)" -ge 1000000 ]
is "no errors" "$(truth_number errors)" 0
done_testing
