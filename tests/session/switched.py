#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the times for which threads ran on a CPU. ntrace computes them, and the recording contains their switches:

    switched.py NTRACE RECORDING [OPTION...]    compare them; they differ by at most 0.1 %
    switched.py make PROGRAM RECORDING [paused [TURNS]]
                                                make a recording of 3 threads, which take turns on 2 CPUs and seldom
                                                execute a branch. With "paused", they execute kernel code, the trace has
                                                their ids, and CPUs pause before and after each event sched_switch

A thread runs on a CPU from its switch to the next switch of that CPU. The switches are the events sched:sched_switch of
a recording of all CPUs, without threads that ran for less than 10 ms, or else perf's records of switches.
"""
import collections
import json
import os
import random
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'perf'))
import mkcalls  # noqa: E402
import mkevents  # noqa: E402
import perfdata  # noqa: E402

SWITCHES, OUT, AUXTRACE = (14, 15), 1 << 13, 71
TURNS, TICKS, RUN = 60, 10000, 14       # number of time slices, ticks of each, ticks of the trace of mkcalls.run()
FIELDS = (('char', 'prev_comm[16]', 8, 16), ('pid_t', 'prev_pid', 24, 4), ('int', 'prev_prio', 28, 4),
          ('long', 'prev_state', 32, 8), ('char', 'next_comm[16]', 40, 16), ('pid_t', 'next_pid', 56, 4))


def make(program, path, paused='', turns=TURNS):
    rng, tids, current = random.Random(3), (1234, 2234, 3234), [0, 0]
    base, options = mkcalls.BASE, {'cpus': 2, 'switches': True}
    if paused:
        mkevents.FORMATS = {(mkevents.SWITCH, 'sched_switch'): ''.join(
            '\tfield:%s %s;\toffset:%d;\tsize:%d;\tsigned:1;\n' % field for field in FIELDS)}
        base, file = mkcalls.KERNEL, mkevents.File(**options)
        file.tracing = mkevents.formats()
        file.kernel(base)
    else:
        file = perfdata.File(config=perfdata.TIMESTAMP, **options)
    for tid in tids:
        file.comm(tid, 'calls')
        file.mmap(tid, mkcalls.BASE, 0x1000, 0x1000, os.path.abspath(program))
    end = [mkcalls.START, mkcalls.START]
    data = [bytearray(mkcalls.start_message(base, tid=0, priv=1, context=bool(paused))) for _ in end]
    turns = int(turns)
    for turn in range(turns):
        cpu = turn % 2
        before = current[cpu]
        current[cpu] = rng.choice([tid for tid in tids if tid not in (current if paused else current[1 - cpu:2 - cpu])])
        # No thread runs on both CPUs at once, because CPU 1 switches half a time slice after CPU 0
        at = mkcalls.START + TICKS * (turn // 2) + (TICKS // 2 * cpu + rng.randrange(TICKS // 4)) * bool(turn // 2)
        first = at + rng.randrange(1, TICKS // 5)
        if paused:
            # The kernel writes the thread id, sched_switch reports the switch, and __switch_to returns
            written = max(at - rng.randrange(TICKS // 5), end[cpu] + 4)
            at, first = max(at, written), max(first, written + 1)
            messages = [mkcalls.messages(mkcalls.run(base, mkcalls.COMPRESSED, base, TSTAMP=t)) for t in (2, first - written)]
            data[cpu] += b''.join((*messages[0][:2], mkcalls.ownership(current[cpu], 1, TSTAMP=written - end[cpu] - 4),
                                   messages[1][2], *messages[0][3:]))
            file.event(0, mkcalls.ns(at), struct.pack('<16siiq16si', b'x', before, 120, 0, b'x', current[cpu]), before, cpu)
            end[cpu] = first + 2 * len(messages[0][3:])
            at += rng.randrange(first - at)
        else:
            data[cpu] += mkcalls.run(base, mkcalls.COMPRESSED, base, wait=first - end[cpu] - 2, TSTAMP=2)
            end[cpu] = first + RUN - 2
        file.switch_in(current[cpu], current[cpu], mkcalls.ns(at), cpu)
    for cpu in 0, 1:
        stop = mkcalls.START + TICKS * (turns // 2) + TICKS
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
        if before is not None:
            ran[before] += time - since
        if begins:
            current[cpu] = tid, time
    return ran


def events(ntrace, path, options):
    """Return the events sched_switch of the recording as switches(), between the start and the end of the trace of each CPU"""
    def script(*args):
        return subprocess.run([ntrace, 'script', *args, '-i', path, *options], capture_output=True, text=True).stdout.splitlines()
    found, first = [], set()
    for line in script('--events'):
        match = re.search(r'\[(\d+)\] +(\d+)\.(\d{9}): sched:sched_switch: .*prev_pid=(\d+) .*next_pid=(\d+)', line)
        if match:
            cpu, seconds, ns, before, tid = map(int, match.groups())
            found.append((seconds * 10 ** 9 + ns, cpu, tid, True))
            if cpu not in first:
                found.append((0, cpu, before, True))
            first.add(cpu)
    if not found:
        return []
    edges = [re.search(r'\[(\d+)\] +(\d+)\.(\d{9}): +tr (strt|end)', line) for line in script('-F', 'cpu,time,flags')]
    edges = [(int(m[2]) * 10 ** 9 + int(m[3]), int(m[1]), m[4]) for m in edges if m]
    begin, end = ({cpu: edge(t for t, c, _ in edges if c == cpu) for cpu in first} for edge in (min, max))
    return sorted((min(max(t, begin[cpu]), end[cpu]), cpu, tid, True) for t, cpu, tid, _ in found) + [
        (end[cpu], cpu, -1, False) for cpu in first]


def main():
    if sys.argv[1] == 'make':
        make(*sys.argv[2:])
        return
    ntrace, path, *options = sys.argv[1:]
    chosen, got, wrong = events(ntrace, path, options), collections.Counter(), 0
    want = times(chosen or switches(path))
    out = subprocess.run([ntrace, 'info', '--json', '-i', path, *options], capture_output=True, text=True).stdout
    for row in map(json.loads, out.splitlines()):
        got[row.get('tid')] += row.get('on_cpu_ns', 0)
    for tid, ns in sorted(want.items()):
        if chosen and ns < 10 ** 7:
            continue
        print(f'thread {tid}: {got[tid]} ns on a CPU, {ns} by switches, {100 * (got[tid] - ns) / ns:.3f} % more')
        wrong += abs(got[tid] - ns) > ns / 1000
    sys.exit(not want or wrong)


if __name__ == '__main__':
    main()
