#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Compare a sample profile with the counts of the same program after clang has instrumented it.

    instrumented.py PROFILE LCOV SOURCE LINES

LCOV is the output of `llvm-cov export`. The counts of at least LINES lines must be equal.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lcov  # noqa: E402
import llvm  # noqa: E402


def instrumented(path):
    """Return the counts of lines, and the functions. Remove the file that clang adds to a static function's name."""
    [file] = lcov.read(path).values()
    return file.lines, {name.split(':')[-1]: f for name, f in file.functions.items()}


def name_line(source, line):
    """Convert the line of a function. clang reports the line of its brace, and a sample profile that of its name."""
    return line - 1 if source[line].strip() == '{' else line


def explained(text, theirs, ours):
    """
    Return True if only one of both tools can count this line. Instrumentation counts a brace like the region that
    the brace begins or ends, but a profile counts the code of the brace. Instrumentation has no counter for the
    second return of setjmp(), and calculates this count from other counters.
    """
    if re.fullmatch(r'\s*(}|do {)', text):
        return True
    return 'setjmp' in text and ours == 2 * theirs or 'n++' in text and theirs == 0


def main():
    functions = llvm.profile(sys.argv[1])
    lines, called = instrumented(sys.argv[2])
    with open(sys.argv[3], encoding='utf-8') as f:
        source = [''] + f.read().split('\n')
    same, bad = 0, []
    for name, (line, count) in called.items():
        # the function "add" has no separate code, because it is always inlined
        if name == 'add' or not count and name not in functions:
            continue
        head, places, _ = functions.get(name, (None, {}, {}))
        if head != count:
            bad.append((name, count, head))
        for offset, samples in places.items():
            at = name_line(source, line) + offset
            same += lines.get(at) == samples
            if lines.get(at) != samples and not explained(source[at], lines.get(at), samples):
                bad.append((name, f'line {at}: {source[at].strip()}', lines.get(at), samples))
    print(f'{len(called)} functions, {same} lines are equal, {len(bad)} differ')
    for difference in bad:
        print('differs:', *difference)
    return 1 if bad or same < int(sys.argv[4]) else 0


if __name__ == '__main__':
    sys.exit(main())
