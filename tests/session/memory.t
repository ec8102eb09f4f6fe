#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The memory of commands must not grow with the size of a
# recording. tests/long/session-memory.t uses 10 GiB.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/memory.sh"
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
memory_setup 64 || exit 1

plan 8
# With several threads, it depends on the host how many decoded parts wait for an earlier part, so one thread decodes.
# tests/long/session-memory.t limits what several threads need.
while read -r most command; do
	# shellcheck disable=SC2086
	ok "$command: at most $most MiB, of 64 MiB of trace" memory_of $most $command --threads 1
	figure "$said MiB"
done <<E2
20 report --functions
28 report
36 report --stack
68 slow work
152 script --calls
E2
ok "a line with the remaining time is printed, and erased at the end" progress_is
# Pages that are mapped at the start and the end of each stretch must not stay mapped
ok "a recording with many stretches" memory_setup 96 64
ok "report --functions: at most 48 MiB, of 1536 stretches" memory_of 48 report --functions
figure "$said MiB"
rm -f "$memory_dir/perf.data"
done_testing
