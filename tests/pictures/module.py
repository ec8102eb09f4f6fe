#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Make a recording of a kernel module, and check the module's coverage.

    module.py make PROGRAM MODULE PCS DIR [builtin]
            Prepare a recording of a kernel. PROGRAM was linked from MODULE.ko and other objects, and qemu-user
            executed it. With "builtin", the code is a part of the kernel instead of a module. DIR gets kcore_dir
            and, for `ntrace encode`, PCS at addresses of the kernel.
    module.py data DIR
            Write the recording with the trace DIR/nt.
    module.py compare LCOV COUNTS SOURCE
            Check each line of SOURCE. Its count in LCOV must equal the number of executions that the module itself
            has counted. Print the number of lines.
"""
import os
import re
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'perf')]
import lcov      # noqa: E402
import perfdata  # noqa: E402

KERNEL = 0xffffffff80000000
PT_LOAD = 1


def kcore(program):
    """Return a copy of the program, at the addresses of a kernel"""
    elf = bytearray(open(program, 'rb').read())
    phoff, = struct.unpack_from('<Q', elf, 32)
    phentsize, phnum = struct.unpack_from('<HH', elf, 54)
    for at in range(phoff, phoff + phnum * phentsize, phentsize):
        if struct.unpack_from('<I', elf, at)[0] == PT_LOAD:
            struct.pack_into('<Q', elf, at + 16, struct.unpack_from('<Q', elf, at + 16)[0] + KERNEL)
    return elf


def symbols(path):
    """Return (address, type, name) of each symbol"""
    for line in subprocess.run(['riscv64-linux-gnu-nm', path], check=True, capture_output=True, text=True).stdout.splitlines():
        m = re.match(r'([0-9a-f]+) (\w) (\S+)', line)
        if m:
            yield int(m[1], 16), m[2], m[3]


def make(program, module, pcs, folder, builtin=None):
    os.makedirs(os.path.join(folder, 'kcore_dir'))
    with open(os.path.join(folder, 'kcore_dir', 'kcore'), 'wb') as f:
        f.write(kcore(program))
    name = os.path.basename(module)[:-len('.ko')]
    # list only symbols that remain after the initialisation of the module
    own = {s for _, t, s in symbols(module) if t in 'tT' and s != 'begin' and not builtin}
    with open(os.path.join(folder, 'kcore_dir', 'kallsyms'), 'w', encoding='ascii') as f:
        for addr, kind, symbol in symbols(program):
            if kind in 'tTwW' and symbol != 'begin':
                f.write(f'{addr + KERNEL:x} {kind} {symbol}' + (f'\t[{name.replace("-", "_")}]\n' if symbol in own else '\n'))
    with open(os.path.join(folder, 'kcore_dir', 'modules'), 'w', encoding='ascii') as f:
        if own:
            f.write(f'{name.replace("-", "_")} 4096 0 - Live {min(a for a, _, s in symbols(program) if s in own) + KERNEL:#x}\n')
    with open(pcs, encoding='ascii') as f, open(os.path.join(folder, 'pcs'), 'w', encoding='ascii') as out:
        for line in f:
            out.write(f'{int(line, 16) + KERNEL:#x}\n')


def data(folder):
    with open(os.path.join(folder, 'nt'), 'rb') as f:
        trace = f.read()
    file = perfdata.File(config=0)
    file.switch_in(1, 1, 1)
    file.comm(1, 'init')
    file.mmap(1, 0x10000, 0x1000, 0, '//anon')
    file.aux(0, len(trace), 10 ** 15, 1)
    file.trace(trace)
    file.finished_round()
    file.save(os.path.join(folder, 'data'))


def compare(coverage, counts, source):
    """Compare the coverage of each line that contains "COUNT;" with the counter of this line"""
    ours = {}
    for name, file in lcov.read(coverage).items():
        if os.path.basename(name) == os.path.basename(source):
            ours = file.lines
    with open(counts, encoding='ascii') as f:
        wanted = {n: count for n, count in (map(int, line.split()) for line in f)}
    with open(source, encoding='utf-8') as f:
        counted = {n for n, text in enumerate(f, 1) if re.match(r'\t+COUNT;', text)}
    bad = [(n, wanted.get(n, 0), ours.get(n)) for n in sorted(counted) if wanted.get(n, 0) != ours.get(n)]
    for n, a, b in bad:
        print(f'line {n}: counted {a}, coverage {b}')
    print(f'{len(counted) - len(bad)} lines are equal, {len(bad)} differ')
    return 1 if bad or len(counted) < 9 or set(wanted) - counted else 0


if __name__ == '__main__':
    sys.exit({'make': make, 'data': data, 'compare': compare}[sys.argv[1]](*sys.argv[2:]))
