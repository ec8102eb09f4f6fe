#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Read 10 GiB of trace, in which one recording is repeated. Each command may use at most 256 MiB of memory. MIB= sets
# another size, and COMMANDS= selects commands, one per line.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/memory.sh"
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
mib=${MIB:-10240}
memory_setup "$mib" || exit 1
commands=${COMMANDS:-"report --functions
profile --lcov -o $memory_dir/lcov
report
slow work
report --stack
script --calls
export --format folded -o $memory_dir/folded"}

plan "$(echo "$commands" | wc -l)"
echo "$commands" >"$tap_tmp/commands"
while read -r command; do
	name="$(echo "$command" | sed 's/ -o .*//'): at most 256 MiB, of $mib MiB of trace"
	# Calls that contain other calls are stored in an unnamed file, which needs 48 bytes for each call
	free=$(df -Pm "${TMPDIR:-/tmp}" | awk 'NR == 2 { print $4 }')
	case $command in
	export* | *--calls) [ "$free" -gt $((8 * mib)) ] || { skip "$name" "calls may take $((8 * mib)) MiB in ${TMPDIR:-/tmp}, which has $free"; continue; } ;;
	esac
	# shellcheck disable=SC2086
	ok "$name" memory_of 256 $command
	figure "$said MiB, $took"
done <"$tap_tmp/commands"
rm -f "$memory_dir/perf.data" "$memory_dir/lcov" "$memory_dir/folded"
done_testing
