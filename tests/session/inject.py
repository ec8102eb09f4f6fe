#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check that each branch of a recording is in the branch stacks of `ntrace inject --all-branches`.

    inject.py BRANCHES <STACKS

STACKS is the output of `perf script -F tid,cpu,brstack` with a perf without N-Trace. BRANCHES is the
output of `perf script --itrace=be -F tid,cpu,ip,addr` with a perf with N-Trace. The branches of each
thread on each CPU must be the same, in the same order.
"""
import itertools
import re
import sys

SHOWN = 5


def from_stacks(file):
    found = {}
    for line in file:
        m = re.match(r' *(-?\d+) +\[(\d+)\](.*)', line)
        if not m:
            continue
        branches = [tuple(int(a, 16) for a in b.split('/')[:2]) for b in m.group(3).split()]
        found.setdefault((int(m.group(1)), int(m.group(2))), []).extend(reversed(branches))
    return found


def from_branches(path):
    found = {}
    with open(path, encoding='ascii', errors='replace') as f:
        for line in f:
            m = re.match(r' *(-?\d+) +\[(\d+)\] +([0-9a-f]+) => +([0-9a-f]+)', line)
            if m and int(m.group(3), 16) and int(m.group(4), 16):
                found.setdefault((int(m.group(1)), int(m.group(2))), []).append((int(m.group(3), 16), int(m.group(4), 16)))
    return found


def main():
    wanted, got, wrong = from_branches(sys.argv[1]), from_stacks(sys.stdin), 0
    for who in sorted(set(wanted) | set(got)):
        for n, (a, b) in enumerate(itertools.zip_longest(wanted.get(who, []), got.get(who, []))):
            if a != b:
                wrong += 1
                if wrong <= SHOWN:
                    print(f'thread {who[0]}, CPU {who[1]}, branch {n}: {b}, but it was {a}')
    print(f'{sum(map(len, wanted.values()))} branches of {len(wanted)} threads on CPUs, {wrong} differences')
    return 1 if wrong or not wanted else 0


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main())
