#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run `make verify-boot`. Decode whole boots of over 1 billion instructions each, with each mode and optimisation of
# the encoder, and compare the boots with the truth. MODES=PATTERN selects modes, and KERNEL= selects another kernel.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../board/boot.sh"
. "$(dirname "$0")/../board/boot-modes.sh"
boot_setup
LEAST=1000000000
plan "$(modes | grep -c -E "${MODES:-.}")"
# shellcheck disable=SC2086
boot_modes ${KERNEL:+--kernel $KERNEL}
done_testing
