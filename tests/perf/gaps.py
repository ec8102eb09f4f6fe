#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check that a trace with gaps contains only branches of the whole trace.

    gaps.py WHOLE PART

WHOLE and PART are outputs of `perf script -F ip,addr`. Each interval of PART, from a start of trace to the stop, must
consist of successive branches of WHOLE.
"""
import bisect
import sys


def branches(path):
    with open(path, encoding='ascii', errors='replace') as f:
        for line in f:
            word = line.split()
            if len(word) == 3 and word[1] == '=>':
                yield int(word[0], 16), int(word[2], 16)


def segments(path):
    segment = []
    for branch in branches(path):
        if not branch[0] and segment:
            yield segment
            segment = []
        if all(branch):
            segment.append(branch)
    if segment:
        yield segment


def main():
    whole = [b for b in branches(sys.argv[1]) if all(b)]
    places = {}
    for i, branch in enumerate(whole):
        places.setdefault(branch, []).append(i)
    at, count, starts = 0, 0, 0
    for segment in segments(sys.argv[2]):
        here = places.get(segment[0], [])
        found = next((i for i in here[bisect.bisect_left(here, at):] if whole[i:i + len(segment)] == segment), None)
        if found is None:
            print(f'{segment[0][0]:x} => {segment[0][1]:x} and the {len(segment) - 1} behind it did not happen')
            return 1
        at, count, starts = found + len(segment), count + len(segment), starts + 1
    print(f'{count} of {len(whole)} branches, in {starts} parts')
    return not count


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main())
