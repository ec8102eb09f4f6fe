#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check the decoder if whole frames are lost. The remaining frames do not show this loss.

    lost.py NTRACE ELF LOSSES PCS...    Each file PCS has the PCs that one source executed.

The trace of a source may lose bytes, or get bytes of another source. The decoder must report an error for
this source, unless the damaged trace is also the valid trace of another execution, because no decoder can notice this.
To check whether it is valid, the program encodes the decoded PCs. The messages must equal those of the damaged trace,
except for their times and the reason for which the trace ends."""
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from formatter import Formatter  # noqa: E402

NTRACE, ELF, LOSSES, PCS = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
MODES = (['--mode', 'btm'], ['--mode', 'btm', '--timestamp'], ['--mode', 'htm'],
         ['--mode', 'htm', '--implicit-return', '--repeated-history', '--timestamp'])
DECODE = ('--timestamp', '--implicit-return')
FIRST_ID = 16


def encode(tmp, mode, source, pcs):
    """Return the encoded trace of these PCs, or None if no hart can execute them"""
    with open(f'{tmp}/list', 'w', encoding='ascii') as file:
        file.write(pcs)
    done = subprocess.run([NTRACE, 'encode', '--elf', ELF, '--pcs', f'{tmp}/list', '-o', f'{tmp}/nt',
                           '--src-bits', '12', '--src', str(source)] + mode,
                          capture_output=True, check=False)
    if done.returncode:
        return None
    with open(f'{tmp}/nt', 'rb') as file:
        return file.read()


def decode(tmp, mode, data):
    """Decode a trace. Return (True if the decoder reports an error, PCs)"""
    with open(f'{tmp}/lost', 'wb') as file:
        file.write(data)
    done = subprocess.run([NTRACE, 'decode', '--elf', ELF, '--src-bits', '12', '--pcs', f'{tmp}/lost'] +
                          [option for option in mode if option in DECODE],
                          capture_output=True, text=True, check=False)
    return done.stderr != '', done.stdout


def messages(tmp, data):
    """Return all messages except the last one, without their offsets and times"""
    with open(f'{tmp}/dumped', 'wb') as file:
        file.write(data or b'')
    done = subprocess.run([NTRACE, 'dump', '--src-bits', '12', '--timestamp', f'{tmp}/dumped'],
                          capture_output=True, text=True, check=False)
    return re.sub(r'^ *\d+:|TSTAMP=\d+$', '', done.stdout, flags=re.M).splitlines()[:-1]


def queue_of(rng, traces):
    """Return the list of (ID, byte) for the formatter, in which the sources take turns with several bytes each"""
    at, queue = dict.fromkeys(traces, 0), []
    while at:
        source = rng.choice(sorted(at))
        for value in traces[source][at[source]:at[source] + rng.randrange(1, 60)]:
            queue.append((source + FIRST_ID, value))
            at[source] += 1
        if at[source] == len(traces[source]):
            del at[source]
    return queue


def take_apart(data):
    """Return the bytes of each source that these complete frames contain"""
    out, now = {}, 0
    for start in range(0, len(data), 16):
        frame = data[start:start + 16]
        for pos in range(0, 16, 2):
            even, flag, after = frame[pos], frame[15] >> pos // 2 & 1, now
            if even & 1:
                after = even >> 1
                now = now if flag else after
            else:
                out.setdefault(now, bytearray()).append(even & 0xfe | flag)
            if pos < 14:
                out.setdefault(now, bytearray()).append(frame[pos + 1])
            now = after
    return {number - FIRST_ID: bytes(value) for number, value in out.items()}


def check(rng, tmp, mode, counts):
    pcs = []
    for path in PCS:
        with open(path, encoding='ascii') as file:
            pcs.append(file.read())
    traces = {source: encode(tmp, mode, source, text) for source, text in enumerate(pcs)}
    frames = Formatter(rng, pad=0, again=0.05).run(queue_of(rng, traces))[0]
    good = take_apart(frames)
    assert all(good[source][:len(trace)] == trace for source, trace in traces.items())
    for _ in range(LOSSES):
        nr = rng.choice((1, 1, 1, 2, 5))
        at = rng.randrange(len(frames) // 16 - nr) * 16
        left = take_apart(frames[:at] + frames[at + 16 * nr:])
        for source, trace in traces.items():
            data = left.get(source, b'')[:len(trace)]
            if data == trace:
                continue
            said, text = decode(tmp, mode, data)
            if said:
                counts['noticed'] += 1
            elif text == pcs[source]:
                counts['harmless'] += 1
            elif messages(tmp, encode(tmp, mode, source, text)) == messages(tmp, data):
                counts['of another execution'] += 1
            else:
                counts['silently wrong'] += 1


def main():
    rng = random.Random(1)
    counts = dict.fromkeys(('noticed', 'harmless', 'of another execution', 'silently wrong'), 0)
    with tempfile.TemporaryDirectory() as tmp:
        for mode in MODES:
            check(rng, tmp, mode, counts)
    print(', '.join(f'{number} {name}' for name, number in counts.items()))
    return bool(counts['silently wrong']) or counts['noticed'] < LOSSES


if __name__ == '__main__':
    sys.exit(main())
