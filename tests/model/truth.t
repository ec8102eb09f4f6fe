#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Write and read truth files, and check that damaged files cause an error.
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top/tools/board/model" O="$O" tests >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
CMOCKA_MESSAGE_OUTPUT=TAP "$O/board/model/test-truth"
