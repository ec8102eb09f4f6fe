#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check that all call chains in perf's output are possible in tests/perf/lost.c.

    perf script --itrace=i20ig -F ip,sym | lost.py LEAST

A chain may end early if the trace lacks the outer calls. The exit status is 1 if a chain is impossible, or
if there are fewer than LEAST."""
import sys

CALLER = {'work': ('leafA', 'leafB'), 'th': None}
CALLEES = {'work': (), 'th': ('topA', 'topB')}
for path in 'AB':
    CALLER.update({f'leaf{path}': (f'mid{path}',), f'mid{path}': (f'top{path}',), f'top{path}': ('th',)})
    CALLEES.update({f'mid{path}': (f'leaf{path}',), f'top{path}': (f'mid{path}',)})


def is_possible(chain):
    for callee, caller in zip(chain, chain[1:]):
        if CALLER.get(callee) and caller not in CALLER[callee]:
            return False
        # A caller in the C library is not in CALLEES. It calls for example the function of a thread
        if caller in CALLEES and callee not in CALLEES[caller]:
            return False
    return True


def chains(lines):
    chain = []
    for line in lines:
        word = line.split()
        if word:
            chain.append(word[-1])
        elif chain:
            yield chain
            chain = []
    if chain:
        yield chain


def main():
    nr = bad = deep = 0
    for chain in chains(sys.stdin):
        if not any(name in CALLER for name in chain):
            continue
        nr += 1
        deep += len(chain) > 3
        if not is_possible(chain):
            bad += 1
            if bad < 6:
                print('cannot be:', ' <- '.join(chain))
    print(f'{nr} chains, {deep} of more than three functions, {bad} impossible')
    sys.exit(bool(bad or nr < int(sys.argv[1])))


if __name__ == '__main__':
    main()
