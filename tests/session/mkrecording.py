#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Raw trace of a static program, as a recording of perf: mkrecording.py PROGRAM TRACE PERF.DATA [COPIES]"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'perf'))
import perfdata  # noqa: E402

PID, PT_LOAD, EXECUTE = 1234, 1, 1


def code_segments(path):
    """(address, offset, size) of the segments that can be executed"""
    with open(path, 'rb') as f:
        elf = f.read()
    phoff, = struct.unpack_from('<Q', elf, 32)
    phentsize, phnum = struct.unpack_from('<HH', elf, 54)
    for at in range(phoff, phoff + phnum * phentsize, phentsize):
        kind, flags, offset, addr, _, size = struct.unpack_from('<IIQQQQ', elf, at)
        if kind == PT_LOAD and flags & EXECUTE:
            yield addr, offset, size


def main():
    program, trace, path = sys.argv[1:4]
    copies = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    with open(trace, 'rb') as f:
        data = f.read() * copies
    file = perfdata.File(config=0)
    file.switch_in(PID, PID, 1)
    file.comm(PID, 'program')
    for addr, offset, size in code_segments(program):
        page = addr & 0xfff
        file.mmap(PID, addr - page, size + page + 0xfff & ~0xfff, offset - page, os.path.abspath(program))
    file.aux(0, len(data), 10 ** 15, PID)
    file.trace(data)
    file.finished_round()
    file.exit(PID, 2 * 10 ** 15)
    file.save(path)


if __name__ == '__main__':
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main()
