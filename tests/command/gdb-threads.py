# SPDX-License-Identifier: GPL-2.0-only
"""This script runs in gdb, which debugs a recording of two threads. It compares each thread with the lines of `ntrace
script --insns` for this thread."""
import os
import random

import gdb


def ok(name, good, more=''):
    print('%s - %s' % ('ok' if good else 'not ok', name), '' if good else more, flush=True)


def run(command):
    return gdb.execute(command, to_string=True)


def number(name):
    return int(gdb.parse_and_eval('$' + name)) & (1 << 64) - 1


def truth(tid):
    with open('truth.%d' % tid, encoding='ascii') as f:
        return [int(line, 16) for line in f]


stops = []
gdb.events.stop.connect(stops.append)
TRUTH = {tid: truth(tid) for tid in (1234, 1235)}
STEPS = int(os.environ.get('STEPS', '400'))
run('set pagination off')
threads = {thread.ptid[1]: thread for thread in gdb.selected_inferior().threads()}
ok('gdb shows both threads', sorted(threads) == [1234, 1235], threads)
random.seed(2)
for tid in sorted(threads):
    run('ntrace-goto insn %d' % random.randrange(sum(map(len, TRUTH.values())) // 2))
    threads[tid].switch()
    # The position in this thread is unknown. The PCs of the next steps show which instruction of the thread this is.
    pcs = [number('pc')]
    for _ in range(STEPS):
        run('stepi')
        pcs.append(number('pc'))
    starts = [n for n, pc in enumerate(TRUTH[tid]) if pc == pcs[0] and TRUTH[tid][n:n + STEPS + 1] == pcs]
    ok('thread %d steps through its own instructions' % tid, starts)
    ok('thread %d stays selected while it steps' % tid, gdb.selected_thread().ptid[1] == tid)
    back = []
    for _ in range(STEPS):
        run('reverse-stepi')
        back.append(number('pc'))
    ok('thread %d steps back through its own instructions' % tid, back == pcs[:-1][::-1])
run('ntrace-goto end')
for tid in sorted(threads):
    run('break *request thread %d' % threads[tid].num)
    nr = 0
    while True:
        run('reverse-continue')
        if not isinstance(stops[-1], gdb.BreakpointEvent):
            break
        nr += 1
        if gdb.selected_thread().ptid[1] != tid:
            nr = -1000
    wanted = TRUTH[tid].count(int(gdb.parse_and_eval('(long)&request')))
    ok('a breakpoint stops only thread %d' % tid, nr == wanted, (nr, wanted))
    run('delete')
    run('ntrace-goto end')
