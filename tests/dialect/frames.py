#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare nt_frames_convert() with a separate formatter: frames.py LIBNTRACE.SO [SEEDS]"""
import ctypes
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from formatter import FULL_SYNC, Formatter, by_id, random_queue  # noqa: E402

IDS = 112
E_ID, E_SYNC, NOT_FOUND = -18, -19, -4
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
with open(os.path.join(TOP, 'samples/primes.nt'), 'rb') as file:
    TRACE = file.read()


class Out(ctypes.Structure):
    _fields_ = [('data', ctypes.c_void_p), ('size', ctypes.c_size_t), ('nr', ctypes.c_size_t)]


class Stats(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in
                ('bytes', 'frames', 'syncs', 'padding', 'unknown', 'triggers', 'lost')]


class Frames:
    """A converter of the library. .got has the output for each ID. .events is a list of (number of consumed bytes,
    value other than 0 that the library has returned, number of output bytes for each ID)."""

    def __init__(self, lib, room=256):
        self.lib, self.room = lib, room
        self.frames = lib.nt_frames_new()
        self.buffers = [ctypes.create_string_buffer(room + 16) for _ in range(IDS)]
        self.outs = (Out * IDS)(*[Out(ctypes.addressof(b), room, 0) for b in self.buffers])
        self.outs[0].data = None
        for b in self.buffers:
            b[room:room + 16] = b'\xa5' * 16
        self.got, self.events, self.taken = {}, [], 0

    def close(self):
        self.lib.nt_frames_free(self.frames)

    def drain(self):
        for i in range(1, IDS):
            out = self.outs[i]
            if out.nr:
                assert out.nr <= self.room
                assert self.buffers[i].raw[self.room:-1] == b'\xa5' * 15, 'wrote beyond the buffer'
                self.got.setdefault(i, bytearray()).extend(self.buffers[i].raw[:out.nr])
                out.nr = 0

    def feed(self, data):
        used = ctypes.c_size_t()
        while data:
            copy = ctypes.create_string_buffer(bytes(data), len(data) or 1)
            ret = self.lib.nt_frames_convert(self.frames, copy, len(data), ctypes.byref(used),
                                             self.outs)
            self.taken += used.value
            self.drain()
            if ret:
                self.events.append((self.taken, ret, {i: len(b) for i, b in self.got.items()}))
            data = data[used.value:]

    def end(self):
        ret = self.lib.nt_frames_end(self.frames)
        if ret:
            self.events.append((self.taken, ret, {}))

    def stats(self):
        stats = Stats()
        self.lib.nt_frames_stats(self.frames, ctypes.byref(stats), ctypes.sizeof(stats))
        return stats


def convert(lib, pieces, room=256):
    frames = Frames(lib, room)
    for piece in pieces:
        frames.feed(piece)
    frames.end()
    frames.close()
    return frames


def split(rng, data, most):
    pieces, at = [], 0
    while at < len(data):
        n = rng.randrange(1, most + 1)
        pieces.append(data[at:at + n])
        at += n
    return pieces


def sources(queue):
    out = by_id(queue)
    out.pop(0, None)
    return {i: b for i, b in out.items() if i < IDS}


def make(seed, **kwargs):
    rng = random.Random(seed)
    ids = rng.sample(range(1, IDS), rng.choice((1, 2, 16)))
    if rng.random() < 0.3:
        ids += [0x7d, 0x7b]         # reserved IDs, which mark a trigger and a flush and are of no source
    queue = random_queue(rng, 600, ids, rng.choice((1, 3, 12, 60)))
    formatter = Formatter(rng, pad=rng.choice((0, 0.02, 0.3)), again=rng.choice((0, 0.2)),
                          late=rng.random(), **kwargs)
    return rng, formatter.run(queue), queue


def check_splits(lib, seed):
    rng, (data, _, _), queue = make(seed, full_sync=0.1, half_sync=0.03)
    want = sources(queue)
    for most in (1, 3, 17, 64, 5000):
        frames = convert(lib, split(rng, data, most), rng.choice((64, 65, 96, 4096)))
        # the library reports a loss at four consecutive full syncs, so do not compare if the random data contains four
        if not any(ret == 1 for _, ret, _ in frames.events):
            assert frames.events == [], (seed, most, frames.events)
            assert frames.got == want, (seed, most)


def check_each_split(lib):
    _, (data, _, _), queue = make(3, full_sync=0.2, half_sync=0.05)
    data, want = data[:400], None
    for at in range(len(data) + 1):
        frames = convert(lib, [data[:at], data[at:]])
        want = want or frames.got
        assert frames.got == want and want, at
    assert sum(map(len, want.values())) > 150


def check_lost(lib, seed):
    """Lose some bytes. The library must report the loss. The data before the loss must be right, and also the
    data after the next sync and ID."""
    rng, (data, marks, padded), queue = make(seed, full_sync=0.15)
    n = rng.choice((1, 2, 3, 4, 5, 8, 13, 15, 17, 31, 33, 70))
    at = rng.randrange(0, len(data) - n)
    syncs = [m for m in marks if m[1] == 'full']
    gone = sum(1 for o, kind, _ in marks if kind == 'full' for b in range(o, o + 4)
               if at <= b < at + n)
    if gone % 4:
        return False        # the rest of a full sync may look like a half sync, so no decoder can notice this loss
    frames = convert(lib, split(rng, data[:at] + data[at + n:], 64), 4096)
    errors = [e for e in frames.events if e[1] < 0]
    barrier = any(ret == 1 for _, ret, _ in frames.events)
    if (n - gone) % 16 and not errors:
        raise AssertionError(f'seed {seed}: {n} bytes lost at {at}, silent')
    # compare the frames before the loss
    whole = [m for m in marks if m[1] == 'frame' and m[0] + 16 <= at]
    taken = next((m[2] for m in marks if m[1] == 'frame' and m[0] + 16 > at), 0) if whole else 0
    if not barrier:
        for source, value in sources(padded[:taken]).items():
            got = frames.got.get(source, b'')
            assert got[:len(value)] == value, (seed, 'before', source)
    # From the first ID after the first complete sync after the loss on, the library must return the same bytes as
    # without a loss
    after = [m for m in syncs if m[0] >= at + n]
    if not after or barrier:
        return bool(errors)
    rest = padded[after[0][2]:]
    first = next((i for i, (source, _) in enumerate(rest) if source != rest[0][0]), len(rest))
    for source, value in sources(rest[first:]).items():
        got = frames.got.get(source, b'')
        assert got.endswith(value), (seed, 'after', source, n, at)
    return bool(errors)


def check_barrier(lib):
    rng = random.Random(5)
    first = [(1, b) for b in b'abcdefghijklmnopqrstuvwxyz' * 3][:74]     # the last frame is full
    one = Formatter(rng, pad=0, again=0).run(first)[0]
    # make frames that do not contain the ID of their data
    formatter = Formatter(rng, pad=0, again=0)
    formatter.id = 1
    two = formatter.run([(1, b) for b in bytes(range(15))] + [(2, 7)] * 20)[0]
    for nr, events in ((3, []), (4, [1]), (5, [1]), (8, [1, 1])):
        for most in (1, 5, 999):
            frames = convert(lib, split(rng, one + FULL_SYNC * nr + two, most))
            assert [ret for _, ret, _ in frames.events] == events, (nr, frames.events)
            got = bytes(frames.got[1])
            assert got == bytes(b for _, b in first) + (b'' if events else bytes(range(15))), nr
            assert frames.got[2] == bytes([7]) * 20
            if events:
                assert frames.events[0][2] == {1: len(first)}


def check_ids(lib):
    """At a reserved ID, the library must report an error, and drop the frame and the data up to the next ID"""
    rng = random.Random(6)
    good = Formatter(rng, pad=0, again=1).run([(5, b) for b in range(100)])[0]
    for value in range(128):
        bad = bytes([value << 1 | 1]) + bytes(15)
        for most in (1, 7, 999):
            frames = convert(lib, split(rng, good + bad + good, most))
            reserved = value >= IDS and value not in (0x7b, 0x7d)
            assert [e[1] for e in frames.events] == ([E_ID] if reserved else []), value
            assert bytes(frames.got[5]) == bytes(range(100)) * 2 or value == 5, value
    frames = convert(lib, [good, good[:7]])
    assert [e[1] for e in frames.events] == [E_SYNC]


def find(lib, data):
    """Return the offset of the first frame that the library recognises, or None if the library is uncertain"""
    offset = ctypes.c_size_t(99)
    ret = lib.nt_frames_find(ctypes.create_string_buffer(bytes(data), len(data) or 1), len(data),
                             ctypes.byref(offset))
    assert ret in (0, NOT_FOUND), ret
    return offset.value if ret == 0 else None


def real_frames(seed, run=None, **kwargs):
    """Return frames of a real trace, of one to 16 IDs, as (bytes, offsets of frames)"""
    rng = random.Random(seed)
    ids = rng.sample(range(1, IDS), rng.choice((1, 2, 3, 16)))
    at = {i: rng.randrange(len(TRACE)) for i in ids}
    queue, run = [], run or rng.choice((1, 3, 12, 60))
    while len(queue) < 3000:
        source = rng.choice(ids)
        for _ in range(rng.randrange(1, 2 * run)):
            queue.append((source, TRACE[at[source] % len(TRACE)]))
            at[source] += 1
    data, marks, _ = Formatter(rng, pad=rng.choice((0, 0.02, 0.3)), again=rng.choice((0, 0.2)),
                               late=rng.random(), **kwargs).run(queue)
    return rng, data, [m[0] for m in marks if m[1] == 'frame']


def check_find(lib, seeds):
    """Remove the first 0 to 47 bytes of a stream. The library must find the first complete frame without a full sync"""
    for seed in range(seeds):
        _, data, begins = real_frames(seed)
        for cut in range(0, 48):
            want = next(b for b in begins if b >= cut) - cut
            got = find(lib, data[cut:])
            assert got == want, (seed, cut, got, want)


def check_find_lost(lib, seeds):
    """Lose bytes, add half syncs, or change bytes. The library must find the first frame, or report that it is
    uncertain, but must not return a wrong offset"""
    found = 0
    for seed in range(seeds):
        rng, data, begins = real_frames(1000 + seed, half_sync=rng_choice(seed, (0, 0.01)))
        cut, n = rng.randrange(len(data) // 2), rng.choice((1, 2, 3, 5, 8, 15, 17, 70))
        at = rng.randrange(cut, len(data) - n)
        want = next(b for b in begins if b >= cut) - cut
        later = next((b for b in begins if b >= at + n), 0) - cut - n
        got = find(lib, data[cut:at] + data[at + n:])
        found += got is not None
        # if the data before the loss is too short, the library may find a frame after the loss instead
        assert got in (None, want) or (at - cut < 512 and (got - later) % 16 == 0), (seed, got, want)
    assert found > seeds * 3 // 4, found
    noise = bytes(random.Random(1).randrange(256) for _ in range(5000))
    assert find(lib, noise) is None
    for data in (b'', b'\0', b'\0' * 5000, b'\xff' * 5000, TRACE[:600]):
        assert find(lib, data) is None, data[:10]


def rng_choice(seed, values):
    return random.Random(seed).choice(values)


def check_stats(lib):
    _, (data, marks, padded), queue = make(11, full_sync=0.02, half_sync=0.01)
    frames = Frames(lib, 4096)
    frames.feed(data)
    stats = frames.stats()
    assert stats.bytes == len(data)
    assert stats.frames == sum(m[1] == 'frame' for m in marks)
    assert stats.syncs == sum(m[1] != 'frame' for m in marks)
    assert stats.lost == 0 and stats.unknown == 0
    assert stats.padding >= sum(source == 0 for source, _ in padded)
    total = sum(map(len, frames.got.values())) + stats.padding + stats.triggers
    assert total <= 15 * stats.frames
    frames.close()


def main():
    lib = ctypes.CDLL(sys.argv[1])
    lib.nt_frames_new.restype = ctypes.c_void_p
    lib.nt_frames_find.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    for name in ('nt_frames_free', 'nt_frames_end'):
        getattr(lib, name).argtypes = [ctypes.c_void_p]
    lib.nt_frames_convert.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                      ctypes.c_void_p, ctypes.c_void_p]
    lib.nt_frames_stats.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 150
    noticed = 0

    def splits():
        for seed in range(seeds):
            check_splits(lib, seed)

    def lost():
        nonlocal noticed
        noticed = sum(check_lost(lib, seed) for seed in range(4 * seeds))

    tests = (('random frames, split at random', splits),
             ('split at each byte', lambda: check_each_split(lib)),
             ('lost bytes', lost),
             ('four full syncs in a row', lambda: check_barrier(lib)),
             ('each ID', lambda: check_ids(lib)),
             ('statistics', lambda: check_stats(lib)),
             ('cut at each byte: the first frame is found', lambda: check_find(lib, seeds // 8)),
             ('... or not certain, with bytes lost', lambda: check_find_lost(lib, seeds * 4)))
    print(f'1..{len(tests)}')
    failed = 0
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print('ok', number, '-', name)
        except AssertionError as error:
            failed = 1
            print('not ok', number, '-', name)
            print('#', error)
    print(f'# figure: {noticed} of {4 * seeds} losses of 1 to 70 bytes noticed by frames alone')
    return failed


if __name__ == '__main__':
    sys.exit(main())
