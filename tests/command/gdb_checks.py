# SPDX-License-Identifier: GPL-2.0-only
"""Functions for the scripts that tests run in gdb."""
import functools
import os

import gdb

stops = []
gdb.events.stop.connect(stops.append)
STEPS = int(os.environ.get('STEPS', '400'))
PLACES = int(os.environ.get('PLACES', '200'))
NAME = os.environ.get('NAME')


def ok(name, good, more=''):
    print('%s - %s%s' % ('ok' if good else 'not ok', NAME + ': ' if NAME else '', name), '' if good else more, flush=True)


def run(command):
    try:
        return gdb.execute(command, to_string=True)
    except gdb.error as e:
        return 'error: %s' % e


def number(name):
    return int(gdb.parse_and_eval('$' + name)) & (1 << 64) - 1


# Tests compare millions of instructions with an address, which never changes
@functools.cache
def address(name):
    return int(gdb.parse_and_eval('(long)&' + name))


def frames():
    """Return the frames of the selected thread, the innermost first"""
    frame, found = gdb.newest_frame(), []
    # gdb before version 14 needs an outermost frame with PC 0
    while frame and frame.pc():
        found.append(frame)
        frame = frame.older()
    return found


def names():
    return [frame.name() for frame in frames()]


def met(command, place):
    """Repeat the command until no breakpoint stops it. Return the result of @place at each breakpoint."""
    found = []
    while True:
        before = len(stops)
        run(command)
        if len(stops) == before or not isinstance(stops[-1], gdb.BreakpointEvent):
            return found
        found.append(place())


run('set pagination off')
run('set confirm off')
run('set backtrace past-main on')
