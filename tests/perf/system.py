#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare perf's call chains of a whole system, in the kernel and in programs, with the executed code.

    system.py BLOCKS PERIOD KALLSYMS <PERF

BLOCKS is the output of `tests/perf/blocks all` for the board's truth of one hart. This program derives the calls of
each thread from the instructions. A jal or jalr with a link register is a call. A trap is a call from the trapped
address. A return or sret ends the newest call of the thread with this return address. If no call has this return
address, no call ends.

An exception is a system call if the kernel executes do_trap_ecall_u after it, and returns to the instruction after
the ecall. After begin_new_exec, a program has no callers. KALLSYMS has the addresses of these functions.

PERF is the output of `perf script -F tid,ip`, with call chains of each PERIOD-th instruction.
"""
import sys

from chains import compare, instructions, show_numbers

EXCEPTION, INTERRUPT, TRAP_RETURN = 1, 2, 3
KERNEL = 1 << 63
# Maximum number of blocks between an exception and its handler
SOON = 200


def symbols(path):
    found = {}
    with open(path, encoding='ascii') as f:
        for line in f:
            addr, _, name = line.split()[:3]
            found.setdefault(name, int(addr, 16))
    return found


class Thread:
    """The return addresses of a thread. The newest is the last"""

    def __init__(self):
        self.stack, self.kind, self.end = [], '', 0
        self.executes = False

    def pop(self, addr):
        for i in range(len(self.stack) - 1, -1, -1):
            if self.stack[i] == addr:
                del self.stack[i:]
                return

    def go(self, addr):
        """Continue the thread at this address"""
        if self.kind in ('trap', 'syscall'):
            self.stack.append(self.end + 4 * (self.kind == 'syscall'))
        elif self.kind == 'call' and addr != self.end:
            self.stack.append(self.end)
        elif self.kind == 'sret' and addr < KERNEL and self.executes:
            self.stack, self.executes = [], False
        elif self.kind in ('return', 'sret', 'stop'):
            self.pop(addr)
        elif self.kind == 'swap':
            self.pop(addr)
            self.stack.append(self.end)


def read(path):
    """Return (tid, itype, addr, code) of each block, or None if the trace stopped there"""
    with open(path, encoding='ascii') as f:
        for line in f:
            word = line.split()
            if word[0] == 'stop':
                yield None
            else:
                yield int(word[0]), int(word[1]), int(word[2], 16), ''.join(word[3:])


def is_syscall(blocks, at, handler):
    tid = blocks[at][0]
    for block in blocks[at + 1:at + SOON]:
        if block and block[0] == tid:
            if block[2] == handler:
                return True
            if block[1] in (EXCEPTION, TRAP_RETURN):
                return False
    return False


def chains(path, period, names):
    blocks = list(read(path))
    threads, count, cache, last = {}, 0, {}, None
    for at, block in enumerate(blocks):
        if not block:
            if last:
                last.kind = 'stop'
            continue
        tid, itype, addr, text = block
        thread = last = threads.setdefault(tid, Thread())
        thread.go(addr)
        if addr == names['begin_new_exec']:
            thread.executes = True
        if text not in cache:
            cache[text] = instructions(text)
        insns, size = cache[text]
        for where, _ in insns:
            count += 1
            if count % period == 0:
                yield [tid, addr + where] + thread.stack[::-1]
        thread.end = addr + size
        thread.kind = insns[-1][1] if insns else ''
        if itype == EXCEPTION:
            thread.kind = 'syscall' if is_syscall(blocks, at, names['do_trap_ecall_u']) else 'trap'
        elif itype == INTERRUPT:
            thread.kind = 'trap'
        elif itype == TRAP_RETURN:
            thread.kind = 'sret'


def perf_chains(file):
    chain = []
    for line in file:
        word = line.split()
        if not word:
            continue
        if line[0] == '\t':
            chain.append(int(word[0], 16))
            continue
        if chain:
            yield chain
        chain = [int(word[0])]
    if chain:
        yield chain


class Tally:
    """Numbers of call chains with frames of the kernel, of programs, and of both"""

    def __init__(self):
        self.kernel = self.user = self.both = 0

    def count(self, source):
        for chain in source:
            kernel = any(addr >= KERNEL for addr in chain[1:])
            user = any(addr < KERNEL for addr in chain[1:])
            self.both += kernel and user
            self.kernel += kernel and not user
            self.user += user and not kernel
            yield chain


def main():
    tally = Tally()
    wanted = tally.count(chains(sys.argv[1], int(sys.argv[2]), symbols(sys.argv[3])))
    right, wrong = compare(wanted, perf_chains(sys.stdin), show_numbers)
    print(f'{right} chains as they were, {wrong} wrong: {tally.user} of programs, {tally.kernel} of the kernel, '
          f'{tally.both} of both')
    return 1 if wrong or not tally.both else 0


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main())
