#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The device-tree binding: it is a valid schema, takes its own examples, and
# refuses what is wrong.
. "$(dirname "$0")/lib/tap.sh"

command -v dt-doc-validate >/dev/null || skip_all "dt-schema is not installed"
bindings=$top/Documentation/devicetree/bindings
yaml=riscv/riscv,trace-component.yaml

schema_is_valid() {
	(cd "$bindings" && dt-doc-validate -u . "$yaml") >"$tap_tmp/doc" 2>&1 &&
		! [ -s "$tap_tmp/doc" ]
}

# validate NAME: $tap_tmp/NAME.dts against the binding; what is said is in NAME.log
validate() {
	dtc -q -@ -O dtb -o "$tap_tmp/$1.dtb" "$tap_tmp/$1.dts" || return 2
	dt-validate -s "$tap_tmp/schema.json" "$tap_tmp/$1.dtb" >"$tap_tmp/$1.log" 2>&1
	! grep -q trace "$tap_tmp/$1.log"
}

# refuses WHAT SED: the examples, made wrong by SED, are refused
refuses() {
	sed "$2" "$tap_tmp/example.dts" >"$tap_tmp/wrong.dts"
	if cmp -s "$tap_tmp/example.dts" "$tap_tmp/wrong.dts"; then
		fail "refuses $1: nothing was changed"
	elif validate wrong; then
		fail "refuses $1"
	else
		pass "refuses $1"
	fi
	sed 's/^/# /' "$tap_tmp/wrong.log" 2>/dev/null | head -n 4
}

plan 7
ok "the binding is a valid schema" schema_is_valid
(cd "$bindings" && dt-mk-schema -j -o "$tap_tmp/schema.json" .) || exit 1
(cd "$bindings" && dt-extract-example "$yaml") >"$tap_tmp/example.dts"
ok "its examples follow it" validate example
sed "s|^|# |" "$tap_tmp/example.log"
is "the examples describe six components" "$(grep -c 'trace@' "$tap_tmp/example.dts")" 6
refuses "two register blocks" 's/reg = <0xc001000 0x1000>/reg = <0xc001000 0x1000>, <0xd001000 0x1000>/'
refuses "a clock name that is not its own" 's/"timestamp"/"tick"/'
refuses "a component without ports" '/in-ports/,/^            };/d;s/out-ports {/no-ports {/'
refuses "an unknown property" 's/cpus = <&cpu0>/hart = <0>/'
done_testing
