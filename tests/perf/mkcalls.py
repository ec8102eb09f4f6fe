#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write a perf.data file with trace of calls.S. The recording is intact, or has the defect WHAT.

    mkcalls.py PROGRAM PERF.DATA [WHAT [pipe|compressed ...]]

This program builds the messages itself from the code of calls.S, without an encoder.
"""
import os
import random
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'ntt'), os.path.join(HERE, '..', 'dialect')]
import ntt       # noqa: E402
import perfdata  # noqa: E402
from formatter import Formatter  # noqa: E402

PID = 1234
OTHER = 2234                     # another process that runs a guest
BASE = 0x10000
START = 1000000                  # ticks of 100 ns
KERNEL = 0xffffffff80000000
MOVED = KERNEL + 0x200000        # address of the kernel after KASLR has moved it
MODULE = 0xffffffff02000000
CONFIG = {'src_bits': 0, 'extend': False, 'xlen': 64}


def message(name, **fields):
    if CONFIG['src_bits']:
        fields.setdefault('SRC', CONFIG['src'])
    return ntt.encode(name, {k.replace('_', '-'): v for k, v in fields.items()}, CONFIG)


# Each tuple has two return addresses, in outer and in _start of calls.S, and four code sizes in half-words. These are
# the size of li, the size from the first jal to the ret of inner, the size from there to the ret of outer, and the size
# of addi and bnez together, which equals the size of j and nop together
COMPRESSED = (0x14, 0x6, 1, 7, 3, 2)
UNCOMPRESSED = (0x20, 0x8, 2, 10, 6, 4)
USER, GUEST_USER, GUEST_KERNEL = 0, 4, 5    # bits V and PRV in PROCESS, the privilege level


def ownership(tid, priv=0, form=2, **stamp):
    # PROCESS consists of CONTEXT, of V and PRV, and of FORMAT, which is 2 for scontext and 3 for hcontext (chapter 7.1)
    return message('Ownership', PROCESS=tid << 5 | priv << 2 | form, **stamp)


def start_message(addr, tid=PID, priv=USER, hcontext=None, time=True, start=START, context=True):
    out = message('ProgTraceSync', SYNC=5, I_CNT=0, F_ADDR=addr >> 1,
                  **({'TSTAMP': start} if time else {}))
    zero = {'TSTAMP': 0} if time else {}
    if hcontext is not None:
        out += ownership(hcontext, priv, 3, **zero)
    return out + (ownership(tid, priv, **zero) if context else b'')


def run(base, code, handler, icnt_error=0, wait=0, missing=(), **delta):
    """Make the rounds of calls.S in HTM, with a message for each return, and with the loop's branch in HIST. In round
    1, inner does not return directly to outer, but executes code at the addresses @missing first"""
    inner, outer, first, call, leave, again = code
    out, ref, icnt, hist = b'', base, first, 1
    for rounds in range(3):
        # The code up to this message is jal, addi, sd, jal, and ret of inner
        places = [*(missing if rounds == 1 else ()), base + inner]
        # Before the jump to the next of these addresses, the hart executes one half-word at the address INNER (the ret
        # of inner), or two half-words of missing code
        counts = [call] + [1 if addr == INNER else 2 for addr in places]
        for target, count in (*zip(places, counts), (base + outer, leave)):
            out += message('IndirectBranchHist', B_TYPE=0, I_CNT=icnt + count + icnt_error,
                           U_ADDR=(target ^ ref) >> 1, HIST=hist,
                           **{name: ticks + wait for name, ticks in delta.items()})
            ref, icnt, hist, wait = target, 0, 1, 0
        icnt, hist = again, 2 | (rounds < 2)        # the next message also reports the loop's addi and bnez
    # After the rounds, report j, nop and the exception, which occurs before ecall retires
    return out + message('IndirectBranchHist', B_TYPE=1, I_CNT=icnt + again,
                         U_ADDR=(handler ^ ref) >> 1, HIST=hist, **delta)


def trace(time=True, icnt_error=0, base=BASE, code=COMPRESSED, begin=None, tick=2, missing=(), **start):
    """Make the trace of the rounds, from the start to the stop, with a message every @tick ticks"""
    delta = {'TSTAMP': tick} if time else {}
    out = begin or start_message(base, time=time, **start)
    out += run(base, code, KERNEL, icnt_error, missing=missing, **delta)
    return out + message('ProgTraceCorrelation', EVCODE=4, CDF=1, I_CNT=0, HIST=1, **delta)


def overwritten(data, size, start=START):
    """Make the buffer of a ring that has wrapped around. The buffer begins inside a message, with bytes that look
    like another message"""
    tail = message('ProgTraceSync', SYNC=2, I_CNT=0, F_ADDR=BASE + 6 >> 1, TSTAMP=start)
    return tail.ljust(size - len(data), b'\xff') + data


def ns(ticks):
    return ticks * 100


def guest_user():
    """Let an unknown program of a guest enter the kernel of this guest"""
    out = start_message(BASE, priv=GUEST_USER)
    out += message('IndirectBranchHist', B_TYPE=1, I_CNT=9, U_ADDR=(KERNEL ^ BASE) >> 1, HIST=1,
                   TSTAMP=0)
    return out + ownership(PID, GUEST_KERNEL, TSTAMP=0)


def guests(what):
    """Let the kernels of guests execute calls.S"""
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


def session(file, data, program, cpu=0, aux=True, flags=0, tid=PID, others=(), pid=PID):
    file.comm(pid, 'calls')
    for other in others:
        file.comm(other, 'other')
    file.mmap(pid, BASE, 0x1000, 0x1000, os.path.abspath(program))
    if aux:
        file.aux(0, len(data), ns(START + 1000), tid, cpu, flags)
    file.trace(data, cpu=cpu)
    file.finished_round()
    file.exit(pid, ns(START + 2000))
    return file


def guest_sideband(file, program):
    """Run two programs on the only CPU of a guest, with the events that were recorded in this guest"""
    first = trace(priv=GUEST_USER)
    data = first + trace(priv=GUEST_USER, start=START + 1000)
    file.comm(PID, 'vmm')
    file.guest(PID)
    for pid in (50, 60):
        file.comm(pid, 'calls')
        file.mmap(pid, BASE, 0x1000, 0x1000, os.path.abspath(program))
    file.switch_in(50, 50, ns(START - 10))
    file.switch_in(60, 60, ns(START + 990))
    file.host()
    file.aux(0, len(data), ns(START + 2000), PID)
    file.trace(data)
    file.finished_round()
    file.exit(PID, ns(START + 3000))
    return file


# A guest's counter is GUEST_TICKS ahead of its host's counter, and the guest's clock started GUEST_NS later.
GUEST_TICKS, GUEST_NS = 500000, 7000000


def guest_data(what, program):
    """Make the inputs of perf inject --guest-data, which are a file of the host and a file of the guest"""
    if what == 'guest-data-host':
        data = trace(priv=GUEST_USER) + trace(priv=GUEST_USER, start=START + 1000)
        result = perfdata.File(switches=True)
        result.time_conv(0)
        result.comm(PID, 'CPU 0/KVM')
        result.finished_init()
        result.switch_in(PID, PID, ns(START - 20))
        result.aux(0, len(data), ns(START + 2000), PID)
        result.trace(data)
        result.finished_round()
        result.exit(PID, ns(START + 3000))
        return result
    result = perfdata.Guest()
    result.time_conv(2 ** 64 - GUEST_NS)
    for pid in (50, 60):
        result.comm(pid, 'calls')
        result.mmap(pid, BASE, 0x1000, 0x1000, os.path.abspath(program))
    for pid, time in ((50, START - 10), (60, START + 990)):
        result.switch_in(pid, pid, ns(time + GUEST_TICKS) - GUEST_NS)
    result.finished_round()
    return result


def make(what, program):
    file = perfdata.File
    if what.startswith('guest-data-'):
        return guest_data(what, program)
    if what == 'good':
        return session(file(), trace(), program)
    if what == 'missing':
        return session(file(), trace(missing=(0x30000, 0x31000)), program)
    if what == 'missing-calls':
        # outer continues in missing code, which first calls inner and later tail-calls inner
        return session(file(), trace(missing=(0x30000, INNER, 0x31000, INNER)), program)
    if what == 'mapped-again':
        # Before the first message, map several files at the same address one after the other, like a JIT compiler
        result = file()
        for n in range(4):
            result.mmap(PID, BASE, 0x1000, 0x1000, f'/nowhere/{n}', ns(START - 50 + n))
        result.mmap(PID, BASE, 0x1000, 0x1000, os.path.abspath(program), ns(START - 10))
        return session(result, trace(), '/nowhere/calls')
    if what == 'no-aux-record':
        return session(file(), trace(), program, aux=False)
    if what == 'no-context':
        result = file(config=perfdata.TIMESTAMP)
        result.switch_in(PID, PID, ns(START - 10))
        return session(result, trace(context=False), program, tid=0)
    if what == 'no-maps':
        # The recording lacks the start of the process. Machine mode is also traced, and no message reports the
        # privilege mode
        result = file(config=perfdata.TIMESTAMP | perfdata.FIRMWARE)
        data = trace(context=False)
        result.comm(PID, 'calls')
        result.switch_in(PID, PID, ns(START - 10))
        result.aux(0, len(data), ns(START + 2000), PID)
        result.trace(data)
        result.finished_round()
        return result
    if what == 'no-time':
        return session(file(config=perfdata.CONTEXT), trace(time=False), program)
    if what == 'padded':
        # perf pads trace with zeros. This trace needs 7 zeros
        data = trace()
        return session(file(), data + b'\xff' * ((1 - len(data)) % 8), program)
    if what == 'narrow':
        return session(file(ts_width=12), trace(start=START & 0xfff), program)
    if what == 'prescaled':
        return session(file(config=3 | 1 << 18), trace(start=START // 4), program)
    if what == 'later-words':
        return session(file(cpus=2, cpu_words=16), trace(), program, cpu=1)
    if what == 'unknown-thread':
        return session(file(), trace(tid=77), program)
    if what == 'guest':
        return session(file(), trace(priv=GUEST_USER), program)
    if what in ('kernel', 'kernel-icnt'):
        result = file()
        result.kernel(KERNEL)
        return session(result, trace(base=KERNEL, priv=1, icnt_error=what != 'kernel'), program)
    if what in ('no-trace', 'no-snapshot'):
        result = file(flags=2 | 4 | (what == 'no-snapshot'))
        result.comm(PID, 'calls')
        result.finished_round()
        result.exit(PID, ns(START))
        return result
    if what == 'pid-4':
        return session(file(), trace(tid=4), program, tid=4, pid=4)
    if what == 'guest-sideband':
        return guest_sideband(file(guests=True), program)
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
    if what == 'collision':
        # Another thread runs on CPU 1, and the event of CPU 1 can never use the sink
        result = file()
        result.aux(0, 0, ns(START - 100), OTHER, 1, perfdata.AUX_PARTIAL | perfdata.AUX_COLLISION)
        return session(result, trace(), program)
    if what == 'samples':
        return samples(file, program)
    if what == 'truncated':
        # cut off the trace inside a message
        return session(file(), trace()[:-3], program, flags=perfdata.AUX_TRUNCATED)
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
    if what == 'bad-src':
        # perf must take the width of SRC from the metadata, which is 8 bits here instead of 4
        return two_sources(file, program, frames=True, src=0x80)
    if what == 'other-id':
        return two_sources(file, program, frames=True, ids=(16, 18))
    if what == 'other-type':
        return session(file(pmu_type=perfdata.TYPE + 1), trace(), program)
    if what == 'no-sync':
        # PERF_RECORD_AUX describes only the first message, which has SYNC, so the trace after this record has no
        # message with SYNC
        result = session(file(), trace(), program, aux=False)
        result.aux(0, len(start_message(BASE)), ns(START + 1000), PID)
        return result
    if what in ('no-size', 'far-offset', 'buffer-number'):
        result = session(file(), trace(), program)
        at, _ = result.index[0]
        if what == 'no-size':
            struct.pack_into('<Q', result.data, at + 8, 0)
        elif what == 'far-offset':
            struct.pack_into('<Q', result.data, at + 16, 2**64 - 8)
        else:
            struct.pack_into('<I', result.data, at + 32, 10**9)
        return result
    if what == 'trace-size':
        result = session(file(), trace(), program)
        at, _ = result.index[0]
        # With this size of a record, perf would move backwards in the file
        size = (2 ** 64 - 0xffffffc0).to_bytes(8, 'little')
        result.data = result.data[:at + 8] + size + result.data[at + 16:]
        return result
    if what == 'bad-index':
        result = session(file(), trace(), program)
        result.index = [(at + 2, size) for at, size in result.index]
        return result
    if what == 'late-mapping':
        return late_mapping(file(), program)
    if what.startswith('lost-'):
        return lost(file, program, what)
    if what == 'unlike':
        # The recording is of one thread. The encoder of the first CPU sends SRC, and the encoder of the second CPU
        # does not
        result = session(file(cpus=2, unlike={0: {perfdata.CPU_SRC_BITS: 4}}), trace(), program, cpu=1)
        return result.per_thread(PID)
    if what == 'frames':
        return two_sources(file, program, frames=True)
    if what.startswith('two-sources'):
        return two_sources(file, program, what == 'two-sources')
    if what.startswith('many-'):
        return many(file, program, *what.split('-')[1:2], int(what.split('-')[2]))
    if what == 'switches':
        return switches(file, program)
    if what.startswith('clock-'):
        return clock(file(), program, what)
    if what == 'rounds':
        return rounds(file, program)
    raise SystemExit(f'{sys.argv[0]}: unknown {what}')


def samples(file, program, size=512):
    """Make three samples. Two samples have much in common, and the third has nothing in common with these two"""
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
    """Map the program at the same addresses between two runs, so that the first run has no code"""
    first, second = trace(), trace(start=START + 2000)
    file.comm(PID, 'calls')
    file.aux(0, len(first), ns(START + 1000), PID)
    file.mmap(PID, BASE, 0x1000, 0x1000, os.path.abspath(program), time=ns(START + 1500))
    file.aux(len(first), len(second), ns(START + 3000), PID)
    file.trace(first + second)
    file.finished_round()
    file.exit(PID, ns(START + 4000))
    return file


def clock(file, program, what):
    """Make two traces, which the kernel read at START + 1000 and START + 3000. The times of the messages are right, or
    come from a counter that has restarted, has stopped or is 0. One message may have waited in a queue or may be
    damaged"""
    first, second = trace(), trace(start=START + 2000)
    if what == 'clock-anew':
        second = trace(start=5)
    elif what == 'clock-anew-soon':
        # The counter restarts at a time that is at most 100 us before the end of the first trace. A message that has
        # waited in a queue could cause the same times
        second = trace(start=START + 1)
    elif what == 'clock-stopped':
        # All messages have the same time, which is 20 ms before the kernel read the first trace
        first, second = (trace(start=START - 200000, tick=0) for n in range(2))
    elif what == 'clock-stopped-long':
        first = second = trace(start=START, tick=0) * 1000
    elif what == 'clock-zero':
        first = second = trace(start=0, tick=0)
    elif what == 'clock-waited':
        second = trace(start=START + 900)
    elif what == 'clock-damaged':
        second = start_message(BASE, start=5) + second
    file.comm(PID, 'calls')
    file.mmap(PID, BASE, 0x1000, 0x1000, os.path.abspath(program))
    file.aux(0, len(first), ns(START + 1000), PID)
    file.aux(len(first), len(second), ns(START + 3000), PID)
    file.trace(first + second)
    file.finished_round()
    file.exit(PID, ns(START + 4000))
    return file


def rounds(file, program, nr=8):
    """Read two CPUs in rounds, as perf record does. A PERF_RECORD_AUXTRACE may end inside a message, and its
    PERF_RECORD_AUX may be in the next round. When half of the second program has run, the code of this program is
    mapped."""
    result = file(cpus=2)
    tids = PID, OTHER
    stretches = [[trace(tid=tid, start=START + 1000 * n) for n in range(nr)] for tid in tids]
    for tid in tids:
        result.comm(tid, 'calls')
    result.mmap(PID, BASE, 0x1000, 0x1000, os.path.abspath(program))
    late = []
    for n in range(nr):
        if n == nr // 2:
            result.mmap(OTHER, BASE, 0x1000, 0x1000, os.path.abspath(program), time=ns(START + 1000 * n - 50))
        for record in late:
            result.aux(*record)
        late = []
        for cpu, (tid, parts) in enumerate(zip(tids, stretches)):
            start = sum(len(part) for part in parts[:n])
            record = start, len(parts[n]), ns(START + 1000 * n + 900), tid, cpu
            if n % 2 and n + 1 < nr:
                late.append(record)
            else:
                result.aux(*record)
            read = [(start - 20) & -8 if n else 0, (start + len(parts[n]) - 20) & -8]
            data = b''.join(parts)[read[0]:read[1] if n + 1 < nr else None]
            result.trace(data, read[0], cpu)
        result.finished_round()
    for tid in tids:
        result.exit(tid, ns(START + 1000 * nr))
    return result


def messages(data):
    """Return the messages. The last byte of each message has MSEO 3 (specification, chapter 3.1)"""
    out, at = [], 0
    for end, byte in enumerate(data):
        if byte & 3 == 3:
            out.append(data[at:end + 1])
            at = end + 1
    return out


def two_sources(file, program, context=True, frames=False, src=0, ids=(16, 17)):
    """Write the messages of two CPUs alternately to the buffer of one CPU, in the order in which a funnel sends these
    messages"""
    result = file(cpus=2, src_bits=4, switches=not context, cpu_words=10,
                  unlike={cpu: {perfdata.CPU_SRC_ID: src or cpu, perfdata.CPU_TRACE_ID: frames and ids[cpu]}
                          for cpu in range(2)},
                  config=perfdata.TIMESTAMP | (perfdata.CONTEXT if context else 0))
    tids = PID, OTHER
    for cpu, tid in enumerate(tids):
        result.comm(tid, 'calls')
        result.mmap(tid, BASE, 0x1000, 0x1000, os.path.abspath(program))
        if not context:
            result.switch_in(tid, tid, ns(START - 10), cpu)
    streams = []
    for cpu, tid in enumerate(tids):
        CONFIG.update(src_bits=4, src=cpu)
        streams.append([m for n in range(3) for m in
                        messages(trace(tid=tid, start=START + 1000 * n + cpu, context=context))])
    CONFIG.update(src_bits=0)
    data = b''.join(m for pair in zip(*streams) for m in pair)
    if frames:
        queue = [(16 + cpu, byte) for pair in zip(*streams) for cpu, m in enumerate(pair) for byte in m]
        data = Formatter(random.Random(1), full_sync=0.1, half_sync=0.1).run(queue)[0]
    result.aux(0, len(data), ns(START + 3000), PID, flags=perfdata.AUX_FRAMES if frames else 0)
    result.trace(data)
    result.finished_round()
    for tid in tids:
        result.exit(tid, ns(START + 4000))
    return result


def switches(file, program):
    """Let two processes take turns on a CPU, with different code at the same addresses. The trace does not stop, and
    only perf's events contain the current process. Each exception continues at the code of the next process."""
    result = file(config=perfdata.TIMESTAMP)
    turns = ((PID, COMPRESSED), (OTHER, UNCOMPRESSED), (PID, COMPRESSED), (OTHER, UNCOMPRESSED))
    for tid, name in ((PID, program), (OTHER, program + '-uncompressed')):
        result.comm(tid, 'calls')
        result.mmap(tid, BASE, 0x1000, 0x1000, os.path.abspath(name))
    data = start_message(BASE, context=False)
    for n, (tid, code) in enumerate(turns):
        result.switch_in(tid, tid, ns(START - 10 + 1000 * n))
        data += run(BASE, code, BASE, wait=1000 if n else 0, TSTAMP=2)
    data += message('ProgTraceCorrelation', EVCODE=4, CDF=1, I_CNT=0, HIST=1, TSTAMP=2)
    result.aux(0, len(data), ns(START + 5000), 0)
    result.trace(data)
    result.finished_round()
    result.exit(PID, ns(START + 6000))
    return result


INNER, DONE = BASE + 0x1a, BASE + 0x1c


def part(start, tid, begin, time, icnt, *messages):
    """Make trace that starts at @begin, has @messages, and stops after @icnt more half-words"""
    return (start_message(begin, tid=tid, start=time) + b''.join(messages) +
            message('ProgTraceCorrelation', EVCODE=4, CDF=1, I_CNT=icnt, HIST=1, TSTAMP=2))


def lost(file, program, what):
    """Let a thread call outer and inner on CPU 0, where trace stops. With "kept", the later trace of the thread
    continues in inner. Otherwise the calls have returned without trace, and the later trace continues in done."""
    result = file(cpus=2, switches='blind' not in what)
    for tid in (PID, OTHER):
        result.comm(tid, 'calls')
        result.mmap(tid, BASE, 0x1000, 0x1000, os.path.abspath(program))
    ends = [0, 0]

    def add(cpu, data, time, tid, flags=0):
        if 'padded' in what:
            # Let the trace end one byte after a multiple of 8, so that perf pads it with 7 zeros
            data += b'\xff' * ((1 - len(data)) % 8)
        result.aux(ends[cpu], len(data), ns(time), tid, cpu, flags)
        if data:
            result.trace(data, ends[cpu], cpu)
        ends[cpu] += len(data)

    def switch(cpu, tid, time, begins=True):
        # With "twice", the thread has two events, each of which reports the switch. With "blind", no event reports the
        # switch
        for n in range(0 if 'blind' in what else 1 + ('twice' in what)):
            (result.switch_in if begins else result.switch_out)(tid, tid, ns(time) + n, cpu)

    other = trace(tid=OTHER, start=START + 1000)
    if 'swapped' in what or 'disabled' in what:
        # perf disables the event of thread OTHER
        switch(0, OTHER, START - 30)
        add(0, b'', START - 29, OTHER, perfdata.AUX_TRUNCATED)
    if 'again' in what:
        switch(1, PID, START - 500)
        switch(1, OTHER, START - 400)
    switch(0, PID, START - 1)
    add(0, part(START, PID, BASE, START, 7), START + 100, PID,
        perfdata.AUX_PARTIAL if 'whole' in what else 'truncated' in what)
    switch(0, PID, START + 100, begins=False)
    switch(0, OTHER, START + 101)
    if 'swapped' in what:
        # Linux lets threads of the same program swap their events at a switch. The first thread has received the
        # event of the other thread
        for tid, time in ((PID, 1200), (OTHER, 1300)):
            switch(0, PID + OTHER - tid, START + time - 1, begins=False)
            if tid == PID or 'alone' not in what:
                switch(0, tid, START + time)
    if 'elsewhere' in what:
        # CPU 1 loses trace of thread OTHER. It later runs thread PID, which has no event on this CPU
        switch(1, OTHER, START + 1000)
        add(1, other[:-6], START + 1100, OTHER, perfdata.AUX_TRUNCATED)
        switch(1, PID, START + 1200)
        switch(1, OTHER, START + 1300)
        add(1, trace(tid=OTHER, start=START + 1400), START + 1500, OTHER)
    if 'untraced' in what:
        # CPU 1 has no trace
        switch(1, PID, START + 1200)
        switch(1, OTHER, START + 1300)
    if 'refused' in what:
        switch(1, PID, START + 1200)
        add(1, b'', START + 1201, PID, perfdata.AUX_TRUNCATED)
        switch(1, OTHER, START + 1300)
        add(1, trace(tid=OTHER, start=START + 1400), START + 1500, OTHER)
    if 'beside' in what:
        # Thread PID has not run on CPU 1, whose trace has a gap
        switch(1, OTHER, START + 1000)
        add(1, other[:-6], START + 1100, OTHER, perfdata.AUX_TRUNCATED)
        add(1, trace(tid=OTHER, start=START + 1400), START + 1500, OTHER)
    last = part(START, PID, DONE, START + 2000, 1)
    if 'kept' in what or 'beside' in what:
        last = part(START, PID, INNER, START + 2000, 1, message(
            'IndirectBranchHist', B_TYPE=0, I_CNT=1, U_ADDR=(INNER ^ BASE + 0x14) >> 1, HIST=1, TSTAMP=2))
    if 'partial' in what:
        last = overwritten(last, 4096, START + 2000)
    switch(0, PID, START + 1999)
    add(0, last, START + 2100, PID, perfdata.AUX_PARTIAL if 'partial' in what else 0)
    result.finished_round()
    result.exit(PID, ns(START + 3000))
    return result


def many(file, program, what, nr):
    """Make a recording with @nr items of the kind @what. The test measures how long perf takes for these items"""
    result = file()
    result.comm(PID, 'calls')
    result.mmap(PID, BASE, max(0x8000, 4 * nr if what == 'straight' else 0), 0x1000, os.path.abspath(program))
    if what == 'straight':
        # Execute @nr instructions without a jump, ten times
        data = b''.join(part(START, PID, BASE, START + 1000 * n, nr) for n in range(10))
        result.aux(0, len(data), ns(START + 1000 * 10), PID)
        result.trace(data)
    at = 0
    if what == 'threads':
        # perf disables an event. After this, @nr threads run twice each, in the same order
        result.aux(0, 0, ns(START - 10), 1, flags=perfdata.AUX_TRUNCATED)
    for n in range(2 * nr if what == 'threads' else 0):
        start, tid = START + 1000 * n, 10000 + n % nr
        if n < nr:
            data = part(start, tid, BASE, start, 7)
        else:
            data = part(start, tid, INNER, start, 1, message(
                'IndirectBranchHist', B_TYPE=0, I_CNT=1, U_ADDR=(INNER ^ BASE + 0x14) >> 1, HIST=1, TSTAMP=2))
        if n < nr:
            result.comm(tid, 'calls')
            result.mmap(tid, BASE, 0x1000, 0x1000, os.path.abspath(program))
        result.switch_in(tid, tid, ns(start - 1))
        result.aux(at, len(data), ns(start + 100), tid)
        result.trace(data, at)
        result.switch_out(tid, tid, ns(start + 101))
        at += len(data)
    for n in range(0 if what in ('straight', 'threads') else nr):
        start = START + 1000 * n
        if what == 'maps':
            result.mmap(PID, 0x10000000 + 0x1000 * n, 0x1000, 0, os.path.abspath(program), ns(start - 10))
        if what == 'maps' and n % 100:
            continue
        data = trace(start=start)
        result.aux(at, len(data), ns(start + 900), PID)
        result.trace(data, at)
        at += len(data)
    result.finished_round()
    result.exit(PID, ns(START + 1000 * (nr + 1)))
    return result


def main():
    program, path, what, how = sys.argv[1], sys.argv[2], (sys.argv[3:4] or ['good'])[0], sys.argv[4:]
    make(what, program).save(path, **{option: True for option in how})


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
