#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test libntrace through its public header with traces of a real program (tests/lib/unit.c).
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-unit
mkdir -p "$dir"
unit_build unit -lcmocka >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
unit_traces || exit 1
CMOCKA_MESSAGE_OUTPUT=TAP exec "$dir/unit" "$dir"
