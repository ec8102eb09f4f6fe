# SPDX-License-Identifier: GPL-2.0-only
"""This script runs in gdb, which `ntrace gdb` has started, and compares gdb with `ntrace script --insns`. It prints
"ok" and "not ok"."""
import os
import random
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_checks import PLACES, STEPS, address, met, names, number, ok, run, stops  # noqa: E402

with open('truth', encoding='ascii') as f:
    TRUTH = [int(line, 16) for line in f]


def is_at(function):
    return gdb.newest_frame().name() == function


def steps(command, nr):
    pcs = []
    for _ in range(nr):
        run(command)
        pcs.append(number('pc'))
    return pcs


def next_lines(command, nr):
    lines = []
    for _ in range(nr):
        run(command)
        lines.append((gdb.newest_frame().name(), gdb.newest_frame().find_sal().line))
    return lines


ok('gdb starts at the first instruction', number('pc') == TRUTH[0])
request = address('request')
first = TRUTH.index(request)
run('tbreak *request')
run('continue')
ok('continue stops at a breakpoint', number('pc') == request and number('trace_insn') == first)
ok('the backtrace has all callers', names()[:2] == ['request', 'main'] and len(names()) == number('trace_depth'), names())
pcs = steps('stepi', STEPS)
ok('stepi goes to the next instruction', pcs == TRUTH[first + 1:first + 1 + STEPS])
pcs = steps('reverse-stepi', STEPS)
ok('reverse-stepi goes to the previous instruction', pcs == TRUTH[first:first + STEPS][::-1])
random.seed(1)
wrong = []
for _ in range(PLACES):
    n = random.randrange(len(TRUTH))
    run('ntrace-goto insn %d' % n)
    if number('pc') != TRUTH[n] or number('trace_insn') != n or len(names()) != number('trace_depth'):
        wrong.append(n)
ok('ntrace-goto goes to random instructions, and the backtrace has all callers there', not wrong, wrong)
run('ntrace-goto insn %d' % first)
forwards = next_lines('next', 6)
backwards = next_lines('reverse-next', 5)
ok('next steps from line to line of one function, over its calls', {name for name, _ in forwards} == {'request'}, forwards)
ok('reverse-next goes to the same lines', backwards == forwards[:-1][::-1], (forwards, backwards))
run('tbreak *fib')
run('continue')
run('finish')
after = number('trace_insn')
ok('finish ends in the caller', is_at('request') and TRUTH[after] == number('pc'))
run('reverse-stepi')
ok('reverse-stepi goes into the end of the function', is_at('fib') and number('trace_insn') == after - 1)
for mode in 'on', 'off':
    run('set step-mode ' + mode)
    run('stepi')
    failed = run('ntrace-goto begin') + run('reverse-finish')
    ok('reverse-finish leaves step-mode %s, even if it fails' % mode, 'outermost' in failed and ('is %s.' % mode) in run('show step-mode') and
       'Forward' in run('show exec-direction'), failed)
    run('ntrace-goto insn %d' % (after - 1))
    run('reverse-finish')
    ok('reverse-finish leaves step-mode %s' % mode, ('is %s.' % mode) in run('show step-mode'))
ok('reverse-finish goes to the call', is_at('request') and TRUTH[number('trace_insn') + 1] == address('fib'))
# the eighth call of request() calls fib(7)
nth = [n for n, pc in enumerate(TRUTH) if pc == request][7]
run('ntrace-goto insn %d' % (nth + 1))
run('until 17')
ok('until goes to a line', is_at('request') and gdb.newest_frame().find_sal().line == 17, run('frame'))
run('advance fib')
ok('advance goes to a function', is_at('fib'), run('frame'))
entered = number('trace_insn')
run('finish')
run('reverse-stepi')
inside = number('trace_insn')
run('ntrace-back')
ok('ntrace-back goes back to the start of a line, over the calls of the line', is_at('fib') and inside > entered + 100 and
   entered - 8 < number('trace_insn') <= entered, (inside, number('trace_insn'), entered))
# Go into the third call of fib(). Its caller is also fib(), so ntrace-calls must indent it
third = [n for n, pc in enumerate(TRUTH) if pc == address('fib')][2]
run('ntrace-goto insn %d' % (third + 1))
calls = [line.split('s ', 1) for line in run('ntrace-calls 3').splitlines()]
ok('ntrace-calls lists the last calls, indented by their callers', len(calls) == 3 and calls[-1][1].split() == ['fib'] and
   len(calls[-1][1]) - len('fib') == number('trace_depth') and float(calls[-1][0]) * 10 ** 9 <= number('trace_time'), calls)
ok('ntrace-calls refuses a text and other numbers than 1 to 100',
   all('expects a number from 1 to 100, not ' + text in run('ntrace-calls ' + text) for text in ('x', '0', '101')))
ok('after the end, ntrace-goto goes to the last instruction, and a message reports this',
   'so this is the last instruction' in run('ntrace-goto insn %d' % len(TRUTH)) and number('trace_insn') == len(TRUTH) - 1)
for name in 'request', 'compare', 'fib':
    if name == 'compare' and STEPS <= 400:
        continue
    run('ntrace-goto end')
    run('break *' + name)
    wanted = [n for n, pc in enumerate(TRUTH) if pc == address(name)]
    backwards, forwards = (met(command, lambda: number('trace_insn')) for command in ('reverse-continue', 'continue'))
    ok('a breakpoint stops at each call of %s, backwards and forwards' % name, backwards[::-1] == forwards == wanted,
       (backwards, forwards, wanted))
    run('delete')
run('ntrace-goto insn %d' % (len(TRUTH) // 2))
time = number('trace_time')
run('ntrace-goto begin')
run('break *request if $trace_time > %d' % time)
run('continue')
at = number('trace_insn')
ok('a condition on time is evaluated', at > len(TRUTH) // 2 and at == TRUTH.index(request, len(TRUTH) // 2), at)
run('delete')
# If the stub, and not gdb, evaluates the condition, gdb sends only one packet that continues the program
compare = address('compare')
wanted = [n for n, pc in enumerate(TRUTH) if pc == compare]
run('ntrace-goto begin')
run('break *%d if $trace_insn >= %d && $trace_time > 5 && $trace_cpu == 0 && $trace_depth > 2' % (compare, wanted[200]))
run('set debug remote 1')
resumed = run('continue').count('Sending packet: $vCont;c')
run('set debug remote 0')
ok('the stub evaluates a condition on all four values of the trace', number('trace_insn') == wanted[200] and resumed == 1,
   (number('trace_insn'), wanted[200], resumed))
run('delete')
ok('data in memory cannot be read', 'Cannot access memory' in run('print values') + run('print sink'))
first, last = next(line.split()[0:3:2] for line in run('info files').splitlines() if line.endswith('is .rodata'))
ok('a text in the program can be read', 'pattern' in run('find %s, %s - 1, "%%d\\n"' % (first, last)), run('find %s, %s - 1, "%%d\\n"' % (first, last)))
for name, helps in ('watch sink', 'The trace has no data'), ('run', 'ntrace-goto begin'), ('record goto begin', 'ntrace-goto'), \
        ('catch exec', 'no events of the system'), ('tcatch fork', 'no events of the system'):
    ok('%s prints what helps instead' % name, helps in run(name), run(name))
ok('registers are not available', 'unavailable' in run('info registers sp'))
ok('gdb cannot call a function', 'error' in run('print request(1)'))
ok('gdb disassembles the code', 'addi' in run('x/4i request') or 'sp' in run('x/4i request'), run('x/4i request'))
run('ntrace-goto end')
run('ntrace-goto begin')
ok('ntrace-goto begin goes to the first instruction', number('pc') == TRUTH[0])
run('reverse-continue')
ok('reverse-continue stops at the start of the recording', type(stops[-1]) is gdb.StopEvent and number('pc') == TRUTH[0])
run('continue')
ok('continue stops at the end of the recording', type(stops[-1]) is gdb.StopEvent and number('trace_insn') == len(TRUTH) - 1)
