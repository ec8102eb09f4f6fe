#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The main job: make demo.
. "$(dirname "$0")/lib/tap.sh"
plan 3
# which is not only building: others need not wait for it
ok "make demo" env make -C "$top" demo
branches=$O/demo/branches.txt
ok "a branch of coreutils' sort, in the C library, by symbol" \
	grep -m1 -E '^ *sort +[0-9]+ .* (strcoll|strcmp|memcpy|memcmp|qsort_r|malloc|setlocale).*\(/usr/lib/.*libc\.so\.6\)' "$branches"
ok "a branch of the kernel, for that thread, by symbol" \
	grep -m1 -E '^ *sort +[0-9]+ .* handle_exception.*\(\[kernel\.kallsyms\]\)' "$branches"
done_testing
