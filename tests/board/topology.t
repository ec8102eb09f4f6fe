#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The board must refuse invalid lists of components, and invalid numbers in options. It must print a sentence
# before the machine runs.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/bare.sh"
bare_setup

sink='ramsink ram 0x18001000'
te='encoder te 0x18000000 hart=0 to=ram'
more=
# refused NAME SENTENCE LINE...: check that the board refuses the list of components with these LINEs
refused() {
	_name=$1 _sentence=$2
	shift 2
	printf '%s\n' "$@" >"$tap_tmp/topology"
	timeout -k 1 400 "$O/root/bin/qemu-system-riscv64" -M none -nodefaults -display none -serial none -monitor none \
		-plugin "file=$O/board/ntrace-board.so,topology=$tap_tmp/topology$more" </dev/null >"$tap_tmp/said" 2>&1
	_rc=$?
	ok "$_name" refused_so
}
refused_so() {
	[ $_rc = 1 ] && grep -qF -- "$_sentence" "$tap_tmp/said" && return
	echo "status $_rc"
	cat "$tap_tmp/said"
	return 1
}
numbers() { # KEY WORD...
	_key=$1; shift
	for _v; do
		case $_key in
		hart) refused "$_key=$_v" "topology: te: $_key=$_v " "encoder te 0x18000000 to=ram $_key=$_v" "$sink" ;;
		clock) refused "$_key=$_v" "topology: te: $_key=$_v " "sifive-encoder te 0x18000000 hart=0 to=f $_key=$_v" \
			"sifive-funnel f 0x18001000" ;;
		*) refused "$_key=$_v" "topology: ram: $_key=$_v " "$te" "$sink $_key=$_v" ;;
		esac
	done
}
plan 55
numbers hart 1 16 4294967296 -1 x ''
numbers irq 0 96 4294967336 many
numbers domain 0 1024 ''
numbers clock 0 9999999 99999999999999999999
numbers sram 0 3 99999999999 64k
numbers align 0 3 8192
numbers burst 0 1000000000
numbers mode fast ''
refused "an unknown word" "topology: ram: 'colour=blue' is not understood" "$te" "$sink colour=blue"
refused "a word of another kind of component" "topology: ram: 'hart=0' is not understood" "$te" "$sink hart=0"
refused "an unknown kind of component" "topology: 'wheel w' is not understood" "wheel w 0x18000000"
refused "two components with one name" "topology: ram is defined twice" "$te" "$sink" "ramsink ram 0x18002000"
refused "two components at one address" "topology: ram2 has the same address as ram" "$te" "$sink" "ramsink ram2 0x18001000"
refused "an address that is not that of a page" "topology: ram: no address: '0x18001008'" "$te" "ramsink ram 0x18001008"
refused "an address that is not a number" "topology: ram: no address: 'here'" "$te" "ramsink ram here"
refused "a name that is too long" "topology: no name: 'ram-with-a-long-name'" "ramsink ram-with-a-long-name 0x18001000"
refused "a name that is a path" "topology: no name: '../ram'" "ramsink ../ram 0x18001000"
refused "a component that is its own output" "topology: f leads to itself" "encoder te 0x18000000 hart=0 to=f" "funnel f 0x18001000 to=f"
refused "funnels in a circle" "topology: a leads to itself" "encoder te 0x18000000 hart=0 to=a" \
	"funnel a 0x18001000 to=b" "funnel b 0x18002000 to=a"
refused "an output to a power controller" "topology: te leads to 'p', which is not a funnel or sink" \
	"encoder te 0x18000000 hart=0 to=p" "power p 0x18001000"
refused "an encoder of messages before a sink of frames" "topology: te leads to 'etr', which does not accept its messages" \
	"encoder te 0x18000000 hart=0 to=etr" "etr etr 0x18001000"
refused "a bridge of frames before a sink of messages" "topology: atb leads to 'ram', which does not accept its messages" \
	"encoder te 0x18000000 hart=0 to=atb" "atbbridge atb 0x18002000 hart=0 to=ram" "$sink"
refused "an output of a sink" "topology: ram has too many outputs" "$te" "ramsink ram 0x18001000 to=te"
refused "an encoder without output" "topology: te leads to ''" "encoder te 0x18000000 hart=0"
refused "a line that is too long" "topology: a line is longer than" "$te" "$sink $(printf 'x%.0s' $(seq 400))"
refused "too many components" "topology: there are more than 48 components" \
	"$(for i in $(seq 49); do printf 'ramsink r%d %#x\n' "$i" $((0x18000000 + 4096 * i)); done)"

for o in te.filters=17 te.comps=9 te.comps=255 ram.burst=4294967295 ram.sram_size=4294967295 active-delay=4294967295 \
	enable-delay=1048577 ram.smem_lowest=18446744073709551616 te.fifo_depth=4294967296; do
	more=,$o
	refused "$o" "option ${o%=*}: '${o#*=}' is not a number up to" "$te" "$sink"
done

# Test a sink with every attribute that a sink can have.
printf '%s\n' "$te" "$sink mode=both sram=65536 align=64 burst=128 irq=40 domain=7" >"$tap_tmp/topology"
echo quit | timeout -k 1 400 "$O/root/bin/qemu-system-riscv64" -M virt -smp 1 -S -nodefaults -display none -serial none -monitor stdio \
	-plugin "file=$O/board/ntrace-board.so,topology=$tap_tmp/topology" >"$tap_tmp/said" 2>&1
is "a sink with every attribute is accepted" "$? $(grep -c ntrace-board "$tap_tmp/said")" "0 0"
done_testing
