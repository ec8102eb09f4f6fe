#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test small recordings that need much memory or disk space when a command reads them. A deep recursion must not fill
# the disk, and compressed records must not fill the memory.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
recording good || exit 1
ntrace=$O/bin/ntrace
cd "$tap_tmp" || exit
cat >deep.S <<'E2'
	.globl	_start
	.type	_start, @function
_start:	la	sp, end
	li	a0, 20000
	jal	ra, f
	li	a7, 93
	li	a0, 0
	ecall
	.size	_start, . - _start
	.type	f, @function
f:	beqz	a0, 1f
	addi	sp, sp, -16
	sd	ra, 0(sp)
	addi	a0, a0, -1
	jal	ra, f
	ld	ra, 0(sp)
	addi	sp, sp, 16
1:	ret
	.size	f, . - f
	.bss
	.space	400000
end:
E2
"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -nostdlib -static -o deep deep.S && "$top/tests/harness/pcs" deep.pcs ./deep &&
	"$ntrace" encode --elf deep --pcs deep.pcs -o deep.nt --timestamp >/dev/null &&
	python3 "$top/tests/session/mkrecording.py" --timestamp deep deep.nt deep.data || exit

# Each of 20,000 depths has a line in the output. If each line contained all callers, the output would have 400 MB
folded() {
	(ulimit -f 8192; "$ntrace" export --format folded -i deep.data -o folded) || return
	awk -F';' 'NF > 1025 { exit 1 }' folded && awk '{ n += $NF } END { print n, "ns"; exit n == 0 }' folded
}
# bomb BLOCKS: write a recording whose compressed record expands to BLOCKS times 128 KiB of equal bytes
bomb() {
	python3 - "$1" good.data bomb.data <<'E2'
import struct, sys
number, source, path = int(sys.argv[1]), *sys.argv[2:]
with open(source, 'rb') as file:
    data = file.read()
begin, size = struct.unpack_from('<QQ', data, 40)
# The file has a magic number, no options and a window of 2 MiB. Blocks follow, and no block is marked as the last
# block
blocks = b'\x28\xb5\x2f\xfd\0\x58' + (struct.pack('<I', 131072 << 3 | 1 << 1)[:3] + b'\x10') * number
records = b''
for at in range(0, len(blocks), 65520):
    part = blocks[at:at + 65520]
    records += struct.pack('<IHH', 81, 0, 8 + len(part)) + part
data = data[:48] + struct.pack('<Q', size + len(records)) + data[56:72] + bytes(32) + data[104:begin + size] + records
with open(path, 'wb') as file:
    file.write(data)
E2
}
expanded() {
	bomb 16000 || return
	size=$(stat -c %s bomb.data)
	(ulimit -v 500000; timeout 60 "$ntrace" report -i bomb.data >got 2>said)
	rc=$?
	cat said
	[ $rc -eq 2 ] && [ "$size" -lt 80000 ] && grep -q "expand to more than 256 times its size" said
}

plan 3
ok "export --format folded of a recursion of 20,000 calls takes less than 8 MB and has the whole time" folded
ok "export --format folded reports the calls that it omits from stacks" sh -c "'$ntrace' export --format folded -i deep.data -o folded 2>&1 | grep 'calls are nested deeper than 1024 calls'"
ok "a compressed record of 74 KB that expands to 2 GB is refused within 500 MB of memory" expanded
done_testing
