#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare perf's call chains, calls and returns with the executed code.

    chains.py chains BLOCKS PERIOD MAPS SYMFS <PERF
    chains.py calls BLOCKS - MAPS SYMFS <PERF

BLOCKS is the output of tests/perf/blocks for the board's truth. This program derives the calls from the instructions.
A jal or jalr with a link register is a call. A return ends the newest call with this return address. If no call has
this return address (longjmp, a C++ exception), the function that contains the address continues, and all calls that
this function had made end. If a trap does not return to the trapped address, it delivers a signal. The signal handler
is a call from the trapped address, and ends when the code at this address continues.

PERF is the output of `perf script -F ip` with call chains of each PERIOD-th instruction, or of `perf script -F
flags,callindent,ip,addr` without call chains. MAPS is the output of `perf script --show-mmap-events`. The program
uses MAPS to find symbols in the files in the folder SYMFS.
"""
import bisect
import os
import re
import subprocess
import sys

LINK = (1, 5)
SHOWN = 8


def classify(code, at):
    """Return the (length, kind) of the instruction at @at, where kind is 'call', 'return', 'swap' or ''"""
    low = code[at] | code[at + 1] << 8
    if low & 3 != 3:
        rs1, rs2, funct = low >> 7 & 31, low >> 2 & 31, low >> 12
        if low & 3 == 2 and funct in (8, 9) and rs2 == 0 and rs1:
            if funct == 8:                                      # c.jr
                return 2, 'return' if rs1 in LINK else ''
            return 2, 'swap' if rs1 == 5 else 'call'            # c.jalr
        return 2, ''
    insn = low | code[at + 2] << 16 | code[at + 3] << 24
    rd, rs1 = insn >> 7 & 31, insn >> 15 & 31
    if insn & 0x7f == 0x6f:                                     # jal
        return 4, 'call' if rd in LINK else ''
    if insn & 0x7f == 0x67:                                     # jalr
        if rd in LINK:
            return 4, 'swap' if rs1 in LINK and rs1 != rd else 'call'
        return 4, 'return' if rs1 in LINK else ''
    return 4, ''


class Symbols:
    """Find the function that contains an address"""

    def __init__(self, maps, symfs):
        self.maps, self.files = [], {}
        with open(maps, encoding='ascii', errors='replace') as f:
            for line in f:
                m = re.search(r'\[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) .*\]: r.xp (/.*)', line)
                if m:
                    start, size, offset = (int(m.group(i), 16) for i in (1, 2, 3))
                    self.maps.append((start, start + size, offset, symfs + m.group(4).strip()))

    def load(self, path):
        """Return ([start], [(end, start)]) of the functions in a file, as addresses in the ELF file"""
        if path not in self.files:
            found = {}
            for args in (['-W', '-s'], ['-W', '--dyn-syms']):
                text = subprocess.run(['readelf'] + args + [path], capture_output=True, text=True, check=False).stdout
                for word in map(str.split, text.splitlines()):
                    if len(word) > 7 and word[3] in ('FUNC', 'IFUNC') and word[6] != 'UND':
                        found[int(word[1], 16)] = int(word[1], 16) + int(word[2], 0)
            segments = []
            text = subprocess.run(['readelf', '-lW', path], capture_output=True, text=True, check=False).stdout
            for word in map(str.split, text.splitlines()):
                if word[:1] == ['LOAD']:
                    segments.append((int(word[1], 16), int(word[2], 16), int(word[4], 16)))
            starts = sorted(found)
            self.files[path] = starts, [found[s] for s in starts], segments
        return self.files[path]

    def place(self, addr):
        """Return (path, offset in the file) of the code at addr, or None"""
        for start, end, offset, path in self.maps:
            if start <= addr < end:
                return path, addr - start + offset
        return None

    def is_ecall(self, addr):
        place = self.place(addr)
        if not place or not os.path.exists(place[0]):
            return False
        with open(place[0], 'rb') as f:
            f.seek(place[1])
            return f.read(4) == b'\x73\0\0\0'

    def function(self, addr):
        """Return the (start, end) of the function, or None"""
        place = self.place(addr)
        starts, ends, segments = self.load(place[0]) if place else ([], [], [])
        for seg_offset, vaddr, size in segments:
            if seg_offset <= place[1] < seg_offset + size:
                at = place[1] - seg_offset + vaddr
                i = bisect.bisect_right(starts, at) - 1
                if i >= 0 and at < ends[i]:
                    return addr - (at - starts[i]), addr + (ends[i] - at)
        return None


class Walk:
    """The stack of return addresses of a thread, newest last, which is derived from the executed instructions"""

    def __init__(self, symbols):
        self.symbols, self.stack, self.signals = symbols, [], []
        self.kind, self.last, self.end = '', 0, 0
        self.unwound = self.handlers = 0

    def pop(self, addr):
        """Remove the newest call that returns to addr, and all calls that are newer. Return False if no call returns
        there"""
        for i in range(len(self.stack) - 1, -1, -1):
            if self.stack[i] == addr:
                del self.stack[i:]
                return True
        return False

    def unwind(self, addr):
        function = self.symbols.function(addr)
        for i in range(len(self.stack) - 1, -1, -1):
            if function and function[0] <= self.stack[i] < function[1]:
                del self.stack[i:]
                self.unwound += 1
                return

    def resume(self, addr):
        """Continue the thread after a trap"""
        if addr == self.end or (addr == self.end + 4 and self.symbols.is_ecall(self.end)):
            return
        if addr in self.signals and self.pop(addr):
            self.signals.remove(addr)
            return
        back = self.end + 4 if self.symbols.is_ecall(self.end) else self.end
        self.stack.append(back)
        self.signals.append(back)
        self.handlers += 1

    def go(self, addr):
        """Continue the thread at an address, to which its last instruction led. Return an event or None"""
        if self.kind == 'call':
            if addr != self.end:
                self.stack.append(self.end)
            return 'call', self.last, addr, len(self.stack)
        if self.kind == 'return':
            if not self.pop(addr):
                self.unwind(addr)
            return 'return', self.last, addr, len(self.stack) + 1
        if self.kind == 'swap':
            self.pop(addr)
            self.stack.append(self.end)
        return None

    def block(self, addr, insns, size):
        self.kind = insns[-1][1] if insns else ''
        self.last = addr + insns[-1][0] if insns else addr
        self.end = addr + size


def instructions(text):
    code, at, insns = bytes.fromhex(text), 0, []
    while at < len(code):
        length, kind = classify(code, at)
        insns.append((at, kind))
        at += length
    return insns, len(code)


def walk(w, path):
    """Yield ('insn', addr) and ('call' or 'return', from, to, depth). After each of these, the stack in
    w contains the open calls"""
    stopped, first, cache = False, True, {}
    with open(path, encoding='ascii') as f:
        for line in f:
            word = line.split()
            if word[0] == 'stop':
                stopped = True
                continue
            addr, text = int(word[0], 16), ''.join(word[1:])
            event = None
            if not first and stopped:
                w.resume(addr)
            elif not first:
                event = w.go(addr)
            if event:
                yield event
            first = stopped = False
            if text not in cache:
                cache[text] = instructions(text)
            insns, size = cache[text]
            for at, _ in insns:
                yield 'insn', addr + at
            w.block(addr, insns, size)


def perf_chains(file):
    chain = []
    for line in file:
        word = line.split()
        if word:
            chain.append(int(word[0], 16))
        elif chain:
            yield chain
            chain = []
    if chain:
        yield chain


def perf_calls(file):
    """Parse the calls that perf prints. 4 blanks for each depth precede the name. A name that is a number has 16
    digits"""
    base = None
    for line in file:
        m = re.match(r'^ *((?:tr strt|tr end|call|return|[a-z]+)(?: [a-z]+)*)( +)(.*?) +([0-9a-f]+) => +([0-9a-f]+)', line)
        if not m:
            raise SystemExit(f'what is this? {line}')
        column = m.start(3) - (16 - len(m.group(3)) if re.fullmatch('[0-9a-f]{4,16}', m.group(3)) else 0)
        # The first line is the start of trace. perf prints it in the same column as calls with depth 0
        base = column if base is None else base
        if m.group(1) in ('call', 'return'):
            yield m.group(1), int(m.group(4), 16), int(m.group(5), 16), (column - base) // 4


def compare(wanted, got, show):
    right = wrong = 0
    for number, want in enumerate(wanted):
        have = next(got, None)
        right += have == want
        if have != want:
            wrong += 1
            if wrong <= SHOWN:
                print(f'{number}: perf has {show(have)}\n{" " * len(str(number))}  it was {show(want)}')
    for have in got:
        wrong += 1
    return right, wrong


def show_numbers(what):
    if what is None:
        return 'nothing'
    return ' '.join(f'{n:x}' if isinstance(n, int) else n for n in what[:12])


def chains(w, path, period):
    count = 0
    for event in walk(w, path):
        if event[0] == 'insn':
            count += 1
            if count % period == 0:
                yield [event[1]] + w.stack[::-1]


def main():
    what, blocks, period, maps, symfs = sys.argv[1:]
    w = Walk(Symbols(maps, symfs))
    if what == 'chains':
        right, wrong = compare(chains(w, blocks, int(period)), perf_chains(sys.stdin), show_numbers)
    else:
        right, wrong = compare((e for e in walk(w, blocks) if e[0] != 'insn'), perf_calls(sys.stdin), show_numbers)
    print(f'{right} {what} as they were, {wrong} wrong; {w.handlers} signals, {w.unwound} times unwound')
    return 1 if wrong or not right else 0


if __name__ == '__main__':
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    sys.exit(main())
