# SPDX-License-Identifier: GPL-2.0-only
"""The part of `ntrace gdb` that runs inside gdb: it shows the callers that the trace reports, and adds commands."""
import struct
import sys

import gdb
from gdb.unwinder import Unwinder

# The stub shows the callers of a thread as memory, which has their number, the id of the thread, and their addresses.
WINDOW, HEAD = 0x4e54 << 48, struct.Struct('<II')
# gdb identifies a frame by a stack address. The trace has no stack addresses, so use addresses that no program has.
TOP, THREAD, FRAME = 0x7000000000000000, 0x1000000, 0x100
NEEDS_PC = int(gdb.VERSION.split('.')[0].split()[-1]) < 14


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


def unsigned(value, bits=64):
    return gdb.Value(value).cast(gdb.lookup_type('unsigned int' if bits == 32 else 'unsigned long long'))


def callers():
    """Return the id of the thread, and the addresses in its functions, the innermost first"""
    thread = gdb.selected_thread()
    if thread is None:
        return 0, []
    # read memory, because gdb drops the frames that it is creating if an unwinder sends packets
    at, inferior = WINDOW + (thread.ptid[1] << 24), gdb.selected_inferior()
    nr, tid = HEAD.unpack(inferior.read_memory(at, HEAD.size))
    return tid, struct.unpack('<%dQ' % nr, inferior.read_memory(at + HEAD.size, 8 * nr)) if nr else []


class TraceUnwinder(Unwinder):
    def __init__(self):
        super().__init__('ntrace')
        self.tid, self.rows = 0, []

    def __call__(self, pending):
        try:
            level = pending.level()
            if level == 0:
                self.tid, self.rows = callers()
        except (gdb.error, gdb.MemoryError):
            return None
        if level >= len(self.rows):
            return None
        # make up a stack pointer for each frame, because the trace has none. Calculate it from the id of
        # the thread that is executed, so that frames of several threads on one CPU differ
        sp = TOP - (self.tid & 0xffffff) * THREAD - (len(self.rows) - level) * FRAME
        info = pending.create_unwind_info(FrameId(unsigned(sp), unsigned(0)))
        bits = 32 if pending.architecture().name() == 'riscv:rv32' else 64
        if level + 1 < len(self.rows):
            info.add_saved_register('pc', unsigned(self.rows[level + 1], bits))
        elif NEEDS_PC:
            # gdb before version 14 reports a missing PC as an error, which ends the user's command
            info.add_saved_register('pc', unsigned(0, bits))
        return info


def command(name, kind):
    """Make a command of gdb of a function, whose docstring becomes the help of the command"""
    def add(function):
        members = {'__doc__': function.__doc__, 'invoke': lambda self, arg, from_tty: function(arg, from_tty)}
        type(name, (gdb.Command,), members)(name, kind)
        return function
    return add


@command('ntrace-goto', gdb.COMMAND_RUNNING)
def go_to(arg, from_tty):
    """Go to another time of the recording: ntrace-goto TIME|begin|end|insn N"""
    said = gdb.execute('monitor goto ' + arg, to_string=True)
    if said:
        raise gdb.GdbError(said.strip())
    gdb.execute('continue', from_tty)


def line_range(frame):
    """Return the addresses [from, to) around the PC that belong to its line"""
    sal, pc = frame.find_sal(), frame.pc()
    if not sal.symtab or sal.last is None:
        raise gdb.GdbError('There is no line here.')
    first, last, begins = sal.pc, sal.last + 1, None
    for entry in sorted(sal.symtab.linetable(), key=lambda entry: entry.pc):
        if begins is not None and entry.line != sal.line:
            if begins <= pc < entry.pc:
                first, last = min(first, begins), max(last, entry.pc)
            begins = None
        elif begins is None and entry.line == sal.line:
            begins = entry.pc
    return first, last


@command('ntrace-back', gdb.COMMAND_RUNNING)
def go_back(arg, from_tty):
    """Go back to where the current line was entered, over all calls that it made. Unlike reverse-next, which asks
for each instruction, this takes no longer for a line with a long loop."""
    gdb.execute('monitor back %x %x' % line_range(gdb.newest_frame()), to_string=True)
    gdb.execute('reverse-continue', from_tty)


@command('ntrace-where', gdb.COMMAND_STATUS)
def print_place(arg, from_tty):
    """Print the time, the CPU and the number of the instruction at the current position."""
    time, insn, cpu = (int(gdb.parse_and_eval('$trace_' + name)) for name in ('time', 'insn', 'cpu'))
    print('%d.%09d s, CPU %d, instruction %d' % (time // 10 ** 9, time % 10 ** 9, cpu, insn))


@command('ntrace-calls', gdb.COMMAND_STACK)
def print_calls(arg, from_tty):
    """Print the last calls that the thread made before the current position, with their times: ntrace-calls [NUMBER]
NUMBER is at most 100. Functions are indented by the number of their callers."""
    if arg and not (arg.isdigit() and 1 <= int(arg) <= 100):
        raise gdb.GdbError('ntrace-calls expects a number from 1 to 100, not ' + arg)
    gdb.execute('monitor calls ' + (arg or '20'))


@command('reverse-finish', gdb.COMMAND_RUNNING)
def reverse_finish(arg, from_tty):
    """Execute backwards until just before the selected stack frame is called."""
    # If step-mode is off and the caller has no symbols, gdb goes back to the start of the recording.
    # If scheduler-locking is off and the function has just been called, gdb does not name the thread.
    wanted = ('step-mode', 'on'), ('exec-direction', 'reverse'), ('scheduler-locking', 'on')
    before = [(name, value if isinstance(value, str) else 'on' if value else 'off') for name, value in
              ((name, gdb.parameter(name)) for name, _ in wanted)]
    try:
        for setting in wanted:
            gdb.execute('set %s %s' % setting)
        gdb.execute('finish ' + arg, from_tty)
    except gdb.error as error:
        raise gdb.GdbError(str(error))
    finally:
        for setting in before:
            gdb.execute('set %s %s' % setting)


def refuse(name, sentence):
    """Let a command of gdb, which a recording cannot obey, print what helps instead"""
    def invoke(arg, from_tty):
        raise gdb.GdbError(sentence)
    invoke.__doc__ = sentence
    command(name, gdb.COMMAND_RUNNING)(invoke)


def add_dap():
    """Add going backwards to gdb's debug adapter, which has no such requests. This uses internals of gdb."""
    from gdb.dap.events import exec_and_expect_stop
    from gdb.dap.next import _handle_thread_step
    from gdb.dap.server import capability, request

    def go(command, thread):
        _handle_thread_step(thread, False)
        # set scheduler-locking again, because the debug adapter has changed it in the call above
        lock_steps()
        exec_and_expect_stop(command)

    @capability('supportsStepBack')
    @request('stepBack', response=False)
    def step_back(*, threadId: int, granularity: str = 'statement', **args):
        go('reverse-nexti' if granularity == 'instruction' else 'reverse-next', threadId)

    @request('reverseContinue', response=False)
    def reverse_continue(*, threadId: int, **args):
        go('reverse-continue', threadId)


def lock_steps(event=None):
    """With another setting, gdb does not name the thread that steps backwards. Before gdb is connected, it cannot
change this setting."""
    gdb.execute('set scheduler-locking step', to_string=True)
    if event:
        gdb.events.stop.disconnect(lock_steps)


for name in 'watch', 'rwatch', 'awatch':
    refuse(name, 'The trace has no data, so gdb cannot know when a value changes. "break" stops at code.')
for event in 'signal', 'syscall', 'fork', 'vfork', 'exec':
    for name in 'catch', 'tcatch':
        refuse(name + ' ' + event, 'The trace has no events of the system. "break" stops at code.')
for name in 'run', 'start', 'starti':
    refuse(name, 'The recording has one run of the program. "ntrace-goto begin" goes to its start.')
refuse('attach', 'gdb already shows a recording. "ntrace gdb --pid N" shows another process of it.')
refuse('record', 'gdb already shows a recording. "ntrace-goto" goes to a time or an instruction, and "ntrace-calls" lists calls.')
command('info record', gdb.COMMAND_STATUS)(print_place)
gdb.unwinder.register_unwinder(None, TraceUnwinder(), True)
gdb.events.stop.connect(lock_steps)
for setting in (
        # no GNU/Linux ABI, because gdb would step with breakpoints, see the start of objects.c
        'osabi none',
        # the list of callers (WINDOW) is at an address of 64 bits, even if the program has addresses of 32 bits
        'remoteaddresssize 64',
        # do not end the connection if a reply takes some seconds, because callers at the end of a
        # large recording are found slowly
        'remotetimeout 3600',
        # do not print values of variables, because the trace has none
        'print entry-values no', 'print frame-arguments none', 'print finish off', 'confirm off'):
    try:
        gdb.execute('set ' + setting)
    except gdb.error:
        pass
if 'gdb.dap.server' in sys.modules and 'stepBack' not in sys.modules['gdb.dap.server']._commands:
    add_dap()
