#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the calls that ntrace finds in a recording with the calls in the truth.

    calls.py VERIFIED CALLS [part]

tests/perf/branches -v writes VERIFIED, which has the branches that are both in the board's truth and in the output of
`ntrace script -F pid,tid,cpu,time,flags,ip,sym,symoff,dso,addr`, with the instructions and the kind of branch from
the truth. CALLS is the output of `ntrace script --calls --json`. This program derives the calls of each thread from
the branches by the rules in man ntrace-report. CALLS must have each derived call once, with its thread, function,
start, duration and number of instructions. With "part", VERIFIED has only the start of the recording.
"""
import collections
import json
import re
import sys

KERNEL = 1 << 63
SHOWN = 12
PLACE = r'([0-9a-f]+) (.*?) \((.*?)\)'
LINE = re.compile(r'^(\d+) (.\d) +(-?\d+)/(-?\d+) +\[(\d+)\] +(\d+)\.(\d+): +(.*?) +' + PLACE + ' => +' + PLACE + '$')

Place = collections.namedtuple('Place', 'addr name offset dso')


def place(addr, symbol, dso):
    m = re.match(r'^(.*)\+0x([0-9a-f]+)$', symbol)
    name, offset = (m.group(1), int(m.group(2), 16)) if m else (None, 0)
    return Place(int(addr, 16), name, offset, dso)


def function_of(where):
    """Return the function's name and its file. A symbol of the unlikely part of a function (".cold") belongs to the
    function"""
    return (where.name.split('.cold')[0], where.dso) if where.name else None


class Frame:
    def __init__(self, kind, ret, caller, callee, time, insns):
        self.kind, self.ret, self.caller = kind, ret, function_of(caller)
        self.name = callee.name, callee.dso
        self.time, self.insns = time, insns
        self.trap = kind in ('syscall', 'trap', 'unseen')
        # A trap returns to the interrupted address. The kernel may restart a system call, whose instruction is 4
        # bytes earlier
        self.back = {ret, ret - 4} if kind == 'syscall' else {ret}


class Thread:
    def __init__(self, tid):
        self.tid, self.stack, self.insns, self.executing = tid, [], 0, False
        self.done, self.given_up = [], 0

    def end(self, keep, time):
        while len(self.stack) > keep:
            f = self.stack.pop()
            if f.kind != 'unseen':
                self.done.append((self.tid, *f.name, f.time, time - f.time, self.insns - f.insns))

    def give_up(self):
        self.given_up += len(self.stack)
        self.stack = []

    def unwind(self, to, time):
        """End calls after longjmp() or an exception. The function that made the newest open call continues"""
        here = function_of(to)
        for i in range(len(self.stack) - 1, -1, -1):
            if self.stack[i].trap:
                return False
            if here and self.stack[i].caller == here:
                self.end(i, time)
                return True
        return False

    def call(self, kind, src, dst, ret, time):
        self.stack.append(Frame(kind, ret, src, dst, time, self.insns))

    def returns(self, dst, time):
        for i in range(len(self.stack) - 1, -1, -1):
            f = self.stack[i]
            if f.trap:
                break
            if f.kind == 'call' and f.ret == dst.addr:
                return self.end(i, time)
        if self.unwind(dst, time):
            return None
        if dst.addr >= KERNEL and dst.name and not dst.offset:
            self.give_up()
        return None

    def trap_returns(self, src, dst, time):
        traps = [i for i, f in enumerate(self.stack) if f.trap and (dst.addr >= KERNEL or f.ret < KERNEL)]
        if traps and dst.addr < KERNEL and self.executing:
            self.executing = False
            self.end(traps[-1], time)
            return self.give_up()
        for i in range(len(self.stack) - 1, -1, -1):
            f = self.stack[i]
            if (f.trap or f.kind == 'signal') and dst.addr in f.back:
                return self.end(i, time)
        if not traps:
            return None
        trap = self.stack[traps[-1]]
        self.end(traps[-1], time)
        if dst.addr >= KERNEL:
            return None
        if dst.name and dst.offset:
            return self.unwind(dst, time)
        self.call('signal', src, dst, trap.ret, time)
        # A signal was delivered after the handler of another signal had returned to the vDSO
        caller = None if trap.caller and trap.caller[1] == '[vdso]' else trap.caller
        self.stack[-1].back, self.stack[-1].caller = trap.back, caller
        return None

    def jumps(self, src, dst, time):
        top = self.stack[-1] if self.stack else None
        if not top or top.trap or not dst.name or dst.offset or function_of(src) == function_of(dst):
            return
        self.end(len(self.stack) - 1, time)
        f = Frame(top.kind, top.ret, dst, dst, time, self.insns)
        f.caller, f.trap, f.back = top.caller, False, top.back
        self.stack.append(f)

    def take(self, insns, kind, word, src, dst, length, time):
        self.insns += insns
        if src.name == 'begin_new_exec' or dst.name == 'begin_new_exec':
            self.executing = True
        if word.startswith('tr end'):
            top = self.stack[-1] if self.stack else None
            if src.addr < KERNEL and word.split()[-1] == 'return' and top and top.kind == 'call':
                # A trap occurs before the destination of the branch is traced
                self.end(len(self.stack) - 1, time)
                self.call('unseen', src, dst, top.ret, time)
            elif src.addr < KERNEL and word.split()[-1] in ('syscall', 'int', 'jmp'):
                # The trace does not show whether this trap is a system call
                self.call('unseen', src, dst, src.addr, time)
                self.stack[-1].back = {src.addr, src.addr + 4}
        elif word.startswith('tr strt'):
            if dst.addr < KERNEL and self.stack and self.stack[-1].kind == 'unseen':
                # If the kernel is not traced, an exec is visible only because the trace continues in the dynamic
                # linker, and not at a return address
                self.executing = 'ld-linux' in dst.dso and not any(dst.addr in f.back for f in self.stack)
                self.trap_returns(src, dst, time)
        elif kind == 'c':
            if dst.addr != src.addr + length:
                self.call('call', src, dst, src.addr + length, time)
        elif kind in 'th':
            system = word == 'syscall'
            self.call('syscall' if system else 'trap', src, dst, src.addr + 4 * system, time)
        elif kind == 'r':
            self.returns(dst, time)
        elif kind == 'i':
            self.trap_returns(src, dst, time)
        elif word == 'jmp':
            self.jumps(src, dst, time)


def truth(path):
    """Return all calls that started and ended, and the number of each unusual event"""
    threads, stats = {}, collections.Counter()
    with open(path, encoding='utf-8', errors='replace') as f:
        for line in f:
            m = LINE.match(line)
            if not m:
                raise SystemExit(f'what is this? {line}')
            insns, kind, length = int(m.group(1)), m.group(2)[0], int(m.group(2)[1])
            tid, cpu = int(m.group(4)), int(m.group(5))
            key = (tid, cpu) if tid <= 0 else tid
            time = int(m.group(6)) * 10 ** 9 + int(m.group(7))
            stats['last'] = time
            src, dst = place(*m.group(9, 10, 11)), place(*m.group(12, 13, 14))
            t = threads.setdefault(key, Thread(tid))
            if t.tid > 0 and getattr(t, 'cpu', cpu) != cpu:
                stats['migrations'] += 1
            t.cpu = cpu
            t.take(insns, kind, m.group(8).strip(), src, dst, length, time)
    done = collections.Counter()
    for t in threads.values():
        done.update(t.done)
        stats['open'] += len(t.stack) + t.given_up
    stats['threads'] = len(threads)
    return done, stats


def found(path, until):
    calls = collections.Counter()
    with open(path, encoding='utf-8') as f:
        for line in f:
            c = json.loads(line)
            if c['time'] + c['ns'] < until:
                calls[c['tid'], c['function'], c['object'], c['time'], c['ns'], c['insns']] += 1
    return calls


def main():
    wanted, stats = truth(sys.argv[1])
    until = stats['last'] if 'part' in sys.argv[3:] else 1 << 64
    wanted = collections.Counter({c: n for c, n in wanted.items() if c[3] + c[4] < until})
    got = found(sys.argv[2], until)
    missing, more = wanted - got, got - wanted
    for what, calls in (('was not found', missing), ('did not happen', more)):
        for call in sorted(calls, key=lambda c: c[3])[:SHOWN]:
            print(f'{what}: thread {call[0]}, {call[1]} ({call[2]}) at {call[3] / 1e9:.9f}, {call[4]} ns, {call[5]} instructions')
    wrong = sum(missing.values()) + sum(more.values())
    print(f'{sum(wanted.values())} calls of {len({c[1:3] for c in wanted})} functions by {stats["threads"]} threads, '
          f'{stats["migrations"]} migrations, {stats["open"]} open: {wrong} differences')
    return 1 if wrong or not wanted else 0


if __name__ == '__main__':
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main())
