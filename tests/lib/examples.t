#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The programs in examples/ must build with the libraries that are installed with DESTDIR,
# in C and C++, and must print what a program executed.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-examples
mkdir -p "$dir"
root=$tap_tmp/root
make -C "$top" install DESTDIR="$root" PREFIX=/usr >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
unit_workload 20 || exit 1
unit_encode trace --timestamp --context 12 --sync-mode 1 --sync-max 6 || exit 1
plan 6

export PKG_CONFIG_PATH="$root/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
cp "$top"/examples/*.[ch] "$top/examples/Makefile" "$tap_tmp" || exit 1
example() { make -s -C "$tap_tmp" CFLAGS="-O2 -Wall -Wextra -Werror" "$@"; }
ok "the example in C builds" example insns
ok "the example in C++ 11 builds" example insns-cc
export LD_LIBRARY_PATH="$root/usr/lib"
"$tap_tmp/insns" -t "$dir/prog.elf" "$dir/trace" >"$tap_tmp/listing"
is "the example in C exits with 0" "$?" 0
"$tap_tmp/insns-cc" -t "$dir/prog.elf" "$dir/trace" >"$tap_tmp/listing-cc"
ok "the example in C++ prints the same" cmp "$tap_tmp/listing" "$tap_tmp/listing-cc"
grep -v '^--' "$tap_tmp/listing" | sed 's/.*\(0x[0-9a-f]*\):.*/\1/' >"$tap_tmp/pcs"
ok "the example prints each executed instruction" cmp "$dir/prog.pcs" "$tap_tmp/pcs"
# Check that times advance and never decrease, and that instructions after the Ownership message have the thread
# that this message names
is "the example prints times that increase, and the thread" "$(awk '$1 != "--" { if ($1 < last) bad++; last = $1; seen[$3]++ }
	END { print bad + 0, (last > 100), (seen[12] > 1000) }' "$tap_tmp/listing")" "0 1 1"
done_testing
