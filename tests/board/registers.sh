#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# This script runs in the guest, without a driver. It programs the encoder and the SRAM sink in the order
# of "Enabling and Disabling" of the Trace Control Interface, and prints "NAME VALUE" lines for
# tests/board/registers.t.
te=0x18000000 ram=0x18001000
rd() { busybox devmem $(($1 + $2)) 32; }
wr() { busybox devmem $(($1 + $2)) 32 "$3"; }
say() { echo "$1 $2"; }

say te_inactive "$(rd $te 0)"
wr $te 0 1; say te_active "$(rd $te 0)"
say te_impl "$(rd $te 4)"
wr $ram 0 1; say ram_active "$(rd $ram 0)"
say ram_impl "$(rd $ram 4)"
# A reserved register reads 0 and ignores writes.
wr $te 0x60 0xffffffff; say te_reserved "$(rd $te 0x60)"
wr $ram 0x30 0xffffffff; say ram_reserved "$(rd $ram 0x30)"
# The field for the mode is WARL. If the written mode is not implemented, the register contains an implemented mode.
wr $te 0 0x11; say te_mode_1 "$(rd $te 0)"
wr $te 8 0xffffffff; say te_features "$(rd $te 8)"
wr $te 8 0
wr $ram 0x10 0xffffffff; say ram_start "$(rd $ram 0x10)"
wr $ram 0x18 0xffffffff; say ram_limit "$(rd $ram 0x18)"
wr $te 0xc 0; wr $te 0x40 0
wr $ram 0x20 0
wr $ram 0 3; say ram_enabled "$(rd $ram 0)"
wr $te 0 0x01000061; wr $te 0 0x01000063; wr $te 0 0x01000067
say te_tracing "$(rd $te 0)"
ls / >/dev/null
wr $te 0 0x01000061
say te_stopped "$(rd $te 0)"
wr $ram 0 1; say ram_stopped "$(rd $ram 0)"
say ram_wp "$(rd $ram 0x20)"
wr $ram 0x28 0
for i in 1 2 3 4 5 6 7 8; do echo "word $(rd $ram 0x40)"; done
say ram_rp "$(rd $ram 0x28)"
# When the buffer is full, the sink sends an edge to interrupt source 40 of the APLIC.
aplic=0xd000000
wr $aplic $((4 * 40)) 4
say pending_before "$(rd $aplic $((0x1c00 + 4)))"
wr $ram 0 0x101; wr $ram 0x18 0xffc; wr $ram 0x20 0; wr $ram 0 0x103
wr $te 0 0x01000067
ls -l / >/dev/null
wr $te 0 0x01000061
say ram_full "$(rd $ram 0)"
say ram_wrapped "$(rd $ram 0x20)"
say pending "$(rd $aplic $((0x1c00 + 4)))"
wr $te 0 0; say te_off "$(rd $te 0)"
# A load of 8 bits causes no fault. It reads one byte of the register.
say te_byte "$(busybox devmem $((te + 3)) 8)"
