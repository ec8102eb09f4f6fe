#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A whole boot of firmware and Linux is traced from reset on; what libntrace
# decodes is what ran. All modes and optimisations: tests/long/board-verify-boot.t
. "$(dirname "$0")/lib/tap.sh"
. "$(dirname "$0")/board/boot.sh"
boot_setup
plan 1
boot_verify "6.12, HTM" boot-features=0 ""
done_testing
