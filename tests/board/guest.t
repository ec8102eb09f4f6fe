#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Boot Linux in a KVM virtual machine on the board's Linux. The trace of host and guest begins at the reset
# of the board. The decoded trace must equal the truth. tests/long/board-guest.t also lets the guest work, and
# uses the board's model of a K3.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/board/boot.sh"
. "$top/tests/board/guest.sh"
boot_setup
ls "$O/root/kernel-6.12/modules"/*/kernel/arch/riscv/kvm/kvm.ko* >/dev/null 2>&1 || skip_all "no kvm.ko; run make setup"
vm_setup 0 || exit 1
plan 3
vm_trace 100000000 500000000 "virt, HTM" boot-control=0x01a10260,boot-timestamp=on --timestamp
done_testing
