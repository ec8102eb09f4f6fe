#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Access the registers of the board's components in a guest without a driver, and check their values.
. "$(dirname "$0")/../harness/tap.sh"
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
make -s -C "$top/tools/board" O="$O" all >"$tap_tmp/make" 2>&1 || { plan 1; fail "the plugin builds"; done_testing; }
make -s -C "$top" O="$O" tool >"$tap_tmp/make" 2>&1
board=$top/tools/board/board

plan 25
printf 'encoder te%% hart=%% to=ram%%\nramsink ram%% mode=sram sram=8388608 irq=40\n' >"$tap_tmp/topology"
ok "the guest runs the register script" sh -c "'$board' run --no-driver --append iomem=relaxed --topology '$tap_tmp/topology' --stats '$tap_tmp/stats' -- \
	\"\$(cat '$top/tests/board/registers.sh')\" >'$tap_tmp/regs'"
reg() { sed -n "s/^$1 //p" "$tap_tmp/regs"; }
bits() { echo $(($(reg "$1") & $2)); }

is "trTeActive is 0 after reset" "$(bits te_inactive 1)" 0
is "trTeActive becomes 1, trTeEmpty is 1, trTeEnable is 0" "$(bits te_active 0xb)" 9
is "trTeImpl: version 1.0, encoder, protocol 1.0" "$(bits te_impl 0x00ff0fff)" $((0x00010101))
is "trRamActive becomes 1, trRamEmpty is 1" "$(bits ram_active 0xb)" 9
is "trRamImpl: version 1.0, RAM sink, SRAM only" "$(bits ram_impl 0x3fff)" $((0x1901))
is "reserved registers of the encoder read 0" "$(reg te_reserved)" 0x00000000
is "reserved registers of the sink read 0" "$(reg ram_reserved)" 0x00000000
mode=$(($(bits te_mode_1 0x70) >> 4))
ok "trTeInstMode 1 becomes 3 or 6, not 0" [ "$mode" = 3 -o "$mode" = 6 ]
is "trTeInstFeatures: bits of features that N-Trace lacks read 0" "$(bits te_features 0xf833)" 0
is "trRamStartLow is fixed at 0 in SRAM mode" "$(reg ram_start)" 0x00000000
is "trRamLimitLow is the address of the last word" "$(reg ram_limit)" 0x007FFFFC
is "trRamEnable becomes 1" "$(bits ram_enabled 2)" 2
is "trTeEnable and trTeInstTracing become 1" "$(bits te_tracing 6)" 6
is "trTeEnable 0 empties the encoder" "$(bits te_stopped 0xa)" 8
is "trRamEnable 0 empties the sink" "$(bits ram_stopped 0xa)" 8
ok "trRamWP has advanced" [ $(($(reg ram_wp) & ~3)) -gt 32 ]
is "each load of trRamData advances trRamRP" "$(reg ram_rp)" 0x00000020
sed -n 's/^word //p' "$tap_tmp/regs" | while read -r w; do
	w=$((w))
	# shellcheck disable=SC2059
	printf "$(printf '\\%o\\%o\\%o\\%o' $((w & 255)) $((w >> 8 & 255)) $((w >> 16 & 255)) $((w >> 24 & 255)))"
done >"$tap_tmp/trace"
"$O/bin/ntrace" dump "$tap_tmp/trace" >"$tap_tmp/dump" 2>&1
sed 's/^/# /' "$tap_tmp/dump" | head -5
ok "the first message of the trace is ProgTraceSync, trace enable" sh -c "head -n 1 '$tap_tmp/dump' | grep -q 'ProgTraceSync.*SYNC.*5'"
is "trTeActive 0 resets the encoder" "$(bits te_off 3)" 0
is "with trRamStopOnWrap, a full sink has stopped" "$(bits ram_full 0x10a) $(bits ram_wrapped 0xfffffffd)" "$((0x108)) 1"
is "the interrupt of a full sink is pending at the APLIC" "$(bits pending_before 256) $(bits pending 256)" "0 256"
is "a full sink sends one interrupt" "$(sed -n 's/^ram0 .* interrupts=\([0-9]*\).*/\1/p' "$tap_tmp/stats")" 1
is "a load of one byte of a register succeeds" "$(reg te_byte)" 0x00
is "the truth lacks no step of the program because of register accesses" "$(sed -n 's/^hart0 .* edges=\([0-9]*\).*/\1/p' "$tap_tmp/stats")" 0
figure "$(sed -n 's/^hart0 .* register_accesses=\([0-9]*\).*/\1/p' "$tap_tmp/stats") register accesses"

done_testing
