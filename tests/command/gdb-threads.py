# SPDX-License-Identifier: GPL-2.0-only
"""This script runs in gdb, which debugs a recording of two threads. It compares each thread with the lines of `ntrace
script --insns` for this thread."""
import os
import random
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_checks import STEPS, address, met, number, ok, run  # noqa: E402


def truth(tid):
    with open('truth.%d' % tid, encoding='ascii') as f:
        return [int(line, 16) for line in f]


TRUTH = {tid: truth(tid) for tid in (1234, 1235)}
threads = {thread.ptid[1]: thread for thread in gdb.selected_inferior().threads()}
ok('gdb shows both threads', sorted(threads) == [1234, 1235], threads)
random.seed(2)
for tid in sorted(threads):
    run('ntrace-goto insn %d' % random.randrange(sum(map(len, TRUTH.values())) // 2))
    threads[tid].switch()
    # It is unknown at which instruction gdb has stopped this thread. The PCs of the next steps must occur in the truth
    # of this thread, one directly after the other.
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
    stopped = met('reverse-continue', lambda: gdb.selected_thread().ptid[1])
    wanted = [tid] * TRUTH[tid].count(address('request'))
    ok('a breakpoint stops only thread %d' % tid, stopped == wanted, (stopped, wanted))
    run('delete')
    run('ntrace-goto end')
