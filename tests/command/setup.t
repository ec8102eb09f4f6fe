#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ntrace setup` writes a script that lets a debugger trace a board. gdb runs the script on the emulated machine
# through QEMU's gdb stub, and the bytes that gdb saves must decode to the executed instructions.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../board/bare.sh"
bare_setup
PATH=$O/root/bin:$PATH
need_tool gdb-multiarch gdb-multiarch
ntrace=$O/bin/ntrace
cd "$tap_tmp" || exit 1

te1='encoder te1 0x18000000 hart=1 to=f' te2='encoder te2 0x18001000 hart=2 to=f'
f='funnel f 0x18002000 to=ram' ram='ramsink ram 0x18003000'

# traced ROUNDS MODE OPTIONS: trace harts 1 and 2 by the script that OPTIONS select. If the script fails, gdb ends the
# machine.
traced() {
	bare_build prog -DROUNDS="$1" "$top/tests/command/setup.c" || return 1
	printf 'encoder te1 hart=1 to=f\nencoder te2 hart=2 to=f\nfunnel f to=ram\nramsink ram %s\n' "$2" | bare_topology topology
	shift 2
	"$ntrace" setup --gdb "$@" "$te1" "$f" "$ram" >script || return 1
	rm -f gdb.sock dump
	bare_timeout=300 bare_run prog "truth=$tap_tmp" -smp 3 -S -gdb unix:gdb.sock,server=on,wait=off >said 2>&1 &
	for _try in $(seq 100); do
		[ ! -S gdb.sock ] || break
		sleep 0.1
	done
	HOME=$tap_tmp timeout 280 gdb-multiarch -nx -batch -ex 'set remotetimeout 60' -ex 'target remote gdb.sock' -ex 'source script' \
		-x "$top/tests/command/setup.gdb" -ex kill prog >err 2>&1
	wait
}

# ran HART start|gap OPTIONS: check that the dump has the instructions of a hart, from the first one (start) or a
# later one (gap)
ran() {
	_hart=$1
	echo "$2" >decoded
	shift 2
	"$ntrace" decode dump --elf prog --pcs "$@" >>decoded 2>decode.err
	[ "$(wc -l <decoded)" -gt 1000 ] && "$ntrace" verify --truth "hart$_hart.truth" --decoded decoded
}
counted() {
	"$ntrace" report --raw dump --elf prog --src-bits 2 --timestamp 2>/dev/null | awk '/ step \[prog\]/ { print $1 }'
}
# body FORMAT OPTIONS: let `ntrace setup` write a script in this format, and print its register accesses and comments
body() {
	_format=$1
	shift
	"$ntrace" setup "--$_format" "$@" "$te2" "$f" "$ram" "$te1" | grep -E '^  (#|ntrace_(write|wait|poll|drain)) .*0x1800|^  # ..*: w'
}
# refused SENTENCE ARGUMENT...: expect that `ntrace setup` refuses these arguments with SENTENCE and exit status 2
refused() {
	_said=$1
	shift
	"$ntrace" setup "$@" >out 2>err
	is "$_said" "$? $(cat out) $(grep -cF -e "$_said" err)" "2  1"
}

plan 20
ok "gdb traces two harts with timestamps" traced 2000 mode=smem "$te2" --buffer 0x82000000,0x20000 --timestamp 2
ok "hart 1: the file decodes to what was executed" ran 1 start --timestamp --src-bits 2 --src 1
ok "hart 2: the file decodes to what was executed" ran 2 start --timestamp --src-bits 2 --src 2
is "ntrace report counts the calls of both harts" "$(counted)" 4000
ok "gdb reads the memory of a sink that wrapped around" traced 2000 "mode=sram sram=1024" --sync-max 1
is "the script says how to read the file of a sink that wrapped around" "$(grep -c '^ntrace: the buffer wrapped around, so read its file with --middle$' err)" 1
is "the file has all bytes of the sink" "$(wc -c <dump)" 1024
ok "hart 1: the last part decodes to what was executed" ran 1 gap --middle
"$ntrace" verify --truth hart1.truth --trace none >out 2>&1
is "ntrace verify refuses a trace that does not exist" "$? $(cat out)" "2 ntrace: none: No such file or directory"
ok "a register with another value stops the script" traced 2 "mode=sram sram=4096" --buffer 0x82000000,0x1000
is "the script says which register, and saves nothing" \
	"$(grep -c '^ntrace: the register at 0x18003000 is 0x9, whose bits 0x110 must be 0x10$' err) $([ -e dump ] && echo dump)" "1 "

body gdb --buffer 0x180000000,0x1000 --stop-on-wrap --sync-mode 2 --sync-max 9 >steps.gdb
body openocd --buffer 0x180000000,0x1000 --stop-on-wrap --sync-mode 2 --sync-max 9 >steps.openocd
ok "the steps for OpenOCD are those for gdb" cmp steps.gdb steps.openocd
is "the options are in the registers" "$(grep -cE 'ntrace_write 0x(18003000 0x113|18003014 0x1|18003018 0x80000ffc|1800301c 0x1|18000000 0x1920067|18000008 0x20010000)$' steps.gdb)" 6
is "the order is: encoders off; sink, funnel, encoders on; encoders, funnel, sink off" "$(grep -E 'ntrace_write 0x1800.000 ' steps.gdb | cut -d' ' -f4 | uniq | tr '\n' ' ')" \
	"0x18001000 0x18000000 0x18003000 0x18002000 0x18001000 0x18000000 0x18001000 0x18000000 0x18002000 0x18003000 "
refused "setup needs either --gdb or --openocd" "$te1" "$f" "$ram"
refused "there are 0 sinks and 1 encoders" --gdb "$te1" "$f"
refused "te1 leads to 'f', from where no way leads to the sink" --gdb "$te1" "$ram"
refused "a component is 'encoder|funnel|ramsink NAME ADDRESS [hart=N] [to=NAME]', not 'etr etr'" --gdb "etr etr 0x1000" "$ram"
refused "--buffer expects START,SIZE" --gdb --buffer 0x82000000,100 "$te1" "$f" "$ram"
refused "'0x18000004' is no address of a component, which is a multiple of 4096" --gdb "encoder a 0x18000004 to=ram" "$ram"
done_testing
