#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Find impossible call chains in the output for tests/perf/lost.c.

    lost.py <PERF

PERF is the output of `perf script -F comm,tid,ip,sym` with call chains. Each function of lost.c has only one caller.
In a chain, this caller must follow the function, or the chain must end.
"""
import collections
import re
import sys

CALLERS = {'leafA': {'midA'}, 'leafB': {'midB'}, 'midA': {'topA'}, 'midB': {'topB'}, 'topA': {'th'}, 'topB': {'th'},
           'work': {'leafA', 'leafB'}}
SHOWN = 5


def chains(file):
    comm, chain = '', []
    for line in file:
        if not line.strip():
            if chain:
                yield comm, chain
            chain = []
        elif line[0] not in '\t ' or not re.match(r'\s+[0-9a-f]+ ', line):
            comm, chain = line.split()[0], []
        else:
            chain.append(line.split(None, 1)[1].strip())
    if chain:
        yield comm, chain


def main():
    wrong, seen, whole = 0, collections.Counter(), 0
    for comm, chain in chains(sys.stdin):
        if comm != 'lost':
            continue
        for callee, caller in zip(chain, chain[1:]):
            if callee in CALLERS:
                seen[callee] += 1
                if caller not in CALLERS[callee]:
                    wrong += 1
                    if wrong <= SHOWN:
                        print(f'{callee} was called by {caller}: {" ".join(chain)}')
        whole += 'th' in chain and chain[0] != 'th'
    print(f'{sum(seen.values())} calls in chains, {whole} chains down to the thread\'s first function, {wrong} impossible')
    return 1 if wrong or not whole else 0


if __name__ == '__main__':
    if len(sys.argv) != 1:
        sys.exit(__doc__)
    sys.exit(main())
