#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A recording of a program from a trace that was encoded on this host.

    mkwalk.py TRACE PROGRAM COPIES PERF.DATA

PERF.DATA has the trace, with a timestamp in each message, COPIES times.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perfdata  # noqa: E402

PID = 1234


def text_of(program):
    """Offset, address and size of the code"""
    headers = subprocess.run(['readelf', '-lW', program], check=True, capture_output=True, text=True).stdout
    for line in headers.splitlines():
        word = line.split()
        if word[:1] == ['LOAD'] and 'E' in word[6:8]:
            return [int(word[i], 16) for i in (1, 2, 4)]
    raise SystemExit(f'{program}: no code')


def main():
    trace, program, copies, path = sys.argv[1:]
    offset, base, size = text_of(program)
    with open(trace, 'rb') as f:
        data = f.read() * int(copies)
    file = perfdata.File(config=perfdata.TIMESTAMP)
    file.switch_in(PID, PID, 1)
    file.comm(PID, 'program')
    file.mmap(PID, base & ~0xfff, size + 0x1fff & ~0xfff, offset & ~0xfff, os.path.abspath(program))
    file.aux(0, len(data), 10 ** 15, PID)
    file.trace(data)
    file.finished_round()
    file.exit(PID, 2 * 10 ** 15)
    file.save(path)


if __name__ == '__main__':
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main()
