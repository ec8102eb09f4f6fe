# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Lists of the modes and optimisations of the encoder, for tests of boot traces. Source this file after boot.sh.

# Values of trTeControl for BTM and HTM with trTeContext, a sync every 2^14 messages, and the format N-Trace
btm=0x01a10230 htm=0x01a10260

# variants NAME...: print these variants as options of the model
variants() { printf 'variant=%s,' "$@" | sed 's/,$//'; }

# Print the modes in which boots are traced, one per line. The columns of a line are the name of the mode, and the
# options of the model, of the decoder and of the board. make test runs only the lines that begin with "*". The options
# in these lines depend on QEMU, on the number of harts or on the hardware. tests/model/roundtrip.t tests each option of
# the encoder. boot-features is the value of trTeInstFeatures. When Linux enables its MMU, a function that was called at
# 0x80200000 + N returns to 0xffffffff80000000 + N. An encoder that compares fewer than 22 bits of the return address
# finds no difference, and sends no message for this return, so the decoder reports an error.
modes() {
	all_modes | if large; then sed 's/^\* //'; else sed -n 's/^\* //p'; fi
}
all_modes() {
	cat <<-EOT
	* BTM|boot-control=$btm||
	HTM|boot-control=$htm||
	* HTM, timestamps|boot-control=$htm,boot-timestamp=on|--timestamp|
	HTM, sync every 2^6 messages|boot-control=0x01210260||
	HTM, sync every 2^10 cycles|boot-control=0x01620260||
	HTM, sync every 2^10 cycles, of which instructions take several|boot-control=0x01620260,boot-timestamp=on,$(variants cycles)|--timestamp|
	HTM, sync every 2^10 half-words|boot-control=0x01630260||
	BTM, sync every 2^10 half-words, timestamps|boot-control=0x01630230,boot-timestamp=on|--timestamp|
	HTM, sync only at branches|boot-control=0x01630260,te.sync_delayed=on||
	HTM, implicit return|boot-control=$htm,boot-features=0xc8|--implicit-return|
	* BTM, implicit return|boot-control=$btm,boot-features=0xc8|--implicit-return|
	HTM, implicit return by part of the address, 8 deep|boot-control=$htm,boot-features=0x88,te.stack_depth=8,te.stack_bits=24|--implicit-return=8|
	HTM, sequential jump|boot-control=$htm,boot-features=0x4|--sequential-jump|
	HTM, repeated history|boot-control=$htm,boot-features=0x100||
	HTM, all jumps|boot-control=$htm,boot-features=0x200|--all-jumps|
	HTM, extended addresses|boot-control=$htm,boot-features=0x400|--extend-addr|
	* HTM, all of them|boot-control=$htm,boot-features=0x7cc,boot-timestamp=on|--implicit-return --sequential-jump --all-jumps --extend-addr --timestamp|
	HTM, B-TYPE 1, I-CNT of 10 and HIST of 6 bits|boot-control=$htm,te.btype_extended=off,te.icnt_bits=10,te.hist_bits=6||
	HTM, HIST in each message|boot-control=$htm,te.hist_always=on||
	* HTM, the hart stalls|boot-control=0x01a12260,te.fifo_depth=80,te.fifo_rate=40||
	BTM, RepeatBranch, I-CNT of 8 bits|boot-control=$btm,te.repeat_branch=on,te.icnt_bits=8||
	BTM, SYNC 4 where I-CNT of 8 bits is full|boot-control=$btm,te.icnt_sync=on,te.icnt_bits=8||
	HTM, variants of form|boot-control=$htm,boot-timestamp=on,$(variants tstamp-some idle pad split hist-any hrepeat-one vendor)|--timestamp|
	BTM, variants of form|boot-control=$btm,boot-timestamp=on,te.icnt_bits=10,$(variants tstamp-some idle pad full-before vendor-codes branch-next)|--timestamp|
	* HTM, variants of when|boot-control=0x01630260,$(variants trap-filtered wfi icnt-first hist-flush linear-indirect early-stop ownership debug trigger)||
	BTM, variants of when|boot-control=0x01630230,$(variants trap-filtered wfi linear-direct debug trigger branch-next ownership)||
	HTM, implicit return that waits for the call, a stack of 4 that stops|boot-control=$htm,boot-features=0x1c8,te.stack_depth=4,$(variants return-strict stack-stops hrepeat-split)|--implicit-return=4 --return-drop-newest|
	* new, 4 harts, HTM, SRC of 4 bits, a sink each|boot-control=$htm,boot-features=0x40070000|--src-bits 4 --src 7|--kernel new --harts 4
	* 4 harts, HTM, SRC of 12 bits, timestamps, funnel|boot-control=$htm,boot-features=0xc0100000,boot-timestamp=on|--src-bits 12 --timestamp|--harts 4 --topology funnel
	4 harts, BTM, SRC of 2 bits, two funnels and one, whose inputs take turns|boot-control=$btm,boot-features=0x20000000,funnel.fifo=512,funnel.reorder=on|--src-bits 2|--harts 4 --topology funnel2
	16 harts, HTM, SRC of 12 bits, timestamps, eight funnels and one|boot-control=$htm,boot-features=0xc0100000,boot-timestamp=on|--src-bits 12 --timestamp|--harts 16 --topology funnel2 --mem 2G
	HTM, timestamps, a core of RVA23|boot-control=$htm,boot-timestamp=on|--timestamp|--cpu rva23s64
	* 4 harts, SiFive's messages as of a P550|boot-sifive=0x00a90060,boot-timestamp=on|--dialect sifive --src-bits 2 --timestamp|--board p550
	* 4 harts, BTM, CoreSight frames as of a K3|boot-control=0x01060230,boot-features=0xc0100000,boot-timestamp=on,$(variants sign-copies)|--src-bits 12 --timestamp|--harts 4 --topology k3
	EOT
}

# boot_modes_share FIRST BOARD-OPTIONS...: trace a boot in every second mode of the file $tap_tmp/modes, beginning with
# line FIRST. Call this function in a subshell, because it changes $tap_tmp
boot_modes_share() {
	tap_tmp=$tap_tmp/share.$1
	mkdir -p "$tap_tmp"
	awk -v first="$1" 'NR % 2 == first % 2' "$tap_tmp/../modes" >"$tap_tmp/modes"
	shift
	while IFS='|' read -r name model decode options <&3; do
		# shellcheck disable=SC2086
		boot_verify "$name" "$model" "$decode" "$@" $options
	done 3<"$tap_tmp/modes" >"$tap_tmp/log" 2>&1
}

# boot_modes BOARD-OPTIONS...: trace a boot in each mode that modes() prints, with two guests at a time. If the
# environment variable MODES is set, run only the modes whose lines match this regular expression
boot_modes() {
	modes | grep -E "${MODES:-.}" >"$tap_tmp/modes"
	boot_modes_share 1 "$@" &
	(boot_modes_share 2 "$@")
	wait
	cat "$tap_tmp"/share.[12]/log >"$tap_tmp/modes.log"
	while read -r line; do
		case $line in
		"ok "*) pass "${line#ok * - }" ;;
		"not ok "*) fail "${line#not ok * - }" ;;
		*) echo "$line" ;;
		esac
	done <"$tap_tmp/modes.log"
}
