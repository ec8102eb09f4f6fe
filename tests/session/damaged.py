#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Damage recordings in their structure, and let commands read them.

    damaged.py NTRACE FOLDER NUMBER SEED RECORDING...

Each damaged recording is read by one command of COMMANDS, in turn. A command must end within 10 seconds with an exit
status of 0, 1 or 2, and must not change the recording. Recordings for which this is not so stay in FOLDER.
"""
import os
import random
import struct
import subprocess
import sys

COMMANDS = [
    ['report'], ['report', '--insns'], ['report', '--functions'], ['report', '--stack'], ['script'], ['script', '--calls'],
    ['script', '--insns', '--json'], ['script', '--events'], ['slow', 'outer'], ['stat'], ['stat', '--insns'], ['dump'],
    ['inject', '-o', 'out'], ['export', '--format', 'folded', '-o', 'out'], ['export', '--format', 'perfetto', '-o', 'out'],
    ['html', '-o', 'out'], ['profile', '--counts', '-o', 'out'], ['profile', '--bolt', '-o', 'out'],
    ['split', '-n', '3', '-o', 'shards'], ['report', '--cpu', '7'],
]
VALUES = [0, 1, 2, 7, 8, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 32, 1 << 40, 4096,
          (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 2, (1 << 64) - 8]
AUXTRACE = 71
HEADER_SIZE = 104


def records(data):
    """Return (offset, type, size of the record, size with the trace after it) of each record"""
    at, size = struct.unpack_from('<QQ', data, 40)
    end = min(len(data), at + size)
    while at + 16 <= end:
        kind, _, length = struct.unpack_from('<IHH', data, at)
        if length < 8:
            return
        whole = length + (struct.unpack_from('<Q', data, at + 8)[0] if kind == AUXTRACE else 0)
        if at + whole > end:
            return
        yield at, kind, length, whole
        at += whole


def put(data, offset, value, size):
    if 0 <= offset <= len(data) - size:
        data[offset:offset + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, 'little')


def change_size(data, change):
    size = struct.unpack_from('<Q', data, 48)[0]
    put(data, 48, max(0, size + change), 8)


def damage(data, rand):
    """Make one change in the header, the attributes, a record, a time, trace, the features, or the order"""
    all_records = list(records(data))
    kind = rand.randrange(11) if all_records else rand.choice([0, 1, 8])
    at, _, length, whole = rand.choice(all_records) if all_records else (0, 0, 8, 8)
    begin, size = struct.unpack_from('<QQ', data, 40)
    if kind == 0:
        put(data, 8 * rand.randrange(HEADER_SIZE // 8), rand.choice(VALUES), 8)
    elif kind == 1:
        del data[rand.randrange(HEADER_SIZE, len(data)):]
    elif kind == 2:
        put(data, at + rand.choice([0, 4, 6]), rand.choice(VALUES + [length - 8, length + 8]), 2)
    elif kind in (3, 4):
        width = rand.choice([4, 8])
        put(data, at + 8 + 4 * rand.randrange(max(1, (length - 8) // 4)), rand.choice(VALUES), width)
    elif kind == 5:
        put(data, at + length - 8 * rand.randrange(1, 5), rand.choice(VALUES + [rand.getrandbits(40)]), 8)
    elif kind == 6:
        copy, to = data[at:at + whole], rand.choice(all_records)[0]
        data[to:to] = copy
        change_size(data, whole)
    elif kind == 7:
        del data[at:at + whole]
        change_size(data, -whole)
    elif kind == 8:
        for _ in range(rand.choice([1, 3, 20])):
            data[rand.randrange(len(data))] = rand.getrandbits(8)
    elif kind == 9:
        put(data, HEADER_SIZE + 8 * rand.randrange(max(1, (begin - HEADER_SIZE) // 8)), rand.choice(VALUES), 8)
    else:
        put(data, begin + size + 8 * rand.randrange(40), rand.choice(VALUES), 8)


def is_good(ntrace, command, data, folder):
    with open(os.path.join(folder, 'in.data'), 'wb') as out:
        out.write(data)
    where = ['in.data'] if command[0] in ('stat', 'dump') else ['-i', 'in.data']
    try:
        ran = subprocess.run([ntrace, *command, *where], cwd=folder, timeout=10, check=False, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, 'HOME': folder})
    except subprocess.TimeoutExpired:
        print(*command, 'did not end within 10 seconds')
        return False
    with open(os.path.join(folder, 'in.data'), 'rb') as again:
        kept = again.read() == data
    left = [name for name in os.listdir(folder) if '.part-' in name]
    if ran.returncode in (0, 1, 2) and kept and not left and b'runtime error' not in ran.stderr:
        return True
    print(*command, 'status', ran.returncode, 'recording kept' if kept else 'recording changed', *left,
          ran.stderr.decode(errors='replace')[:400])
    return False


def main(ntrace, folder, number, seed, *paths):
    originals = []
    for path in paths:
        with open(path, 'rb') as original:
            originals.append(original.read())
    bad = 0
    for n in range(int(number)):
        rand = random.Random(int(seed) + n)
        data = bytearray(rand.choice(originals))
        for _ in range(rand.choice([1, 1, 1, 2, 3, 6])):
            if len(data) > HEADER_SIZE + 8:
                damage(data, rand)
        if not is_good(ntrace, COMMANDS[n % len(COMMANDS)], bytes(data), folder):
            bad += 1
            os.rename(os.path.join(folder, 'in.data'), os.path.join(folder, f'bad-{int(seed) + n}.data'))
    print(f'{number} damaged recordings, {bad} of them badly read')
    return bad != 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
