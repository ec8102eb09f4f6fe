#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The memory of commands must not increase with the size of a recording. tests/long/session-memory.t uses 10 GiB.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/memory.sh"
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
memory_setup 64 || exit 1

plan 8
# Decode with one thread. With several threads, the number of decoded parts that wait for an earlier part depends on
# the host. tests/long/session-memory.t limits the memory of several threads.
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
# A command maps pages of the file for the start and the end of each AUX record. It must unmap the pages of earlier
# records
ok "a recording with many stretches" memory_setup 96 64
ok "report --functions: at most 48 MiB, of 1536 stretches" memory_of 48 report --functions
figure "$said MiB"
rm -f "$memory_dir/perf.data"
done_testing
