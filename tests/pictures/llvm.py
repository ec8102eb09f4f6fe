#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare a sample profile with gcov's counts of the same execution: llvm.py PROFILE GCOV SOURCE"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import coverage  # noqa: E402


def profile(path):
    """Read a sample profile. Return {function: (head, {offset: count}, {offset: {target: count}})} without inlined
    code. Check that the totals in the profile are the sums of the counts"""
    functions, sums, name = {}, {}, None
    with open(path, encoding='utf-8') as f:
        for text in f:
            head = re.fullmatch(r'(\S+):(\d+):(\d+)\n', text)
            place = re.fullmatch(r'( +)(\d+)(?:\.(\d+))?: (\d+)((?: \S+:\d+)*)\n', text)
            inlined = re.fullmatch(r'( +)(\d+)(?:\.(\d+))?: (\S+):(\d+)\n', text)
            assert head or place or inlined, text
            if head:
                name = head[1]
                assert name not in functions, name
                functions[name] = int(head[3]), {}, {}
                sums[name] = [int(head[2]), 0]
            elif place:
                sums[name][1] += int(place[4])
                if len(place[1]) == 1:
                    at = int(place[2])
                    functions[name][1][at] = max(functions[name][1].get(at, 0), int(place[4]))
                    for target in place[5].split():
                        functions[name][2].setdefault(at, {})[target.split(':')[0]] = int(target.split(':')[1])
    assert all(a == b for a, b in sums.values()), sums
    return functions


def main():
    functions = profile(sys.argv[1])
    lines, _, called = coverage.read(sys.argv[2])
    with open(sys.argv[3], encoding='utf-8') as f:
        source = [''] + f.read().split('\n')
    same, bad = 0, []
    for name, (start, count) in called.items():
        if not count or name == 'add':
            continue
        head, places, _ = functions[name]
        if head != count:
            bad.append((name, count, head))
        for offset, samples in places.items():
            # the code of this function begins at the line of its brace, but gcov reports it at the line of the
            # function's name
            line = start if offset == 1 else start + offset
            same += lines.get(line) == samples
            if lines.get(line) != samples and not coverage.explained(source[line], lines.get(line), samples):
                bad.append((name, offset, lines.get(line), samples))
    targets = [t for t in functions['main'][2].values()]
    print(f'{len(functions)} functions, {same} places are equal, targets {targets}')
    for difference in bad:
        print('differs:', *difference)
    return 1 if bad or same < 35 or targets != [{'one': 20, 'two': 10}] else 0


if __name__ == '__main__':
    sys.exit(main())
