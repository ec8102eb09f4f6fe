#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the counts of `ntrace report` with the instructions that QEMU executed, and compare its source lines with
binutils' addr2line.

    profile.py functions|lines|inline|insns PROGRAM PCS < REPORT
"""
import collections
import os
import re
import subprocess
import sys


def symbols(program):
    """Return {address: function} and {name: the name that ntrace prints, if a function has several names}"""
    text = subprocess.run(['riscv64-linux-gnu-nm', '-n', '-S', '--defined-only', program], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    found = [(int(a, 16), int(n or '0', 16), name) for a, n, name in
             re.findall(r'^([0-9a-f]+) (?:([0-9a-f]+) )?[tTwWiV] ([^$.]\S*)$', text, re.M)]
    starts, names, same = sorted({a for a, _, _ in found}) + [1 << 64], {}, {}
    for begin, size, name in found:
        end = begin + size if size else starts[starts.index(begin) + 1]
        for addr in range(begin, min(end, begin + 0x10000), 2):
            names[addr] = same[name] = names.get(addr, name) if addr == begin or not size else names.get(begin, name)
    return names, same


def frames(program, addrs):
    """Return a list of (function, file:line) for each address, which starts with the innermost function"""
    out = subprocess.run(['riscv64-linux-gnu-addr2line', '-a', '-f', '-i', '-e', program], check=True, text=True,
                         input='\n'.join(map(hex, addrs)), stdout=subprocess.PIPE).stdout.split('\n')
    result, at = {}, None
    while out:
        line = out.pop(0)
        if line.startswith('0x'):
            at = result.setdefault(int(line, 16), [])
        elif line:
            place = re.sub(r' \(discriminator \d+\)', '', out.pop(0))
            file, number = place.rsplit(':', 1)
            at.append((line, '[no line]' if number in '?0' else f'{os.path.basename(file)}:{number}'))
    return result


def wanted(what, program, counts):
    result = collections.Counter()
    if what == 'insns':
        return counts
    if what == 'functions':
        names, _ = symbols(program)
        for addr, n in counts.items():
            result[names.get(addr, '?')] += n
        return result
    for addr, chain in frames(program, counts).items():
        key = tuple(f'{place} {name}' for name, place in (chain if what == 'inline' else chain[:1]))
        result[key] += counts[addr]
    return result


def reported(what, text):
    result, key, number = collections.Counter(), None, 0
    for line in text.split('\n')[3:]:
        inlined = re.match(r'^ +inlined into (.*) at (.*)$', line)
        row = re.match(r'^ *(\d+) +[\d.]+  +(.*?)(?:  (\S+))? \[\S+\]$', line)
        if inlined:
            result[key] -= number
            key += (f'{inlined.group(2)} {inlined.group(1)}',)
            result[key] += number
        elif row and what == 'insns':
            result[int(row.group(2).split()[0], 16)] += int(row.group(1))
        elif row:
            number = int(row.group(1))
            key = row.group(2) if what == 'functions' else (f'{row.group(2)} {row.group(3)}',)
            result[key] += number
        elif line.strip():
            raise SystemExit(f'what is this? {line}')
    return +result


def main():
    what, program, pcs = sys.argv[1:]
    with open(pcs, encoding='ascii') as f:
        counts = collections.Counter(int(line, 16) for line in f)
    want, got = wanted(what, program, counts), reported(what, sys.stdin.read())
    if what in ('lines', 'inline'):
        # If code has no debug information, ntrace and addr2line name assembler functions differently
        want, got = ({k: n for k, n in c.items() if '[no line]' not in k[0] and '.S:' not in k[0]} for c in (want, got))
    if what == 'functions':
        _, same = symbols(program)
        got = sum((collections.Counter({same.get(name, name): n}) for name, n in got.items()), collections.Counter())
    wrong = 0
    for key in sorted(set(want) | set(got), key=str):
        if want.get(key, 0) != got.get(key, 0):
            wrong += 1
            if wrong < 10:
                print(f'{key}: {got.get(key, 0)}, not {want.get(key, 0)}')
    print(f'{what}: {len(want)}, {sum(want.values())} instructions, {wrong} differences')
    return 1 if wrong or not want else 0


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main())
