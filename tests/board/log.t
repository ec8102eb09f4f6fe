#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compare the truth with QEMU's own log of the same run (-d exec,nochain,int), which does not use
# the plugin. The instructions, and the kinds and addresses of traps, must be equal. The program leaves
# translated blocks in every possible way, in each privilege mode, also in those of a guest. The cases are a
# plain run, two harts, one instruction in a block, and time that counts instructions. LONG=1 executes ten
# times as many rounds.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/bare.sh"
bare_setup
make -s -C "$top/tools/board/model" O="$O" all >&2
cc -O2 -I"$top/tools/board/model" -o "$tap_tmp/log-check" "$top/tests/board/log-check.c" \
	"$O/board/model/libnbmodel.a" &&
	cc -O2 -I"$top/tools/board/model" -o "$tap_tmp/truth-text" "$top/tests/board/truth-text.c" \
		"$O/board/model/libnbmodel.a" || exit 1
printf 'encoder te hart=0 to=ram\nramsink ram mode=smem\n' | bare_topology "$tap_tmp/topology"
rounds=$(by_size 800 2000)
[ -z "${LONG:-}" ] || rounds=20000
bare_timeout=500
plan 15

# compare NAME HARTS ROUNDS PLUGIN-OPTIONS QEMU-OPTIONS...: run the program, and compare the truth with the log.
# A round has at least 900 instructions. On a slow machine it has more, because the timer interrupts it more often.
compare() {
	_what=$1 _harts=$2 _least=$(($3 * 900)) _more=$4
	bare_build "$tap_tmp/hostile" -DROUNDS="$3" -DRUNNING="$_harts" "$top/tests/board/hostile.c" || exit 1
	shift 4
	mkfifo "$tap_tmp/log"
	grep -a '^Trace\|^riscv_cpu_do' <"$tap_tmp/log" >"$tap_tmp/lines" &
	_pid=$!
	bare_run "$tap_tmp/hostile" "truth=$tap_tmp$_more" -smp "$_harts" -d exec,nochain,int -D "$tap_tmp/log" "$@" >"$tap_tmp/said"
	is "$_what: the program ends" $? 0
	wait $_pid
	rm "$tap_tmp/log"
	_hart=0
	while [ $_hart -lt "$_harts" ]; do
		"$tap_tmp/log-check" "$tap_tmp/hart$_hart.truth" $_hart <"$tap_tmp/lines" >"$tap_tmp/checked"
		_rc=$?
		figure "$_what, hart $_hart: $(cat "$tap_tmp/checked"); $(cat "$tap_tmp/said")"
		_n=$(sed -n 's/ instructions.*//p' "$tap_tmp/checked")
		is "$_what: the truth of hart $_hart equals the log" "$_rc $((${_n:-0} > _least))" "0 1"
		_hart=$((_hart + 1))
	done
}
compare "one hart" 1 $rounds ""
"$tap_tmp/truth-text" "$tap_tmp/hart0.truth" >"$tap_tmp/text"
for _mode in U S VU VS; do
	_traps="$_traps $(($(grep -c "^trap .* $_mode$" "$tap_tmp/text") >= rounds / 4))"
done
is "the program traps in each privilege mode below M" "$_traps" " 1 1 1 1"
compare "two harts, each in its own thread of QEMU" 2 $((rounds / 4)) "" -accel tcg,thread=multi
compare "one instruction a block" 1 $((rounds / 8)) "" -accel tcg,one-insn-per-tb=on
compare "two harts, one instruction a block" 2 $((rounds / 16)) "" -accel tcg,thread=multi,one-insn-per-tb=on
compare "one hart, and time counts instructions" 1 $((rounds / 2)) ,icount=on -icount shift=1,sleep=off -rtc clock=vm,base=2026-01-01

# log-check must find errors, so remove lines of the log, and in another copy of the log change the kind of a trap.
sed '0~1000d' "$tap_tmp/lines" >"$tap_tmp/less"
"$tap_tmp/log-check" "$tap_tmp/hart0.truth" <"$tap_tmp/less" >"$tap_tmp/checked"
is "the check finds lines that are missing" "$? $(grep -c 'not what ran' "$tap_tmp/checked")" "1 1"
sed "$(($(wc -l <"$tap_tmp/lines") / 2)),\$s/async:1/async:0/" "$tap_tmp/lines" >"$tap_tmp/other"
"$tap_tmp/log-check" "$tap_tmp/hart0.truth" <"$tap_tmp/other" >"$tap_tmp/checked"
is "the check finds a trap of another kind" "$? $(grep -c 'not what ran' "$tap_tmp/checked")" "1 1"
done_testing
