#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# An ordinary user, without root: make demo, the board's /out, and make without a compiler.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/door/user.sh"
[ -e "$O/root/kernel-6.12/vmlinuz" ] || skip_all "no kernel; run make setup"
trap 'user_remove; rm -rf "$tap_tmp"' EXIT
user_make 6.12 >"$tap_tmp/why" 2>&1 || skip_all "$(tail -n 1 "$tap_tmp/why")"
plan 6

ok "make demo" user_run make demo
is "... leaves a recording that is the user's" "$(stat -c %U "$home/ntrace/build/demo/perf.data" 2>&1)" "$user"
is "... without trace errors" "$(sed -n 's/^demo: .* \([0-9]*\) trace errors$/\1/p' "$tap_tmp/out")" 0
ok "a recording straight to /out, which perf reads there" user_run tools/board/board run --out out -- \
	'perf record --kcore -o /out/perf.data -e ntrace//u -- ls / >/dev/null && perf script -i /out/perf.data | grep -m1 branches'
is "... is the user's" "$(stat -c %U "$home/ntrace/out/perf.data" 2>&1)" "$user"

# Packages are missing. A sentence says so before make says "Error 127".
mkdir -p "$tap_tmp/bin"
for f in make sh sed cat echo mkdir; do ln -sf "$(unset -f make; command -v $f)" "$tap_tmp/bin/"; done
says=$(env -i PATH="$tap_tmp/bin" make -C "$top" O="$tap_tmp/empty" 2>&1 | grep -c 'no C compiler; on Debian: apt-get install gcc make libelf-dev libzstd-dev')
is "make without a compiler says what to install" "$says" 1
done_testing
