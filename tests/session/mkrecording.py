#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a perf recording from raw trace of a static program:

    mkrecording.py [--timestamp] [--dialect N] PROGRAM TRACE PERF.DATA [COPIES]"""
import argparse
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'perf'))
import perfdata  # noqa: E402

PID, PT_LOAD, EXECUTE = 1234, 1, 1


def code_segments(path):
    """Return the (address, offset, size) of the executable segments"""
    with open(path, 'rb') as f:
        elf = f.read()
    phoff, = struct.unpack_from('<Q', elf, 32)
    phentsize, phnum = struct.unpack_from('<HH', elf, 54)
    for at in range(phoff, phoff + phnum * phentsize, phentsize):
        kind, flags, offset, addr, _, size = struct.unpack_from('<IIQQQQ', elf, at)
        if kind == PT_LOAD and flags & EXECUTE:
            yield addr, offset, size


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--timestamp', action='store_true', help='each message has one')
    parser.add_argument('--dialect', type=int, default=0, help='enum nt_dialect (0)')
    for name in 'program', 'trace', 'path':
        parser.add_argument(name)
    parser.add_argument('copies', nargs='?', type=int, default=1)
    args = parser.parse_args()
    program, path = args.program, args.path
    with open(args.trace, 'rb') as f:
        data = f.read() * args.copies
    file = perfdata.File(config=perfdata.TIMESTAMP if args.timestamp else 0, cpu_words=14, unlike={0: {10: args.dialect}})
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
    main()
