# SPDX-License-Identifier: GPL-2.0-only
"""This script runs in gdb, which debugs a recording of machine.py, and compares gdb with `ntrace script --insns`. It
prints "ok" and "not ok".

The file truth.N has the address and the function of each instruction of gdb's thread N. If CLASH is set, gdb must not
name functions of programs. The function done has called the code from address KERNEL on."""
import os
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_checks import met, names, number, ok, run  # noqa: E402

KERNEL = int(os.environ.get('KERNEL', '0x8000000000000000'), 0)
CALLERS = {'_start': ['_start'], 'outer': ['outer', '_start'], 'inner': ['inner', 'outer', '_start'], 'done': ['done']}
CLASH = os.environ.get('CLASH')


def truth(thread):
    with open('truth.%d' % thread, encoding='ascii') as f:
        lines = [line.split() for line in f]
    found, below = [], []
    for addr, function in ((int(addr, 16), name) for addr, name in lines):
        callers = CALLERS[function]
        if addr < KERNEL:
            # The program enters the kernel by a system call in its function done, so done is the outermost caller of
            # kernel functions. With CLASH, gdb must not name it
            below = [None] if CLASH else ['done']
            callers = [None] * len(callers) if CLASH else callers
        found.append((addr, callers + (below if addr >= KERNEL else [])))
    return found


def here():
    return number('pc'), names()


def walk(thread, wanted):
    """Compare all instructions of a thread, forwards and backwards"""
    run('ntrace-goto begin')
    thread.switch()
    there = [here()]
    for _ in wanted[1:]:
        run('stepi')
        there.append(here())
    ok('thread %d steps through its instructions, and all callers are right' % thread.num, there == wanted,
       [pair for pair in zip(there, wanted) if pair[0] != pair[1]][:3])
    back = []
    for _ in wanted[1:]:
        run('reverse-stepi')
        back.append(here())
    ok('thread %d steps back' % thread.num, back == wanted[-2::-1], [pair for pair in zip(back, wanted[-2::-1]) if pair[0] != pair[1]][:3])


threads = sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.num)
all_of = [truth(thread.num) for thread in threads]
if os.environ.get('END'):
    ends, before = [], []
    for thread in threads:
        thread.switch()
        ends.append(here())
    for thread in threads:
        run('ntrace-goto end')
        thread.switch()
        run('reverse-stepi')
        before.append(here())
    ok('gdb starts at the end of each CPU', ends == [wanted[-1] for wanted in all_of], ends)
    ok('each CPU steps back from its end', before == [wanted[-2] for wanted in all_of], before)
for thread, wanted in zip(threads, all_of):
    walk(thread, wanted)
run('ntrace-goto begin')
run('break inner')
calls = sum(callers[0] == 'inner' for wanted in all_of for _, callers in wanted)
found = [sum(name == 'inner' for name in met(command, lambda: names()[0])) for command in ('continue', 'reverse-continue')]
ok('a breakpoint stops at each call, forwards and backwards', calls and found == [calls, calls], (found, calls))
run('continue')
run('delete')
run('reverse-finish')
ok('reverse-finish goes to the call', gdb.newest_frame().name() == 'outer')
run('stepi')
ok('the call enters the function', gdb.newest_frame().name() == 'inner')
run('finish')
ok('finish returns to the caller', gdb.newest_frame().name() == 'outer')
