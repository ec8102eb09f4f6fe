# SPDX-License-Identifier: GPL-2.0-only
"""This script runs in gdb, which debugs a recording of gdb-board/program.c, whose threads move between two CPUs. It
compares gdb with the truth of the board."""
import os
import random
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_checks import PLACES, address, met, number, ok, run  # noqa: E402
from gdb_truth import TRUTH, difference, differences, near  # noqa: E402

places = {}     # number of an instruction in the truth: its number in gdb


def meet(command, visits):
    """Go from breakpoint to breakpoint. Return a text for each stop that the truth does not have"""
    left = list(visits)

    def place():
        at = left.pop(0) if left else None
        if at is not None:
            places[at] = number('trace_insn')
        return 'too many' if at is None else difference(at)
    wrong = [text for text in met(command, place) if text]
    return wrong + ['%d are missing' % len(left)] * bool(left)


def walk(command, at, by, nr):
    """Repeat a step. Return what is wrong, and the last instruction of the truth"""
    wrong = []
    for _ in range(nr):
        run(command)
        at = near(at, by)
        wrong += [text for text in [difference(at)] if text]
    return wrong, at


def moves(tid):
    """Return the instructions after which a thread moves to the other hart"""
    mine = TRUTH.own[tid]
    return [at for at, to in zip(mine, mine[1:]) if TRUTH.harts[at] != TRUTH.harts[to]]


random.seed(4)
threads = {thread.ptid[1]: thread for thread in gdb.selected_inferior().threads()}
leaf = address('leaf')
ok('each of two threads moves between two harts', sorted(threads) == sorted(TRUTH.own) and len(threads) == 2 and
   all(len(moves(tid)) > 10 for tid in threads), (threads, list(TRUTH.own), [len(moves(tid)) for tid in TRUTH.own]))
for tid, thread in sorted(threads.items()):
    visits = [at for at in TRUTH.own[tid] if TRUTH.pcs[at] == leaf]
    run('ntrace-goto begin')
    run('break *%d thread %d' % (leaf, thread.num))
    wrong = meet('continue', visits)
    ok('thread %d stops at all %d calls of leaf: PC, callers, CPU and time are right' % (thread.num, len(visits)), not wrong, wrong[:3])
    run('ntrace-goto end')
    wrong = meet('reverse-continue', visits[::-1])
    ok('thread %d meets the same calls backwards' % thread.num, not wrong, wrong[:3])
    run('delete')
    wrong, steps = [], 0
    for move in random.sample(moves(tid)[1:-1], 2):
        at = max(visit for visit in visits if visit < move)
        nr = TRUTH.own[tid].index(move) - TRUTH.own[tid].index(at) + 20
        run('ntrace-goto insn %d' % places[at])
        there, end = walk('stepi', at, 1, nr)
        back, end = walk('reverse-stepi', end, -1, nr)
        wrong += there + back
        steps += nr
    ok('thread %d steps over its moves to another CPU, forwards and backwards' % thread.num, steps > 100 and not wrong, (steps, wrong[:3]))
ok('each hart is another CPU', len(TRUTH.cpus) == len(set(TRUTH.cpus.values())) == 2, TRUTH.cpus)

last, wrong = 0, []
run('ntrace-goto end')
for insn in sorted(random.randrange(number('trace_insn')) for _ in range(PLACES)):
    run('ntrace-goto insn %d' % insn)
    time, tid = number('trace_time'), gdb.selected_thread().ptid[1]
    if time < last:
        wrong.append((insn, time, last))
    last = time
    threads[next(other for other in threads if other != tid)].switch()
    # if the other thread has ended by this time, gdb shows its last instruction
    if number('trace_time') < time and number('pc') != TRUTH.pcs[TRUTH.own[gdb.selected_thread().ptid[1]][-1]]:
        wrong.append((insn, number('trace_time'), time))
ok('time never decreases from instruction to instruction, and the other thread is not earlier', not wrong, wrong[:3])
