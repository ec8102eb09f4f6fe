#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test each option of the trace hardware that changes a register. One guest has all features, and another
# guest has none. Options of the encoder's implementation, such as te.icnt_bits, only change the trace.
# tests/board/boot.t tests these options.
. "$(dirname "$0")/../harness/tap.sh"
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
make -s -C "$top" O="$O" plugin >"$tap_tmp/make" 2>&1 || { plan 1; fail "the plugin builds"; done_testing; }
board=$top/tools/board/board

# The script in the guest writes ones to all bits of each register except Enable, and prints a line "NAME VALUE" for
# each register.
script='rd() { busybox devmem $(($1)) 32; }
wr() { busybox devmem $(($1)) 32 $2; }
te=0x18000000 funnel=0x18001000 ram=0x18002000
wr $te 1
for i in 1 2 3 4; do echo active$i $(rd $te); done
wr $funnel 1; wr $ram 1
for i in 1 2 3 4; do rd $funnel; rd $ram; done >/dev/null
wr $funnel 3; wr $funnel 1
for i in 1 2 3; do echo empty$i $(rd $funnel); done
echo undefined $(rd $te+8)
for r in 0 4 8 0xc 0x40 0x54 0x58 0x400 0x404 0x408 0x5e0 0x600 0x610 0x6e0; do
	wr $te+$r 0xfffffffd; echo te_$r $(rd $te+$r)
done
for r in 4 8 0x40; do wr $funnel+$r 0xfffffffd; echo funnel_$r $(rd $funnel+$r); done
echo ram_impl $(rd $ram+4)
wr $ram 0x111; echo ram_control $(rd $ram)
for r in 0x10 0x14; do
	wr $ram+$r 0; echo ram_low_$r $(rd $ram+$r)
	wr $ram+$r 0xffffffff; echo ram_high_$r $(rd $ram+$r)
done
wr $ram 1; wr $ram+0x18 0xffffffff; echo sram_limit $(rd $ram+0x18)
wr $te 0; wr $ram 0
for i in 1 2 3 4; do rd $te; rd $ram; done >/dev/null'

# look NAME MODEL: run the script in a guest with the options MODEL, and store its output in $tap_tmp/NAME
look() {
	printf 'encoder te hart=0 to=funnel\nfunnel funnel to=ram\nramsink ram mode=both\n' >"$tap_tmp/topology"
	ok "$1: the guest reads the registers" sh -c "'$board' run --no-driver --topology '$tap_tmp/topology' \
		--model '$2' -- '$script' >'$tap_tmp/$1'"
}
# has OPTION REGISTER MASK FULL OFF: check the bits MASK of REGISTER. FULL is their value with all features, and OFF is
# their value without OPTION
has() {
	for _k in full off; do
		_v=$(sed -n "s/^$2 //p" "$tap_tmp/$_k")
		_want=$4
		[ $_k = full ] || _want=$5
		is "$1, $_k: $2 & $3" "$(printf '%#x' $((${_v:-0x77777777} & $3)))" "$(printf '%#x' $((_want)))"
	done
}

plan 86
look full active-delay=3,empty-delay=2,undef=7,te.vendor=0x5a,te.ver_minor=2,te.protocol_minor=3,ram.vendor=0x6b,ram.ver_minor=4,\
funnel.ver_minor=5,ram.sram_size=8192,ram.align=16
look off te.btm=off,te.context=off,te.triggers=off,te.ext_in=0,te.ext_out=0,te.stall=off,te.inhibit_src=off,\
te.sync_modes=2,te.sync_max_lowest=3,te.sync_max_highest=5,te.sequential_jump=off,te.implicit_return=0,\
te.repeated_history=off,te.all_jumps=off,te.extend_addr=off,te.src_bits=0,te.filters=1,te.filter_control=0xf,te.comps=0,\
te.ts_modes=2,te.ts_width=40,te.ts_prescale=off,te.ver_major=2,te.protocol_major=2,ram.ver_major=3,funnel.ver_major=4,\
ram.stop_on_wrap=off,ram.align=256,ram.smem_lowest=0x80000000,ram.smem_highest=0xffffffff,ram.sram_size=4096,\
funnel.dis_input=off,funnel.ts_modes=0

has active-delay active1 1 0 1
has active-delay active3 1 0 1
has active-delay active4 1 1 1
has empty-delay empty2 8 0 8
has empty-delay empty3 8 8 8
has te.btm te_0 0x70 0x60 0x60
has te.context te_0 0x200 0x200 0
has te.triggers te_0 0x800 0x800 0
has te.stall te_0 0x2000 0x2000 0
has te.inhibit_src te_0 0x8000 0x8000 0
has te.sync_modes te_0 0x30000 0x30000 0x10000
has te.sync_max_highest te_0 0xf00000 0xf00000 0x500000
has te.ver te_4 0xff 0x21 0x02
has te.protocol te_4 0xff0000 0x310000 0x020000
has te.vendor te_4 0xff000000 0x5a000000 0
has te.sequential_jump te_8 0x4 0x4 0
has te.implicit_return te_8 0xc8 0xc8 0
has te.repeated_history te_8 0x100 0x100 0
has te.all_jumps te_8 0x200 0x200 0
has te.extend_addr te_8 0x400 0x400 0
has te.src_bits te_8 0xf0000000 0xc0000000 0
has te.filters te_0xc 0xffff 0xfffd 1
has te.ext_in te_0x54 0xffffffff 0 0
has te.ext_out te_0x58 0xffffffff 0x31 0
has te.filter_control te_0x400 0xffff 0xfffd 0xd
has te.filter_control te_0x408 0xffffffff 0xfffffffd 0xfffffffd
has te.filters te_0x5e0 0xffff 0xfffd 0
has te.comps te_0x600 0x7730 0x7730 0
has te.comps te_0x610 0xffffffff 0xfffffffd 0
has te.ts_width te_0x40 0x3f000000 0x3f000000 0x28000000
has te.ts_prescale te_0x40 0x300 0x300 0
has ram.ver ram_impl 0xff 0x41 0x03
has ram.vendor ram_impl 0xff000000 0x6b000000 0
has ram.stop_on_wrap ram_control 0x100 0x100 0
has ram.align ram_high_0x10 0xffff 0xfff0 0xff00
has ram.smem_lowest ram_low_0x10 0xffffffff 0 0x80000000
has ram.smem_highest ram_high_0x14 0xffffffff 0xffffff 0
has ram.sram_size sram_limit 0xffff 0x1ffc 0xffc
has funnel.dis_input funnel_8 0xffff 1 0
has funnel.ts_modes funnel_0x40 0x3f000071 0x3f000001 0
has funnel.ver funnel_4 0xff 0x51 0x04

is "undef: bits that are undefined after reset are noise" \
	"$(($(sed -n 's/^undefined //p' "$tap_tmp/full") != 0)) $(($(sed -n 's/^undefined //p' "$tap_tmp/off")))" "1 0"

# Every option must be tested, so a test of the board, of its model or of the driver must use its name.
for o in $(sed -nE 's/^\t(\{ "|(TE|RAM|FUNNEL|FAULT)\()([a-z_-]+).*/\2.\3/p' "$top/tools/board/plugin/options.c" |
	sed 's/^TE/te/; s/^RAM/ram/; s/^FUNNEL/funnel/; s/^FAULT/fault/; s/^\.//'); do
	[ "$o" != pace ] || o=mips # the option --mips of the command board sets pace
	grep -rqE -- "(^|[^a-z_.])$o( |=|\$)|--$o|faults\.${o#fault.}|caps\.${o#*.}( |;|=)" "$top"/tests/*/*.t "$top"/tests/perf/truth.sh "$top"/tests/board \
		"$top"/tools/board/model/test "$top"/tests/driver || echo "$o"
done >"$tap_tmp/untested"
is "a test uses each option of the trace hardware" "$(xargs <"$tap_tmp/untested")" ""
done_testing
