#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The device-tree binding: it is a valid schema, takes its own examples, and
# refuses what is wrong.
. "$(dirname "$0")/../harness/tap.sh"

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

# The overlay on Linux 7.2's device tree of a board
linux=$O/root/linux-7.2
preprocess() { cpp -nostdinc -undef -x assembler-with-cpp "$@"; }
overlay_applies() { # BOARD OVERLAY
	preprocess "$top/samples/boards/$2.dtso" | dtc -q -@ -O dtb -o "$tap_tmp/$2.dtbo" - &&
		preprocess -I "$linux/include" "$linux/arch/riscv/boot/dts/$1.dts" |
			dtc -q -@ -O dtb -o "$tap_tmp/board.dtb" - &&
		fdtoverlay -i "$tap_tmp/board.dtb" -o "$tap_tmp/whole.dtb" "$tap_tmp/$2.dtbo"
}
overlay_is_valid() {
	dt-validate -s "$tap_tmp/schema.json" "$tap_tmp/whole.dtb" 2>&1 | grep -E 'trace@' >"$tap_tmp/whole.log"
	! [ -s "$tap_tmp/whole.log" ]
}

# Properties of the binding that Documentation/developer/device-tree.rst does not have
unlisted() {
	sed -n '/^properties:/,/^required:/s/^  \([a-z-]*\):.*/\1/p' "$bindings/$yaml" | while read -r _p; do
		grep -q "^\`\`$_p\`\` " "$top/Documentation/developer/device-tree.rst" || echo "$_p"
	done
}

plan 13
is "each property is in the list of who reads and tests it" "$(unlisted)" ""
ok "the binding is a valid schema" schema_is_valid
(cd "$bindings" && dt-mk-schema -j -o "$tap_tmp/schema.json" .) || exit 1
(cd "$bindings" && dt-extract-example "$yaml") >"$tap_tmp/example.dts"
ok "its examples follow it" validate example
sed "s|^|# |" "$tap_tmp/example.log"
is "the examples describe six components" "$(grep -c 'trace@' "$tap_tmp/example.dts")" 6
refuses "two register blocks" 's/reg = <0xc001000 0x1000>/reg = <0xc001000 0x1000>, <0xd001000 0x1000>/'
refuses "a clock name that is not its own" 's/"timestamp"/"tick"/'
refuses "a second clock that is not the timestamp's" 's/clock-names = "apb"/clock-names = "apb", "apb"/'
refuses "names of clocks without clocks" '/clocks = <&bus_clk>/d'
refuses "a component without ports" '/in-ports/,/^            };/d;s/out-ports {/no-ports {/'
refuses "an unknown property" 's/cpus = <&cpu0>/hart = <0>/'
if [ -d "$linux/arch/riscv/boot/dts/spacemit" ]; then
	ok "the K3's overlay applies to Linux 7.2's k3-pico-itx" overlay_applies spacemit/k3-pico-itx spacemit-k3
	is "it adds 21 components" "$(fdtdump "$tap_tmp/whole.dtb" 2>/dev/null | grep -c -E 'trace-component|coresight')" 21
	ok "they follow the binding" overlay_is_valid
	sed 's/^/# /' "$tap_tmp/whole.log" | head -n 4
else
	for what in "applies" "adds components" "follows the binding"; do
		skip "the K3's overlay: $what" "no source of Linux 7.2; make setup"
	done
fi
done_testing
