#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write perf.data of calls.S, in one of several states of health.

    mkcalls.py PROGRAM PERF.DATA [WHAT]

Messages are put together by hand from what the program does, not by an encoder.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'ntt')]
import ntt       # noqa: E402
import perfdata  # noqa: E402

PID = 1234
OTHER = 2234                     # runs a guest, too
BASE = 0x10000
START = 1000000                  # ticks of 100 ns
KERNEL = 0xffffffff80000000
MOVED = KERNEL + 0x200000        # by KASLR
MODULE = 0xffffffff02000000
CONFIG = {'src_bits': 0, 'extend': False, 'xlen': 64}


def message(name, **fields):
    return ntt.encode(name, {k.replace('_', '-'): v for k, v in fields.items()}, CONFIG)


# where calls.S returns to in outer and _start, and halfwords: li, from jal to inner's return,
# from there to outer's, addi and bnez or j and nop
COMPRESSED = (0x14, 0x6, 1, 7, 3, 2)
UNCOMPRESSED = (0x20, 0x8, 2, 10, 6, 4)
USER, GUEST_USER, GUEST_KERNEL = 0, 4, 5    # V and PRV


def ownership(tid, priv=0, form=2, **stamp):
    # CONTEXT, V and PRV, FORMAT (chapter 7.1): 2 scontext, 3 hcontext
    return message('Ownership', PROCESS=tid << 5 | priv << 2 | form, **stamp)


def start_message(addr, tid=PID, priv=USER, hcontext=None, time=True, start=START, context=True):
    out = message('ProgTraceSync', SYNC=5, I_CNT=0, F_ADDR=addr >> 1,
                  **({'TSTAMP': start} if time else {}))
    zero = {'TSTAMP': 0} if time else {}
    if hcontext is not None:
        out += ownership(hcontext, priv, 3, **zero)
    return out + (ownership(tid, priv, **zero) if context else b'')


def trace(time=True, icnt_error=0, base=BASE, code=COMPRESSED, begin=None, **start):
    """The rounds in HTM: a message for each return, with the loop's branch in HIST"""
    inner, outer, first, call, leave, again = code
    delta = {'TSTAMP': 2} if time else {}
    out = begin or start_message(base, time=time, **start)
    ref, icnt, hist = base, first, 1
    for rounds in range(3):
        # jal, addi, sd, jal, ret from inner
        for target, count in ((base + inner, call), (base + outer, leave)):
            out += message('IndirectBranchHist', B_TYPE=0, I_CNT=icnt + count + icnt_error,
                           U_ADDR=(target ^ ref) >> 1, HIST=hist, **delta)
            ref, icnt, hist = target, 0, 1
        icnt, hist = again, 2 | (rounds < 2)        # addi, bnez
    # j, nop, and the exception before ecall retires
    out += message('IndirectBranchHist', B_TYPE=1, I_CNT=icnt + again, U_ADDR=(KERNEL ^ ref) >> 1,
                   HIST=hist, **delta)
    return out + message('ProgTraceCorrelation', EVCODE=4, CDF=1, I_CNT=0, HIST=1, **delta)


def overwritten(data, size, start=START):
    """A buffer that went around: it begins inside a message, with what looks like another"""
    tail = message('ProgTraceSync', SYNC=2, I_CNT=0, F_ADDR=BASE + 6 >> 1, TSTAMP=start)
    return tail.ljust(size - len(data), b'\xff') + data


def ns(ticks):
    return ticks * 100


def guest_user():
    """A guest's program, of which nothing is known, enters its kernel"""
    out = start_message(BASE, priv=GUEST_USER)
    out += message('IndirectBranchHist', B_TYPE=1, I_CNT=9, U_ADDR=(KERNEL ^ BASE) >> 1, HIST=1,
                   TSTAMP=0)
    return out + ownership(PID, GUEST_KERNEL, TSTAMP=0)


def guests(what):
    """Kernels of guests execute calls.S"""
    kernel = {'base': KERNEL, 'priv': GUEST_KERNEL}
    first = trace(**kernel)
    if what == 'guest-kernel':
        return first
    if what == 'guest-no-thread':
        return trace(tid=77, **kernel)
    if what == 'guest-moved':
        return trace(base=MOVED, priv=GUEST_KERNEL)
    if what == 'guest-module':
        return trace(base=MODULE, priv=GUEST_KERNEL)
    if what == 'guest-user':
        return trace(base=KERNEL, begin=guest_user())
    if what == 'guest-two':
        return (first + trace(tid=OTHER, code=UNCOMPRESSED, start=START + 100, **kernel) +
                trace(start=START + 200, **kernel))
    if what == 'guest-hcontext':
        return b''.join(trace(start=START + 100 * n, hcontext=hcontext, **kernel)
                        for n, hcontext in enumerate((7, 8, 7)))
    raise SystemExit(f'{sys.argv[0]}: unknown {what}')


def session(file, data, program, cpu=0, aux=True, flags=0, tid=PID, others=()):
    file.comm(PID, 'calls')
    for pid in others:
        file.comm(pid, 'other')
    file.mmap(PID, BASE, 0x1000, 0x1000, os.path.abspath(program))
    if aux:
        file.aux(0, len(data), ns(START + 1000), tid, cpu, flags)
    file.trace(data, cpu=cpu)
    file.finished_round()
    file.exit(PID, ns(START + 2000))
    return file


def make(what, program):
    file = perfdata.File
    if what == 'good':
        return session(file(), trace(), program)
    if what == 'no-aux-record':
        return session(file(), trace(), program, aux=False)
    if what == 'no-context':
        result = file(config=perfdata.TIMESTAMP)
        result.switch_in(PID, PID, ns(START - 10))
        return session(result, trace(context=False), program, tid=0)
    if what == 'no-time':
        return session(file(config=perfdata.CONTEXT), trace(time=False), program)
    if what == 'unknown-thread':
        return session(file(), trace(tid=77), program)
    if what == 'guest':
        return session(file(), trace(priv=GUEST_USER), program)
    if what == 'guest-code':
        return session(file(), trace(priv=GUEST_KERNEL), program)
    if what == 'guest-moved':
        result = file()
        result.guest_kernel(MOVED)
        return session(result, guests(what), '/nowhere/vmm')
    if what.startswith('guest-'):
        return session(file(), guests(what), '/nowhere/vmm', others=(OTHER,))
    if what == 'missing-object':
        return session(file(), trace(), '/nowhere/calls')
    if what == 'snapshot':
        return session(file(), overwritten(trace(), 4096), program, flags=perfdata.AUX_OVERWRITE)
    if what == 'partial':
        return session(file(), overwritten(trace(), 4096), program, flags=perfdata.AUX_PARTIAL)
    if what == 'samples':
        return samples(file, program)
    if what == 'truncated':
        data = trace()
        return session(file(), data[:len(data) - 5], program, flags=perfdata.AUX_TRUNCATED)
    if what == 'wrong-icnt':
        return session(file(), trace(icnt_error=1), program)
    if what == 'no-metadata-for-cpu':
        return session(file(), trace(), program, cpu=3)
    if what == 'other-magic':
        return session(file(magic=1), trace(), program)
    if what == 'later-version':
        return session(file(version=2 << 32), trace(), program)
    if what == 'later-minor':
        return session(file(version=1 << 32 | 7), trace(), program)
    if what == 'too-many-cpus':
        return session(file(nr_cpus=1 << 62), trace(), program)
    if what == 'short-metadata':
        return session(file(cut=12), trace(), program)
    if what == 'bad-src-bits':
        return session(file(src_bits=99), trace(), program)
    if what == 'trace-size':
        result = session(file(), trace(), program)
        at, _ = result.index[0]
        # perf would go back in the file by so much
        size = (2 ** 64 - 0xffffffc0).to_bytes(8, 'little')
        result.data = result.data[:at + 8] + size + result.data[at + 16:]
        return result
    if what == 'bad-index':
        result = session(file(), trace(), program)
        result.index = [(at + 2, size) for at, size in result.index]
        return result
    if what == 'late-mapping':
        return late_mapping(file(), program)
    raise SystemExit(f'{sys.argv[0]}: unknown {what}')


def samples(file, program, size=512):
    """Two that have much in common, and one that has nothing in common with them"""
    first, second, third = (trace(start=START + 2000 * n) for n in range(3))
    result = file(aux_sample_size=size)
    result.comm(PID, 'calls')
    result.mmap(PID, BASE, 0x1000, 0x1000, os.path.abspath(program))
    idle = b'\xff' * size
    for n, data in enumerate(((idle + first)[-size:], (idle + first + second)[-size:],
                              overwritten(third, size, START + 4000))):
        result.sample(data, BASE, ns(START + 2000 * n + 1000), PID)
    result.finished_round()
    result.exit(PID, ns(START + 6000))
    return result


def late_mapping(file, program):
    """The program is mapped between two runs at the same addresses: the first has no code"""
    first, second = trace(), trace(start=START + 2000)
    file.comm(PID, 'calls')
    file.aux(0, len(first), ns(START + 1000), PID)
    file.mmap(PID, BASE, 0x1000, 0x1000, os.path.abspath(program), time=ns(START + 1500))
    file.aux(len(first), len(second), ns(START + 3000), PID)
    file.trace(first + second)
    file.finished_round()
    file.exit(PID, ns(START + 4000))
    return file


if __name__ == '__main__':
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    make(sys.argv[3] if len(sys.argv) == 4 else 'good', sys.argv[1]).save(sys.argv[2])
