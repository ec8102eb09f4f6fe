#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print the parameters of the clock, and the CPU and the timestamp of each message of a recording: messages.py NTRACE DATA

`ntrace dump` parses the messages. It does not decode them."""
import re
import struct
import subprocess
import sys
import tempfile

AUXTRACE_INFO, AUXTRACE = 70, 71


def records(data):
    at, size = struct.unpack_from('<QQ', data, 40)
    end = at + size
    while at < end:
        kind, _, size = struct.unpack_from('<IHH', data, at)
        yield kind, at + 8
        at += size + (struct.unpack_from('<Q', data, at + 8)[0] if kind == AUXTRACE else 0)


def main():
    ntrace, path = sys.argv[1:]
    with open(path, 'rb') as f:
        data = f.read()
    trace = {}
    for kind, at in records(data):
        if kind == AUXTRACE_INFO:
            # In struct perf_record_auxtrace_info, skip the members type and reserved__. The next words are metadata of
            # the driver, of which words 7 to 9 are the parameters of the clock
            print(*struct.unpack_from('<QQQ', data, at + 8 + 7 * 8))
        elif kind == AUXTRACE:
            size, offset, _, _, _, cpu = struct.unpack_from('<QQQIII', data, at)
            buffer = trace.setdefault(cpu, bytearray())
            buffer[offset:offset + size] = data[at + 40:at + 40 + size]
    for cpu, buffer in sorted(trace.items()):
        time = 0
        with tempfile.NamedTemporaryFile() as f:
            f.write(buffer)
            f.flush()
            text = subprocess.run([ntrace, 'dump', '--timestamp', f.name], stdout=subprocess.PIPE, check=True).stdout.decode()
        for kind, ticks in re.findall(r'^ *[0-9]+: (\w+) .*TSTAMP=([0-9]+)$', text, re.M):
            # a message with SYNC has the whole timestamp, and any other message has the difference to the last timestamp
            time = int(ticks) + (0 if kind.endswith('Sync') else time)
            print(cpu, time)


main()
