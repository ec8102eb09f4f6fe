#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the JSON of `ntrace annotate` with counts from a list of executed PCs: annotate.py PCS NM OBJDUMP JSON [TIMES]

This program counts the PCs independently of the library, and takes jumps and their destinations from objdump."""
import json
import re
import sys
from collections import Counter

pcs = [int(line, 0) for line in open(sys.argv[1])]
times = int(sys.argv[5]) if len(sys.argv) > 5 else 1
symbols = sorted((int(a, 16), name) for a, kind, name in (line.split()[-3:] for line in open(sys.argv[2]) if len(line.split()) > 2)
                 if kind in 'tT' and not name.startswith('_') or name == '_start')
jumps, sizes = {}, {}
for line in open(sys.argv[3]):
    m = re.match(r' +([0-9a-f]+):\t([0-9a-f]+) +\t(\S+)\t?(?:.*?([0-9a-f]+) <)?', line)
    if m:
        at, name = int(m[1], 16), m[3]
        sizes[at] = len(m[2]) // 2
        if re.match(r'(c\.)?(b[a-z]+|j)$', name) and m[4]:
            jumps[at] = (int(m[4], 16), name[0] == 'b' or name[2:3] == 'b')


def function(pc):
    return max((s for s in symbols if s[0] <= pc), default=None)


rows, loops = {}, {}
for line in open(sys.argv[4]):
    row = json.loads(line)
    if 'loop' in row:
        loops[int(row['loop'], 0)] = row
    else:
        rows[int(row['address'], 0)] = row

bad = 0


def check(what, got, wanted):
    global bad
    if got != wanted:
        bad += 1
        print(f'{what}: {got}, but {wanted} from the PCs')


count, names = Counter(pcs), {row['function'] for row in rows.values()}
for at in sizes:
    if function(at) and function(at)[1] in names:
        check(f'{at:#x} executed', rows.get(at, {}).get('count'), count[at] * times)
after = Counter(zip(pcs, pcs[1:]))
for at, row in rows.items():
    follows = {b: n * times for (a, b), n in after.items() if a == at}
    if at in jumps and jumps[at][1] and count[at]:
        check(f'{at:#x} taken', (row.get('taken'), row.get('not_taken')),
              (follows.get(jumps[at][0], 0), follows.get(at + sizes[at], 0)))
    else:
        check(f'{at:#x} is no branch', 'taken' in row, False)
    if 'targets' in row:
        starts = {name: a for a, name in symbols}
        check(f'{at:#x} targets', {starts[t['to']] + int(t['offset'], 0): t['count'] for t in row['targets']}, follows)
    elif count[at] and at not in jumps:
        # A thread can continue at another address only after a return, a direct call or the last instruction of the
        # function
        check(f'{at:#x} has no targets', len(set(follows) - {at + sizes[at]}) > 0 and row['code'] != '8082' and
              not row['code'].endswith(('ef', '6f')), False)

heads = {}
for at, (to, _) in jumps.items():
    if to <= at and function(to) == function(at) and function(at)[1] in names:
        heads[to] = max(heads.get(to, 0), at)
check('heads of loops', sorted(loops), sorted(heads))
for head, last in heads.items():
    runs, inside, n = [], False, 0
    for at, pc in enumerate(pcs):
        if function(pc) != function(head):
            continue
        if head <= pc <= last:
            n = (n if inside else 0) + (pc == head)
            inside = True
            returns = rows[pc]['code'] == '8082'
        if inside and (not head <= pc <= last or returns):
            runs.append(n)
            inside = False
    row = loops.get(head, {})
    check(f'loop {head:#x}', (row.get('runs'), row.get('iterations'), row.get('min'), row.get('max')),
          (len(runs) * times, sum(runs) * times, min(runs, default=None), max(runs, default=None)))
    check(f'loop {head:#x} sizes', {s['from']: s['runs'] for s in row.get('sizes', [])},
          {k: v * times for k, v in Counter(1 << n.bit_length() - 1 if n else 0 for n in runs).items()})
print(f'{len(rows)} instructions, {len(loops)} loops')
sys.exit(1 if bad or not rows else 0)
