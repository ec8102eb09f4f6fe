#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the times for which threads ran on a CPU. ntrace computes them, and perf's switch records contain them:

    switched.py NTRACE RECORDING        compare them; they differ by at most 0.1 %
    switched.py make PROGRAM RECORDING  make a recording of 3 threads, which take turns on 2 CPUs and seldom execute a branch

A thread runs on a CPU from the record of its switch to the next switch record of that CPU.
"""
import collections
import json
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'perf'))
import mkcalls  # noqa: E402
import perfdata  # noqa: E402

SWITCHES, OUT, AUXTRACE = (14, 15), 1 << 13, 71
TURNS, TICKS, RUN = 60, 10000, 14       # number of turns, and the ticks of a turn and of mkcalls.run()


def make(program, path):
    rng, tids, current = random.Random(3), (1234, 2234, 3234), [0, 0]
    file = perfdata.File(config=perfdata.TIMESTAMP, cpus=2, switches=True)
    for tid in tids:
        file.comm(tid, 'calls')
        file.mmap(tid, mkcalls.BASE, 0x1000, 0x1000, os.path.abspath(program))
    end = [mkcalls.START, mkcalls.START]
    data = [mkcalls.start_message(mkcalls.BASE, context=False) for _ in end]
    for turn in range(TURNS):
        cpu = turn % 2
        current[cpu] = rng.choice([tid for tid in tids if tid != current[1 - cpu]])
        at = mkcalls.START + TICKS * (turn // 2) + rng.randrange(TICKS // 4) * bool(turn // 2)
        file.switch_in(current[cpu], current[cpu], mkcalls.ns(at), cpu)
        first = at + rng.randrange(1, TICKS // 2)
        data[cpu] += mkcalls.run(mkcalls.BASE, mkcalls.COMPRESSED, mkcalls.BASE, wait=first - end[cpu] - 2, TSTAMP=2)
        end[cpu] = first + RUN - 2
    for cpu in 0, 1:
        stop = mkcalls.START + TICKS * (TURNS // 2) + TICKS
        data[cpu] += mkcalls.message('ProgTraceCorrelation', EVCODE=4, CDF=1, I_CNT=0, HIST=1, TSTAMP=stop - end[cpu])
        file.switch_in(0, 0, mkcalls.ns(stop), cpu)
        file.aux(0, len(data[cpu]), mkcalls.ns(stop), 0, cpu)
        file.trace(data[cpu], cpu=cpu)
    file.finished_round()
    file.exit(tids[0], mkcalls.ns(stop + TICKS))
    file.save(path)


def switches(path):
    """Return (time, CPU, thread, true if the thread starts to run) of each switch. The record ends with pid, tid,
    time, CPU and id."""
    # perf record --kcore writes a folder
    with open(os.path.join(path, 'data') if os.path.isdir(path) else path, 'rb') as f:
        data = f.read()
    at, size = struct.unpack_from('<QQ', data, 40)
    last, found = at + size, []
    while at + 8 <= last:
        kind, misc, size = struct.unpack_from('<IHH', data, at)
        if kind in SWITCHES:
            tid, time, cpu = struct.unpack_from('<IQI', data, at + size - 28)
            found.append((time, cpu, tid, not misc & OUT))
        at += size + (struct.unpack_from('<Q', data, at + 8)[0] if kind == AUXTRACE else 0)
    return sorted(found)


def times(found):
    """Return the time for which each thread ran on a CPU, until the last switch record of this CPU"""
    ran, current = collections.Counter(), {}
    for time, cpu, tid, begins in found:
        before, since = current.pop(cpu, (None, 0))
        if before:
            ran[before] += time - since
        if begins:
            current[cpu] = tid, time
    return ran


def main():
    if sys.argv[1] == 'make':
        make(*sys.argv[2:])
        return
    ntrace, path = sys.argv[1:]
    want, got, wrong = times(switches(path)), collections.Counter(), 0
    out = subprocess.run([ntrace, 'info', '--json', '-i', path], capture_output=True, text=True, check=True).stdout
    for row in map(json.loads, out.splitlines()):
        got[row.get('tid')] += row.get('on_cpu_ns', 0)
    for tid, ns in sorted(want.items()):
        print(f'thread {tid}: {got[tid]} ns on a CPU, {ns} by switches')
        wrong += abs(got[tid] - ns) > ns / 1000
    sys.exit(not want or wrong)


if __name__ == '__main__':
    main()
