#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write the files that perf needs to find the code of a guest's kernel: kallsyms, modules and kcore, in a folder.

    guestcore.py KALLSYMS MEMORY FOLDER

KALLSYMS has the symbols of the host. The guest has the same kernel, but KASLR has not moved the guest's kernel.
MEMORY is the memory of the guest's kernel, which the guest's monitor (tests/board/vmm.c) wrote.
"""
import os
import struct
import sys

KERNEL = 0xffffffff80000000      # address to which Linux links and maps the kernel
LOADED = 0x80200000              # address at which the monitor loads the kernel
PAGE = 0x1000
EM_RISCV, ET_CORE, PT_LOAD = 243, 4, 1


def kallsyms(lines):
    """Return the symbols of the kernel itself, with the addresses at which the kernel was linked"""
    symbols = [line.split() for line in lines if '\t' not in line]
    moved = next(int(s[0], 16) for s in symbols if s[2] == '_start') - KERNEL
    for addr, kind, name in symbols:
        addr = int(addr, 16)
        if addr >= KERNEL + moved:
            yield f'{addr - moved:016x} {kind} {name}\n'


def kcore(memory):
    header = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\x02\x01\x01', ET_CORE, EM_RISCV, 1, 0, 64, 0, 0,
                         64, 56, 1, 0, 0, 0)
    header += struct.pack('<IIQQQQQQ', PT_LOAD, 7, PAGE, KERNEL, LOADED, len(memory), len(memory), PAGE)
    return header.ljust(PAGE, b'\0') + memory


def main():
    symbols, memory, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    with open(symbols, encoding='ascii') as f, open(f'{folder}/kallsyms', 'w', encoding='ascii') as out:
        out.writelines(kallsyms(f))
    with open(memory, 'rb') as f, open(f'{folder}/kcore', 'wb') as out:
        out.write(kcore(f.read()))
    with open(f'{folder}/modules', 'w', encoding='ascii'):
        pass


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main()
