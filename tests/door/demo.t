#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test `make demo`. In make test-all, the test creates an ordinary user, who builds everything in a copy of the tree
# and can use the board's folder /out. In other sizes, or if this fails, the user who runs the tests runs the demo in
# this tree.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/door/user.sh"
plan 16
if large && [ -e "$O/root/kernel-6.12/vmlinuz" ] && user_make 6.12 >"$tap_tmp/why" 2>&1; then
	trap 'user_remove; rm -rf "$tap_tmp"' EXIT
	build=$home/ntrace/build
	run() { user_run "$@"; }
else
	echo "# this user runs it: $(tail -n 1 "$tap_tmp/why" 2>/dev/null)"
	user=$(id -un) build=$O
	# Run the demo without the lock of make, so that other builds do not wait for the demo, most of which is not a
	# build.
	run() { (cd "$top" && env "$@"); }
	user_remove() { :; }
fi
dir=$build/demo
ok "make demo" run make demo
is "make demo leaves a recording that the user owns" "$(stat -c %U "$dir/perf.data" 2>&1)" "$user"
cp "$tap_tmp/out" "$tap_tmp/demo"
branches=$dir/branches.txt
ok "the branches of the program include one in the C library, with symbols" \
	grep -m1 -E '^ *requests +[0-9]+ .* (calloc|malloc|printf|free|_int_malloc|setlocale|[a-z_]+@plt).*\(/(usr/lib/.*libc\.so\.6|tmp/requests)\)' "$branches"
ok "the branches of the program include one in the kernel, with symbols" \
	grep -m1 -E '^ *requests +[0-9]+ .* handle_exception.*\(\[kernel\.kallsyms\]\)' "$branches"
is "no branch has a compiler's label as its symbol" "$(grep -cE ' \.L[A-Z0-9]' "$branches")" 0

# Each number that the demo prints must agree with its recording.
is "make demo prints 100 calls of request and 4 of rehash" \
	"$(sed -n '/^2\./,/^3\./s/^ *\([0-9]*\) .* \(request\|rehash\) \[.*/\2 \1/p' "$tap_tmp/demo" | paste -sd' ')" "request 100 rehash 4"
insns=$(sed -n 's/.* hold the \([0-9]*\) instructions.*/\1/p' "$tap_tmp/demo")
figure "$(sed -n 's/^1\. //p' "$tap_tmp/demo")"
ok "make demo prints more than 200,000 instructions" [ "${insns:-0}" -gt 200000 ]
story() { python3 "$top/tests/door/story.py" "$dir/ntrace.html" "$@"; }
ok "make demo explains the slowest request, in which rehash caused page faults" story slowest "$tap_tmp/demo"
ok "the page has 100 calls of request, and their source" story source

# Decode the recording on this machine with the documented command. The text must be the same as in the guest, without
# errors. The branches must also include the function that reads the clock, whose code is in the vDSO and not in a file
# of the guest.
is "make demo prints as many errors as the branches have, which is none" "$(sed -n 's/^demo: .* \([0-9]*\) trace errors$/\1/p' "$tap_tmp/demo") $(grep -c 'instruction trace error' "$branches")" "0 0"
ok "the branches of the program include one in the vDSO, with symbols" grep -m1 -E 'clock_gettime.*\(\[vdso\]\)' "$branches"
"$top/tools/perf/build.sh" 6.12 "$(uname -m)" >"$tap_tmp/build" 2>&1 || cat "$tap_tmp/build"
cache_home=$tap_tmp/home-elsewhere
# perf reads only files that the user of perf owns.
mkdir -p "$cache_home/.debug" && cp -r "$dir/perf.data" "$cache_home/perf.data" && tar xf "$dir/perf.data.tar.bz2" -C "$cache_home/.debug"
HOME=$cache_home "$O/perf/6.12/$(uname -m)/perf" script -i "$cache_home/perf.data" --itrace=be \
	-F comm,tid,cpu,time,event,ip,sym,dso,addr,flags >"$tap_tmp/here" 2>"$tap_tmp/err"
ok "perf on the host prints the same branches as perf in the guest" cmp "$tap_tmp/here" "$branches"
"$O/bin/ntrace" script -i "$cache_home/perf.data" --buildid-dir "$cache_home/.debug" -F tid,cpu,time,flags,ip,addr >"$tap_tmp/ours" 2>>"$tap_tmp/err"
HOME=$cache_home "$O/perf/6.12/$(uname -m)/perf" script -i "$cache_home/perf.data" --itrace=be --ns \
	-F tid,cpu,time,flags,ip,addr 2>>"$tap_tmp/err" | sed -E 's/ +/ /g;s/ $//' >"$tap_tmp/theirs"
# perf 6.12 prints the start of a trace only as "tr strt", and its end as "tr end"
ok "ntrace script prints the same branches as perf script" sh -c \
	"sed -E 's/(tr strt|tr end) +jmp/\\1/;s/ +/ /g;s/ $//' '$tap_tmp/ours' | cmp - '$tap_tmp/theirs'"

mkdir -p "$tap_tmp/board-out" && chown "$user" "$tap_tmp/board-out"
ok "perf records to /out, and reads the recording there" run tools/board/board run --out "$tap_tmp/board-out" -- \
	'perf record '$(by_size "" --kcore)' -o /out/perf.data -e ntrace//u -- ls / >/dev/null && perf script -i /out/perf.data | grep -m1 branches'
is "the user owns a recording that perf wrote to /out" "$(stat -c %U "$tap_tmp/board-out/perf.data" 2>&1)" "$user"

# If packages are missing, a sentence must name the cause before make prints "Error 127".
mkdir -p "$tap_tmp/bin"
for f in make sh sed cat echo mkdir; do ln -sf "$(unset -f make; command -v $f)" "$tap_tmp/bin/"; done
says=$(env -i PATH="$tap_tmp/bin" make -C "$top" O="$tap_tmp/empty" 2>&1 | grep -c 'no C compiler; on Debian: apt-get install gcc make libdw-dev libzstd-dev')
is "make without a compiler says what to install" "$says" 1
done_testing
