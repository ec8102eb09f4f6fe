#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Several threads must return the items that one flow returns (tests/lib/parallel.c). A
# thread decodes parts of the usual size, or, in a separate build of the library, parts of 100 bytes.
# Some of the cases also run under the thread sanitizer.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-parallel
mkdir -p "$dir"
wrap=-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
unit_build parallel $(by_size "-DSTREAM_SIZE=100000 -DSHORT_STEP=29 -DALLOCATIONS=40" "") $wrap -lcmocka >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
unit_traces || exit 1
plan 3

# small_parts NAME "FLAGS OF THE LIBRARY" FLAG...: build the test NAME with a library that decodes in very small
# parts
small_parts() {
	_program=$1 _flags="-DNT_CELL_SIZE=100 $2"; shift 2
	_library=$(unit_library "$_program" $_flags) &&
		gcc -g -O2 -Wall -Wextra -Wno-sign-compare $_flags $wrap "$@" -I"$top/include" -I"$top/tools/ntrace" -I"$top/tools/lib" \
			-o "$dir/$_program" "$top/tests/lib/parallel.c" "$top/tools/ntrace/raw/elf-image.c" $_library \
			"$O/lib/libntrace-session.a" -ldw -lelf -lzstd -lcmocka -lpthread
}
{
	small_parts parallel-short "" -DSTREAM_SIZE=$(by_size 20000 60000) -DSHORT_STEP=37 -DALLOCATIONS=$(by_size 40 120) &&
		small_parts parallel-tsan -fsanitize=thread -DSTREAM_SIZE=3000 -DSHORT_STEP=$(by_size 2399 599) -DALLOCATIONS=$(by_size 24 120)
} >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
ok "parts of the usual size" "$dir/parallel" "$dir"
ok "parts of 100 bytes" "$dir/parallel-short"
ok "parts of 100 bytes have no data race" "$dir/parallel-tsan"
done_testing
