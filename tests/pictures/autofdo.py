#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare NAME.gcc, which gcc -fauto-profile reads, with NAME.llvm of the same counts: autofdo.py NAME

The reader follows gcc/auto-profile.cc.
"""
import struct
import sys


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        self.at += 4
        return struct.unpack_from('<I', self.data, self.at - 4)[0]

    def counter(self):
        return self.number() | self.number() << 32

    def string(self):
        size = self.number()
        self.at += size
        text = self.data[self.at - size:self.at]
        assert size and text[-1] == 0 and 0 not in text[:-1]
        return text[:-1].decode()

    def function(self, names, where, out):
        name, places, calls = names[self.number()], self.number(), self.number()
        where += (name,)
        for _ in range(places):
            place, targets, count = self.number(), self.number(), self.counter()
            assert (where, place) not in out
            out[where, place] = count, {}
            for _ in range(targets):
                assert self.number() == 0
                target = names[self.counter()]
                out[where, place][1][target] = self.counter()
        for _ in range(calls):
            self.function(names, where + (self.number(),), out)
        return name


def read_gcc(path):
    with open(path, 'rb') as f:
        r = Reader(f.read())
    out, heads = {}, {}
    assert (r.number(), r.number(), r.number()) == (0x67636461, 2, 0)
    assert (r.number(), r.number()) == (0xaa000000, 0)
    names = [r.string() for _ in range(r.number())]
    assert names == sorted(set(names), key=str.encode)
    assert (r.number(), r.number()) == (0xac000000, 0)
    for _ in range(r.number()):
        head = r.counter()
        heads[r.function(names, (), out)] = head
    assert (r.number(), r.number(), r.number()) == (0xae000000, 0, 0) and r.at == len(r.data)
    return heads, out


def read_llvm(path):
    heads, out, where = {}, {}, []
    with open(path, encoding='utf-8') as f:
        for line in f:
            depth = len(line) - len(line.lstrip())
            words = line.split()
            if not depth:
                name, _, head = words[0].split(':')
                heads[name], where = int(head), [name]
                continue
            offset, _, discriminator = words[0].rstrip(':').partition('.')
            place = int(offset) << 16 | int(discriminator or 0)
            if words[1].isdigit():
                out[tuple(where[:2 * depth - 1]), place] = int(words[1]), {
                    t.split(':')[0]: int(t.split(':')[1]) for t in words[2:]}
            else:
                where[2 * depth - 1:] = [place, words[1].split(':')[0]]
    return heads, out


def main():
    name = sys.argv[1]
    heads, got = read_gcc(f'{name}.gcc')
    wanted_heads, wanted = read_llvm(f'{name}.llvm')
    # If only blocks with a discriminator of a line were executed, the line is also present as a whole
    whole = {}
    for (where, place), (count, _) in wanted.items():
        key = where, place & ~0xffff
        if key not in wanted:
            whole[key] = max(whole.get(key, (0, {}))[0], count), {}
    targets = [t for _, t in got.values() if t]
    print(f'{len(heads)} functions, {len(wanted)} places, {len(whole)} lines as a whole, targets {targets}')
    for key in sorted(set(got) | set(wanted) | set(whole), key=str):
        if got.get(key) != wanted.get(key, whole.get(key)):
            print('differs:', key, got.get(key), wanted.get(key, whole.get(key)))
    return heads != wanted_heads or got != {**whole, **wanted} or not any(len(t) == 2 for t in targets) or len(wanted) < 15


if __name__ == '__main__':
    sys.exit(main())
