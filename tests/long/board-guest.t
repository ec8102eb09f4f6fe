#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Linux in a virtual machine of KVM, on the board's Linux, from the reset of the board on: what
# libntrace decodes is what ran, of host and guest, with the privilege and time of each instruction.
# The board is once the virt machine and once as a K3. BOARDS= picks.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/board/boot.sh"
. "$top/tests/board/guest.sh"
boot_setup
ls "$O/root/kernel-6.12/modules"/*/kernel/arch/riscv/kvm/kvm.ko* >/dev/null 2>&1 || skip_all "no kvm.ko; run make setup"
cc -O2 -I"$top/tools/board/model" -o "$tap_tmp/privileges" "$top/tests/board/privileges.c" "$O/board/model/libnbmodel.a" || exit 1

rounds=4
# the plain boot, which does not test the kernel's ciphers; all privileges
boot_stock='' boot_privileges=0x6b boot_command="$vm_command"
vm_image "$tap_tmp/host" $rounds "cryptomgr.notests initcall_blacklist=jent_mod_init" || exit 1

# How many instructions of the guest, of its programs, and of the host the truth has
by_privilege() {
	for _truth in "$tap_tmp"/boot/hart*.truth; do "$tap_tmp/privileges" "$_truth"; done |
		awk '{ for (i = 1; i < NF; i += 2) n[$i] += $(i + 1) }
			END { printf "%.0f %.0f %.0f\n", n["VS"] + n["VU"], n["VU"], n["S"] + n["U"] + n["M"] }'
}

# guest NAME MODEL DECODE [BOARD OPTIONS]. Its clock is slow, because a busy host executes more
# interrupts of the guest's timer and less of all else.
guest() {
	_guest=$1 _model=$2 _how=$3
	shift 3
	rm -f "$tap_tmp/host/said"
	boot_trace "$_guest" "$_model" --out "$tap_tmp/host" --timeout 1800 --slow 4 "$@" || return
	ok "$_guest: the guest ran to its end" grep -q "the guest has done $rounds rounds" "$tap_tmp/host/said"
	by_privilege >"$tap_tmp/n"
	read -r _vs _vu _host <"$tap_tmp/n"
	ok "$_guest: it ran in both privileges of a guest" [ "$((_vs >= 400000000)) $((_vu > 100000))" = "1 1" ]
	boot_compare "$_how" "$_model"
	_bad=$?
	figure "$_guest: $(compared 1) instructions compared, $_vs of the guest and $_host of the host; $(compared 2) differences," \
		"$(compared 5) missing, $(cat "$tap_tmp"/boot/*.ntrace | wc -c) bytes"
	ok "$_guest: what was decoded is what ran" \
		[ "$_bad $(($(compared 1) >= 1700000000)) $(($(compared 1) == _vs + _host))" = "0 1 1" ]
	rm -rf "$tap_tmp/boot"
}
plan $(($(echo "${BOARDS:-virt k3}" | wc -w) * 3))
for board_kind in ${BOARDS:-virt k3}; do
	case $board_kind in
	virt) guest "virt, HTM" boot-control=0x01a10260,boot-timestamp=on --timestamp ;;
	k3) guest "K3, HTM, frames" boot-control=0x01a10260,boot-features=0xc0100000,boot-timestamp=on \
		"--src-bits 12 --timestamp" --topology k3 ;;
	esac
done
done_testing
