#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every readable case of tests/ntt: see tests/ntt/README.rst
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-ntt
mkdir -p "$dir"
unit_build_same >"$tap_tmp/make" 2>&1 ||
	{ cat "$tap_tmp/make"; exit 1; }
exec python3 "$top/tests/ntt/ntt.py" --same "$dir/same" "$O/bin/ntrace" "$top"/tests/ntt/*.ntt
