#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Change bytes of a trace and of CoreSight frames between the reads of the library. The library must not read beyond the
# end of the trace or the frames, nor write beyond the end of a buffer.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-changes
mkdir -p "$dir"
# The sanitized library has small tables and decodes in parts of 100 bytes, so that more of its code runs
[ "$(uname -m)" = x86_64 ] || skip_all "the test steps through single instructions of x86-64"
{
	unit_build changes && library=$(unit_library changes -DNT_CELL_SIZE=100 -DPATHS_SHIFT=6 -DGROUPS_SHIFT=5 -DNR_WORDS=4096 -fsanitize=address,undefined) &&
		gcc -g -O1 -Wall -Wextra -fsanitize=address,undefined -I"$top/include" -I"$top/tools/ntrace" -I"$top/tools/lib" -o "$dir/sanitized" \
			"$top/tests/lib/changes.c" "$top/tools/ntrace/raw/elf-image.c" $library "$O/lib/libntrace-session.a" -ldw -lelf -lzstd -lpthread
} >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
unit_traces || exit 1
export UBSAN_OPTIONS=halt_on_error=1 ASAN_OPTIONS=allow_user_segv_handler=1
rounds=$(by_size 5 200)
changed() {
	"$@" >"$tap_tmp/said" 2>&1
	_rc=$?
	figure "$(head -n 1 "$tap_tmp/said")"
	[ $_rc -eq 0 ] || { cat "$tap_tmp/said"; return 1; }
}
plan 8
for kind in htm btm ir ts; do
	ok "$kind: bytes change between any two reads" changed "$dir/changes" "$dir/prog.elf" "$dir/$kind" $((2 * rounds)) $kind
	ok "$kind: bytes change between any two reads, with sanitizers" changed "$dir/sanitized" "$dir/prog.elf" "$dir/$kind" $rounds $kind
done
done_testing
