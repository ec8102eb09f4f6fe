#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a recording of harts that share a buffer, and switch between programs with different code at equal addresses.

    mkshared.py PROGRAM OUT [HOW [HARTS [TURNS [SEED]]]]

PROGRAM is built from tests/perf/calls.S. PROGRAM-uncompressed is the same program without compressed instructions.
Kernel events are the only records that show which thread executes. Each encoder has its own queue before the funnel,
so the messages of several harts are not sorted by time. The program writes OUT.data. It also writes OUT.branches with
the branches of each hart in the order of execution.

HOW is one of these:

    shared       all harts share one buffer
    alone        each hart has its own buffer
    frames       the harts share a trace ID of CoreSight frames
    crumbs       each PERF_RECORD_AUXTRACE has at most three bytes
    damaged      one byte does not belong to a message
    cut          the last message of each PERF_RECORD_AUX is incomplete
    split        a PERF_RECORD_AUX ends inside a message, which the next record continues
    unknown      the metadata lacks the last hart's encoder
    full         trace was lost after each PERF_RECORD_AUX
    calls        a call of hart 1 begins in a PERF_RECORD_AUX and ends in the next one
    calls-full   as "calls", and trace is lost between the two records
    calls-idle   as "calls", and idle bytes fill the window of the first record
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'perf'))
import mkcalls  # noqa: E402
import perfdata  # noqa: E402
from formatter import Formatter  # noqa: E402

PIDS = mkcalls.PID, mkcalls.OTHER
CODES = mkcalls.COMPRESSED, mkcalls.UNCOMPRESSED
BASE = mkcalls.BASE
TURN = 100           # number of ticks between two task switches; the rounds of calls.S take 26 of them
LATE = 40 * TURN     # maximum number of ticks for which a message waits in a queue
SYNC = 5             # number of task switches between two messages with SYNC
STARTS = 4           # number of starts of each encoder
SRC_BITS = int(os.environ.get('SRC_BITS', '4'))
IDLE = b'\xff'
PIECES = 1, 2, 3, 50, 1000, 5000    # sizes of the pieces of trace in bytes

# Addresses in calls.S, compressed and uncompressed: the jal to outer; the ret of inner; the jal to inner; the first
# instructions of outer and inner; the ret of outer; the bnez of the loop and its target; the j to done; done; the ecall
PLACES = (2, 0x1a, 0x10, 0xc, 0x1a, 0x18, 8, 2, 0xa, 0x1c, 0x1e), (4, 0x2c, 0x1c, 0x14, 0x2c, 0x28, 0xc, 4, 0x10, 0x30, 0x34)


def branches(which):
    """Return (from, to) of the branches in the rounds, and of the exception that leads to the next rounds"""
    call, inner_ret, call_inner, outer, inner, outer_ret, again, loop, leave, done, ecall = PLACES[which]
    for n in range(3):
        yield call, outer
        yield call_inner, inner
        yield inner_ret, call_inner + 4
        yield outer_ret, call + 4
        yield (again, loop) if n < 2 else (leave, done)
    yield ecall, 0


def hart_messages(hart, turns, start, bits):
    """Return (ticks, message) of one hart, from a start of its encoder to the next stop. SRC has @bits bits."""
    mkcalls.CONFIG.update(src_bits=bits, src=hart)
    last = start
    out = [(start, mkcalls.start_message(BASE, start=start, context=False))]
    for n, which in enumerate(turns):
        begin = start + TURN * n + 10
        for k, message in enumerate(mkcalls.messages(mkcalls.run(BASE, CODES[which], BASE, wait=begin - last - 2, TSTAMP=2))):
            last = begin + 2 * k
            out.append((last, message))
        if n % SYNC == SYNC - 1:
            last += 1
            out.append((last, mkcalls.message('ProgTraceSync', SYNC=2, I_CNT=0, F_ADDR=BASE >> 1, TSTAMP=last)))
    out.append((last + 2, mkcalls.message('ProgTraceCorrelation', EVCODE=4, CDF=1, I_CNT=0, HIST=1, TSTAMP=2)))
    mkcalls.CONFIG.update(src_bits=0)
    return out


def funnel(rng, harts):
    """Return all messages in the order in which the funnel sends them. The funnel empties the queue of each hart at
    random times."""
    sent = []
    for hart, messages in enumerate(harts):
        leaves = 0
        for n, (time, message) in enumerate(messages):
            if time > leaves or rng.random() < 0.02:
                leaves = max(leaves, time + rng.randrange(LATE))
            sent.append((leaves, hart, n, message))
    return [message for _, _, _, message in sorted(sent)]


def add_trace(rng, file, parts, ends, pieces, cpu, cut=0, flags=0):
    """Add PERF_RECORD_AUX for each part, at the end time of the part. Finally add all bytes, in pieces that may end
    inside a message. If @cut is set, each record except the first starts and ends @cut bytes before the part."""
    at, data = 0, b''.join(parts)
    for n, (part, end) in enumerate(zip(parts, ends)):
        size = len(part) - (cut if n + 1 < len(parts) else 0) + (cut if n else 0)
        file.aux(at, size, mkcalls.ns(end), PIDS[0], cpu, flags)
        at += size
    at = 0
    while at < len(data):
        size = rng.choice(pieces)
        file.trace(data[at:at + size], at, cpu)
        at += size


def calls(program, how):
    """Make rounds of hart 0. Meanwhile, hart 1 calls inner in the first AUX record, and inner returns in the
    second one"""
    file = perfdata.File(cpus=2, src_bits=SRC_BITS, switches=True)
    start, data = mkcalls.START, []
    for cpu, pid in enumerate(PIDS):
        file.comm(pid, 'calls')
        file.mmap(pid, BASE, 0x1000, 0x1000, os.path.abspath(program))
        file.switch_in(pid, pid, mkcalls.ns(start - 10), cpu)
    for n in range(2):
        mkcalls.CONFIG.update(src_bits=SRC_BITS, src=0)
        data.append(mkcalls.trace(tid=PIDS[0], start=start + 1000 * n))
        mkcalls.CONFIG.update(src=1)
        back = mkcalls.message('IndirectBranchHist', B_TYPE=0, I_CNT=1, U_ADDR=(mkcalls.INNER ^ BASE + 0x14) >> 1, HIST=1, TSTAMP=2)
        data[n] += (mkcalls.part(start, PIDS[1], mkcalls.INNER, start + 1000, 1, back) if n else
                    mkcalls.part(start, PIDS[1], BASE, start, 7))
    mkcalls.CONFIG.update(src_bits=0)
    if how == 'calls-idle':
        data[1] = IDLE * 100000 + data[1]
    file.aux(0, len(data[0]), mkcalls.ns(start + 500), PIDS[0], 0, perfdata.AUX_TRUNCATED if how == 'calls-full' else 0)
    file.aux(len(data[0]), len(data[1]), mkcalls.ns(start + 1500), PIDS[0])
    file.trace(data[0] + data[1])
    file.finished_round()
    file.exit(PIDS[0], mkcalls.ns(start + 2000))
    return file


def main():
    program, out = sys.argv[1:3]
    how = (sys.argv[3:4] or ['shared'])[0]
    if how.startswith('calls'):
        calls(program, how).save(out + '.data')
        return
    nr_harts, nr_turns, seed = (int(a) for a in (sys.argv[4:7] + ['4', '60', '1'][len(sys.argv[4:7]):]))
    rng = random.Random(seed)
    starts = [[mkcalls.START + n * (nr_turns + 3) * TURN + rng.randrange(TURN) for n in range(STARTS)] for _ in range(nr_harts)]
    ends = [mkcalls.START + (n + 1) * (nr_turns + 3) * TURN for n in range(STARTS)]
    turns = [[[rng.randrange(2) for _ in range(nr_turns)] for _ in range(STARTS)] for _ in range(nr_harts)]
    known = nr_harts - (how == 'unknown')
    file = perfdata.File(config=perfdata.TIMESTAMP, cpus=known, src_bits=0 if how == 'alone' else SRC_BITS,
                         cpu_words=10, switches=True,
                         unlike={hart: {perfdata.CPU_TRACE_ID: 16 if how == 'frames' else 0} for hart in range(known)})
    for pid, name in zip(PIDS, (program, program + '-uncompressed')):
        file.comm(pid, 'calls')
        file.mmap(pid, BASE, 0x1000, 0x1000, os.path.abspath(name))
    for hart in range(known):
        for start, some in zip(starts[hart], turns[hart]):
            for n, which in enumerate(some):
                file.switch_in(PIDS[which], PIDS[which], mkcalls.ns(start + TURN * n + 5), hart)
    harts = [[hart_messages(hart, turns[hart][n], starts[hart][n], 0 if how == 'alone' else SRC_BITS) for n in range(STARTS)]
             for hart in range(nr_harts)]
    if how == 'alone':
        for hart in range(nr_harts):
            add_trace(rng, file, [b''.join(message for _, message in part) for part in harts[hart]], ends, PIECES, hart)
    else:
        parts = [b''.join(funnel(rng, [harts[hart][n] for hart in range(nr_harts)])) for n in range(STARTS)]
        if how == 'cut':
            parts = [part[:-2] for part in parts]
        if how == 'damaged':
            # A byte with the invalid MSEO 2
            parts[1] = parts[1][:2000] + b'\x02' + parts[1][2001:]
        flags = perfdata.AUX_TRUNCATED if how == 'full' else 0
        if how == 'frames':
            parts = [Formatter(rng, full_sync=0.1, half_sync=0.1).run([(16, byte) for byte in part])[0] for part in parts]
            flags = perfdata.AUX_FRAMES
        add_trace(rng, file, parts, ends, PIECES[:3] if how == 'crumbs' else PIECES, 0, 1001 if how == 'split' else 0, flags)
    file.finished_round()
    for pid in PIDS:
        file.exit(pid, mkcalls.ns(ends[-1] + 100))
    file.save(out + '.data')
    with open(out + '.branches', 'w', encoding='ascii') as f:
        for hart in range(known):
            for which in (which for some in turns[hart] for which in some):
                for source, target in branches(which):
                    f.write(f'{hart} {PIDS[which]} {BASE + source:x} {BASE + target:x}\n')


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
