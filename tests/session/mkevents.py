#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a recording of calls.S with tracepoints and trace: mkevents.py PROGRAM PERF.DATA [pipe|damage=SEED|...]

The layout of the formats is that of the kernel's tools/perf/util/trace-event-info.c. Options:

    pipe            as perf record -o -
    no-formats      the recording has no formats
    short           the second sample is too short for its fields
    cut=N           the formats end after N bytes
    damage=SEED     some bytes of the formats, or of the samples, are changed
    big             the formats say that the machine is big-endian
"""
import os
import random
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'perf'), os.path.join(HERE, '..', 'ntt')]
import mkcalls   # noqa: E402
import perfdata  # noqa: E402

TRACEPOINT, FEATURE_TRACING_DATA, RECORD_TRACING_DATA = 2, 1, 66
SAMPLE_PERIOD, SAMPLE_RAW = 1 << 8, 1 << 10
SWITCH, EXEC, HOSTILE = 314, 320, 400
COMMON = '''\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

'''
FORMATS = {
    (SWITCH, 'sched_switch'): '''\
\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:u8 set[4];\toffset:40;\tsize:4;\tsigned:0;
\tfield:void * where;\toffset:48;\tsize:8;\tsigned:0;
\tfield:unsigned long args[2];\toffset:56;\tsize:16;\tsigned:0;
''',
    (EXEC, 'sched_process_exec'): '''\
\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;
\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;
\tfield:pid_t old_pid;\toffset:16;\tsize:4;\tsigned:1;
''',
    # The fields of this event are beyond the end of its sample, and ntrace must not read them
    (HOSTILE, 'hostile'): '''\
\tfield:unsigned long far;\toffset:1000000;\tsize:8;\tsigned:0;
\tfield:char name[2147483647];\toffset:8;\tsize:2147483647;\tsigned:0;
''',
}
PRINT = 'print fmt: "%s %n %1000000000d", REC->far, __get_str(name), ((char *)0)[-1]\n'


def formats():
    out = b'\x17\x08\x44tracing0.6\0' + struct.pack('<BBI', 0, 8, 4096)
    for name in b'header_page', b'header_event':
        out += name + b'\0' + struct.pack('<Q', 4) + b'text'
    out += struct.pack('<I', 1) + struct.pack('<Q', 3) + b'abc'
    out += struct.pack('<I', 1) + b'sched\0' + struct.pack('<I', len(FORMATS))
    for (number, name), fields in FORMATS.items():
        text = f'name: {name}\nID: {number}\nformat:\n{COMMON}{fields}\n{PRINT}'.encode()
        out += struct.pack('<Q', len(text)) + text
    # Write three empty tables: kernel symbols, strings of printk, and names of processes
    return out + struct.pack('<IIQ', 0, 0, 0)


class File(perfdata.File):
    tracing = b''

    def attrs(self):
        sample = perfdata.SAMPLE | SAMPLE_PERIOD | SAMPLE_RAW
        return super().attrs() + [perfdata.attr(TRACEPOINT, n, 1 << 18, sample) for n, _ in FORMATS]

    def features(self):
        result = super().features()
        if self.tracing:
            result[FEATURE_TRACING_DATA] = self.tracing
        return result

    def pipe(self, data, features):
        tracing = features.pop(FEATURE_TRACING_DATA, b'')
        record = struct.pack('<IHHI', RECORD_TRACING_DATA, 0, 12, len(tracing)) + tracing + bytes(-len(tracing) % 8)
        return super().pipe((record if tracing else b'') + data, features)

    def event(self, nth, time, fields, pid=mkcalls.PID, cpu=0):
        """Add a sample of the nth tracepoint"""
        number = list(FORMATS)[nth][0]
        raw = struct.pack('<HBBi', number, 0, 0, pid) + fields
        raw += bytes((4 - len(raw)) % 8)
        self.record(perfdata.RECORD_SAMPLE, perfdata.MISC_USER,
                    struct.pack('<QQIIQIIQ', 3 + nth, 0, pid, pid, time, cpu, 0, 1) + struct.pack('<I', len(raw)) + raw)


def events(file, options):
    switch = struct.pack('<16siiq4s4xQQQ', b'sh\x1b"<', 7, 120, -1, b'\1\2\3\4', 0xffffffff80001234, 14, 0x2400)
    name = b'/bin/l\xff\0'
    file.event(0, mkcalls.ns(mkcalls.START) + 350, switch)
    file.event(1, mkcalls.ns(mkcalls.START) + 1, struct.pack('<HHii', 20, len(name), 9, -8) + name)
    if 'short' in options:
        file.event(0, mkcalls.ns(mkcalls.START) + 400, switch[:18])
        file.event(1, mkcalls.ns(mkcalls.START) + 401, struct.pack('<HHii', 60000, 60000, 9, 8) + name)
        file.event(2, mkcalls.ns(mkcalls.START) + 402, b'x' * 64)


def main():
    program, path, options = sys.argv[1], sys.argv[2], sys.argv[3:]
    values = dict(o.split('=') for o in options if '=' in o)
    file, tracing = File(), bytearray(formats())
    rng = random.Random(int(values.get('damage', 0)))
    if 'big' in options:
        tracing[tracing.index(b'0.6\0') + 4] = 1
    if 'cut' in values:
        del tracing[int(values['cut']):]
    first = len(file.data)
    events(file, options if rng.randrange(2) else [*options, 'short'] if 'damage' in values else options)
    if 'damage' in values:
        where = file.data if rng.randrange(4) == 0 else tracing
        for _ in range(rng.choice((1, 2, 8, 64))):
            at = rng.randrange(first if where is file.data else 0, len(where))
            where[at] = rng.choice((where[at] ^ 1 << rng.randrange(8), rng.randrange(256), *b'09-[]();:\n\t\0\xff'))
    file.tracing = b'' if 'no-formats' in options else bytes(tracing)
    mkcalls.session(file, mkcalls.trace(), program).save(path, pipe='pipe' in options)


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
