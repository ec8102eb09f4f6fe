#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Compare the coverage of `ntrace profile` with that of gcov for the same execution.

    coverage.py THEIRS OURS.gcov OURS.lcov SOURCE LINES BRANCHES

THEIRS is gcov's report. The counts of at least LINES lines and BRANCHES branches must be equal.
"""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lcov  # noqa: E402


def read(path):
    """Return {line: count}, {line: counts of both directions of each executed branch}, {function: calls}"""
    lines, branches, functions, called, last = {}, collections.defaultdict(list), {}, [], 0
    with open(path, encoding='utf-8') as f:
        for text in f:
            function = re.match(r'function (\S+) called (\d+)', text)
            branch = re.match(r'branch +\d+ (?:taken (\d+)|(never executed))', text)
            line = re.match(r' *([-#=\d]+)\*?: *(\d+):', text)
            if function:
                called.append((function[1], int(function[2])))
            elif branch and branch[1] is not None:
                branches[last].append(int(branch[1]))
            elif line:
                last = int(line[2])
                # gcov prints the sum of all instances of a template before the instances, so keep the first count of a
                # line
                if line[1] != '-':
                    lines.setdefault(last, 0 if line[1][0] in '#=' else int(line[1]))
                for name, count in called:
                    functions[name] = last, count
                called = []
    pairs = {n: sorted(tuple(sorted(b[i:i + 2])) for i in range(0, len(b), 2)) for n, b in branches.items()}
    return lines, {n: [p for p in b if sum(p)] for n, b in pairs.items()}, functions


def read_lcov(path, source):
    [file] = [file for name, file in lcov.read(path).items() if os.path.basename(name) == os.path.basename(source)]
    return file.lines, file.branches(), file.functions


def explained(text, theirs, ours, inlined=False):
    """Return True if only gcov or only ntrace can count this line. Labels have no code, so the debug information has
    no lines for them. gcov does not count the closing brace of a function with several returns, and counts the
    brace of an inlined function for only one of its callers. gcov does not count the second return of setjmp()."""
    if ours is None:
        return re.match(r'\s*(case .*|default):', text)
    if text.strip() == '}':
        return theirs is None or inlined and theirs < ours
    return 'setjmp' in text and ours == 2 * theirs


def main():
    theirs, ours, other = read(sys.argv[1]), read(sys.argv[2]), read_lcov(sys.argv[3], sys.argv[4])
    with open(sys.argv[4], encoding='utf-8') as f:
        source = [''] + f.read().split('\n')
    assert ours == other, 'lcov and gcov differ'
    bad, same, branches = [], 0, 0
    for n in sorted(theirs[0].keys() | ours[0].keys()):
        a, b = theirs[0].get(n), ours[0].get(n)
        same += a == b
        if a != b and not explained(source[n], a, b, 'always_inline' in ''.join(source[max(n - 5, 0):n])):
            bad.append((n, a, b))
    for name in sorted(theirs[2].keys() | ours[2].keys()):
        # the function "add" has no separate code, because it is always inlined
        if name in ours[2] and theirs[2].get(name) != ours[2][name] or name not in ours[2] and name != 'add':
            bad.append((name, theirs[2].get(name), ours[2].get(name)))
    for n in sorted(theirs[1].keys() | ours[1].keys()):
        a, b = theirs[1].get(n, []), ours[1].get(n, [])
        branches += len(a) if a == b else 0
        # Ignore two kinds of lines that differ. The first are branches of an inlined function, because ntrace
        # counts them in this function, but gcov counts them in its caller. The second are the branches of a
        # switch, because they have more than two directions.
        if a != b and not re.search(r'add\(n|n & 1|switch', source[n]):
            bad.append((n, 'branches', a, b))
    for line in bad:
        print('line, gcov, ntrace:', *line)
    print(f'{same} lines, {branches} branches, {len(ours[2])} functions are equal, {len(bad)} differ')
    return 1 if bad or same < int(sys.argv[5]) or branches < int(sys.argv[6]) else 0


if __name__ == '__main__':
    sys.exit(main())
