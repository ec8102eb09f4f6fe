#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write a perf.data file of two harts behind a funnel, whose sink writes windows to two AUX buffers in turn.

    mkwindows.py PROGRAM OUT.data WINDOWS [ratified] [frames] [late] [twice] [owners]

PROGRAM is calls.S, linked at 0x10000. Without "ratified", the messages have SiFive's format. WINDOWS is a list such
as 1:01 0:01 1!:1 0:01. Each word describes one window, in the order in which the sink writes the windows. A word has
the CPU that owns the AUX buffer, "!" if the sink was full (PERF_RECORD_AUX has the flag PARTIAL), and the harts that
have messages in the window. If a word names no harts, the record has no trace. The trace of each hart starts and
stops once in a window:
  hart 0   starts, calls outer, calls inner and stops in inner, so that two calls are open.
           With "r" after the 0 it starts in done, after both calls have returned; with "i" it starts in inner and
           returns. With "u" after the 0, the stop of hart 0 is lost.
  hart 1   executes the three rounds of calls.S.
With "frames", the sink is a ring that writes CoreSight frames, and a full window has lost its first frame.
A window begins 1000 ticks of 100 ns after the previous window, and its record has a time 900 ticks after its start.
With "late", the record has a time 1130 ticks after the start, as if the encoders' clock were slow. In this case,
trace of the next window has an earlier time than this record. With "twice", each record is written twice, as perf
record may do. With "owners", an Ownership message follows one tick after each start.
"""
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'ntt'), os.path.join(HERE, '..', 'dialect')]
import formatter  # noqa: E402
import ntt       # noqa: E402
import perfdata  # noqa: E402

PIDS = 1234, 2234
BASE, INNER, DONE = 0x10000, 0x1001a, 0x1001c
RATIFIED, FRAMES, LATE, TWICE, OWNERS = (word in sys.argv[4:] for word in ('ratified', 'frames', 'late', 'twice', 'owners'))


class Hart:
    def __init__(self, src):
        self.src, self.last = src, 0
        self.out = b''

    def put(self, name, time, **fields):
        fields = {k.replace('_', '-'): v for k, v in fields.items()}
        if name.endswith('Sync'):
            stamp = time
        else:
            stamp = time - self.last if RATIFIED else time ^ self.last
        self.last = time
        self.out += ntt.encode(name, dict(fields, SRC=self.src, TSTAMP=stamp),
                               {'src_bits': 4, 'extend': False, 'xlen': 64})

    def start(self, time, addr):
        self.put('ProgTraceSync', time, SYNC=5, I_CNT=0, F_ADDR=addr >> 1)
        if OWNERS:
            self.put('Ownership', time + 1, PROCESS=PIDS[self.src] << 5 | 2)

    def stop(self, time, icnt):
        self.put('ProgTraceCorrelation', time, EVCODE=4, CDF=1, I_CNT=icnt, HIST=1)

    def ret(self, time, icnt, frm, to, hist=1):
        self.put('IndirectBranchHist', time, B_TYPE=0, I_CNT=icnt, U_ADDR=(frm ^ to) >> 1, HIST=hist)


def calls(h, t):
    """Execute li, jal outer, addi, sd, jal inner, and stop before the ret of inner"""
    h.start(t, BASE)
    h.stop(t + 2, 7)


def returned(h, t):
    """Execute the nop of done"""
    h.start(t, DONE)
    h.stop(t + 2, 1)


def inner(h, t):
    """Execute the ret of inner to outer, and the ld after it"""
    h.start(t, INNER)
    h.ret(t + 2, 1, INNER, 0x10014)
    h.stop(t + 4, 1)


def rounds(h, t):
    """Execute the three rounds, with the messages that mkcalls.py writes"""
    h.start(t, BASE)
    ref, icnt, hist = BASE, 1, 1
    for n in range(3):
        for target, count in ((0x10014, 7), (0x10006, 3)):
            t += 2
            h.ret(t, icnt + count, ref, target, hist)
            ref, icnt, hist = target, 0, 1
        icnt, hist = 2, 2 | (n < 2)
    # bnez was not taken; the next instructions are j done and nop
    h.put('ProgTraceCorrelation', t + 2, EVCODE=4, CDF=1, I_CNT=icnt + 2, HIST=hist)


def last_message(data):
    """Return the offset of the last message in the trace"""
    return max((n + 1 for n, byte in enumerate(data[:-1]) if byte & 3 == 3), default=0)


def frames(messages, full):
    """Return the frames with the messages of a window. Each message has its hart"""
    plain = [(src + 1, byte) for src, data in messages for byte in data]
    out = formatter.Formatter(random.Random(1), pad=0, again=1, late=0).run(plain)[0]
    return out[16 * full:]


def main():
    program, path, windows = sys.argv[1], sys.argv[2], sys.argv[3].split()
    unlike = {cpu: {perfdata.CPU_SRC_ID: cpu} for cpu in range(2)}
    for cpu in range(2):
        if FRAMES:
            unlike[cpu][perfdata.CPU_TRACE_ID] = cpu + 1
        if not RATIFIED:
            unlike[cpu].update({10: 1, 11: 48})     # SiFive's dialect, and number of address bits
    file = perfdata.File(cpus=2, src_bits=4, cpu_words=14, unlike=unlike, switches=True,
                         config=perfdata.TIMESTAMP)
    start = 1000000
    for cpu, pid in enumerate(PIDS):
        file.comm(pid, 'calls')
        file.mmap(pid, BASE, 0x1000, 0x1000, os.path.abspath(program))
        file.switch_in(pid, pid, (start - 10) * 100, cpu)
    ends, data = [0, 0], [b'', b'']
    for n, word in enumerate(windows):
        t = start + 1000 * n
        where, who = word.split(':')
        cpu, full = int(where[0]), where.endswith('!')
        out, messages = b'', []
        what = who.replace('0r', 'r').replace('0i', 'i')
        for k, letter in enumerate(what.replace('u', '')):
            h = Hart(1 if letter == '1' else 0)
            {'0': calls, 'r': returned, 'i': inner, '1': rounds}[letter](h, t + 10 + 100 * k)
            messages.append((h.src, h.out if not ('u' in what and letter == '0') else h.out[:last_message(h.out)]))
            out += messages[-1][1]
        if FRAMES:
            out = frames(messages, full)
        elif full:
            out = out[:-2]                      # cut off the last message at the end of the window
        out += b'\xff' * (-len(out) % 8) if not full and not FRAMES else b''
        for _ in range(1 + TWICE):
            file.aux(ends[cpu], len(out), (t + (1130 if LATE else 900)) * 100, PIDS[cpu], cpu,
                     (perfdata.AUX_PARTIAL if full else 0) | (perfdata.AUX_FRAMES if FRAMES else 0))
        ends[cpu] += len(out)
        data[cpu] += out
    for cpu in range(2):
        if data[cpu]:
            file.trace(data[cpu], 0, cpu)
    file.finished_round()
    for pid in PIDS:
        file.exit(pid, (start + 1000 * (len(windows) + 1)) * 100)
    file.save(path)


if __name__ == '__main__':
    main()
