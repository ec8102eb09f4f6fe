#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the model's path from an ATB bridge into a CoreSight fabric, and the frames of its formatter.
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top/tools/board/model" O="$O" tests >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
CMOCKA_MESSAGE_OUTPUT=TAP "$O/board/model/test-coresight"
