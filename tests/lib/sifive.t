#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Decode the trace of a whole system from a SiFive encoder. It
# contains a program, a kernel above 48 bits, and firmware. Their code is in ELF files or in pages
# of memory, or is missing, and buffers end inside messages.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
cd "$tap_tmp" || exit 1

cat >user.S <<'EOT'
_start:	li a0, 3
1:	call work
	ecall
	addi a0, a0, -1
	bnez a0, 1b
	jr t1
work:	beqz a1, 2f
	nop
2:	ret
EOT
# The first half of the instruction beqz is at the end of a page, and the second half is in the next page.
cat >kernel.S <<'EOT'
_start:	csrrw tp, sscratch, tp
	jal handle
	sret
	.org 0x1ffa
	.option norvc
handle:	addi sp, sp, -16
	beqz a1, 1f
	.option rvc
	ecall
1:	addi sp, sp, 16
	ret
EOT
cat >firmware.S <<'EOT'
_start:	csrrw sp, mscratch, sp
	jal 1f
	mret
1:	bnez a1, 2f
	nop
2:	ret
EOT
for part in user:0x10000 kernel:0xffffffff80002000 firmware:0x80000400; do
	name=${part%:*}
	riscv64-linux-gnu-gcc -nostdlib -static -march=rv64gc \
		"-Wl,-N,-e0,-Ttext=${part#*:},--no-warn-rwx-segments,--build-id=none" \
		-o "$name" "$name.S" || exit 1
done
riscv64-linux-gnu-objcopy -O binary kernel kernel.bin
# Make a file of each page of the kernel. The file has the 4,096 bytes of the page, and the first two bytes of the next
# page
for page in 0 1 2; do
	tail -c +$((page * 4096 + 1)) kernel.bin | head -c 4098 >page.$((2 + page))
done

# Make the list of executed PCs. One of three iterations of the user program's loop enters the firmware.
python3 - >list <<'EOT'
def line(*pcs):
    for pc in pcs:
        print(f'{pc:#x}')
K, F = 0xffffffff80002000, 0x80000400
for turn in range(4000):
    line(0x10000)
    for left in (2, 1, 0):
        a1 = (turn * 7 + left) % 3 == 0
        line(0x10002, *((0x10010,) if not a1 else (0x10010, 0x10012)), 0x10014, 0x10006)
        line(K, K + 4, K + 0x1ffa, K + 0x1ffe)
        if a1:
            line(K + 0x2002, F, F + 4, F + 12, F + 16, F + 8)
        line(K + 0x2006, K + 0x2008, K + 8)
        line(0x1000a, 0x1000c)
    line(0x1000e)
EOT
elfs="--elf user --elf kernel --elf firmware"
# shellcheck disable=SC2086
"$ntrace" encode $elfs --pcs list -o nt --dialect sifive --src-bits 2 --src 1 --sync-mode 1 --sync-max 6 \
	>encode || { cat encode; exit 1; }
options="--dialect sifive --addr-bits 48 --src-bits 2 --src 1 --pcs"
plan 17

# decode OPTION...: decode the file nt into the files pcs and errors, and print the exit status
decode() {
	# shellcheck disable=SC2086
	"$ntrace" decode $options "$@" >pcs 2>errors
	echo $?
}
# shellcheck disable=SC2086
is "ELF files: exit status" "$(decode $elfs nt)" 0
ok "ELF files: all executed PCs are decoded" cmp pcs list
pages="--binary page.2@0xffffffff80002000 --binary page.3@0xffffffff80003000 --binary page.4@0xffffffff80004000"
# shellcheck disable=SC2086
is "pages: exit status" "$(decode --elf user $pages --elf firmware nt)" 0
ok "pages: all executed PCs are decoded" cmp pcs list

# The code of the firmware is missing. All PCs of other code must be decoded.
grep -v '^0x800004' list >seen
# shellcheck disable=SC2086
is "no firmware: exit status" "$(decode $pages --elf user nt)" 1
ok "no firmware: all PCs of other code are decoded" cmp pcs seen
is "no firmware: all errors are about missing code" "$(grep -v 'hint:\|NT_E_NO_CODE\|no code' errors)" ""
grep -v '^0x800004\|^0xffffffff80004' list >seen
is "a page is missing: exit status" "$(decode --elf user --binary page.2@0xffffffff80002000 \
	--binary page.3@0xffffffff80003000 nt)" 1
ok "a page is missing: all PCs of other code are decoded" cmp pcs seen
is "a page is missing: all errors are about missing code" "$(grep -v 'hint:\|NT_E_NO_CODE\|no code' errors)" ""

# Imitate a buffer that became full, so that its last message is incomplete.
size=4096
while head -c $size nt | tail -c 1 | od -An -tu1 | awk '{ exit $1 % 4 != 3 }'; do
	size=$((size - 1))
done
head -c $size nt >cut
# shellcheck disable=SC2086
is "cut off in a message: exit status" "$(decode $elfs cut)" 1
ok "cut off in a message: all PCs before it are decoded" sh -c '[ "$(wc -l <pcs)" -gt 1000 ] && head -n "$(wc -l <pcs)" list | cmp pcs -'
is "cut off in a message: there is one error" "$(grep -c 'NT_E_' errors) $(grep -c NT_E_TRUNCATED errors)" "1 1"
# A ring buffer that has wrapped begins in the middle of a message.
tail -c +1003 nt >end
# shellcheck disable=SC2086
decode $elfs --middle end >status
ok "begin in the middle of a message: all later PCs are decoded" \
	sh -c 'grep -q 0 status && [ "$(wc -l <pcs)" -gt 1000 ] && tail -n "$(wc -l <pcs)" list | cmp pcs -'

# refused NAME ARGUMENT SENTENCE: check that decode refuses --binary ARGUMENT, and prints SENTENCE
refused() {
	is "$1" "$(decode --binary "$2" nt) $(cat errors)" "2 ntrace: $3"
}
refused "--binary without an address" page.2 "--binary expects FILE@ADDRESS, but 'page.2' has no address"
refused "--binary of a file that does not exist" none@0x1000 "none: No such file or directory"
refused "--binary of a folder" .@0x1000 ".: not a file"
done_testing
