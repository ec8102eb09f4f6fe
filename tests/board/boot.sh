# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Functions for tests of boot traces. Source this file after tap.sh.
board=$top/tools/board/board

boot_setup() {
	[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
	make -s -C "$top" O="$O" plugin tool >"$tap_tmp/make" 2>&1 ||
		{ plan 1; fail "the plugin and the command build"; cat "$tap_tmp/make"; done_testing; }
}

# sum KEY: print the sum of the numbers KEY=N of all harts and encoders in the statistics of the last run
sum() {
	awk -v key="$1" '{ for (i = 2; i <= NF; i++) { split($i, a, "="); if (a[1] == key) n += a[2] } }
		END { printf "%.0f\n", n }' "$tap_tmp/boot/stats"
}

# compared NUMBER: print a sum over all comparisons of boot_compare. The last line of each comparison contains several
# numbers. Add up the first number of each of these lines if NUMBER is 1, or the second number if NUMBER is 2
compared() {
	awk -v at="$1" '/differences/ { gsub(/[^0-9 ]/, ""); n += $at } END { printf "%.0f\n", n }' "$tap_tmp/check"
}

# boot_trace NAME MODEL [BOARD OPTIONS]: boot, and run $boot_command. MODEL contains options of the encoder. Trace
# firmware and kernel, or the privileges in $boot_privileges
boot_trace() {
	_name=$1 _model=$2
	shift 2
	rm -rf "$tap_tmp/boot"
	# shellcheck disable=SC2086
	"$board" run ${boot_stock---stock-boot} --no-driver --truth "$tap_tmp/boot" --boot-trace "$tap_tmp/boot" \
		--stats "$tap_tmp/boot/stats" --model "boot-privileges=${boot_privileges:-10},$_model" "$@" -- "${boot_command:-true}" \
		>"$tap_tmp/run" 2>&1 && return
	fail "$_name: boots"
	sed 's/^/# /' "$tap_tmp/run"
	return 1
}

# boot_compare DECODE [MODEL]: decode the trace of each hart with the options DECODE, and compare it with the truth.
# If one sink has the trace of all harts, hart N is the source SRC + N. Bits 27:16 of the option boot-features in
# MODEL contain SRC.
boot_compare() {
	_bad=0 _src=$(echo "${2:-}" | sed -n 's/.*boot-features=\([0-9a-fx]*\).*/\1/p')
	_src=$((${_src:-0} >> 16 & 0xfff))
	: >"$tap_tmp/check"
	for _truth in "$tap_tmp"/boot/hart*.truth; do
		_hart=${_truth%.truth} _hart=${_hart##*hart} _one=
		_trace=$tap_tmp/boot/ram$_hart.ntrace
		[ -e "$_trace" ] || { _trace=$tap_tmp/boot/ram.ntrace _one="--src $((_src + _hart))"; }
		[ -e "$_trace" ] || _trace=$tap_tmp/boot/funnel.ntrace
		# the trace ID of hart N in a CoreSight fabric is N + 1
		[ -e "$_trace" ] || { _trace=$tap_tmp/boot/etr.ntrace _one="$_one --frames=$((_hart + 1))"; }
		# shellcheck disable=SC2086
		"$O/bin/ntrace" verify $1 $_one --truth "$_truth" --trace "$_trace" >>"$tap_tmp/check" 2>&1 || _bad=1
	done
	[ "$_bad" = 0 ] || sed 's/^/# /' "$tap_tmp/check"
	return $_bad
}

# boot_verify NAME MODEL DECODE [BOARD OPTIONS]: run boot_trace and boot_compare. Fail if fewer than $LEAST
# instructions were compared
boot_verify() {
	_what=$1 _decode=$3
	_m=$2
	shift 3
	boot_trace "$_what" "$_m" "$@" || return
	boot_compare "$_decode" "$_m"
	_bad=$?
	_n=$(compared 1)
	compared_with_truth "$_n"
	figure "$_what: $_n instructions compared, $(compared 2) differences, $(compared 5) missing," \
		"$(cat "$tap_tmp"/boot/*.ntrace | wc -c) bytes"
	ok "$_what: the decoded trace equals the truth" [ "$_bad $((_n >= LEAST))" = "0 1" ]
	rm -rf "$tap_tmp/boot"
}
