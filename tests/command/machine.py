#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make recordings of calls.S as a program and as the kernel, by hand: machine.py PROGRAM OUT WHAT

machine: each of two CPUs executes another program and then the kernel; apart: their programs have different addresses
flight: two CPUs execute only the kernel; flight32: the same with a kernel of 32 bits; switch: two threads take turns on a CPU, each in its call of inner
fault: a page fault interrupts the first instruction of inner; exec: a process executes another program at the same addresses
replaced: a process maps another file in place of the first; rebuilt: this file has the same path; loaded: a process maps another file later, as dlopen() does
fork: a process forks, and its child executes most instructions"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'perf'))
import mkcalls as c   # noqa: E402
import perfdata       # noqa: E402

APART = 0x20000
CODE = (c.COMPRESSED, ''), (c.UNCOMPRESSED, '-uncompressed')


def stop():
    return c.message('ProgTraceCorrelation', EVCODE=4, CDF=1, I_CNT=0, HIST=1, TSTAMP=2)


def in_kernel(tid, start):
    return c.start_message(c.KERNEL, tid=tid, priv=1, start=start) + c.run(c.KERNEL, c.COMPRESSED, c.KERNEL, TSTAMP=2) + stop()


def user_and_kernel(tid, base, code, start):
    """A system call leads from the program to the kernel"""
    return (c.start_message(base, tid=tid, start=start) + c.run(base, code, c.KERNEL, TSTAMP=2) +
            c.ownership(tid, 1, TSTAMP=0) + c.run(c.KERNEL, c.COMPRESSED, c.KERNEL, TSTAMP=2) + stop())


def switching():
    """The kernel writes the id of the other thread before it calls inner, which the kernel's symbols name __switch_to"""
    data, tids = c.start_message(c.KERNEL, tid=c.PID, priv=1), [c.OTHER, c.PID]
    for n, m in enumerate(c.messages(c.run(c.KERNEL, c.COMPRESSED, c.KERNEL, TSTAMP=2))[:5]):
        # Messages 0, 2 and 4 report that inner returns, and messages 1 and 3 report that outer returns. Write the
        # thread id after messages 1 and 3, because the next call of inner follows each of these two messages
        data += m + (c.ownership(tids[n // 2], 1, TSTAMP=0) if n % 2 else b'')
    return data + stop()


def fault():
    """The first instruction of inner causes a page fault"""
    first, call = c.COMPRESSED[2:4]
    return (c.start_message(c.BASE) + c.message('IndirectBranchHist', B_TYPE=1, I_CNT=first + call - 1, TSTAMP=2, HIST=1,
                                                U_ADDR=(c.KERNEL ^ c.BASE) >> 1) +
            c.ownership(c.PID, 1, TSTAMP=0) + c.run(c.KERNEL, c.COMPRESSED, c.KERNEL, TSTAMP=2) + stop())


def user(tid, base, code, start):
    """Trace of user mode alone, which stops at the system call"""
    rounds = c.messages(c.run(base, code, c.KERNEL, TSTAMP=2))[:-1]
    return (c.start_message(base, tid=tid, start=start) + b''.join(rounds) +
            c.message('ProgTraceCorrelation', EVCODE=4, CDF=1, I_CNT=2 * code[-1], HIST=2, TSTAMP=2))


def machine(program, what):
    if what == 'flight32':
        c.KERNEL, c.CONFIG['xlen'] = 0xc0000000, 32
    file = perfdata.File(cpus=2, unlike={cpu: {8: c.CONFIG['xlen']} for cpu in range(2)})
    file.kernel(c.KERNEL)
    for cpu, (tid, (code, suffix)) in enumerate(zip((c.PID, c.OTHER), CODE[:1] if what in ('switch', 'fault') else CODE)):
        base = c.BASE + (APART * cpu if what == 'apart' else 0)
        if not what.startswith('flight'):
            file.comm(tid, 'calls%d' % cpu)
            file.mmap(tid, base, 0x1000, 0x1000, os.path.abspath(program + suffix))
        if what in ('flight', 'flight32', 'switch'):
            data = switching() if what == 'switch' else in_kernel(tid, c.START + cpu)
        else:
            data = fault() if what == 'fault' else user_and_kernel(tid, base, code, c.START + cpu)
        file.aux(0, len(data), c.ns(c.START + 1000), tid, cpu)
        file.trace(data, cpu=cpu)
    return file


def programs(program, what):
    file = perfdata.File()
    file.comm(c.PID, 'calls')
    ids = (b'\x11' * 20, b'\x22' * 20) if what == 'rebuilt' else (b'', b'')
    file.mmap(c.PID, c.BASE, 0x1000, 0x1000, os.path.abspath(program), build_id=ids[0])
    other = c.OTHER if what == 'fork' else c.PID
    base = c.BASE + (APART if what == 'loaded' else 0)
    data = user(c.PID, c.BASE, c.COMPRESSED, c.START) + user(other, base, c.UNCOMPRESSED, c.START + 1000)
    if what == 'fork':
        file.record(7, 2, struct.pack('<IIIIQ', other, c.PID, other, c.PID, c.ns(c.START + 899)) +
                    file.trailer(other, other, c.ns(c.START + 899), 0, 2))
    if what in ('exec', 'fork'):
        file.comm(other, 'other', c.ns(c.START + 900), exec_=True)
    file.mmap(other, base, 0x1000, 0x1000, os.path.abspath(program + ('' if ids[1] else '-uncompressed')), c.ns(c.START + 901),
              build_id=ids[1])
    file.aux(0, len(data), c.ns(c.START + 3000), c.PID)
    file.trace(data)
    return file


def main():
    program, path, what = sys.argv[1:]
    file = (programs if what in ('exec', 'replaced', 'rebuilt', 'loaded', 'fork') else machine)(program, what)
    file.finished_round()
    file.save(path)


if __name__ == '__main__':
    main()
