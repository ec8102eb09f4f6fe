#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the printed branches of each CPU with the branches that it executed.

    shared.py BRANCHES <SCRIPT

mkshared.py writes BRANCHES. SCRIPT is the output of `ntrace script` or `perf script --itrace=be` with -F
tid,cpu,ip,addr. The program prints how many branches were not executed at that place ("wrong"), how many have a wrong
thread, how many are missing, and the errors of each CPU.
"""
import collections
import re
import sys


def read_script(file):
    """Return {CPU: its branches} and {CPU: its errors}"""
    found, errors = collections.defaultdict(list), collections.Counter()
    for line in file:
        m = re.match(r' *(-?\d+) +\[(\d+)\] +([0-9a-f]+) => +([0-9a-f]+)', line)
        if m and m[3] != '0' and m[4] != '0':
            found[int(m[2])].append((int(m[1]), int(m[3], 16), int(m[4], 16)))
        m = re.match(r' instruction trace error type 1 .*cpu (-?\d+) ', line)
        if m:
            errors[int(m[1])] += 1
    return found, errors


def read_branches(path):
    wanted = collections.defaultdict(list)
    with open(path, encoding='ascii') as file:
        for cpu, tid, source, target in map(str.split, file):
            wanted[int(cpu)].append((int(tid), int(source, 16), int(target, 16)))
    return wanted


def compare(wanted, found):
    """Return how many branches are wrong, how many of these only have a wrong thread, and how many are missing"""
    at = wrong = threads = right = 0
    for branch in found:
        # The output may lack some branches, so search the branch among the next 200 executed branches
        window = wanted[at:at + 200]
        if branch in window:
            at += window.index(branch) + 1
            right += 1
        else:
            wrong += 1
            threads += branch[1:] in (other[1:] for other in window)
    return wrong, threads, len(wanted) - right


def main():
    wanted, (found, errors) = read_branches(sys.argv[1]), read_script(sys.stdin)
    wrong, threads, missing = (sum(n) for n in zip(*(compare(wanted[cpu], found[cpu]) for cpu in set(wanted) | set(found))))
    print(f'{sum(map(len, found.values()))} branches, {wrong} wrong, {threads} of a wrong thread, {missing} missing, {sum(errors.values())} errors',
          *sorted(errors))
    return 1 if wrong or missing or errors else 0


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main())
