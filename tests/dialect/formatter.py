# SPDX-License-Identifier: GPL-2.0-only
"""A CoreSight trace formatter, which puts bytes of trace IDs into frames of 16 bytes.

It is written from the Arm CoreSight Architecture Specification ("Trace Formatter"), independently of the
library and of the board's model. The formatter makes all choices that the specification allows at
random. It may change the ID early or late, repeat the ID, pad, or synchronise."""
import random

FULL_SYNC = b'\xff\xff\xff\x7f'
HALF_SYNC = b'\xff\x7f'
NULL = 0


class Formatter:
    """A formatter with random settings, which makes frames from a list of (ID, byte)"""

    def __init__(self, rng, pad=0.05, again=0.1, late=0.5, full_sync=0.0, half_sync=0.0):
        self.rng, self.pad, self.again, self.late = rng, pad, again, late
        self.full_sync, self.half_sync = full_sync, half_sync
        self.id = None          # ID in the last ID byte, to which the next data byte belongs
        self.frames = []        # (bytes, "frame" or "sync")

    def padding(self):
        return (NULL, self.rng.randrange(256))

    def frame(self, queue, at):
        """Make one frame from queue[at:]. Return the frame, and the number of taken bytes."""
        data, flags = [0] * 16, 0
        start = at
        delayed = None          # ID that becomes the current ID after the next byte
        pos = 0

        def peek(n):
            return queue[at + n] if at + n < len(queue) else None

        while pos < 15:
            even = pos % 2 == 0
            nxt = peek(0)
            if even:
                # If the next data byte has another ID than the current one, insert an ID byte
                want = nxt[0] if nxt else NULL
                if want != self.id or self.rng.random() < self.again:
                    follow = peek(1)
                    if (want == self.id and follow and follow[0] != self.id and
                            pos < 14 and self.rng.random() < self.late):
                        # the odd byte after the change of the ID still belongs to the old ID
                        data[pos] = follow[0] << 1 | 1
                        flags |= 1 << pos // 2
                        data[pos + 1] = nxt[1]
                        at += 1
                        self.id = follow[0]
                        pos += 2
                        continue
                    data[pos] = want << 1 | 1
                    self.id = want
                    pos += 1
                    continue
                follow = peek(1)
                if pos < 14 and (follow[0] if follow else NULL) != self.id:
                    # an odd byte cannot contain an ID, so change the ID in the next even byte
                    other = follow[0] if follow else NULL
                    data[pos] = other << 1 | 1
                    flags |= 1 << pos // 2
                    data[pos + 1] = nxt[1] if nxt else 0
                    at += nxt is not None
                    self.id = other
                    pos += 2
                    continue
                value = nxt[1] if nxt else self.rng.randrange(256)
                data[pos] = value & 0xfe
                flags |= (value & 1) << pos // 2
                at += nxt is not None
                pos += 1
                continue
            # an odd byte is always data of the current ID
            if nxt and nxt[0] == self.id:
                data[pos] = nxt[1]
                at += 1
            elif self.id == NULL:
                data[pos] = self.rng.randrange(256)
            else:
                raise AssertionError('an odd byte for another ID')
            pos += 1
        del delayed
        data[15] = flags
        return bytes(data), at - start

    def run(self, queue):
        """Return the framed bytes, and a list of (offset, kind, index in the queue after it) for each frame and sync"""
        queue = list(queue)
        # insert padding, which consists of bytes of ID 0
        if self.pad:
            padded = []
            for item in queue:
                while self.rng.random() < self.pad:
                    padded.append(self.padding())
                padded.append(item)
            queue = padded
        out, marks, at = bytearray(), [], 0
        while at < len(queue):
            if self.rng.random() < self.full_sync:
                marks.append((len(out), 'full', at))
                out += FULL_SYNC
                if self.rng.random() < 0.8:
                    self.id = None      # most formatters repeat the ID here
            frame, taken = self.frame(queue, at)
            marks.append((len(out), 'frame', at))
            at += taken
            for pos in range(0, 16, 2):
                if self.rng.random() < self.half_sync:
                    marks.append((len(out), 'half', at))
                    out += HALF_SYNC
                out += frame[pos:pos + 2]
        return bytes(out), marks, queue


def random_queue(rng, nr, ids, run=8):
    """Return a list of (ID, byte). About @run consecutive bytes have the same random ID"""
    queue = []
    while len(queue) < nr:
        source = rng.choice(ids)
        for _ in range(rng.randrange(1, 2 * run)):
            queue.append((source, rng.choice((0xff, 0x7f, 0, rng.randrange(256)))))
    return queue


def by_id(queue):
    out = {}
    for source, value in queue:
        out.setdefault(source, bytearray()).append(value)
    return out


if __name__ == '__main__':
    # formatter.py OUT ID=FILE ...: write frames with the bytes of all files, which take turns at random
    import sys
    rng = random.Random(1)
    streams = {}
    for arg in sys.argv[2:]:
        number, name = arg.split('=', 1)
        with open(name, 'rb') as f:
            streams[int(number, 0)] = f.read()
    queue, at = [], dict.fromkeys(streams, 0)
    while at:
        source = rng.choice(sorted(at))
        n = rng.randrange(1, 40)
        queue += [(source, b) for b in streams[source][at[source]:at[source] + n]]
        at[source] += n
        if at[source] >= len(streams[source]):
            del at[source]
    with open(sys.argv[1], 'wb') as f:
        f.write(Formatter(rng, full_sync=0.01, half_sync=0.005).run(queue)[0])
