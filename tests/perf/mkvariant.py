#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write a perf.data file with a trace that `ntrace encode --timestamp --context 1234` made.

    mkvariant.py TRACE PROGRAM PERF.DATA

PROGRAM is a static program, whose code is mapped as its ELF file describes.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perfdata  # noqa: E402

PID = 1234
LAST = 1 << 40      # in ns, later than all trace


def code(path):
    """Return the (offset, address, size) of each executable segment"""
    with open(path, 'rb') as f:
        data = f.read()
    phoff, = struct.unpack_from('<Q', data, 32)
    phentsize, phnum = struct.unpack_from('<HH', data, 54)
    for n in range(phnum):
        kind, flags, offset, addr, _, size = struct.unpack_from('<IIQQQQ', data, phoff + n * phentsize)
        if kind == 1 and flags & 1:
            yield offset, addr, size


def main():
    trace, program, path = sys.argv[1:4]
    with open(trace, 'rb') as f:
        data = f.read()
    file = perfdata.File()
    file.comm(PID, 'variant')
    for offset, addr, size in code(program):
        down = addr % 4096
        file.mmap(PID, addr - down, (size + down + 4095) & ~4095, offset - down, os.path.abspath(program))
    file.aux(0, len(data), LAST, PID)
    file.trace(data)
    file.finished_round()
    file.exit(PID, LAST + 1)
    file.save(path)


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main()
