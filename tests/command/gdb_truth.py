# SPDX-License-Identifier: GPL-2.0-only
"""Functions for scripts that run in gdb and compare it with the truth of the board: the file truth, which gdb-truth.c
wrote, and the file times, which messages.py wrote."""
import bisect

import gdb

from gdb_checks import frames, number, run


class Truth:
    def __init__(self):
        self.tids, self.pcs, self.stacks = [], [], []   # thread, address and open calls of each instruction
        self.harts, self.lows, self.highs = [], [], []  # of each instruction: hart, and earliest and latest time in ns
        self.own = {}                                   # numbers of the instructions that each thread executed
        self.times = {}                                 # times of all messages of each CPU in ns
        self.cpus = {}                                  # CPU of each hart; a hart is added when its CPU is found
        self.read_instructions()
        self.read_times()

    def read_instructions(self):
        known = {}
        with open('truth', encoding='ascii') as f:
            for line in f:
                block, calls = line.split('|')
                hart, low, tid, *addrs = block.split()
                if calls not in known:
                    known[calls] = tuple((int(ret, 16), int(begin), int(handler)) for ret, begin, handler in
                                         (call.split(':') for call in calls.split()))
                for addr in addrs:
                    self.own.setdefault(int(tid), []).append(len(self.pcs))
                    self.tids.append(int(tid))
                    self.pcs.append(int(addr, 16))
                    self.stacks.append(known[calls])
                    self.harts.append(int(hart))
                    self.lows.append(int(low))
        # an instruction executed at the latest at the next timestamp in the truth of its hart
        later, self.highs = {}, [0] * len(self.lows)
        for at in range(len(self.lows) - 1, -1, -1):
            low, high = later.get(self.harts[at], (1 << 62, 1 << 62))
            if low != self.lows[at]:
                low, high = self.lows[at], low
            later[self.harts[at]] = low, high
            self.highs[at] = high

    def read_times(self):
        with open('times', encoding='ascii') as f:
            self.shift, self.mult, self.zero = map(int, f.readline().split())
            for line in f:
                cpu, time = map(int, line.split())
                self.times.setdefault(cpu, []).append(self.ns(time))
        for times in self.times.values():
            times.sort()

    def ns(self, ticks):
        # the time of tick 0 can be negative
        return self.zero + (ticks * self.mult >> self.shift) & (1 << 64) - 1

    def time_is_wrong(self, at, cpu, time):
        """Return why the time or the CPU of an instruction is wrong: the time must lie between the messages around it"""
        if self.cpus.setdefault(self.harts[at], cpu) != cpu:
            return 'CPU %d' % cpu
        times = self.times[cpu]
        first = bisect.bisect_right(times, self.ns(self.lows[at])) - 1
        last = bisect.bisect_left(times, self.ns(self.highs[at]))
        low, high = times[max(first, 0)], times[min(last, len(times) - 1)]
        return None if time in times and low <= time <= high else 'time %d, not in %d to %d' % (time, low, high)


TRUTH = Truth()


def difference(at):
    """Return None if gdb shows what the truth has for an instruction. Otherwise return a text"""
    got = gdb.selected_thread().ptid[1], number('pc'), [frame.pc() for frame in frames()]
    wanted = TRUTH.tids[at], TRUTH.pcs[at], [TRUTH.pcs[at]] + [ret for ret, _, _ in TRUTH.stacks[at]]
    for n, (ret, _, handler) in enumerate(TRUTH.stacks[at], 1):
        # a handler returns to the instruction after the system call that the signal has interrupted
        if handler and got[2][n:n + 1] == [ret + 4]:
            wanted[2][n] += 4
    if got != wanted:
        return 'instruction %d: %s, not %s' % (at, got, wanted)
    return TRUTH.time_is_wrong(at, number('trace_cpu'), number('trace_time'))


def here():
    """Return the number of the instruction that the selected thread executes next, if gdb shows what the truth has for this
    instruction. Otherwise return a text. This only works if all threads run on one hart."""
    mine = TRUTH.own[gdb.selected_thread().ptid[1]]
    at = mine[min(bisect.bisect_left(mine, number('trace_insn')), len(mine) - 1)]
    return difference(at) or at


def go(at):
    run('ntrace-goto insn %d' % at)
    return here()


def near(at, by):
    """Return the instruction that the same thread executes @by instructions later"""
    mine = TRUTH.own[TRUTH.tids[at]]
    to = bisect.bisect_left(mine, at) + by
    return mine[to] if 0 <= to < len(mine) else None


def differences(got, wanted):
    return [pair for pair in zip(got, wanted) if pair[0] != pair[1]][:3]
