#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write one random walk through an invented program, as N-Trace of RISC-V and as Intel PT of x86-64.

    mkflow.py DIR BRANCHES COPIES NTRACE CC-RISCV CC-X86

The blocks of both programs have the same number of instructions and end with the same kind of jump, so that perf's
decoders do the same work. DIR/riscv.data and DIR/x86.data contain the walk COPIES times. DIR/insns contains the
number of instructions. The command NTRACE encodes the N-Trace. Intel PT has a PSB packet every 4 KiB and no packets
of time, which is the best case for Intel PT.
"""
import os
import random
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import perfdata  # noqa: E402

BLOCKS = 2000
BASE = {'riscv': 0x10000, 'x86': 0x400000}
PID = 1234
JCC, JUMP, CALL, RETURN, INDIRECT, ICALL = range(6)
LAST_INSN = {'riscv': [4] * 6, 'x86': [6, 5, 5, 1, 2, 2]}


def make_blocks(rnd):
    """Return (number of instructions before the last one, kind of the last one, target) of each block. Without a jump,
    a block continues at the next block"""
    blocks = []
    for i in range(BLOCKS):
        kind = rnd.choices((JCC, JUMP, CALL, RETURN, INDIRECT, ICALL), (70, 8, 9, 9, 2, 2))[0]
        near = max(0, min(BLOCKS - 1, i + rnd.randrange(-40, 60)))
        # the two directions of a branch must lead to different blocks
        near += near == i + 1 and i + 2 < BLOCKS
        # Jumps only go forward, so that each loop has a branch that may be not taken
        if kind == JUMP:
            near = min(BLOCKS - 1, i + rnd.randrange(2, 60))
        blocks.append((rnd.randrange(2, 8), kind, near if kind != CALL else rnd.randrange(BLOCKS)))
    blocks[-1] = (3, INDIRECT, 0)
    return blocks


def layout(blocks, isa):
    nop = {'riscv': 4, 'x86': 1}[isa]
    at, addr = BASE[isa], []
    for count, kind, _ in blocks:
        addr.append(at)
        at += count * nop + LAST_INSN[isa][kind]
    return addr, at


def riscv_jump(offset, rd):
    imm = (offset >> 20 & 1) << 31 | (offset >> 1 & 0x3ff) << 21 | (offset >> 11 & 1) << 20 | \
        (offset >> 12 & 0xff) << 12
    return imm | rd << 7 | 0x6f


def riscv_branch(offset):
    return (offset >> 12 & 1) << 31 | (offset >> 5 & 0x3f) << 25 | (offset >> 1 & 0xf) << 8 | \
        (offset >> 11 & 1) << 7 | 10 << 15 | 0x1063


def code(blocks, addr, isa):
    out = b''
    for (count, kind, target), at in zip(blocks, addr):
        if isa == 'riscv':
            out += struct.pack('<I', 0x13) * count
            to = addr[target] - at - 4 * count
            out += struct.pack('<I', (riscv_branch(to), riscv_jump(to, 0), riscv_jump(to, 1), 0x8067,
                                      0x50067, 0x500e7)[kind])
        else:
            out += b'\x90' * count
            to = addr[target] - at - count - LAST_INSN[isa][kind]
            out += ((b'\x0f\x84', b'\xe9', b'\xe8', b'\xc3', b'\xff\xe0', b'\xff\xd0')[kind] +
                    (struct.pack('<i', to) if kind <= CALL else b''))
    return out


def walk(blocks, rnd, branches):
    """Return (block, taken, next) of each step from block 0 back to block 0"""
    steps, stack, at = [], [], 0
    while True:
        _, kind, target = blocks[at]
        taken = kind != JCC or rnd.random() < .4
        if kind in (CALL, ICALL):
            stack = stack[-63:] + [at + 1]
        if kind == RETURN:
            target = stack.pop() if stack else rnd.randrange(BLOCKS - 100)
        elif kind in (INDIRECT, ICALL):
            target = rnd.randrange(BLOCKS - 100)
            if kind == INDIRECT and len(steps) > branches:
                target = 0
        steps.append((at, taken, target if taken else at + 1))
        at = steps[-1][2]
        if not at and len(steps) > branches:
            return steps
        if len(steps) > 10 * branches:
            raise SystemExit('the walk does not come to its end')


class IntelPT:
    """Write packets that the Intel SDM, volume 3, chapter "Intel Processor Trace" describes"""

    def __init__(self):
        self.out, self.bits, self.last, self.next_psb = bytearray(), [], 0, 4096

    def flush(self):
        while self.bits:
            n = 47 if len(self.bits) > 6 else 6
            now, self.bits = self.bits[:n], self.bits[n:]
            value = 1
            for bit in now:
                value = value << 1 | bit
            self.out += b'\x02\xa3' + value.to_bytes(6, 'little') if n == 47 else bytes([value << 1])

    def ip(self, opcode, addr):
        size = 1 if addr >> 16 == self.last >> 16 else 2 if addr >> 32 == self.last >> 32 else 3
        self.out += bytes([size << 5 | opcode]) + addr.to_bytes(8, 'little')[:(0, 2, 4, 6)[size]]
        self.last = addr

    def psb(self, addr=None):
        self.flush()
        self.last = 0
        self.out += b'\x02\x82' * 8 + b'\x99\x01'
        if addr is not None:
            self.ip(0x1d, addr)
        self.out += b'\x02\x23'
        self.next_psb = len(self.out) + 4096

    def begin(self, addr):
        self.psb()
        self.ip(0x11, addr)

    def branch(self, kind, taken, target):
        if kind == JCC:
            self.bits.append(taken)
            if len(self.bits) == 47:
                self.flush()
        elif kind in (RETURN, INDIRECT, ICALL):
            self.flush()
            self.ip(0x0d, target)
        if len(self.out) >= self.next_psb:
            self.psb(target)

    def end(self):
        self.flush()
        self.out += b'\x01'
        return bytes(self.out)


def intel_pt(blocks, addr, steps):
    pt = IntelPT()
    pt.begin(addr[0])
    for at, taken, to in steps:
        pt.branch(blocks[at][1], taken, addr[to])
    return pt.end()


def link(isa, directory, text, cc):
    raw, program = os.path.join(directory, isa + '.code'), os.path.join(directory, isa)
    with open(raw, 'wb') as f:
        f.write(text)
    with open(program + '.S', 'w', encoding='ascii') as f:
        f.write(f'.globl _start\n.type _start, @function\n_start: .incbin "{raw}"\n.size _start, . - _start\n')
    subprocess.run([cc, '-nostdlib', '-static', f'-Wl,-Ttext={BASE[isa]:#x}', '-Wl,--build-id=none',
                    '-o', program, program + '.S'], check=True)
    headers = subprocess.run(['readelf', '-lW', program], check=True, capture_output=True, text=True).stdout
    for line in headers.splitlines():
        word = line.split()
        if word[:1] == ['LOAD'] and int(word[2], 16) <= BASE[isa] < int(word[2], 16) + int(word[5], 16):
            return program, int(word[1], 16) + BASE[isa] - int(word[2], 16)
    raise SystemExit(f'{program}: no code')


def save(file, path, trace, copies, program, offset, base, size, cpu=0):
    file.comm(PID, 'flow')
    file.mmap(PID, base, size + 0xfff & ~0xfff, offset, os.path.abspath(program))
    data = b''.join(trace(n) for n in range(copies))
    file.aux(0, len(data), 10 ** 15, PID)
    file.trace(data, cpu=cpu, tid=PID if cpu < 0 else -1)
    file.finished_round()
    file.exit(PID, 2 * 10 ** 15)
    file.save(path)


def main():
    directory, branches, copies, ntrace, cc_riscv, cc_x86 = sys.argv[1:]
    rnd = random.Random(2)
    blocks = make_blocks(rnd)
    steps = walk(blocks, rnd, int(branches))
    copies = int(copies)
    addr = {isa: layout(blocks, isa) for isa in BASE}
    program = {isa: link(isa, directory, code(blocks, addr[isa][0], isa), cc)
               for isa, cc in (('riscv', cc_riscv), ('x86', cc_x86))}

    lines = ['\n'.join(hex(at + 4 * n) for n in range(count + 1))
             for (count, _, _), at in zip(blocks, addr['riscv'][0])]
    pcs = os.path.join(directory, 'pcs')
    with open(pcs, 'w', encoding='ascii') as f:
        f.write('\n'.join(lines[at] for at, _, _ in steps) + f'\n{BASE["riscv"]:#x}\n')
    for name, args, config in (('riscv', ['--timestamp'], perfdata.TIMESTAMP), ('riscv-no-time', [], 0)):
        trace = os.path.join(directory, name + '.nt')
        subprocess.run([ntrace, 'encode', '--elf', program['riscv'][0], '--pcs', pcs, '-o', trace] + args,
                       check=True)
        with open(trace, 'rb') as f:
            data = f.read()
        file = perfdata.File(config=config)
        file.switch_in(PID, PID, 1)
        save(file, os.path.join(directory, name + '.data'), lambda n: data, copies, *program['riscv'],
             BASE['riscv'], addr['riscv'][1] - BASE['riscv'])

    data = intel_pt(blocks, addr['x86'][0], steps)
    # Fields of PERF_RECORD_AUXTRACE_INFO: PMU, time_shift, time_mult, time_zero, cap_user_time_zero, TSC and noretcomp
    # bits, sched_switch, snapshot, per CPU, MTC, TSC/CTC, CYC, ratio, filter
    words = [perfdata.TYPE, 10, 1024, 0, 1, 1 << 10, 1 << 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    file = perfdata.File(config=1 | 1 << 11 | 1 << 13, arch='x86_64', info=(1, words))
    file.switch_in(PID, PID, 1)
    save(file, os.path.join(directory, 'x86.data'), lambda n: data, copies, *program['x86'],
         BASE['x86'], addr['x86'][1] - BASE['x86'], cpu=-1)
    insns = sum(blocks[at][0] + 1 for at, _, _ in steps)
    with open(os.path.join(directory, 'insns'), 'w', encoding='ascii') as f:
        f.write(f'{insns * copies} {sum(taken for _, taken, _ in steps) * copies}\n')


if __name__ == '__main__':
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    main()
