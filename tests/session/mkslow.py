#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a recording of calls of one function, each of which takes a different time for a different reason:

    mkslow.py PROGRAM KERNEL FOLDER [DEPTH]     PROGRAM and KERNEL are slow.S, linked at BASE and at mkcalls.KERNEL

FOLDER is like that of perf record --kcore. CALLS lists the calls. With DEPTH, the second of three calls makes as many
nested calls, and the thread is switched out when a third of them is open, and again when a third has returned."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'perf'))
import mkcalls  # noqa: E402
import perfdata  # noqa: E402

OTHER = 2234                    # id of the thread that runs while the main thread, whose id is mkcalls.PID, sleeps
CALL, EXCEPTION, INTERRUPT = 0, 2, 3    # values of field B-TYPE
CALLS = 'quick', 'quick', 'quick', 'waits', 'faults', 'long', 'sleeps', 'extra', 'quick', 'quick', 'quick', 'quick'


class Trace:
    """Messages of a hart that executes code in straight pieces, with a message at the end of each piece"""

    def __init__(self, user, kernel):
        self.user, self.kernel = user, kernel
        self.pc = self.ref = user['_start']
        self.data = mkcalls.start_message(self.pc)
        self.halves = 0

    def to(self, end):
        """Execute the code up to the address, without a message"""
        self.halves += (end - self.pc) // 2
        self.pc = end

    def go(self, target, ticks=1, b_type=CALL):
        """Continue at the target, to which the last instruction has jumped indirectly, or a trap has jumped"""
        self.data += mkcalls.message('IndirectBranch', B_TYPE=b_type, I_CNT=self.halves, U_ADDR=(target ^ self.ref) >> 1,
                                     TSTAMP=ticks)
        self.pc = self.ref = target
        self.halves = 0

    def jal(self, target):
        """Execute one jal, which no message reports"""
        self.halves += 2
        self.pc = target

    def trap(self, b_type, handler, ticks, inside=None):
        """Let the kernel handle a trap by the function @handler. @inside is called while this function runs"""
        k, back = self.kernel, self.pc
        self.go(k['handle_exception'], 1, b_type)
        self.to(k['handle_exception'] + 8)
        self.go(k[handler])
        self.to(k[handler] + 4)
        if inside:
            inside()
        self.to(k[handler] + 12)
        self.go(k['handle_exception'] + 8, ticks)
        self.to(k['handle_exception'] + 12)
        self.go(back)

    def choose(self, tid):
        """Write the id of the thread that runs next"""
        self.data += mkcalls.ownership(tid, TSTAMP=1)

    def switch(self, back):
        """Execute the jal to __switch_to, from which the next thread returns to @back"""
        self.jal(self.kernel['__switch_to'])
        self.to(self.pc + 4)
        self.go(back)

    def sleep(self, ticks):
        """Let the other thread run, until an interrupt stops it"""
        k, at = self.kernel, self.pc
        self.choose(OTHER)
        self.switch(at + 4)
        self.to(at + 8)
        self.go(k['handle_exception'] + 8)
        self.to(k['handle_exception'] + 12)
        self.go(self.user['_start'])
        self.go(k['handle_exception'], ticks, INTERRUPT)
        self.to(k['handle_exception'] + 8)
        self.choose(mkcalls.PID)
        self.go(k['sleep'], 20)
        self.to(at)
        self.switch(at + 4)

    def recurse(self, depth):
        """Execute the nested calls of deep, and return from all but the first"""
        deep = self.user['deep']
        self.go(deep)
        for level in range(1, depth):
            if level == depth // 3:
                self.trap(EXCEPTION, 'sleep', 10, lambda: self.sleep(5000))
            self.to(deep + 4)
            self.jal(deep)
        self.data += mkcalls.message('DirectBranch', I_CNT=self.halves + 2, TSTAMP=1)
        self.halves, self.pc = 0, deep + 8
        for level in range(depth, 1, -1):
            if level == depth * 2 // 3:
                self.trap(EXCEPTION, 'sleep', 10, lambda: self.sleep(5000))
            self.to(deep + 12)
            self.go(deep + 8)

    def call(self, what):
        u, back = self.user, self.user['_start'] + 8
        self.to(u['_start'] + 4)
        self.jal(u['work'])
        self.to(u['work'] + 4)
        if what == 'faults':
            for _ in range(3):
                self.trap(EXCEPTION, 'do_page_fault', 10, lambda: self.trap(INTERRUPT, 'do_irq', 100))
            for _ in range(2):
                self.trap(EXCEPTION, 'do_trap_insn_illegal', 0)
            self.trap(INTERRUPT, 'do_irq', 100)
        if what == 'sleeps':
            self.trap(EXCEPTION, 'sleep', 10, lambda: self.sleep(5000))
        self.to(u['work'] + 8)
        if isinstance(what, int):
            self.recurse(what)
        else:
            self.go(u['extra' if what == 'extra' else 'usual'])
            self.to(self.pc + 4)
        for _ in range(1000 if what == 'long' else 0):
            self.data += mkcalls.message('DirectBranch', I_CNT=self.halves + 2, TSTAMP=0)
            self.halves = 0
        self.to(self.pc + (4 if isinstance(what, int) else 12))
        self.go(u['work'] + 8, {'waits': 1000, 'long': 700, 'extra': 400}.get(what, 1))
        self.to(u['work'] + 12)
        self.go(back, 1)


def symbols(path):
    out = subprocess.run(['riscv64-linux-gnu-nm', path], capture_output=True, text=True, check=True).stdout
    return {line.split()[2]: int(line.split()[0], 16) for line in out.splitlines()}


def main():
    program, kernel, folder = sys.argv[1:4]
    trace = Trace(symbols(program), symbols(kernel))
    for what in ['quick', int(sys.argv[4]), 'quick'] if sys.argv[4:] else CALLS:
        trace.call(what)
        trace.to(trace.user['_start'] + 12)
        trace.data += mkcalls.message('DirectBranch', I_CNT=trace.halves, TSTAMP=10)
        trace.halves, trace.pc = 0, trace.user['_start']
    data = trace.data + mkcalls.message('ProgTraceCorrelation', EVCODE=4, CDF=0, I_CNT=0, TSTAMP=1)
    file = perfdata.File()
    file.kernel(mkcalls.KERNEL)
    file.comm(mkcalls.PID, 'slow')
    file.comm(OTHER, 'other')
    file.mmap(mkcalls.PID, mkcalls.BASE, 0x1000, 0x1000, os.path.abspath(program))
    file.mmap(OTHER, mkcalls.BASE, 0x1000, 0x1000, os.path.abspath(program))
    file.aux(0, len(data), mkcalls.ns(2 * mkcalls.START), 0)
    file.trace(data)
    file.finished_round()
    file.exit(mkcalls.PID, mkcalls.ns(2 * mkcalls.START))
    os.makedirs(f'{folder}/kcore_dir', exist_ok=True)
    file.save(f'{folder}/data')
    shutil.copy(kernel, f'{folder}/kcore_dir/kcore')
    with open(f'{folder}/kcore_dir/kallsyms', 'w') as f:
        f.write(''.join(f'{at:x} T {name}\n' for name, at in sorted(trace.kernel.items(), key=lambda x: x[1]) if at >= mkcalls.KERNEL))
    open(f'{folder}/kcore_dir/modules', 'w').close()


if __name__ == '__main__':
    main()
