#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Encode and decode real programs of over 10 million instructions, for RV64GC and RV32IMAC. Use every option of the
# encoder, and every pair of optimisations. The decoder must find all PCs.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/model/roundtrip.sh"
set -f

roundtrip_setup
plan 8
head -c 16000 "$ntrace" >"$tmp/input"
ok "PCs of busybox bzip2, RV64" "$top/tests/harness/pcs" "$tmp/rv64.list" "$program" bzip2 -k "$tmp/input"
ok "a program for RV32" rv32_program "$tmp/rv32"
QEMU_RISCV64=qemu-riscv32-static "$top/tests/harness/pcs" "$tmp/rv32.list" "$tmp/rv32" 10000 >/dev/null
for isa in rv64 rv32; do
	elf=$program
	[ $isa = rv64 ] || elf=$tmp/rv32
	flat "$tmp/$isa.list"
	is "$isa: the list has over 10 million PCs" "$([ "$(wc -l <"$tmp/$isa.list")" -gt 10000000 ] && echo yes)" yes
	ok "$isa: each option" combinations "$tmp/$isa.list" "$elf" "" real
	figure "$isa: $(tail -n 1 "$tap_tmp/out")"
	ok "$isa: each combination of optimisations" cross "$tmp/$isa.list" "$elf"
	figure "$isa: $(tail -n 1 "$tap_tmp/out")"
done
done_testing
