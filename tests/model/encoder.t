#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compare the messages of the board's encoder with the examples of the specification.
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top/tools/board/model" O="$O" tests >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
CMOCKA_MESSAGE_OUTPUT=TAP "$O/board/model/test-encoder"
