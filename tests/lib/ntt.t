#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run all readable cases of tests/ntt, or only the cases in the arguments, see tests/ntt/README.rst.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
need_tool "${CROSS_COMPILE:-riscv64-linux-gnu-}as" binutils-riscv64-linux-gnu
need_tool python3 python3
dir=$O/tests/lib-ntt
mkdir -p "$dir"
unit_build_same >"$tap_tmp/make" 2>&1 ||
	{ cat "$tap_tmp/make"; exit 1; }
[ $# -gt 0 ] || set -- "$top"/tests/ntt/*.ntt
# Keep the programs of the cases for later runs, because assembling and linking would take most of the time. The
# versions of assembler and linker are part of the folder's name.
cached_build ntt tests/ntt/ntt.py : "$("${CROSS_COMPILE:-riscv64-linux-gnu-}as" --version; "${CROSS_COMPILE:-riscv64-linux-gnu-}ld" --version)" || exit
exec python3 "$top/tests/ntt/ntt.py" --programs "$cached" --same "$dir/same" "$O/bin/ntrace" "$@"
