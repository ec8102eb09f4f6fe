#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test libntrace-elf through its public header
# (tests/lib/elf.c), with files of all kinds.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-elf
mkdir -p "$dir"
unit_build elf -lcmocka >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
cat >"$dir/prog.S" <<'EOT'
	.globl _start
_start:
	.option norvc
	nop
	ret
EOT
# link NAME FLAG...: make the file NAME with these flags of the linker
link() {
	_name=$1; shift
	riscv64-linux-gnu-gcc -nostdlib -static -Wl,-N,-Ttext=0x10000,--no-warn-rwx-segments "$@" \
		-o "$dir/$_name" "$dir/prog.S"
}
# attribute NAME ARCH: make a program whose ELF attribute names the architecture ARCH. Change the
# attribute without the assembler, which may not support ARCH
attribute() {
	python3 - "$2" >"$dir/attributes" <<-'EOT' &&
		import struct, sys
		arch = b'\x05' + sys.argv[1].encode() + b'\0'
		scope = b'\x01' + struct.pack('<I', len(arch) + 5) + arch
		vendor = struct.pack('<I', len(scope) + 10) + b'riscv\0' + scope
		sys.stdout.buffer.write(b'A' + vendor)
	EOT
	riscv64-linux-gnu-objcopy --update-section .riscv.attributes="$dir/attributes" \
		"$dir/rv64" "$dir/$1"
}
{
	link rv64 -Wl,--build-id=sha1 &&
		link no-id -Wl,--build-id=none &&
		link rv32 -march=rv32gc -mabi=ilp32d &&
		attribute zcmp rv64i2p1_zca1p0_zcmp1p0 &&
		attribute zcmt rv64i2p1_zicsr2p0_zca1p0_zcmt1p0 &&
		riscv64-linux-gnu-strip -o "$dir/stripped" "$dir/rv64" &&
		riscv64-linux-gnu-gcc -c -o "$dir/object.o" "$dir/prog.S" &&
		cp /bin/sh "$dir/host" && : >"$dir/empty" && echo hello >"$dir/text" &&
		rm -f "$dir/archive" && ar rc "$dir/archive" "$dir/object.o"
} || exit 1
CMOCKA_MESSAGE_OUTPUT=TAP exec "$dir/elf" "$dir"
