# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Run programs on the board without Linux or firmware, which takes about a second. Source this file after tap.sh.

bare_setup() {
	[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
	make -s -C "$top" O="$O" plugin tool >"$tap_tmp/make" 2>&1 ||
		{ plan 1; fail "the plugin and the command build"; cat "$tap_tmp/make"; done_testing; }
}

# bare_build ELF [FLAGS] SOURCE...: compile a bare-metal program, which bare.S starts
bare_build() {
	_elf=$1
	shift
	riscv64-linux-gnu-gcc -march=rv64imac_zicsr_zifencei -mabi=lp64 -mcmodel=medany -O1 -ffreestanding -nostdlib \
		-static -fno-pic -no-pie -Wl,--build-id=none,--no-relax,--no-warn-rwx-segments,-T,"$top/tests/board/bare.ld" \
		-I"$top/tests/board" -o "$_elf" "$top/tests/board/bare.S" "$@"
}

# bare_topology FILE: write the list of components for the plugin to FILE. The standard input is the same list without
# addresses
bare_topology() {
	awk '{ printf "%s %s %#x", $1, $2, 402653184 + 4096 * n++
		for (i = 3; i <= NF; i++) printf " %s", $i
		print "" }' >"$1"
}

# bare_run ELF PLUGIN-OPTIONS [QEMU-OPTIONS]: run a program, print its output, and return its status. The list of
# components is $tap_tmp/topology
bare_run() {
	_elf=$1 _plugin=$2
	shift 2
	timeout -k 5 "${bare_timeout:-60}" "$O/root/bin/qemu-system-riscv64" -M virt,aia=aplic -cpu "${bare_cpu:-rv64}" -m 64M -nodefaults \
		${bare_reboot--no-reboot} -display none -serial stdio -monitor none -bios none -kernel "$_elf" \
		-plugin "file=$O/board/ntrace-board.so,topology=$tap_tmp/topology${_plugin:+,$_plugin}" "$@" </dev/null
}
