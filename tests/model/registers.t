#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compare the registers of the model's components with the specification's register tables.
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top/tools/board/model" O="$O" tests >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
figure "$(grep -vc '^#' "$top/tools/board/model/test/registers.txt") fields of the specification's tables, each with offset, bits, access and reset"
CMOCKA_MESSAGE_OUTPUT=TAP "$O/board/model/test-registers"
