#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Memory must not grow with a recording. tests/long/session-memory.t uses 10 GiB.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/memory.sh"
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
memory_setup 64 || exit 1

plan 8
while read -r most command; do
	# shellcheck disable=SC2086
	ok "$command: at most $most MiB, of 64 MiB of trace" memory_of $most $command
	figure "$said MiB"
done <<E2
48 report --functions
96 report
128 report --stack
176 slow work
208 script --calls
E2
ok "progress with the time that is left, which is gone in the end" progress_is
# Pages that are mapped at the start and the end of each stretch must not stay mapped
ok "a recording with many stretches" memory_setup 96 64
ok "report --functions: at most 48 MiB, of 1536 stretches" memory_of 48 report --functions
figure "$said MiB"
rm -f "$memory_dir/perf.data"
done_testing
