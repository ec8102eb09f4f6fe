# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# For tests of boot traces, after tap.sh.
board=$top/tools/board/board

boot_setup() {
	[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
	make -s -C "$top/tools/board" O="$O" all bootcheck >"$tap_tmp/make" 2>&1 ||
		{ plan 1; fail "the plugin and bootcheck build"; cat "$tap_tmp/make"; done_testing; }
}

# boot_verify NAME MODEL DECODE [BOARD OPTIONS]: boot with the encoder set up by
# MODEL, compare what libntrace makes of it with the truth. Firmware and kernel:
# the code of processes that are gone is not kept.
boot_verify() {
	_name=$1 _model=$2 _decode=$3
	shift 3
	rm -rf "$tap_tmp/boot"
	if ! "$board" run --no-driver --truth "$tap_tmp/boot" --boot-trace "$tap_tmp/boot" \
		--stats "$tap_tmp/boot/stats" --model "boot-privileges=10,$_model" "$@" -- true \
		>"$tap_tmp/run" 2>&1; then
		fail "$_name: boots"
		sed 's/^/# /' "$tap_tmp/run"
		return
	fi
	_bad=0
	for _trace in "$tap_tmp"/boot/hart*.ntrace; do
		_hart=${_trace%.ntrace}
		# shellcheck disable=SC2086
		"$O/tests/bootcheck" $_decode "$_trace" "$_hart.code" "$_hart.truth" >"$tap_tmp/check" || _bad=1
		sed "s/^/# ${_hart##*/}: /" "$tap_tmp/check"
		figure "$_name, ${_hart##*/}: $(tail -n 1 "$tap_tmp/check"), $(wc -c <"$_trace") bytes"
	done
	ok "$_name: what was decoded is what ran" [ "$_bad" = 0 ]
	rm -rf "$tap_tmp/boot"
}
