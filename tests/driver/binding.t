#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the device-tree binding. The binding must be a valid schema, accept its own examples, and refuse wrong device
# trees.
. "$(dirname "$0")/../harness/tap.sh"

command -v dt-doc-validate >/dev/null || skip_all "dt-schema is not installed"
bindings=$top/Documentation/devicetree/bindings
yaml=riscv/riscv,trace-component.yaml

schema_is_valid() {
	(cd "$bindings" && dt-doc-validate -u . "$yaml") >"$tap_tmp/doc" 2>&1 &&
		! [ -s "$tap_tmp/doc" ]
}

# validate NAME: check $tap_tmp/NAME.dts against the binding, and write the messages to NAME.log
validate() {
	dtc -q -@ -O dtb -o "$tap_tmp/$1.dtb" "$tap_tmp/$1.dts" || return 2
	dt-validate -s "$tap_tmp/schema.json" "$tap_tmp/$1.dtb" >"$tap_tmp/$1.log" 2>&1
	! grep -q trace "$tap_tmp/$1.log"
}

# refuses WHAT SED: damage the examples with the sed script SED, and check that the binding refuses them
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

# Apply the overlay to the newest kernel's device tree of a board.
linux=$O/root/linux-new
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

each_of() { for _c; do $_c || return; done; }

# Print the properties of the binding that Documentation/developer/device-tree.rst lacks.
unlisted() {
	sed -n '/^properties:/,/^required:/s/^  \([a-z-]*\):.*/\1/p' "$bindings/$yaml" | while read -r _p; do
		grep -q "^\`\`$_p\`\` " "$top/Documentation/developer/device-tree.rst" || echo "$_p"
	done
}

plan 22
is "the list in device-tree.rst has each property of the binding" "$(unlisted)" ""
ok "the binding is a valid schema" schema_is_valid
(cd "$bindings" && dt-mk-schema -j -o "$tap_tmp/schema.json" .) || exit 1
(cd "$bindings" && dt-extract-example "$yaml") >"$tap_tmp/example.dts"
ok "the examples of the binding are valid" validate example
sed "s|^|# |" "$tap_tmp/example.log"
is "the examples describe six components" "$(grep -c 'trace@' "$tap_tmp/example.dts")" 6
refuses "two register blocks" 's/reg = <0xc001000 0x1000>/reg = <0xc001000 0x1000>, <0xd001000 0x1000>/'
refuses "an unknown name of a clock" 's/"timestamp"/"tick"/'
refuses "a second clock that is not named timestamp" 's/clock-names = "apb"/clock-names = "apb", "apb"/'
refuses "clock-names without clocks" '/clocks = <&bus_clk>/d'
refuses "a component without ports" '/in-ports/,/^            };/d;s/out-ports {/no-ports {/'
refuses "an unknown property" 's/cpus = <&cpu0>/hart = <0>/'
if [ -d "$linux/arch/riscv/boot/dts/spacemit" ]; then
	ok "the K3's overlay applies to the k3-pico-itx of the newest Linux" overlay_applies spacemit/k3-pico-itx spacemit-k3
	is "the K3's overlay adds 21 components" "$(fdtdump "$tap_tmp/whole.dtb" 2>/dev/null | grep -c -E 'trace-component|coresight')" 21
	ok "the K3's overlay follows the binding" overlay_is_valid
	sed 's/^/# /' "$tap_tmp/whole.log" | head -n 4
else
	for what in "applies" "adds components" "follows the binding"; do
		skip "the K3's overlay: $what" "the newest Linux that is set up has no such board; make setup"
	done
fi

# SiFive's components of version 0 have a separate binding
yaml=riscv/sifive,trace-encoder0.yaml
ok "SiFive's binding is a valid schema" schema_is_valid
(cd "$bindings" && dt-extract-example "$yaml") >"$tap_tmp/example.dts"
ok "SiFive's: the examples of the binding are valid" validate example
sed "s|^|# |" "$tap_tmp/example.log"
refuses "SiFive's: an encoder without a CPU" '/cpus = <&cpu0>/d'
refuses "SiFive's: a funnel without inputs" '/in-ports {/,/^            };/d'
refuses "SiFive's: memory that is reserved for an encoder" 's/cpus = <&cpu0>;/cpus = <\&cpu0>; memory-region = <\&cpu0>;/'
# Milk-V's board Megrez is not in Linux 7.2, but has the same chip as another board there
megrez() {
	cat >"$tap_tmp/megrez.dts" <<-EOT
		/dts-v1/;
		#include "$linux/arch/riscv/boot/dts/eswin/eic7700.dtsi"
		/ {
			compatible = "milkv,megrez", "eswin,eic7700";
			model = "Milk-V Megrez";
		};
	EOT
	preprocess -I "$linux/include" "$tap_tmp/megrez.dts" | dtc -q -@ -O dtb -o "$tap_tmp/board.dtb" - &&
		fdtoverlay -i "$tap_tmp/board.dtb" -o "$tap_tmp/whole.dtb" "$tap_tmp/eswin-eic7700.dtbo"
}
if [ -d "$linux/arch/riscv/boot/dts/eswin" ]; then
	ok "the EIC7700X's overlay applies to the newest Linux's HiFive Premier P550" \
		overlay_applies eswin/eic7700-hifive-premier-p550 eswin-eic7700
	is "the EIC7700X's overlay adds 5 components" "$(fdtdump "$tap_tmp/whole.dtb" 2>/dev/null | grep -c 'sifive,trace-')" 5
	ok "the EIC7700X's overlay follows the binding" overlay_is_valid
	sed 's/^/# /' "$tap_tmp/whole.log" | head -n 4
	ok "the EIC7700X's overlay applies to a Milk-V Megrez, and follows the binding" each_of megrez overlay_is_valid
else
	for what in "applies" "adds components" "follows the binding" "applies to a Megrez"; do
		skip "the EIC7700X's overlay: $what" "the newest Linux that is set up has no such board; make setup"
	done
fi
done_testing
