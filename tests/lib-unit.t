#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# libntrace by its public header (tests/unit/lib-unit.c), with traces of a real program.
. "$(dirname "$0")/lib/tap.sh"
dir=$O/tests/lib-unit
mkdir -p "$dir"
{
	make -C "$top" tool &&
	gcc -g -O1 -Wall -Wextra ${SANITIZE:-} -I"$top/include" -I"$top/tools/ntrace" \
		-o "$dir/lib-unit" "$top/tests/unit/lib-unit.c" "$top/tools/ntrace/elf-image.c" \
		"$O/lib/libntrace.a" -lcmocka -lelf -lpthread
} >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
if [ ! -s "$dir/prog.pcs" ] || [ "$top/tests/unit/workload.c" -nt "$dir/prog.pcs" ]; then
	riscv64-linux-gnu-gcc -O2 -static -o "$dir/prog.elf" "$top/tests/unit/workload.c" || exit 1
	"$top/tests/lib/pcs" "$dir/prog.pcs" "$dir/prog.elf" 200 >/dev/null || exit 1
fi
# encode NAME OPTIONS...
encode() {
	_name=$1; shift
	"$O/bin/ntrace" encode --elf "$dir/prog.elf" --pcs "$dir/prog.pcs" -o "$dir/$_name" "$@" ||
		exit 1
}
encode htm --sync-mode 1 --sync-max 6
encode btm --mode btm --sync-mode 3 --sync-max 10
encode ir --implicit-return --sync-mode 1 --sync-max 6 --hist-bits 9
encode ts --timestamp --src-bits 4 --src 7 --sync-mode 1 --sync-max 6
encode rep --mode btm --repeat-branch --implicit-return --sync-mode 1 --sync-max 6
encode all --implicit-return --sequential-jump --all-jumps --extend-addr --timestamp \
	--repeated-history --context 12 --sync-mode 1 --sync-max 6
CMOCKA_MESSAGE_OUTPUT=TAP exec "$dir/lib-unit" "$dir"
