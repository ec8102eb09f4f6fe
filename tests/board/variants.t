#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Trace a program from reset on with each variant of the encoder. The program leaves QEMU's translated
# blocks in every possible way. The decoded trace must equal the truth. The trace must also differ from the
# trace without the variant. Only the variant can cause the difference, because the time of the machine
# counts instructions. boot.t tests whole boots with many variants at once.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/bare.sh"
bare_setup
printf 'encoder te hart=0 to=ram\nramsink ram mode=smem\n' | bare_topology "$tap_tmp/topology"
bare_build "$tap_tmp/hostile" -DROUNDS="${ROUNDS:-40}" -DRUNNING=1 "$top/tests/board/hostile.c" || exit 1
# make test runs one variant for each set of board options below. tests/model/roundtrip.t tests all variants of this
# encoder.
names=$(by_size "linear-direct cycles no-stop overrun-branch icnt-first return-strict stack-stops wfi" "$(variant_names)")
plan $(($(echo "$names" | wc -w) + 1))

# traced FOLDER OPTIONS: run the program, and store its trace and truth in FOLDER
traced() {
	mkdir -p "$tap_tmp/$1"
	bare_run "$tap_tmp/hostile" "truth=$tap_tmp/$1,boot-trace=$tap_tmp/$1,icount=on,$2" \
		-icount shift=1,sleep=off -rtc clock=vm,base=2026-01-01 >"$tap_tmp/said" 2>&1 || { cat "$tap_tmp/said"; return 1; }
}
# variant NAME MODEL DECODE-OPTIONS...: check the trace with this variant, and compare it with the trace without a
# variant. Make the trace without a variant only once for each MODEL
variant() {
	_v=$1 _model=$2 _plain=plain-$(echo "$2" | cksum | cut -d' ' -f1)
	shift 2
	[ -e "$tap_tmp/$_plain" ] || traced "$_plain" "$_model" || return
	rm -rf "$tap_tmp/v"
	traced v "$_model,variant=$_v" && "$O/bin/ntrace" verify --truth "$tap_tmp/v/hart0.truth" --trace "$tap_tmp/v/ram.ntrace" "$@" || return
	case $_v in
	# These variants do not change the trace, because the program has no addresses with a sign, no branch to
	# the next instruction, and no nested direct calls. tests/model/roundtrip.t tests these variants
	sign-copies|branch-next|return-strict|stack-stops) ;;
	*) ! cmp -s "$tap_tmp/$_plain/ram.ntrace" "$tap_tmp/v/ram.ntrace" || { echo "the variant changes nothing in the trace"; return 1; } ;;
	esac
}
small=boot-timestamp=on,te.icnt_bits=8,te.hist_bits=5,boot-features=0x1c8,te.stack_depth=4
for v in $names; do
	case $v in
	linear-direct) ok "$v" variant "$v" boot-control=0x01630230,boot-timestamp=on --timestamp ;;
	cycles) ok "$v" variant "$v" boot-control=0x01620260,boot-timestamp=on --timestamp ;;
	trap-filtered|no-stop) ok "$v" variant "$v" boot-control=0x01630260,boot-privileges=8 ;;
	overrun-branch|ecode-zero|etype-vendor)
		ok "$v" variant "$v" boot-control=0x01630260,te.fifo_depth=128,te.fifo_rate=60 ;;
	icnt-first) ok "$v" variant "$v" boot-control=0x01630260,te.icnt_bits=4,te.hist_bits=2 ;;
	return-strict) ok "$v" variant "$v" boot-control=0x01a10260,boot-features=0xc8 --implicit-return ;;
	stack-stops) ok "$v" variant "$v" boot-control=0x01a10260,boot-features=0xc8,te.stack_depth=1 --implicit-return=1 --return-drop-newest ;;
	*) ok "$v" variant "$v" boot-control=0x01630260,$small --timestamp --implicit-return=4 ;;
	esac
done
mkdir "$tap_tmp/again"
ok "without a variant, two runs are equal" sh -c "
	. '$top/tests/board/bare.sh'; tap_tmp='$tap_tmp'
	bare_run '$tap_tmp/hostile' 'truth=$tap_tmp/again,boot-trace=$tap_tmp/again,icount=on,boot-control=0x01630260,$small' \
		-icount shift=1,sleep=off -rtc clock=vm,base=2026-01-01 >/dev/null 2>&1
	cmp '$tap_tmp/again/ram.ntrace' '$tap_tmp/plain-$(echo "boot-control=0x01630260,$small" | cksum | cut -d' ' -f1)/ram.ntrace'"
done_testing
