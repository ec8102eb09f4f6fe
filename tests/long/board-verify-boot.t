#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `make verify-boot`: whole boots, with each mode and optimisation of the encoder,
# decoded and compared with the truth: over 1 billion instructions each.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../board/boot.sh"
boot_setup
plan 14

# trTeControl: BTM or HTM, trTeContext, a sync every 2^14 messages, N-Trace
btm=0x01a10230 htm=0x01a10260
boot_verify "BTM" boot-control=$btm ""
boot_verify "HTM" boot-control=$htm ""
boot_verify "HTM, timestamps" boot-control=$htm,boot-timestamp=on --timestamp
boot_verify "HTM, sync every 2^10 half-words" boot-control=0x01630260 ""
boot_verify "HTM, sync every 2^10 cycles" boot-control=0x01620260 ""
# trTeInstFeatures
boot_verify "HTM, implicit return" boot-control=$htm,boot-features=0xc8 --implicit-return
boot_verify "BTM, implicit return" boot-control=$btm,boot-features=0xc8 --implicit-return
boot_verify "HTM, sequential jump" boot-control=$htm,boot-features=0x4 --sequential-jump
boot_verify "HTM, repeated history" boot-control=$htm,boot-features=0x100 ""
boot_verify "HTM, all jumps" boot-control=$htm,boot-features=0x200 --all-jumps
boot_verify "HTM, extended addresses" boot-control=$htm,boot-features=0x400 --extend-addr
boot_verify "HTM, all of them" boot-control=$htm,boot-features=0x7cc,boot-timestamp=on \
	"--implicit-return --sequential-jump --all-jumps --extend-addr --timestamp"
boot_verify "BTM, RepeatBranch, narrow I-CNT" boot-control=$btm,te.repeat_branch=on,te.icnt_bits=8 ""
boot_verify "7.2, 4 harts, HTM, SRC" boot-control=$htm,boot-features=0x40070000 "--src-bits 4" --kernel 7.2 --harts 4
done_testing
