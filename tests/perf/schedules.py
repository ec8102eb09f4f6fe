#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check which losses a tool prints for sinks that harts share, in recordings of random schedules.

    schedules.py NTRACE|PERF PROGRAM FOLDER FIRST LAST

A schedule has 2 to 8 harts and 1 to 3 sinks. Each sink writes one window after the other, to the AUX buffer of each
of its harts in turn. A window has room for a limited number of bytes. If the harts send more bytes, the record of the
window has the flag PARTIAL, and the later bytes are lost. In every third schedule, some sinks are rings that write
CoreSight frames. A ring keeps the last bytes, and loses all earlier bytes. A process for each schedule would take too
long, so a recording has many schedules with separate harts. A hart is idle in some windows, may stop and restart in a
window, and may lose its own buffer for some windows (TRUNCATED). In every fourth schedule, a hart also executes
untraced for some time, and a record without trace reports this (PARTIAL). The record of a window is written after the
next window has begun.

PROGRAM is slots.S, linked at BASE. A hart executes each slot once, so an address identifies one moment of the hart's
execution. For each hart, the tool must print the starts, branches and stops whose messages are complete in a window,
in their order. The tool must print one error for each loss, between the events before the loss and the events after
the loss. Some recordings, and all recordings with rings, contain the sink of each hart. In other recordings, the tool
may also report the loss of a sink for harts of other sinks. The program counts such reports as needless errors.
"""
import os
import random
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'ntt'), os.path.join(HERE, '..', 'dialect')]
import formatter  # noqa: E402
import ntt       # noqa: E402
import perfdata  # noqa: E402

BASE, SLOTS = 0x10000, 1 << 14
START = 1000000     # ticks of 100 ns
PID = 1000
SINK = 14           # NTRACE_INFO_CPU_SINK
SRC_BITS = 4
MOST_HARTS = 100    # maximum number of harts in a recording, because each hart has a trace ID below 112


class Hart:
    def __init__(self, cpu, number, sink, src, ratified):
        self.cpu, self.number, self.sink, self.src, self.ratified = cpu, number, sink, src, ratified
        self.slot = self.last = 0
        self.rings = None       # random number generator of frames if the sink is a ring buffer, else None
        self.away = 0           # number of windows from now on for which the hart's buffer has no room
        self.not_before = 0
        self.seen = False
        self.printed = ''       # expected events: s (start), b (branch), e (end), L (loss)

    def message(self, name, time, **fields):
        fields = {k.replace('_', '-'): v for k, v in fields.items()}
        if name.endswith('Sync'):
            stamp = time
        else:
            stamp = time - self.last if self.ratified else time ^ self.last
        self.last = time
        if self.src is not None:
            fields['SRC'] = self.src
        return ntt.encode(name, dict(fields, TSTAMP=stamp),
                          {'src_bits': 0 if self.src is None else SRC_BITS, 'extend': False, 'xlen': 64})

    def stretch(self, time, branches):
        """Return (time, events that the message makes visible, bytes) of each message"""
        at = BASE + 4 * self.slot
        yield time, ('s', self.slot), self.message('ProgTraceSync', time, SYNC=5, I_CNT=0, F_ADDR=at >> 1)
        for _ in range(branches):
            time += 1
            if self.rings and self.rings.random() < 0.3:
                yield time, ('B', self.slot), self.message('IndirectBranchHistSync', time, SYNC=2, B_TYPE=0,
                                                           I_CNT=2, F_ADDR=at + 4 >> 1, HIST=1)
            else:
                yield time, ('b', self.slot), self.message('IndirectBranchHist', time, B_TYPE=0, I_CNT=2,
                                                           U_ADDR=(at ^ (at + 4)) >> 1, HIST=1)
            at += 4
            self.slot += 1
        time += 1
        yield time, ('e', self.slot), self.message('ProgTraceCorrelation', time, EVCODE=4, CDF=1, I_CNT=1, HIST=1)
        self.slot += 1


class Sink:
    def __init__(self, number, harts):
        self.number, self.harts = number, harts
        self.rings = None       # random number generator of frames if the sink is a ring buffer, else None


class Schedule:
    def __init__(self, seed, first=0):
        """@first: number of the first hart in the recording"""
        self.seed = seed
        self.rng = rng = random.Random(seed)
        self.ratified, self.has_numbers = rng.random() < 0.5, rng.random() < 0.5 or seed % 3 == 0
        nr = rng.randint(2, 8)
        self.sinks = [Sink(n + 1, []) for n in range(rng.randint(1, min(3, nr)))]
        self.harts = []
        for cpu in range(nr):
            sink = self.sinks[cpu] if cpu < len(self.sinks) else rng.choice(self.sinks)
            src = len(sink.harts) if self.has_numbers else cpu
            self.harts.append(Hart(cpu, first + cpu, sink, src, self.ratified))
            sink.harts.append(self.harts[-1])
        for sink in self.sinks:
            if len(sink.harts) == 1:        # a sink of one hart needs no SRC
                sink.harts[0].src = None
        self.ends, self.data = [0] * nr, [b''] * nr
        self.records = []                   # (time, cpu, offset, size, flags)
        rings = random.Random(f'rings {seed}')
        self.untraced = random.Random(f'untraced {seed}') if seed % 4 == 0 else None
        for sink in self.sinks:
            if seed % 3 == 0 and rings.random() < 0.6:
                for ring in [sink, *sink.harts]:
                    ring.rings = rings
            self.run(sink)

    def sent(self, hart, begin, end):
        """Return the messages of a hart in a window. The encoder starts and stops once, or several times
        if the hart stops in between"""
        begin = max(begin, hart.not_before) + self.rng.randint(1, 20)
        if hart.away or self.rng.random() < 0.2:
            return
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            branches = self.rng.choice((0, 1, 3, 10))
            if begin + branches + 2 >= end:
                return
            yield from hart.stretch(begin, branches)
            begin += branches + 3 + self.rng.randint(0, 100)

    def window(self, sink, begin, end):
        """Return all messages in the order in which the sink receives them. The messages of a hart wait in a queue,
        and keep their order"""
        all_ = []
        for hart in sink.harts:
            leaves = 0
            for n, (time, what, data) in enumerate(self.sent(hart, begin, end)):
                leaves = max(leaves, time + self.rng.choice((0, 0, 5, 200)))
                all_.append((leaves, hart.cpu, n, what, data))
        return [(self.harts[cpu], what, data) for _, cpu, _, what, data in sorted(all_)]

    def run(self, sink):
        begin, full = START + self.rng.randint(0, 1000), self.rng.choice((0.1, 0.3, 0.6))
        for _ in range(self.rng.randint(2, 12)):
            rooms = [hart for hart in sink.harts if not hart.away]
            owner = self.rng.choice(rooms) if rooms else sink.harts[0]
            owner.away = 0
            end = begin + 1000
            if self.untraced and self.untraced.random() < 0.3:
                self.leave(sink, self.untraced.choice(sink.harts), begin)
            begin = self.write(sink, owner, begin, end, self.rng.random() < full)
            for hart in sink.harts:
                hart.away -= hart.away > 0
            if self.rng.random() < 0.1 and owner.not_before > end:
                self.truncated(owner)

    def write(self, sink, owner, begin, end, may_be_full):
        """Write one window. Return the offset of the next window."""
        messages = self.window(sink, begin, end)
        size = sum(len(data) for _, _, data in messages)
        room = self.rng.randint(1, max(size, 2) - 1) if may_be_full and size else size
        if sink.rings:
            out, full = self.ring(sink, messages, room, size)
        else:
            out, full = self.linear(sink, messages, room, size)
        if not out:
            return end
        record = end + self.rng.randint(1, 500)
        owner.not_before = record + 1
        self.records.append((record, owner.cpu, self.ends[owner.cpu], len(out),
                             (perfdata.AUX_PARTIAL if full else 0) | (perfdata.AUX_FRAMES if sink.rings else 0)))
        self.ends[owner.cpu] += len(out)
        self.data[owner.cpu] += out
        return end

    @staticmethod
    def linear(sink, messages, room, size):
        """Return the bytes of a window that keeps the first bytes, and True if the window was full"""
        out = b''
        for hart, (what, _), data in messages:
            if len(out) + len(data) <= room:
                hart.printed += what
                hart.seen = True
            out += data
        out = out[:room]
        if room == size:
            out += b'\xff' * (-len(out) % 8)
        if out:
            for hart in sink.harts:
                hart.printed += 'L' * (room < size)
        return out, room < size

    @staticmethod
    def ring(sink, messages, room, size):
        """Return the frames of a window that keeps the last frames, and True if the window has lost frames. Each
        frame begins with an ID."""
        queue = [(hart.number + 1, (n, byte)) for n, (hart, _, data) in enumerate(messages) for byte in data]
        plain = [(id_, byte) for id_, (_, byte) in queue]
        out, marks, _ = formatter.Formatter(sink.rings, pad=0, again=1, late=0).run(plain)
        lost = len(marks) * (size - room) // max(size, 1)
        full = lost > 0
        first = marks[lost][2] if marks else 0
        before, after = ({n for _, (n, _) in part} for part in (queue[:first], queue[first:]))
        for hart in sink.harts:
            hart.printed += 'L' * full
            own = [(n, what) for n, (other, (what, _), _) in enumerate(messages) if other is hart]
            rest = [what for n, what in own if n in after - before]
            # A tool drops the first message of this hart in the ring, because the ring may have cut off its beginning.
            # A tool uses the message if it starts the trace, or if the end of the message before it is also in the ring
            if len(rest) < len(own) and not any(n in before & after for n, _ in own) and rest[:1] != ['s']:
                rest = rest[1:]
            while len(rest) < len(own) and rest and rest[0] not in 'sB':
                rest.pop(0)
            if len(rest) < len(own) and rest:
                rest[0] = 's'
            hart.printed += ''.join(rest).lower()
            hart.seen |= bool(rest)
        return out[16 * lost:], full

    def leave(self, sink, hart, begin):
        """Let the hart execute untraced from the window at @begin until a time after the last record of the sink"""
        if hart.away:
            return
        last = max([begin] + [time for time, cpu, *_ in self.records if self.harts[cpu] in sink.harts])
        hart.not_before = last + self.untraced.randint(1, 100)
        hart.printed += 'L'
        self.records.append((hart.not_before, hart.cpu, self.ends[hart.cpu], 0, perfdata.AUX_PARTIAL))

    def truncated(self, hart):
        hart.away = self.rng.randint(1, 3)
        hart.printed += 'L'
        self.records.append((hart.not_before, hart.cpu, self.ends[hart.cpu], 0, perfdata.AUX_TRUNCATED))


def save(schedules, path, program):
    """Write one recording of all schedules in a list"""
    unlike, harts, records, sinks = {}, [], [], 0
    for schedule in schedules:
        for hart in schedule.harts:
            words = {perfdata.CPU_SRC_ID: hart.src or 0,
                     perfdata.CPU_SRC_BITS: 0 if hart.src is None else SRC_BITS}
            if hart.rings:
                words[perfdata.CPU_TRACE_ID] = hart.number + 1
            if not schedule.ratified:
                words.update({10: 1, 11: 48})
            words[SINK] = sinks + hart.sink.number if schedule.has_numbers else 0
            unlike[hart.number] = words
            harts.append((hart.number, schedule.data[hart.cpu]))
        first = schedule.harts[0].number
        records += [(time, first + cpu, *rest) for time, cpu, *rest in schedule.records]
        sinks += len(schedule.sinks)
    file = perfdata.File(cpus=len(harts), src_bits=SRC_BITS, cpu_words=15, unlike=unlike, switches=True,
                         config=perfdata.TIMESTAMP)
    for number, _ in harts:
        pid = PID + number
        file.comm(pid, 'slots')
        file.mmap(pid, BASE, 4 * SLOTS, 0x1000, program)
        file.switch_in(pid, pid, (START - 10) * 100, number)
    for time, number, offset, size, flags in sorted(records):
        file.aux(offset, size, time * 100, PID + number, number, flags)
    for number, data in harts:
        if data:
            file.trace(data, 0, number)
    file.finished_round()
    file.save(path)


def events(text):
    """Return {cpu: its printed events in order}. A "?" is an address that is not the next address of the hart"""
    got, slots = {}, {}
    for line in text.splitlines():
        if 'error type' in line:
            words = line.split()
            code = words[words.index('code') + 1]
            got.setdefault(int(words[words.index('cpu') + 1]), []).append('L' if code == '1:' else code)
            continue
        if '=>' not in line:
            continue
        cpu = int(line[line.index('[') + 1:line.index(']')])
        before, to = line.split('=>')
        from_, to = int(before.split()[-1], 16), int(to.split()[0], 16)
        if not from_:
            what, slot = 's', to - BASE >> 2
        elif not to:
            what, slot = 'e', from_ - BASE >> 2
        else:
            what, slot = 'b', from_ - BASE >> 2
        if slot < slots.get(cpu, 0) or (what == 'b' and to != from_ + 2):
            what = '?'
        slots[cpu] = slot + (what != 's')
        got.setdefault(cpu, []).append(what)
    return {cpu: ''.join(what) for cpu, what in got.items()}


def without_lone_starts(text):
    """Remove starts without later code, because no message reports the code after these starts."""
    while 'sL' in text:
        text = text.replace('sL', 'L')
    return text[:-1] if text.endswith('s') else text


def judge(got, wanted):
    """Return (silent, needless, wrong), which are the number of losses that only @wanted has, the number of losses
    that only @got has, and the number of other differences"""
    # The letters are events: s is a start of trace, b is a branch, e is an end of trace, and L is a loss. Before each
    # s, b or e, and at the end, the tool must report at least the losses that the schedule caused. A start may be
    # absent if only losses follow the start.
    last = len(wanted) - len(wanted.rstrip('L'))
    pattern = re.sub('(L*)([sbe])', lambda m: f'L{{{len(m[1])},}}{m[2]}', wanted.rstrip('L'))
    pattern = re.sub('s(?=L{[1-9]|$)', 's?', pattern) + f'L{{{last},}}'
    if re.fullmatch(pattern, got):
        return 0, got.count('L') - wanted.count('L'), 0
    got, wanted = without_lone_starts(got), without_lone_starts(wanted)
    at = needless = 0
    for letter in got:
        if at < len(wanted) and letter == wanted[at]:
            at += 1
        elif letter == 'L':
            needless += 1
        elif at < len(wanted) and wanted[at] == 'L':
            return 1, needless, 0
        else:
            return 0, needless, 1
    return wanted[at:].count('L'), needless, len(wanted[at:].replace('L', ''))


def groups(first, last):
    """Return lists of schedules, each for one recording. Only schedules whose metadata has the sink of each hart
    share a recording. Without these numbers, a tool cannot know which harts share a sink."""
    group, harts = [], 0
    for seed in range(first, last + 1):
        schedule = Schedule(seed, harts)
        if not schedule.has_numbers:
            yield [Schedule(seed)]
            continue
        group.append(schedule)
        harts += len(schedule.harts)
        if harts > MOST_HARTS - 8:
            yield group
            group, harts = [], 0
    if group:
        yield group


def judge_schedule(schedule, got, sums):
    """Compare the printed events @got with the schedule, and add the results to @sums"""
    sums['schedules'] += 1
    for hart in schedule.harts:
        if not hart.seen and hart.src is not None:
            continue        # the recording has no message of @hart, so the tool cannot know that it exists
        wanted, said = hart.printed, got.get(hart.number, '')
        silent, needless, wrong = judge(said, wanted)
        sums['losses'] += wanted.count('L')
        # Count a loss without an error and an error without a loss as one error at a wrong position.
        misplaced = min(silent, needless)
        sums['silent'] += silent - misplaced
        sums['misplaced'] += misplaced + (needless if schedule.has_numbers and not silent else 0)
        sums['wrong'] += wrong
        sums['needless'] += needless if not schedule.has_numbers and not silent else 0
        if silent or wrong or (needless and schedule.has_numbers):
            print(f'schedule {schedule.seed}, CPU {hart.cpu}: {said}, wanted {wanted}')


def main():
    tool, program, folder = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3]
    path = os.path.join(folder, 'schedule.data')
    command = [tool, 'script', '-i', path, '-F', 'pid,tid,cpu,time,flags,ip,addr']
    command += ['--itrace=be', '--ns'] if os.path.basename(tool) == 'perf' else ['--threads', '1']
    sums = dict.fromkeys(('schedules', 'losses', 'silent', 'wrong', 'misplaced', 'needless'), 0)
    for group in groups(int(sys.argv[4]), int(sys.argv[5])):
        save(group, path, program)
        got = events(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        for schedule in group:
            judge_schedule(schedule, got, sums)
    print(', '.join(f'{n} {name}' for name, n in sums.items()))
    return 1 if sums['silent'] or sums['wrong'] or sums['misplaced'] or not sums['losses'] else 0


if __name__ == '__main__':
    sys.exit(main())
