#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Record with an address filter, and compare the calls of the recording with the instructions that the program has
executed:

    filtered.py NTRACE PROGRAM PCS FOLDER NTH

The program tests each NTH filter. PCS has all executed instructions of PROGRAM, from which this script computes the
stack of calls. If PROGRAM is linked to an address of the kernel, it is the kernel of the recording. A filter selects the instructions that the encoder traces. The calls that ntrace finds must be the
traced parts of the program's calls. Their numbers of instructions must be equal, both with and without callees. If
trace starts at the entry of a function, all earlier calls end, because the trace does not show which calls are still
open.
"""
import collections
import itertools
import json
import os
import random
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'perf'))
import mkrecording  # noqa: E402
import perfdata  # noqa: E402

# Functions that jump to their first instructions. If this jump is not traced, ntrace cannot count their calls
LOOPS = 'again', 'walk'
JAL, JALR, RET, PER_CPU, TIME_CONV, FILTER = 0x6f, 0x67, 0x8067, 2, 4, 8


class Program:
    def __init__(self, path):
        self.path, self.code = path, {}
        with open(path, 'rb') as f:
            elf = f.read()
        for addr, offset, size in mkrecording.code_segments(path):
            for i in range(0, size - 3, 4):
                self.code[addr + i] = struct.unpack_from('<I', elf, offset + i)[0]
        out = subprocess.run(['riscv64-linux-gnu-nm', '-S', path], capture_output=True, text=True, check=True).stdout
        rows = [line.split() for line in out.splitlines()]
        self.entry = {r[3]: int(r[0], 16) for r in rows if len(r) == 4}
        self.end = {r[3]: int(r[0], 16) + int(r[1], 16) for r in rows if len(r) == 4}
        self.kernel = self.entry['_start'] >= 1 << 63

    def save_kernel(self, folder):
        """Store the code and the symbols of the kernel for a recording, in the way of perf record --kcore"""
        os.makedirs(folder)
        shutil.copy(self.path, f'{folder}/kcore')
        with open(f'{folder}/kallsyms', 'w') as f:
            f.write(''.join(f'{at:x} T {name}\n' for name, at in sorted(self.entry.items(), key=lambda x: x[1])))
        open(f'{folder}/modules', 'w').close()

    def function(self, addr):
        return next((f for f in self.entry if self.entry[f] <= addr < self.end[f]), None)


class Frame:
    """A call. @known: the trace has shown the start of the call. @shown: the trace since the last call of cut() has
    shown the call"""
    def __init__(self, function, known, tail=False):
        self.function, self.known, self.shown, self.tail = function, known, known, tail


class Truth:
    def __init__(self):
        self.calls, self.own, self.total = (collections.Counter() for _ in range(3))
        # Functions whose first instruction is untraced, although the jump to it is traced. ntrace may miss these calls
        self.unsure = set()
        self.since = []             # the open calls at each instruction since cut() was called
        self.left = None            # the function of a call that has ended since the trace stopped

    def cut(self, stack):
        """Store in each open call that the trace does not show whether the call ends"""
        for frames in self.since:
            self.total.update({f.function for f in frames if f.shown})
        self.since = []
        for frame in stack:
            frame.known = frame.shown = False


def walk(program, pcs, traced, cuts, signals):
    """Return the calls that the trace shows. @cuts: a start of the trace at an entry ends all calls. @signals:
    instructions of the handler that execute before each instruction"""
    truth, stack, was = Truth(), [], False
    for i, pc in enumerate(pcs):
        function, now = program.function(pc), traced[i]
        entry = program.entry[function] == pc
        last = program.code[pcs[i - 1]] if i else RET
        if now and not was and entry and cuts:
            truth.cut(stack)
        if now:
            # If the trace restarts at the entry of the function in which it stopped, the earlier call has ended
            truth.calls[function] += entry and truth.left == function
            truth.left = None
        if last == RET and i:
            # Count the call if the trace shows its end, or restarts after its end
            truth.calls[stack[-1].function] += stack[-1].known and (was or now)
            if stack[-1].known and not was and not now and not cuts and truth.left is None:
                truth.left = stack[-1].function
            if stack.pop().tail:
                truth.calls[stack[-1].function] += stack[-1].known
                stack.pop()
        elif not i or (entry and last & 0x7f in (JAL, JALR)):
            # A tail call ends its caller. If the jump is not traced, ntrace cannot see that the caller has ended. The
            # callee then looks like a part of the caller, or like a call that the caller made
            tail, direct = i and not last >> 7 & 31, was and last & 0x7f == JAL
            inside = tail and not was and stack[-1].known
            if tail and not inside:
                truth.calls[stack[-1].function] += stack[-1].known and (direct or any(traced[i:]))
                stack.pop()
                if direct and not now:
                    truth.unsure.add(function)
            if now or not inside:
                stack.append(Frame(function, now or direct, inside))
        if i in signals:
            truth.calls['signal'] += 1
            truth.own['signal'] += signals[i]
            truth.since += [[*stack, Frame('signal', True)]] * signals[i]
        if now:
            stack[-1].shown = True
            truth.own[function] += 1
            truth.since.append(list(stack))
        was = now
    truth.cut(stack)
    return truth


def between(start, stop):
    def select(pcs):
        on = False
        for pc in pcs:
            on = on or pc == start
            yield on
            on = on and pc != stop
    return select


def sometimes(seed, entries):
    """Select random parts of the execution. A part must not begin at the entry of a function, because ntrace would
    take this for a signal handler"""
    def select(pcs):
        rng = random.Random(seed)
        on = True
        for pc in pcs:
            on ^= rng.random() < 0.03 and (on or pc not in entries)
            yield on
    return select


def ranges(parts, inside):
    return lambda pcs: [any(a <= pc < b for a, b in parts) == inside for pc in pcs]


class Tester:
    def __init__(self, ntrace, program, pcs, folder):
        self.ntrace, self.program, self.pcs, self.folder = ntrace, program, pcs, folder
        self.tested = self.wrong = 0

    def record(self, traced, handler, places, flags):
        was, lines = True, []
        for i, (pc, now) in enumerate(zip(self.pcs, traced)):
            if i in places:
                lines += ['-', *handler, '-']
            if now:
                lines.append(f'{pc:#x}')
            elif was and lines:
                lines.append('-')
            was = now
        path = f'{self.folder}/list'
        with open(path, 'w') as f:
            f.write('\n'.join(lines) + '\n')
        subprocess.run([self.ntrace, 'encode', '--timestamp', '--elf', self.program.path, '--pcs', path, '-o',
                        f'{self.folder}/trace'], check=True)
        with open(f'{self.folder}/trace', 'rb') as f:
            data = f.read()
        file = perfdata.File(config=perfdata.TIMESTAMP, flags=flags)
        file.switch_in(mkrecording.PID, mkrecording.PID, 1)
        file.comm(mkrecording.PID, 'program')
        if self.program.kernel:
            file.kernel(min(self.program.code) & ~0xfff)
        for addr, offset, size in [] if self.program.kernel else mkrecording.code_segments(self.program.path):
            page = addr & 0xfff
            file.mmap(mkrecording.PID, addr - page, size + page + 0xfff & ~0xfff, offset - page, os.path.abspath(self.program.path))
        file.aux(0, len(data), 10 ** 15, mkrecording.PID)
        file.trace(data)
        file.finished_round()
        file.exit(mkrecording.PID, 2 * 10 ** 15)
        file.save(f'{self.folder}/filtered.data/data')

    def report(self):
        out = subprocess.run([self.ntrace, 'report', '--json', '-i', f'{self.folder}/filtered.data'],
                             capture_output=True, text=True, check=True).stdout
        return {row['function']: row for row in map(json.loads, out.splitlines()[1:])}

    def test(self, name, select, cuts, signals=(), flags=PER_CPU | TIME_CONV | FILTER):
        """@signals: the instructions before which the function "signal" handles a signal. If records lack the flag of
        a filter, only the sums are tested"""
        traced = list(select(self.pcs))
        if not any(traced):
            return
        handler = range(self.program.entry['signal'], self.program.end['signal'], 4)
        self.record(traced, [f'{pc:#x}' for pc in handler], signals, flags)
        truth, wrong = walk(self.program, self.pcs, traced, cuts, {i: len(handler) for i in signals}), []
        rows = self.report()
        for f in set(self.program.entry) - truth.unsure:
            row = rows.get(f, {'calls': 0, 'self_insns': 0, 'insns': 0})
            got, wanted = (row['calls'], row['self_insns'], row['insns']), (truth.calls[f], truth.own[f], truth.total[f])
            if f in LOOPS and ' up to ' in name and got[0] < wanted[0]:
                wanted = got[0], *wanted[1:]
            if got != wanted and flags & FILTER:
                wrong.append(f'{f}: calls, self and total are {got}, not {wanted}')
        out = subprocess.run([f'{self.folder}/stacks', f'{self.folder}/filtered.data'], capture_output=True, text=True)
        if out.returncode:
            wrong.append(out.stdout + out.stderr)
        self.tested += 1
        self.wrong += bool(wrong)
        if wrong:
            print(f'{name}:', *wrong, sep='\n  ')


def main():
    ntrace, path, pcs, folder, nth = sys.argv[1:]
    program = Program(path)
    with open(pcs) as f:
        pcs = [int(line, 16) for line in f]
    tester = Tester(ntrace, program, [pc - pcs[0] + program.entry['_start'] for pc in pcs], folder)
    program.save_kernel(f'{folder}/filtered.data/kcore_dir')
    # Signals arrive between instructions without a branch, and not at the first instructions of a function
    places = [i for i, pc in enumerate(tester.pcs) if i and pc == tester.pcs[i - 1] + 4 and
              pc >= program.entry[program.function(pc)] + 8]
    if not program.kernel:
        tester.test('start _start, and signals', between(program.entry['_start'], 0), True, places[::7])
    names, filters = sorted(program.entry), []
    for start, stop in itertools.permutations(names, 2):
        filters.append((f'start {start}, stop {stop}', between(program.entry[start], program.entry[stop]), True))
    for some in *itertools.combinations(names, 1), *itertools.combinations(names, 2):
        parts = [(program.entry[f], program.end[f]) for f in some]
        filters += [(f'{what} {" ".join(some)}', ranges(parts, what == 'filter'), False) for what in ('filter', 'exclude')]
    # The range may end inside of a function, but not behind a call, because the call then has no visible end
    parts = [(f, end) for f in names for end in range(program.entry[f] + 8, program.end[f], 4)
             if program.code[end - 4] & 0x77 != JALR & JAL]
    filters += [(f'filter {f} up to {end:#x}', ranges([(program.entry[f], end)], True), False) for f, end in parts]
    for seed in range(0 if program.kernel else int(30 / int(nth))):
        tester.test(f'stretches {seed}', sometimes(seed, program.entry.values()), False, flags=PER_CPU | TIME_CONV)
    for each in filters[::int(nth)]:
        tester.test(*each)
    # Leave a recording in which all calls of "again" have an unknown end
    again = program.entry['again']
    tester.record(ranges([(again, again + 8), (program.entry['serve'], program.end['serve'])], True)(tester.pcs), [], (), PER_CPU | TIME_CONV | FILTER)
    print(f'{tester.tested} filters, {tester.wrong} of them with wrong calls')
    return not tester.tested or tester.wrong > 0


if __name__ == '__main__':
    sys.exit(main())
