#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test behaviour that depends on the hart's privilege mode and extensions. This is the access to scontext
# and hcontext, the privilege of a trap right after an xret, registers at addresses with two stages of
# translation, accesses to other than one whole register, the jumps of Zcmp and Zcmt, and a reset.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/bare.sh"
bare_setup
make -s -C "$top/tools/board/model" O="$O" all >&2
cc -I"$top/tools/board/model" -o "$tap_tmp/truth-text" "$top/tests/board/truth-text.c" \
	"$O/board/model/libnbmodel.a" || exit 1
printf 'encoder te hart=0 to=ram\nramsink ram mode=smem\n' | bare_topology "$tap_tmp/topology"
bare_build "$tap_tmp/modes" "$top/tests/board/modes.c" || exit 1
plan 29

# modes NAME OPTIONS: run the program. Its output is in $tap_tmp/said, and that of the board in $tap_tmp/err.
modes() {
	bare_run "$tap_tmp/modes" "truth=$tap_tmp,hcontext=on,stats=$tap_tmp/stats$2" >"$tap_tmp/said" 2>"$tap_tmp/err"
	is "$1: the program ends" $? 0
}
said() { sed -n "s/^$1 //p" "$tap_tmp/said" | xargs; }

modes "a hart" ""
is "scontext is for S, VS and M" "$(said scontext)" "U 2 S ok VU 2 VS ok M ok"
is "hcontext is for S and M" "$(said hcontext)" "U 2 S ok VU 2 VS 2 M ok"
is "what they wrote is in the truth" "$("$tap_tmp/truth-text" "$tap_tmp/hart0.truth" | sed -n 's/^context //p' | xargs)" \
	"101 101 103 104 104"
is "a register at an address with two stages of translation" "$(said guest)" "load VS ok"
is "the first instruction after an xret traps" "$(said fetch)" "S 1 VS 20 VU 20 U 1"
is "the first instruction after an xret traps, from the privilege that the xret went to" \
	"$("$tap_tmp/truth-text" "$tap_tmp/hart0.truth" | sed -n 's/^trap exception 4 //p' | xargs)" "S VS VU U"
is "accesses that are not of one aligned register are reported, each" \
	"$(sed -n 's/.*te: offset \(0x[0-9a-f]*\|0\), value \(0x[0-9a-f]*\): access does not.*/\1 \2/p' "$tap_tmp/err" | xargs)" \
	"0 0x2 0 0x8 0x2 0x4 0x10 0x8"
is "no way from block to block that the code does not have" "$(sed -n 's/^hart0 .*edges=\([0-9]*\).*/\1/p' "$tap_tmp/stats")" 0

modes "strict access" ,strict-access=on
is "strict access: accesses that are not of one aligned register fault" "$(sed -n 's/^\(lh\|ld\|sd\|lw\|misaligned lw\) M //p' "$tap_tmp/said" | xargs)" "5 5 5 7 ok"
bare_cpu=rv64,smstateen=on modes "Smstateen" ""
is "Smstateen closes scontext and hcontext to all but M" "$(said scontext) $(said hcontext)" \
	"U 2 S 2 VU 2 VS 2 M ok U 2 S 2 VU 2 VS 2 M ok"

# Timestamps ignore the delta that the hypervisor adds to a guest's time
mkdir -p "$tap_tmp/h"
bare_build "$tap_tmp/hostile" -DROUNDS=300 -DRUNNING=1 "$top/tests/board/hostile.c" || exit 1
bare_run "$tap_tmp/hostile" "truth=$tap_tmp/h,boot-trace=$tap_tmp/h,boot-timestamp=on,stats=$tap_tmp/stats" >"$tap_tmp/said" 2>&1
is "a guest with a time of its own: the program ends" $? 0
ok "a guest with a time of its own decodes as it ran, when it ran" "$O/bin/ntrace" verify --timestamp --truth "$tap_tmp/h/hart0.truth" \
	--trace "$tap_tmp/h/ram.ntrace"

# Zcmp and Zcmt
mkdir -p "$tap_tmp/z"
bare_build "$tap_tmp/zcm" "$top/tests/board/zcm.S" || exit 1
for mode in btm htm; do
	control=0x01a10230
	[ $mode = btm ] || control=0x01a10260
	ok "Zcmp and Zcmt, $mode: the program ends" env bare_cpu=rv64,d=off,zcmp=on,zcmt=on sh -c "
		. '$top/tests/board/bare.sh'; tap_tmp='$tap_tmp'
		bare_run '$tap_tmp/zcm' 'truth=$tap_tmp/z,boot-trace=$tap_tmp/z,boot-control=$control,stats=$tap_tmp/stats'"
	is "Zcmp and Zcmt, $mode: each jump is explained" "$(sed -n 's/^hart0 .*edges=\([0-9]*\).*/\1/p' "$tap_tmp/stats")" 0
	is "Zcmp and Zcmt, $mode: each jump has its type: returns, calls, jumps" "$("$tap_tmp/truth-text" "$tap_tmp/z/hart0.truth" |
		awk '/^block 800000[89a-f]/ { n[$4]++ } END { print n[13], n[9] + n[8], n[11] }')" "2001 2000 2000"
	ok "Zcmp and Zcmt, $mode: the program decodes as it ran" "$O/bin/ntrace" verify --elf "$tap_tmp/zcm" --zcmp \
		--zcmt "0x$(riscv64-linux-gnu-nm "$tap_tmp/zcm" | sed -n 's/ . table$//p')" \
		--truth "$tap_tmp/z/hart0.truth" --trace "$tap_tmp/z/ram.ntrace"
done

# Reset the machine while it traces: "SYNC 1, the address should be a reset vector"
mkdir -p "$tap_tmp/r"
bare_build "$tap_tmp/reset" "$top/tests/board/reset.c" || exit 1
for control in 0x01a10230 0x01a10260; do
	bare_reboot='' bare_run "$tap_tmp/reset" \
		"truth=$tap_tmp/r,boot-trace=$tap_tmp/r,boot-control=$control,stats=$tap_tmp/stats" >"$tap_tmp/said" 2>&1
	is "a reset while trace goes on ($control)" \
		"$? $(sed -n 's/^hart0 .*edges=\([0-9]*\) .*resets=\([0-9]*\).*/\1 \2/p' "$tap_tmp/stats")" "0 0 1"
	is "a reset while trace goes on ($control) is a message with SYNC 1 and the reset vector" "$("$O/bin/ntrace" dump "$tap_tmp/r/ram.ntrace" |
		grep -c 'SYNC=1 .*(0x1000)')" 1
	ok "a reset while trace goes on ($control) decodes as it ran" "$O/bin/ntrace" verify --truth "$tap_tmp/r/hart0.truth" --trace "$tap_tmp/r/ram.ntrace"
done
done_testing
