#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compare the model's registers of SiFive's trace components, version 0, with values from an EIC7700X.
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top/tools/board/model" O="$O" tests >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
CMOCKA_MESSAGE_OUTPUT=TAP "$O/board/model/test-sifive"
