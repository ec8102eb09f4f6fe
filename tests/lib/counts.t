#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# nt_flow_count() must return the counts of the ranges that nt_flow_next() returns, even while code
# and address spaces change (tests/lib/counts.c). A second build of the library has so little
# memory for records of steps that it often drops records. lib/ntt.t, lib/nomem.t, lib/random.t and
# lib/parallel.t compare counts as well.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-counts
mkdir -p "$dir"
sources="$top/tools/ntrace/cli/option.c $top/tools/ntrace/cli/options.c $top/tools/ntrace/cli/output.c $top/tools/ntrace/raw/input.c $top/tools/ntrace/raw/deframer.c"
# The source input.c also reads recordings, and needs these libraries for them.
session="$O/lib/libntrace-session.a -ldw -lzstd"
small="-DNR_WORDS=1024 -DLAST_RECORD=40000"
{
	# shellcheck disable=SC2086
	unit_build counts $sources $session &&
		library=$(unit_library counts-small "$small") &&
		gcc -g -O2 -Wall -Wextra -Wno-sign-compare $small -I"$top/include" \
			-I"$top/tools/ntrace" -I"$top/tools/lib" -o "$dir/counts-small" "$top/tests/lib/counts.c" $sources \
			$session "$top/tools/ntrace/raw/elf-image.c" $library -lelf -lpthread
} >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
unit_traces || exit 1
plan 14

# both NAME OPTION...: run the two programs counts and counts-small with the trace file NAME
both() {
	trace=$1; shift
	for program in counts counts-small; do
		ok "$trace, $program" "$dir/$program" "$@" "$dir/prog.elf" "$dir/$trace"
	done
}
both htm
both btm
both ir --implicit-return
both ts --timestamp --src-bits 4
both rep --implicit-return
both all --implicit-return --sequential-jump --all-jumps --extend-addr --timestamp
unit_encode nosync --implicit-return --repeated-history
both nosync --implicit-return

done_testing
