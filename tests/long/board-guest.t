#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Linux runs in a KVM virtual machine on the board's Linux. The trace of host and guest begins at the reset of the
# board. The decoded trace must equal the truth, with the privilege and time of each instruction. The first board is
# the virt machine, and the second board is a K3. BOARDS= selects boards. tests/board/guest.t is the short form of
# this test.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/board/boot.sh"
. "$top/tests/board/guest.sh"
boot_setup
ls "$O/root/kernel-6.12/modules"/*/kernel/arch/riscv/kvm/kvm.ko* >/dev/null 2>&1 || skip_all "no kvm.ko; run make setup"
vm_setup 4 || exit 1
plan $(($(echo "${BOARDS:-virt k3}" | wc -w) * 3))
for board_kind in ${BOARDS:-virt k3}; do
	case $board_kind in
	virt) vm_trace 400000000 1700000000 "virt, HTM" boot-control=0x01a10260,boot-timestamp=on --timestamp ;;
	k3) vm_trace 400000000 1700000000 "K3, HTM, frames" boot-control=0x01a10260,boot-features=0xc0100000,boot-timestamp=on \
		"--src-bits 12 --timestamp" --topology k3 ;;
	esac
done
done_testing
