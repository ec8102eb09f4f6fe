#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Damage perf.data files of mkcalls.py at random. The same seed always causes the same damage:

    damage.py OUT COUNT FILE...
    damage.py OUT words FILE...

The program writes OUT/SEED.data for seeds from 0 to COUNT - 1, from each FILE in turn, and writes a description of
the damage to OUT/SEED.how. "words" replaces each word of the metadata and of the records of trace by limit values,
such as the largest value of a field or of a signed number.

In two of three files, the program only damages data of N-Trace, which is the metadata, the PERF_RECORD_AUX and
PERF_RECORD_AUXTRACE records, and the trace. The third file is damaged at any place, or is cut short.
"""
import random
import struct
import sys


def records(data):
    """Return (type, start, end) of each record. The bytes of trace have the type 'trace'"""
    data_at, size = struct.unpack_from('<QQ', data, 40)
    at = data_at
    while at < data_at + size:
        type_, _, length = struct.unpack_from('<IHH', data, at)
        yield type_, at, at + length
        at += length
        if type_ == 71:
            trace, = struct.unpack_from('<Q', data, at - length + 8)
            yield 'trace', at, at + trace
            at += trace


def damage(data, rnd):
    kind = rnd.randrange(3)
    if kind == 2 and rnd.randrange(4) == 0:
        cut = rnd.randrange(len(data))
        del data[cut:]
        return f'cut at {cut}'
    places = [(s + 8, e) for t, s, e in records(data)
              if (kind == 0 and t in (70, 11, 71)) or (kind == 1 and t == 'trace')] or [(0, len(data))]
    done = []
    for _ in range(rnd.choice((1, 1, 2, 4, 16))):
        at = rnd.randrange(*rnd.choice(places))
        how = rnd.randrange(3)
        data[at] = (data[at] ^ 1 << rnd.randrange(8), rnd.randrange(256), rnd.choice((0, 255)))[how]
        done.append(f'{at}={data[at]:#x}')
    return f'kind {kind}: {" ".join(done)}'


EDGES = (0, 1, 2, 3, 12, 31, 32, 63, 64, 65, 111, 112, 127, 128, 4095, 4096, 65535, 65536, 10**9,
         2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**48 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1)
METADATA, AUX, TRACE = 70, 11, 71


def words(data):
    """Return the (offset, size) of each number in the records of N-Trace"""
    for type_, at, end in records(data):
        if type_ == METADATA:
            yield from ((w, 8) for w in range(at + 16, end, 8))
        if type_ == AUX:
            # offset, size, flags; followed by pid and tid, time, CPU
            yield from ((at + n, size) for n, size in
                        ((8, 8), (16, 8), (24, 8), (32, 4), (36, 4), (40, 8), (48, 4)))
        if type_ == TRACE:
            # size, offset, reference; followed by index, tid, CPU
            yield from ((at + n, size) for n, size in ((8, 8), (16, 8), (24, 8), (32, 4), (36, 4), (40, 4)))


def damage_words(out, contents):
    seed = 0
    for content in contents:
        for at, size in words(content):
            for value in {v % 2 ** (8 * size) for v in EDGES}:
                data = bytearray(content)
                data[at:at + size] = value.to_bytes(size, 'little')
                if data == content:
                    continue
                with open(f'{out}/{seed}.how', 'w', encoding='ascii') as f:
                    f.write(f'word {at}={value:#x}\n')
                with open(f'{out}/{seed}.data', 'wb') as f:
                    f.write(data)
                seed += 1


def main():
    out, count, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    contents = []
    for path in files:
        with open(path, 'rb') as f:
            contents.append(f.read())
    if count == 'words':
        damage_words(out, contents)
        return
    for seed in range(int(count)):
        content = bytearray(contents[seed % len(contents)])
        with open(f'{out}/{seed}.how', 'w', encoding='ascii') as f:
            f.write(damage(content, random.Random(seed)) + '\n')
        with open(f'{out}/{seed}.data', 'wb') as f:
            f.write(content)


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main()
