#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Trace two boots of firmware and Linux in one run of the board, with a warm reset between them. The
# first message after the reset must synchronise at the reset vector (SYNC 1), and the decoded trace must equal
# the truth before and after the reset.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../board/boot.sh"
. "$(dirname "$0")/../board/boot-modes.sh"
boot_setup
mkdir -p "$tap_tmp/share"
# shellcheck disable=SC2034
boot_command='if [ -e /out/second ]; then echo second; else touch /out/second; echo first; reboot -f; sleep 60; fi'

# resets NAME MODEL DECODE BOARD-OPTIONS...: trace two boots on this board, and compare the decoded trace with the
# truth. MODEL has options of the encoder, and DECODE has the options that the decoder needs
resets() {
	_what=$1 _model=$2 _decode=$3; shift 3
	rm -f "$tap_tmp/share/second"
	boot_trace "$_what" "$_model" --reset warm --out "$tap_tmp/share" "$@" || return
	is "$_what: there are two boots" "$(grep -xE 'first|second' "$tap_tmp/run" | xargs)" "first second"
	is "$_what: each hart was reset once" "$(sed -n 's/^hart[0-9]* .*resets=\([0-9]*\).*/\1/p' "$tap_tmp/boot/stats" | sort -u)" 1
	for _file in "$tap_tmp"/boot/ram*.ntrace; do
		"$O/bin/ntrace" dump "$_file" | awk '
			/SYNC=/ { all++ }
			/SYNC=1 / { resets++; if (/\(0x1000\)/) vector++; at = all }
			END { print resets + 0, vector + 0, (at > 1 && at < all) }' >"$tap_tmp/syncs"
		is "$_what, ${_file##*/}: one message has SYNC 1, with the reset vector, and others are around it" \
			"$(cat "$tap_tmp/syncs")" "1 1 1"
	done
	boot_compare "$_decode" "$_model"
	_bad=$?
	figure "$_what: $(compared 1) instructions compared, $(compared 2) differences, $(compared 5) missing"
	ok "$_what: the decoded trace equals the truth before and after the reset" [ "$_bad $(($(compared 1) > 1000000))" = "0 1" ]
	rm -rf "$tap_tmp/boot"
}

# Trace only the firmware, because a trace of all code in two boots has 500 MB
boot_privileges=8
resets "HTM" "boot-control=$htm" ""
resets "BTM, 2 harts" "boot-control=$btm" "" --harts 2
plan $tap_n
done_testing
