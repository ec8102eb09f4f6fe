#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a recording of a static program with several threads. Each thread runs on its own CPU.

    threads.py [--timestamp] PROGRAM OUT TRACE..."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'perf'))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'session'))
import mkrecording  # noqa: E402
import perfdata  # noqa: E402

PID, RECORD_FORK = 1234, 7


def main():
    timestamp = sys.argv[1] == '--timestamp'
    program, path, *traces = sys.argv[1 + timestamp:]
    file = perfdata.File(config=perfdata.TIMESTAMP if timestamp else 0, cpus=len(traces))
    file.comm(PID, 'program')
    for addr, offset, size in mkrecording.code_segments(program):
        page = addr & 0xfff
        file.mmap(PID, addr - page, size + page + 0xfff & ~0xfff, offset - page, os.path.abspath(program))
    for cpu, trace in enumerate(traces):
        with open(trace, 'rb') as f:
            data = f.read()
        if cpu:
            file.record(RECORD_FORK, 2, struct.pack('<IIIIQ', PID, PID, PID + cpu, PID, 0) + file.trailer(PID, PID, 0, 0, 2))
        file.switch_in(PID, PID + cpu, 1, cpu)
        file.aux(0, len(data), 10 ** 15, PID, cpu)
        file.trace(data, 0, cpu)
    file.finished_round()
    file.save(path)


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main()
