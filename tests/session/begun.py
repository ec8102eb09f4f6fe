#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Remove instructions from the list of instructions that a program has executed, and write input for ntrace encode
--pcs:

    begun.py start|stops SEED <PCS >CUT

The trace begins at a random instruction inside of calls. With "stops", the trace also stops and restarts at
random."""
import random
import sys


def main():
    what, seed = sys.argv[1:]
    rng, pcs = random.Random(seed), sys.stdin.read().split()
    at = rng.randrange(len(pcs) // 8, len(pcs) * 7 // 8)
    most = max(2, min(3000, (len(pcs) - at) // 3)) if what == 'stops' else len(pcs)
    while at < len(pcs):
        end = at + (rng.randrange(1, most) if what == 'stops' else most)
        print('\n'.join([*pcs[at:end], '-']))
        at = end + rng.choice((0, 0, 1, 3, rng.randrange(200), rng.randrange(2000)))


if __name__ == '__main__':
    main()
