#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Linux boots in a virtual machine of KVM, on the board's Linux, from the reset of the board on: what
# libntrace decodes is what ran, of host and guest. tests/long/board-guest.t has work in the guest, and a K3.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/board/boot.sh"
. "$top/tests/board/guest.sh"
boot_setup
ls "$O/root/kernel-6.12/modules"/*/kernel/arch/riscv/kvm/kvm.ko* >/dev/null 2>&1 || skip_all "no kvm.ko; run make setup"
vm_setup 0 || exit 1
plan 3
vm_trace 100000000 500000000 "virt, HTM" boot-control=0x01a10260,boot-timestamp=on --timestamp
done_testing
