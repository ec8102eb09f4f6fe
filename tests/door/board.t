#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Use the board's shell like a new user. The commands in the banner of the shell must work, files in /out must remain,
# and the usual commands must exist.
. "$(dirname "$0")/../harness/tap.sh"
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
make -s -C "$top" O="$O" plugin >"$tap_tmp/make" 2>&1 || { plan 1; fail "the plugin builds"; done_testing; }
plan 12
board=$top/tools/board/board

echo 'echo from the host' >"$tap_tmp/program" && chmod +x "$tap_tmp/program"
mkdir -p "$tap_tmp/kept" && cp "$tap_tmp/program" "$tap_tmp/kept/"
TALK='/out/program; echo kept >/out/file; for c in mount which pidof su stty man perf perf-archive tar; do which $c >/dev/null || echo no $c; done; stty size; cd /root; su user -c "id -un; pwd"; su - user -c pwd; su nosuch; mount | grep -c " /out "; pidof init sh >/dev/null && echo pidof; man ls' \
	"$top/tests/board/talk.py" shell "$board" shell --no-driver --out "$tap_tmp/kept" >"$tap_tmp/shell" 2>&1
tr -d '\r' <"$tap_tmp/shell" >"$tap_tmp/said"
said() { grep -qE -- "$1" "$tap_tmp/said" || { tail -n 30 "$tap_tmp/said"; return 1; }; }
ok "the banner shows perf record with --kcore" said '^ +perf record --kcore -e ntrace// -- ls'
ok "the banner names the host's folder for /out" said "^/out is $tap_tmp/kept on the host, and stays"
ok "the banner says how to copy a program to the guest" said 'riscv64-linux-gnu-gcc -g -static prog.c -o '
ok "a program that was copied to the guest runs" said '^from the host'
is "a file in /out is on the host after the run" "$(cat "$tap_tmp/kept/file" 2>&1)" kept
ok "the last line names the host's folder with the files of /out" said "^board: files that you left in /out are in "
is "no usual command is missing" "$(grep '^no ' "$tap_tmp/said")" ""
ok "the guest's terminal has a size" said '^[1-9][0-9]* [1-9][0-9]*$'
ok "su keeps the current folder, and su - changes to the user's home" said '^/home/user$'
ok "su to an unknown user prints a message" said '^su: the board has no user nosuch'
ok "pidof and mount work" said '^pidof$'
ok "man says how to read the pages on the host" said 'On the host: man -l Documentation/man'
done_testing
