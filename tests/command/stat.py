#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the counts of `ntrace stat --json` with the output of `ntrace dump` for the same trace.

    stat.py STAT.JSON TRACE DUMP [RANGES]

Count the bytes of TSTAMP in TRACE: the bytes of a message after the end of the last field before
TSTAMP. RANGES is the output of `ntrace decode`, which has the executed addresses."""
import collections
import json
import re
import sys

END_FIELD, END_MESSAGE = 1, 3


def tstamp_bytes(message):
    """Return the MSEO, which is in the low two bits of each byte (specification, chapter 3.1.4)"""
    ends = [i for i, byte in enumerate(message[:-1]) if byte & 3 == END_FIELD]
    return len(message) - 1 - ends[-1]


def from_dump(trace, lines):
    starts, count = [], collections.Counter()
    kinds, sizes = collections.Counter(), collections.Counter()
    now = first = None
    for line in lines:
        starts.append(int(line.split(':')[0]))
    for line, start in zip(lines, starts):
        end = start
        while trace[end] & 3 != END_MESSAGE:
            end += 1
        message, name = trace[start:end + 1], line.split(': ')[1].split()[0]
        fields = dict(re.findall(r'([A-Z][A-Z-]*)=(\S+)', line))
        kinds[name] += 1
        sizes[name] += len(message)
        count['syncs'] += 'SYNC' in fields
        count['errors'] += name == 'Error'
        if 'TSTAMP' not in fields:
            continue
        count['tstamps'] += 1
        count['tstamp_bytes'] += tstamp_bytes(message)
        if 'SYNC' in fields:
            now = int(fields['TSTAMP'], 0)
        elif now is not None:
            now += int(fields['TSTAMP'], 0)
        first = now if first is None else first
    count['ticks'] = now - first if now is not None else 0
    return count, kinds, sizes


def halfwords(lines):
    pairs = [re.match(r'(?:\S+ )?(0x[0-9a-f]+)\.\.(0x[0-9a-f]+) ', line) for line in lines]
    return sum((int(m[2], 16) - int(m[1], 16)) // 2 for m in pairs if m)


def main():
    with open(sys.argv[1], encoding='ascii') as f:
        stat = json.load(f)
    with open(sys.argv[2], 'rb') as f:
        trace = f.read()
    with open(sys.argv[3], encoding='ascii') as f:
        lines = f.read().splitlines()
    wanted, kinds, sizes = from_dump(trace, lines)
    wanted['bytes'] = len(trace)
    wanted['messages'] = len(lines)
    wanted['idle_bytes'] = len(trace) - sum(sizes.values())
    if len(sys.argv) > 4:
        with open(sys.argv[4], encoding='ascii') as f:
            wanted['halfwords'] = halfwords(f)
    bad = [f'{key}: {stat[key]}, not {value}' for key, value in wanted.items() if stat[key] != value]
    got = {k['name']: (k['messages'], k['bytes']) for k in stat['kinds']}
    if got != {name: (kinds[name], sizes[name]) for name in kinds}:
        bad.append(f'kinds: {got}')
    print(*bad or [f'{len(lines)} messages, {dict(wanted)}'], sep='\n')
    sys.exit(bool(bad))


if __name__ == '__main__':
    main()
