#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the answers of `ntrace diff` with the lists of PCs of both runs.

    diff.py NTRACE PROGRAM equal|flip|once|gap NUMBER [SEED]

Each of NUMBER pairs consists of a run of PROGRAM (diff.c) and a second run. With "equal", the second run is the same
as the first. With "flip", the second run executes a copy of the program in which one conditional branch is inverted.
With "once", one condition is inverted once. "gap" inverts one condition once, and also removes some instructions
elsewhere from the second trace. Each recording has different addresses and threads, and has interrupts and signal
handlers at different places.
"""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
sys.path[:0] = [os.path.join(TOP, 'tests', 'perf'), os.path.join(TOP, 'tests', 'session')]
import mkrecording  # noqa: E402
import perfdata     # noqa: E402

FORK, COMM, LIMIT, CONDITIONS = 7, 'diff', 2000000, 8


def run(tmp, program, *args):
    """Return the PCs of both threads. The last list is of the thread that was created last"""
    subprocess.run([os.path.join(TOP, 'tests', 'harness', 'pcs'), f'{tmp}/pcs', program, *args], stderr=subprocess.DEVNULL,
                   env={**os.environ, 'THREADS': '1', 'QEMU_RISCV64': f'{tmp}/qemu'}, check=False)
    lists = []
    for thread in 0, 1:
        path = f'{tmp}/pcs.{thread}'
        if os.path.exists(path):
            with open(path) as f:
                lists.append([int(line, 16) for line in f.read().split('\n')[:LIMIT] if line.startswith('0x')])
            os.remove(path)
    return lists


def retry(rng, pcs, back):
    """Return the list of PCs in which some sc instructions failed once, because an interrupt arrived after lr"""
    out = []
    for i, pc in enumerate(pcs):
        out.append(pc)
        if pc in back and i + 1 < len(pcs) and pcs[i + 1] != back[pc] and rng.random() < 0.5:
            loop = pcs[i - 16:i + 1]
            out += loop[loop.index(back[pc]):]
    return out


def interrupt(rng, pcs, handler, jumps):
    """Return the list of PCs with added interrupts, some of which deliver a signal. The kernel is not traced"""
    out, at = [], 0
    for end in sorted(rng.sample(range(1, len(pcs)), min(30, len(pcs) - 1))) + [len(pcs)]:
        out += pcs[at:end]
        at = end
        # `ntrace encode` does not know the destination of a branch if the next instruction is missing
        if end == len(pcs) or pcs[end] - pcs[end - 1] not in (2, 4) or pcs[end - 1] in jumps:
            continue
        out += [None]
        if rng.random() < 0.3:
            out += handler + [None]
    return out


def record(tmp, name, ntrace, rng, program, threads, handler, jumps, back, lost=()):
    """Write a recording. @lost has the positions (from, to) of the missing trace in each thread"""
    base, pid = rng.randrange(1, 1 << 20) << 12, rng.randrange(1000, 4000)
    file = perfdata.File(cpus=2)
    copy = f'{tmp}/{name}/{os.path.basename(program)}'
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    with open(program, 'rb') as source, open(copy, 'wb') as to:
        to.write(source.read())
    file.comm(pid, COMM)
    for addr, offset, size in mkrecording.code_segments(program):
        page = addr & 0xfff
        file.mmap(pid, addr - page + base, size + page + 0xfff & ~0xfff, offset - page, copy)
    for cpu, pcs in enumerate(threads):
        tid = pid + 7 * cpu
        if cpu:
            file.record(FORK, file.misc, struct.pack('<IIIIQ', pid, pid, tid, pid, 1) +
                        file.trailer(pid, pid, 1, 0, file.event_id))
        file.switch_in(pid, tid, 1, cpu)
        offset = 0
        parts = [pcs]
        if lost and lost[cpu]:
            parts = [pcs[:lost[cpu][0]], pcs[lost[cpu][1]:]]
        for nth, part in enumerate(parts):
            part = interrupt(rng, retry(rng, part, back), handler, jumps)
            with open(f'{tmp}/list', 'w') as f:
                f.write(''.join('-\n' if pc is None else f'{pc + base:#x}\n' for pc in part))
            subprocess.run([ntrace, 'encode', '--elf', f'{copy}@{base:#x}', '--pcs', f'{tmp}/list', '-o', f'{tmp}/nt', '--timestamp',
                            '--context', str(tid), '--sync-mode', '1', '--sync-max', '8'], check=True, stdout=subprocess.DEVNULL)
            with open(f'{tmp}/nt', 'rb') as f:
                data = f.read()
            file.aux(offset, len(data), 10 ** 15 * (nth + 1), pid, cpu, 1 if nth + 1 < len(parts) else 0)
            file.trace(data, offset, cpu)
            offset += len(data) + -len(data) % 8
    file.finished_round()
    file.save(f'{tmp}/{name}.data')
    return base


def branches(code):
    """Return {PC: bytes} of all conditional branches, and {PC: destination} of the branches that retry an lr after an
    sc"""
    lines = subprocess.run(['riscv64-linux-gnu-objdump', '-d', code], capture_output=True, text=True, check=True).stdout
    found = re.finditer(r'^\s+([0-9a-f]+):\s+([0-9a-f]+)\s+(beqz|bnez|beq|bne|blt|bge|bltu|bgeu|bltz|bgez|blez|bgtz)\t', lines, re.M)
    codes = {int(m[1], 16): len(m[2]) // 2 for m in found}
    loads = {int(pc, 16) for pc in re.findall(r'^\s+([0-9a-f]+):\s+[0-9a-f]+\s+lr\.[wd]', lines, re.M)}
    jumps = re.findall(r'^\s+([0-9a-f]+):\s+[0-9a-f]+\s+bnez\t\w+,([0-9a-f]+) ', lines, re.M)
    return codes, {int(pc, 16): int(to, 16) for pc, to in jumps if int(to, 16) in loads and int(to, 16) < int(pc, 16)}


def flip(program, to, pc, size):
    with open(program, 'rb') as f:
        data = bytearray(f.read())
    addr, offset, _ = next(s for s in mkrecording.code_segments(program) if s[0] <= pc < s[0] + s[2])
    at = pc - addr + offset
    data[at + 1] ^= 0x20 if size == 2 else 0x10
    with open(to, 'wb') as f:
        f.write(data)
    os.chmod(to, 0o755)


def expected(a, b):
    """Return (PC, number of its earlier executions) of the last common instruction, or None"""
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return a[i - 1], a[:i - 1].count(a[i - 1])
    return None if len(a) == len(b) else (a[min(len(a), len(b)) - 1], None)


def answers(ntrace, tmp, symbols, *options):
    """Return the exit status, {thread: (PC, number of its earlier executions)} and the output"""
    out = subprocess.run([ntrace, 'diff', *options, f'{tmp}/a.data', f'{tmp}/b.data'], capture_output=True, text=True, check=False)
    found = {}
    for m in re.finditer(r'^Thread (\d+) .* first differ after\n    (\S*)\+0x([0-9a-f]+) .*\n(?:    [AB].*\n)*'
                         r'    before the difference, this instruction was executed (\d+) times?(?: in A)?,', out.stdout, re.M):
        found[int(m[1])] = (symbols.get(m[2], 0) + int(m[3], 16), int(m[4]))
    return out.returncode, found, out.stdout + out.stderr


def judge(status, found, wanted, tids, text):
    """Return a sentence that describes the fault, or None if there is no fault"""
    if status != (1 if any(wanted) else 0):
        return f'status {status}: {text}'
    for tid, want in zip(tids, wanted):
        got = found.get(tid)
        if (want is None) != (got is None) or (want and (got[0] != want[0] or want[1] not in (None, got[1]))):
            return f'thread {tid}: {want} was expected: {text}'
    return None


def main():
    ntrace, program, kind, number = *sys.argv[1:4], int(sys.argv[4])
    rng = random.Random(int(sys.argv[5]) if len(sys.argv) > 5 else 1)
    wrong = judged = differ = 0
    table = subprocess.run(['riscv64-linux-gnu-nm', program], capture_output=True, text=True, check=True).stdout
    symbols = {line.split()[2]: int(line.split()[0], 16) for line in table.splitlines() if line.count(' ') == 2}
    with tempfile.TemporaryDirectory() as tmp:
        # the changed program may run forever
        with open(f'{tmp}/qemu', 'w') as f:
            f.write('#!/bin/sh\nulimit -t 10\nexec timeout 20 qemu-riscv64-static "$@"\n')
        os.chmod(f'{tmp}/qemu', 0o755)
        base_run = run(tmp, program, '99', '0')
        codes, back = branches(program)
        # Do not invert a branch that repeats an lr after a failed sc, because ntrace diff ignores such
        # repetitions
        executed = sorted({pc for pcs in base_run for pc in pcs} & set(codes) - set(back))
        # use 60 PCs of a call of words() as the PCs of a signal handler
        at = base_run[0].index(symbols['words'])
        handler = base_run[0][at:at + 60]
        while judged < number:
            other, second = program, base_run
            if kind == 'flip':
                pc = rng.choice(executed)
                other = f'{tmp}/{os.path.basename(program)}'
                flip(program, other, pc, codes[pc])
                second = run(tmp, other, '99', '0')
            elif kind in ('once', 'gap'):
                pc = 0
                second = run(tmp, program, str(rng.randrange(CONDITIONS)), str(int(rng.expovariate(0.02))))
            if len(second) < 2 and kind == 'flip':
                second = [*second, []] if second else [[], []]
            if not all(second):
                continue
            lost = ()
            if kind == 'gap':
                lost = [(n := rng.randrange(1000, len(second[0]) // 2), n + rng.randrange(100, 5000)), None]
            record(tmp, 'a', ntrace, rng, program, base_run, handler, codes, back)
            record(tmp, 'b', ntrace, rng, other, second, handler, codes, back, lost)
            wanted = [expected(a, b) for a, b in zip(base_run, second)]
            if kind == 'gap' and wanted[0]:
                # a difference inside the missing trace, or near the missing trace, cannot be located
                i = next(i for i, (x, y) in enumerate(zip(base_run[0], second[0])) if x != y)
                if lost[0][0] <= i < lost[0][1] + 20000:
                    continue
            status, found, text = answers(ntrace, tmp, symbols)
            judged += 1
            differ += sum(want is not None for want in wanted)
            what = judge(status, found, wanted, first_tids(f'{tmp}/a.data'), text)
            if kind == 'gap' and 'is missing after' not in text:
                what = f'the missing trace is not named: {text}'
            if what:
                wrong += 1
                print(f'{kind} {judged} {pc if kind == "flip" else ""}: {what}')
                keep = os.environ.get('DIFF_KEEP')
                if keep and wrong == 1:
                    subprocess.run(['cp', '-r', tmp, keep], check=False)
    print(f'{judged} pairs, {differ} threads that differ, {wrong} wrong')
    return wrong > 0


def first_tids(path):
    """Return the ids of both threads"""
    with open(path, 'rb') as f:
        data = f.read()
    at = data.index(COMM.encode() + b'\0')
    pid, = struct.unpack_from('<I', data, at - 8)
    return [pid, pid + 7]


if __name__ == '__main__':
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    sys.exit(main())
