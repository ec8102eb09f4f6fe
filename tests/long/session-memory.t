#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# 10 GiB of trace, a recording repeated: each command takes at most 256 MiB of memory.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/memory.sh"
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
mib=${MIB:-10240}
memory_setup "$mib" || exit 1

plan 4
for command in "report --functions" report "report --stack" "slow work"; do
	# shellcheck disable=SC2086
	ok "$command: at most 256 MiB, of $mib MiB of trace" memory_of 256 $command
	figure "$said MiB"
done
rm -f "$memory_dir/perf.data"
done_testing
