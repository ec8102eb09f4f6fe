#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Measure how much tracing slows down the emulation. The results are ratios of processor times in one run.
. "$(dirname "$0")/../harness/tap.sh"
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
make -s -C "$top" O="$O" plugin >"$tap_tmp/make" 2>&1 || { plan 1; fail "the plugin builds"; done_testing; }
plan 2
"$top/tests/board/speed.sh" 3 >"$tap_tmp/speed"
sed 's/^/# figure: /' "$tap_tmp/speed"
# most NAME TIMES: check that the ratio NAME is at most TIMES
most() { awk -v name="$1:" -v most="$2" '$1 == name && $(NF - 1) <= most { ok = 1 } END { exit !ok }' "$tap_tmp/speed"; }
ok "a traced boot takes at most 2 times a plain one" most boot 2
ok "a traced user program takes at most 3 times a plain one" most user 3
done_testing
