#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `make demo` is the main job.
. "$(dirname "$0")/../harness/tap.sh"
plan 12
# The demo does more than build, so other builds need not wait for its lock of make.
ok "make demo" env make -C "$top" demo
cp "$tap_tmp/out" "$tap_tmp/demo"
dir=$O/demo
branches=$dir/branches.txt
ok "a branch of the program, in the C library, by symbol" \
	grep -m1 -E '^ *requests +[0-9]+ .* (calloc|malloc|printf|free|_int_malloc|setlocale|[a-z_]+@plt).*\(/(usr/lib/.*libc\.so\.6|tmp/requests)\)' "$branches"
ok "a branch of the kernel, for that thread, by symbol" \
	grep -m1 -E '^ *requests +[0-9]+ .* handle_exception.*\(\[kernel\.kallsyms\]\)' "$branches"
is "no name is a compiler's label" "$(grep -cE ' \.L[A-Z0-9]' "$branches")" 0

# Each number that the demo prints must be in its recording.
is "100 requests, 4 calls of rehash" \
	"$(sed -n '/^2\./,/^3\./s/^ *\([0-9]*\) .* \(request\|rehash\) \[.*/\2 \1/p' "$tap_tmp/demo" | paste -sd' ')" "request 100 rehash 4"
insns=$(sed -n 's/.* hold the \([0-9]*\) instructions.*/\1/p' "$tap_tmp/demo")
figure "$(sed -n 's/^1\. //p' "$tap_tmp/demo")"
ok "a number of instructions of such a program" [ "${insns:-0}" -gt 200000 ]
story() { python3 "$top/tests/door/story.py" "$dir/ntrace.html" "$@"; }
ok "the slowest request is explained, and rehash faulted" story slowest "$tap_tmp/demo"
ok "the page has 100 requests, and their source" story source

# Decoded on this machine, by the documented command: the same text as in the guest, no errors. The clock is
# code of the vDSO, which is in no file of the guest.
is "errors of the decode" "$(sed -n 's/^demo: .* \([0-9]*\) trace errors$/\1/p' "$tap_tmp/demo") $(grep -c 'instruction trace error' "$branches")" "0 0"
ok "a branch of the vDSO, by symbol" grep -m1 -E 'clock_gettime.*\(\[vdso\]\)' "$branches"
"$top/tools/perf/build.sh" 6.12 "$(uname -m)" >"$tap_tmp/build" 2>&1 || cat "$tap_tmp/build"
home=$tap_tmp/home
mkdir -p "$home/.debug" && tar xf "$dir/perf.data.tar.bz2" -C "$home/.debug"
HOME=$home "$O/perf/6.12/$(uname -m)/perf" script -i "$dir/perf.data" --itrace=be \
	-F comm,tid,cpu,time,event,ip,sym,dso,addr,flags >"$tap_tmp/here" 2>"$tap_tmp/err"
ok "decoded on another machine: the same" cmp "$tap_tmp/here" "$branches"
"$O/bin/ntrace" script -i "$dir/perf.data" --buildid-dir "$home/.debug" -F tid,cpu,time,flags,ip,addr >"$tap_tmp/ours" 2>>"$tap_tmp/err"
HOME=$home "$O/perf/6.12/$(uname -m)/perf" script -i "$dir/perf.data" --itrace=be --ns \
	-F tid,cpu,time,flags,ip,addr 2>>"$tap_tmp/err" | sed -E 's/ +/ /g;s/ $//' >"$tap_tmp/theirs"
# perf 6.12 says only "tr strt" and "tr end"
ok "ntrace script says the same as perf script" sh -c \
	"sed -E 's/(tr strt|tr end) +jmp/\\1/;s/ +/ /g;s/ $//' '$tap_tmp/ours' | cmp - '$tap_tmp/theirs'"
done_testing
