#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test behaviour that depends on the hart's privilege mode and extensions: the access to scontext and
# hcontext, the privilege mode of a trap at the first instruction after an xret, accesses to registers
# through two stages of address translation, accesses that are not of one aligned register, the jumps of
# Zcmp and Zcmt, and a reset.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/bare.sh"
bare_setup
make -s -C "$top/tools/board/model" O="$O" all >&2
cc -I"$top/tools/board/model" -o "$tap_tmp/truth-text" "$top/tests/board/truth-text.c" \
	"$O/board/model/libnbmodel.a" || exit 1
printf 'encoder te hart=0 to=ram\nramsink ram mode=smem\n' | bare_topology "$tap_tmp/topology"
bare_build "$tap_tmp/modes" "$top/tests/board/modes.c" || exit 1
plan 29

# modes NAME OPTIONS: run the program. Its output is in $tap_tmp/said, and the board's output is in $tap_tmp/err.
modes() {
	bare_run "$tap_tmp/modes" "truth=$tap_tmp,hcontext=on,stats=$tap_tmp/stats$2" >"$tap_tmp/said" 2>"$tap_tmp/err"
	is "$1: the program ends" $? 0
}
said() { sed -n "s/^$1 //p" "$tap_tmp/said" | xargs; }

modes "a hart" ""
is "S, VS and M mode may access scontext" "$(said scontext)" "U 2 S ok VU 2 VS ok M ok"
is "S and M mode may access hcontext" "$(said hcontext)" "U 2 S ok VU 2 VS 2 M ok"
is "the truth has each value that was written to scontext" "$("$tap_tmp/truth-text" "$tap_tmp/hart0.truth" | sed -n 's/^context //p' | xargs)" \
	"101 101 103 104 104"
is "VS mode reads a register through two stages of address translation" "$(said guest)" "load VS ok"
is "the first instruction after an xret traps in each mode" "$(said fetch)" "S 1 VS 20 VU 20 U 1"
is "the truth reports this trap in the mode that the xret entered" \
	"$("$tap_tmp/truth-text" "$tap_tmp/hart0.truth" | sed -n 's/^trap exception 4 //p' | xargs)" "S VS VU U"
is "the board reports each access that is not of one aligned register" \
	"$(sed -n 's/.*te: offset \(0x[0-9a-f]*\|0\), value \(0x[0-9a-f]*\): access does not.*/\1 \2/p' "$tap_tmp/err" | xargs)" \
	"0 0x2 0 0x8 0x2 0x4 0x10 0x8"
is "the code allows each step from block to block" "$(sed -n 's/^hart0 .*edges=\([0-9]*\).*/\1/p' "$tap_tmp/stats")" 0

modes "strict access" ,strict-access=on
is "strict access: accesses that are not of one aligned register fault" "$(sed -n 's/^\(lh\|ld\|sd\|lw\|misaligned lw\) M //p' "$tap_tmp/said" | xargs)" "5 5 5 7 ok"
bare_cpu=rv64,smstateen=on modes "Smstateen" ""
is "with Smstateen, only M mode may access scontext and hcontext" "$(said scontext) $(said hcontext)" \
	"U 2 S 2 VU 2 VS 2 M ok U 2 S 2 VU 2 VS 2 M ok"

# The encoder's timestamps ignore htimedelta, which a hypervisor adds to the time of its guest
mkdir -p "$tap_tmp/h"
bare_build "$tap_tmp/hostile" -DROUNDS=300 -DRUNNING=1 "$top/tests/board/hostile.c" || exit 1
bare_run "$tap_tmp/hostile" "truth=$tap_tmp/h,boot-trace=$tap_tmp/h,boot-timestamp=on,stats=$tap_tmp/stats" >"$tap_tmp/said" 2>&1
is "a guest with an htimedelta: the program ends" $? 0
ok "a guest with an htimedelta: the decoded instructions and their times are those of the truth" "$O/bin/ntrace" verify --timestamp --truth "$tap_tmp/h/hart0.truth" \
	--trace "$tap_tmp/h/ram.ntrace"

# Test the jumps of Zcmp and Zcmt
mkdir -p "$tap_tmp/z"
bare_build "$tap_tmp/zcm" "$top/tests/board/zcm.S" || exit 1
for mode in btm htm; do
	control=0x01a10230
	[ $mode = btm ] || control=0x01a10260
	ok "Zcmp and Zcmt, $mode: the program ends" env bare_cpu=rv64,d=off,zcmp=on,zcmt=on sh -c "
		. '$top/tests/board/bare.sh'; tap_tmp='$tap_tmp'
		bare_run '$tap_tmp/zcm' 'truth=$tap_tmp/z,boot-trace=$tap_tmp/z,boot-control=$control,stats=$tap_tmp/stats'"
	is "Zcmp and Zcmt, $mode: the code allows each step from block to block" "$(sed -n 's/^hart0 .*edges=\([0-9]*\).*/\1/p' "$tap_tmp/stats")" 0
	is "Zcmp and Zcmt, $mode: each jump has its type: returns, calls, jumps" "$("$tap_tmp/truth-text" "$tap_tmp/z/hart0.truth" |
		awk '/^block 800000[89a-f]/ { n[$4]++ } END { print n[13], n[9] + n[8], n[11] }')" "2001 2000 2000"
	ok "Zcmp and Zcmt, $mode: the decoded trace equals the truth" "$O/bin/ntrace" verify --elf "$tap_tmp/zcm" --zcmp \
		--zcmt "0x$(riscv64-linux-gnu-nm "$tap_tmp/zcm" | sed -n 's/ . table$//p')" \
		--truth "$tap_tmp/z/hart0.truth" --trace "$tap_tmp/z/ram.ntrace"
done

# Reset the machine while it traces. The specification demands "SYNC 1, the address should be a reset vector"
mkdir -p "$tap_tmp/r"
bare_build "$tap_tmp/reset" "$top/tests/board/reset.c" || exit 1
for control in 0x01a10230 0x01a10260; do
	bare_reboot='' bare_run "$tap_tmp/reset" \
		"truth=$tap_tmp/r,boot-trace=$tap_tmp/r,boot-control=$control,stats=$tap_tmp/stats" >"$tap_tmp/said" 2>&1
	is "a reset of a traced hart ($control): the run ends after one reset" \
		"$? $(sed -n 's/^hart0 .*edges=\([0-9]*\) .*resets=\([0-9]*\).*/\1 \2/p' "$tap_tmp/stats")" "0 0 1"
	is "a reset of a traced hart ($control): one message has SYNC 1 and the reset vector" "$("$O/bin/ntrace" dump "$tap_tmp/r/ram.ntrace" |
		grep -c 'SYNC=1 .*(0x1000)')" 1
	ok "a reset of a traced hart ($control): the decoded trace equals the truth" "$O/bin/ntrace" verify --truth "$tap_tmp/r/hart0.truth" --trace "$tap_tmp/r/ram.ntrace"
done
done_testing
