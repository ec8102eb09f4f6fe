#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# libntrace by its public header (tests/unit/lib-unit.c), with traces of a real program.
. "$(dirname "$0")/lib/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-unit
mkdir -p "$dir"
unit_build lib-unit -lcmocka >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
unit_workload 200 || exit 1
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
