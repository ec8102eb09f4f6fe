#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a recording of 16 PERF_RECORD_AUX, all with the same trace: shards.py PROGRAM TRACE OUT OPTION...

OPTION... are the options with which `ntrace encode` made TRACE. The recording describes those options that perf's
metadata can describe.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'perf'))
import mkrecording  # noqa: E402
import perfdata  # noqa: E402

PID = 1234
STRETCHES = 16
CONFIG = {'--context': 1 << 0, '--timestamp': 1 << 1, '--implicit-return': 1 << 11, '--sequential-jump': 1 << 12,
          '--repeated-history': 1 << 13, '--all-jumps': 1 << 14, '--extend-addr': 1 << 15}


def main():
    program, trace, path = sys.argv[1:4]
    options = sys.argv[4:]
    with open(trace, 'rb') as f:
        data = f.read()
    bits, src = (int(options[options.index(option) + 1]) if option in options else 0 for option in ('--src-bits', '--src'))
    file = perfdata.File(config=sum(CONFIG.get(option, 0) for option in options), src_bits=bits,
                         unlike={0: {perfdata.CPU_SRC_ID: src}})
    file.switch_in(PID, PID, 1)
    file.comm(PID, 'program')
    for addr, offset, size in mkrecording.code_segments(program):
        page = addr & 0xfff
        file.mmap(PID, addr - page, size + page + 0xfff & ~0xfff, offset - page, os.path.abspath(program))
    # perf writes the ring in buffers that do not end at the ends of AUX records, and pads each buffer to 8
    # bytes
    size, half = len(data), len(data) * STRETCHES // 2 + 5
    data *= STRETCHES
    file.trace(data[:half])
    file.trace(data[half:], half)
    for n in range(STRETCHES):
        file.aux(n * size, size, 10 ** 15 + n, PID)
    file.finished_round()
    file.exit(PID, 2 * 10 ** 15)
    file.save(path, pipe='--pipe' in options, compressed='--compressed' in options)


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main()
