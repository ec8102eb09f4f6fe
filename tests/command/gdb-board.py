# SPDX-License-Identifier: GPL-2.0-only
"""This script runs in gdb, which debugs a recording of gdb-board/program.c. It compares gdb with the truth of the
board."""
import bisect
import os
import random
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_checks import PLACES, STEPS, address, met, number, ok, run  # noqa: E402
from gdb_truth import TRUTH, differences, go, here, near  # noqa: E402

FUNCTIONS = 'main', 'thread', 'work', 'risky', 'give_up', 'handle', 'compare', 'leaf', 'sum', 'each'
tids, pcs, stacks, own = TRUTH.tids, TRUTH.pcs, TRUTH.stacks, TRUTH.own


# ---- Lines of the source, and the instructions at which gdb must stop for "next" and "reverse-next" ----

starts, functions = {}, []          # {first address of a line: line number}; (start, end, name) of each function


def read_lines():
    for name in FUNCTIONS:
        symbol = gdb.lookup_static_symbol(name) or gdb.lookup_global_symbol(name)
        block = gdb.block_for_pc(int(symbol.value().address))
        functions.append((block.start, block.end, name))
        starts.update((entry.pc, entry.line) for entry in symbol.symtab.linetable() if block.start <= entry.pc < block.end)


def line_of(at):
    """Return the function and the line of an instruction, or None outside of the program and its library"""
    for start, end, name in functions:
        if start <= pcs[at] < end:
            return name, starts[max(pc for pc in starts if start <= pc <= pcs[at])]
    return None


def frame_of(at):
    """Return the starts of all open calls, the outermost first, which identify a frame"""
    return tuple(begin for _, begin, _ in reversed(stacks[at]))


def next_line(at):
    """Return where the command "next" must stop. It skips the calls that the line makes."""
    frame, line = frame_of(at), line_of(at)
    while True:
        at = near(at, 1)
        if at is None or frame_of(at) == frame and line_of(at) != line and pcs[at] in starts:
            return [at]
        if frame_of(at) != frame and frame_of(at)[:len(frame)] != frame:
            # the function has returned to its caller, and "next" continues to the next line of this caller
            frame, line = frame_of(at), line_of(at)


def previous_line(at):
    """Return the instructions at which "reverse-next" can stop, which are starts of the previous line. A line can have
    several starts. If gdb is in a line that has several starts, it can skip the earlier starts of this line. From the
    start of a function, gdb can also go to the call."""
    start, frame, line, found = at, frame_of(at), None, []
    while True:
        at = near(at, -1)
        if at is None:
            return found
        if frame_of(at) != frame and frame_of(at)[:len(frame)] == frame:
            continue
        if frame_of(at) != frame and found:
            # this instruction is in the caller, so the search has passed all starts of the line in the function
            return found + previous_line(found[-1])
        frame, line = frame_of(at), line or line_of(at)
        if line_of(at) != line:
            return found + (previous_line(found[-1]) if line == line_of(start) else [])
        if pcs[at] in starts:
            found.append(at)


def lines(command, at, nr, expect, least=0):
    """Repeat the command up to @nr times, and end when it goes back to instruction @least. Each time, it must stop at
    an instruction that @expect allows."""
    got, wanted, start = [go(at)], [], at
    for _ in range(nr):
        wanted.append(expect(got[-1]))
        run(command)
        got.append(here())
        if got[-1] not in wanted[-1] or got[-1] <= least:
            break
    ok('%s from instruction %d goes to the lines of the truth' % (command, start), len(got) > 8 and got[-1] in wanted[-1],
       (got[-2:], wanted[-1]))
    return got[-1]


random.seed(3)
switches = [at for at in range(1, len(pcs)) if tids[at] != tids[at - 1]]
ok('the truth has two threads that alternate', len(own) == 2 and len(switches) > 20, (len(own), len(switches)))
ok('gdb starts at the first instruction', here() == 0, here())
run('ntrace-goto end')
ok('the recording has all instructions of the truth', here() == len(pcs) - 1, (here(), len(pcs)))

# The program calls functions of the library through the PLT
start = switches[len(switches) // 3]
start = next(at for at in range(start, len(pcs)) if pcs[at] == address('work') and tids[at] == tids[start])
at = start
for command, by in ('stepi', 1), ('reverse-stepi', -1):
    found, wanted = [go(at)], [at]
    while len(found) <= STEPS and near(at, by) is not None:
        run(command)
        at = near(at, by)
        found.append(here())
        wanted.append(at)
    ok('%d times %s: PC, thread and all callers are right' % (STEPS, command), len(found) > STEPS and found == wanted,
       differences(found, wanted))
wanted = [random.randrange(len(pcs)) for _ in range(PLACES)]
found = [go(at) for at in wanted]
ok('PC, thread and all callers are right at %d random places' % PLACES, found == wanted, differences(found, wanted))

# gdb shows a thread that does not run now at the instruction that this thread executes next
wrong = []
for at in random.sample(switches[2:-2], 8):
    other = next(tid for tid in own if tid != tids[at])
    go(at)
    next(thread for thread in gdb.selected_inferior().threads() if thread.ptid[1] == other).switch()
    later = own[other][min(bisect.bisect_left(own[other], at), len(own[other]) - 1)]
    if here() != later:
        wrong.append((at, here(), later))
ok('the other thread is at its next instruction', not wrong, wrong)

# ntrace-calls lists the last calls before the position
entries, wrong = {address(name): name for name in FUNCTIONS}, []
for at in random.sample(range(start, len(pcs)), 10):
    go(at)
    cpu, shown = number('trace_cpu'), []
    for line in run('ntrace-calls 60').splitlines():
        time, text = line.split(' s ', 1)
        if text.strip() in FUNCTIONS:
            shown.append((text.strip(), len(text) - len(text.lstrip()), int(time.replace('.', ''))))
    before = own[tids[at]][:bisect.bisect_right(own[tids[at]], at)]
    made = [n for n in before if pcs[n] in entries][-len(shown):] if shown else []
    if not made or [call[:2] for call in shown] != [(entries[pcs[n]], len(stacks[n]) + 1) for n in made] or any(
            TRUTH.time_is_wrong(n, cpu, time) for n, (_, _, time) in zip(made, shown)):
        wrong.append((at, shown[-5:], [(entries[pcs[n]], len(stacks[n]) + 1) for n in made[-5:]]))
ok('ntrace-calls lists the last calls of the truth, with their callers and times', not wrong, wrong[:1])

read_lines()
for name in 'give_up', 'sum', 'handle':
    run('ntrace-goto end')
    run('break *%d' % address(name))
    backwards, forwards = met('reverse-continue', here), met('continue', here)
    run('delete')
    wanted = [at for at, pc in enumerate(pcs) if pc == address(name)]
    ok('each call of %s is met, forwards and backwards' % name, wanted and forwards == wanted == backwards[::-1],
       (len(forwards), len(backwards), len(wanted), differences(forwards, wanted), differences(backwards[::-1], wanted)))

# "finish" stops at the return address in the caller. If longjmp() has left the function, the caller can reach this
# address later. "reverse-finish" stops at the call.
for name in 'sum', 'leaf', 'each', 'handle':
    calls = [at for at, pc in enumerate(pcs) if pc == address(name)]
    got, wanted = [], []
    for at in random.sample(calls, min(8, len(calls))):
        inside = near(at, 3)
        ends = next(to for to in own[tids[at]] if to > at and stacks[to] == stacks[at][1:] and
                    pcs[to] - stacks[at][0][0] in (0, 4 * stacks[at][0][2]))
        go(inside)
        run('finish')
        got.append(here())
        wanted.append(ends)
        go(inside)
        run('reverse-finish')
        got.append(here())
        called = next(to for to in reversed(own[tids[at]]) if to < at and len(stacks[to]) < len(stacks[at]))
        # the first call of a function goes through the dynamic linker, which has no symbols
        wanted.append(called if near(called, 4) in (at, None) or stacks[at][0][2] else near(at, -1))
    ok('finish and reverse-finish of %s end in the caller' % name, got == wanted, differences(got, wanted))

end = lines('next', start, 60, next_line)
# The first call of each function goes through the dynamic linker, in which gdb 16 can stop. The first calls are before
# @start, so go back only to @start.
lines('reverse-next', end, 60, previous_line, start)
lines('next', next(at for at in range(start, len(pcs)) if pcs[at] == address('each') and tids[at] == tids[start]), 8, next_line)

# "until LINE" stops at this line in the same frame, or in the caller
table = gdb.lookup_static_symbol('work').symtab
goal = next(n for n, text in enumerate(open(table.fullname(), encoding='ascii') if os.path.exists(table.fullname()) else [], 1)
            if 'total += leaf(values' in text)
stop = min(pc for pc, line in starts.items() if line == goal and functions[2][0] <= pc < functions[2][1])
go(start)
run('until %d' % goal)
wanted = next(at for at in own[tids[start]] if at > start and pcs[at] == stop and frame_of(at) == frame_of(start))
ok('until goes to a line', here() == wanted, (here(), wanted))
run('step')
ok('step goes into a function of the library', isinstance(here(), int) and gdb.newest_frame().name() == 'leaf', (here(), run('frame')))
run('reverse-finish')
run('set exec-direction reverse')
run('until *%d' % pcs[start])
run('set exec-direction forward')
ok('until goes backwards to an address', here() == start, (here(), start))
