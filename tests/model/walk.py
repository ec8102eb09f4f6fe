#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print the PCs of a random walk through the code of an ELF file. A hart could retire them in this order.

    walk.py ELF COUNT SEED > LIST

Branches go in both directions, most returns go to their calls, indirect jumps
go to any instruction, and traps occur at random. The line '-' is a gap in the
trace. This program has its own classification of instructions, so that it
also checks those of the encoder and the decoder.
"""
import random
import struct
import sys

LINEAR, BRANCH, JUMP, CALL, INDIRECT, INDIRECT_CALL, RETURN, TRAP = range(8)
LINK = (1, 5)


def sext(value, bits):
    return (value & ((1 << bits) - 1)) - ((value >> (bits - 1) & 1) << bits)


class Code:
    def __init__(self, path):
        data = open(path, "rb").read()
        self.rv32 = data[4] == 1
        if self.rv32:
            shoff, = struct.unpack_from("<I", data, 32)
            shentsize, shnum = struct.unpack_from("<HH", data, 46)
            fields, = "<IIIIII",
        else:
            shoff, = struct.unpack_from("<Q", data, 40)
            shentsize, shnum = struct.unpack_from("<HH", data, 58)
            fields, = "<IIQQQQ",
        best = 0
        for i in range(shnum):
            _, kind, flags, addr, offset, size = struct.unpack_from(fields, data, shoff + i * shentsize)
            if kind == 1 and flags & 4 and size > best:    # .text is the largest executable section
                best = size
                self.base, self.text = addr, data[offset:offset + size]
        self.mask = 0xffffffff if self.rv32 else 0xffffffffffffffff
        self.starts = []
        pc = self.base
        while self.inside(pc):
            self.starts.append(pc)
            pc += self.length(pc)

    def inside(self, pc):
        offset = pc - self.base
        return 0 <= offset and offset + 2 <= len(self.text) and offset + self.length(pc) <= len(self.text)

    def half(self, pc):
        return struct.unpack_from("<H", self.text, pc - self.base)[0]

    def length(self, pc):
        return 4 if self.half(pc) & 3 == 3 else 2

    def word(self, pc):
        return struct.unpack_from("<I", self.text, pc - self.base)[0]

    # return (class, target or None, register of an indirect jump, (register, constant) or None)
    def classify(self, pc):
        return self.long(pc) if self.length(pc) == 4 else self.short(pc)

    @staticmethod
    def jalr(rd, rs, imm):
        if rd in LINK:
            return INDIRECT_CALL, imm, rs, None
        return (RETURN if rs in LINK else INDIRECT), imm, rs, None

    def long(self, pc):
        op = self.word(pc)
        low, rd, rs = op & 0x7f, op >> 7 & 31, op >> 15 & 31
        if low == 0x63 and op >> 12 & 7 not in (2, 3):
            imm = (op >> 31) << 12 | (op >> 7 & 1) << 11 | (op >> 25 & 63) << 5 | (op >> 8 & 15) << 1
            return BRANCH, pc + sext(imm, 13) & self.mask, None, None
        if low == 0x6f:
            imm = (op >> 31) << 20 | (op >> 12 & 255) << 12 | (op >> 20 & 1) << 11 | (op >> 21 & 1023) << 1
            return (CALL if rd in LINK else JUMP), pc + sext(imm, 21) & self.mask, None, None
        if low == 0x67 and op >> 12 & 7 == 0:
            return self.jalr(rd, rs, sext(op >> 20, 12))
        if low == 0x37:
            return LINEAR, None, None, (rd, sext(op & 0xfffff000, 32) & self.mask)
        if low == 0x17:
            return LINEAR, None, None, (rd, pc + sext(op & 0xfffff000, 32) & self.mask)
        if op in (0x73, 0x00100073, 0x10200073, 0x30200073):
            return TRAP, None, None, None
        return LINEAR, None, None, None

    def short(self, pc):
        op = self.half(pc)
        quadrant, funct3, rd = op & 3, op >> 13, op >> 7 & 31

        def bit(n, to):
            return (op >> n & 1) << to
        if op == 0 or op == 0x9002:
            return TRAP, None, None, None
        if quadrant == 1 and (funct3 == 5 or (funct3 == 1 and self.rv32)):
            imm = (bit(12, 11) | bit(11, 4) | bit(10, 9) | bit(9, 8) | bit(8, 10) | bit(7, 6) | bit(6, 7) |
                   bit(5, 3) | bit(4, 2) | bit(3, 1) | bit(2, 5))
            return (JUMP if funct3 == 5 else CALL), pc + sext(imm, 12) & self.mask, None, None
        if quadrant == 1 and funct3 >= 6:
            imm = bit(12, 8) | bit(11, 4) | bit(10, 3) | bit(6, 7) | bit(5, 6) | bit(4, 2) | bit(3, 1) | bit(2, 5)
            return BRANCH, pc + sext(imm, 9) & self.mask, None, None
        if quadrant == 1 and funct3 == 3 and rd != 2 and op & 0x107c:
            imm = bit(12, 17) | (op >> 2 & 31) << 12
            return LINEAR, None, None, (rd, sext(imm, 18) & self.mask)
        if quadrant == 2 and funct3 == 4 and rd and not op >> 2 & 31:
            return self.jalr(op >> 12 & 1, rd, 0)
        return LINEAR, None, None, None


def walk(code, count, rng, out):
    pc, stack, const = code.base, [], None
    handlers = [rng.choice(code.starts) for _ in range(4)]
    left = count
    while left:
        if not code.inside(pc):
            pc, const = rng.choice(handlers), None
            continue
        kind, target, reg, sets = code.classify(pc)
        if kind == TRAP or rng.random() < 0.003:    # the instruction traps and does not retire
            pc, const = rng.choice(handlers), None
            continue
        out.append("0x%x" % pc)
        left -= 1
        end = pc + code.length(pc)
        was, const = const, sets if sets and sets[0] else None
        if rng.random() < 0.0003:
            out.append("-")
            pc, const = rng.choice(code.starts), None
            continue
        if kind == BRANCH:
            pc = target if rng.random() < 0.6 else end
        elif kind in (JUMP, CALL):
            pc = target
        elif kind in (INDIRECT, INDIRECT_CALL, RETURN):
            if was and reg == was[0]:
                pc = was[1] + target & code.mask & ~1
            elif kind == RETURN and stack and rng.random() < 0.9:
                pc = stack.pop()
            else:
                pc = rng.choice(code.starts)
        else:
            pc = end
        if kind in (CALL, INDIRECT_CALL):
            stack = stack[-40:] + [end]


def main():
    code = Code(sys.argv[1])
    out = []
    walk(code, int(sys.argv[2]), random.Random(int(sys.argv[3])), out)
    sys.stdout.write("\n".join(out) + "\n")


main()
