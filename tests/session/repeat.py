#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a recording of two CPUs that execute a static program repeatedly: repeat.py PROGRAM TRACE OUT MIB [KIB]

Each CPU executes a different thread. The trace is divided into AUX records of about 1 MiB, or of KIB KiB, which
belong to both CPUs in turn. The file has perf's pipe format, so that another program can read it while this program
writes it.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'perf'))
import mkrecording  # noqa: E402
import perfdata  # noqa: E402

PIDS = 1234, 2234


def begin(program):
    file = perfdata.File(config=0, cpus=len(PIDS))
    for cpu, pid in enumerate(PIDS):
        file.switch_in(pid, pid, 1, cpu)
        file.comm(pid, 'program', cpu=cpu)
        for addr, offset, size in mkrecording.code_segments(program):
            page = addr & 0xfff
            file.mmap(pid, addr - page, size + page + 0xfff & ~0xfff, offset - page, os.path.abspath(program), cpu=cpu)
    return file


def main():
    program, trace, path, mib = sys.argv[1:5]
    with open(trace, 'rb') as f:
        data = f.read()
    stretch = int(sys.argv[5]) << 10 if len(sys.argv) > 5 else 1 << 20
    data *= -(-stretch // len(data))
    file, offset = begin(program), [0] * len(PIDS)
    with open(path, 'wb') as out:
        out.write(file.pipe(bytes(file.data), file.features()))
        for n in range(int(float(mib) * (1 << 20)) // len(data)):
            cpu = n % len(PIDS)
            file.data, file.index = bytearray(), []
            file.aux(offset[cpu], len(data), 10 ** 6 * (n + 1), PIDS[cpu], cpu)
            file.trace(data, offset[cpu], cpu)
            offset[cpu] += len(data)
            out.write(file.data)


if __name__ == '__main__':
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    main()
