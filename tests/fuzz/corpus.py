#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a fuzzing corpus from the readable cases of tests/ntt: corpus.py FOLDER FILE.ntt ..."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'ntt'))
import ntt  # noqa: E402


def flow_head(case, code):
    """Return the bytes of an input that precede the code, see fuzz-flow.c"""
    has = case.options.__contains__
    depth = 31 if any(o.startswith('--implicit-return') or o == 'sifive'
                      for o in case.options) else 0
    return bytes([
        case.config['src_bits'] & 3 | (has('--timestamp') or has('sifive')) << 2 | has('--rv32') << 3 |
        has('--extend-addr') << 4 | has('--sequential-jump') << 5 | has('--all-jumps') << 6,
        (2 if has('sifive') else 1) | depth << 3,
        has('--zcmp') | has('--zcmt') << 1,
        7, len(code) // 8]) + code


def code_of(elf):
    """Return the code that the ELF file has at address 0x1000 and above"""
    with open(elf, 'rb') as file:
        data = file.read()
    wide = data[4] == 2
    phoff = int.from_bytes(data[32:40] if wide else data[28:32], 'little')
    size = int.from_bytes(data[54:56] if wide else data[42:44], 'little')
    for i in range(int.from_bytes(data[56:58] if wide else data[44:46], 'little')):
        head = data[phoff + i * size:phoff + (i + 1) * size]
        words = [int.from_bytes(head[n:n + (8 if wide else 4)], 'little')
                 for n in range(8 if wide else 4, size, 8 if wide else 4)]
        if words[1] == 0x1000:
            code = data[words[0]:words[0] + min(words[3], 2040)]
            return code + bytes(-len(code) % 8)
    return b''


def main():
    folder = sys.argv[1]
    for kind in ('message', 'flow', 'elf'):
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
    for path in sys.argv[2:]:
        case = ntt.Case(path)
        name = os.path.basename(path)[:-4]
        with tempfile.TemporaryDirectory() as tmp:
            elf = case.assemble(tmp)
            trace = case.trace()
            head = bytes([case.config['src_bits'] | ('--timestamp' in case.options or 'sifive' in case.options) << 7,
                          0xe6 if 'sifive' in case.options else 6])
            with open(f'{folder}/message/{name}', 'wb') as file:
                file.write(head + trace)
            if not elf:
                continue
            with open(f'{folder}/flow/{name}', 'wb') as file:
                file.write(flow_head(case, code_of(elf)) + trace)
            if not os.listdir(f'{folder}/elf'):
                with open(f'{folder}/elf/{name}', 'wb') as file, open(elf, 'rb') as source:
                    file.write(source.read())


if __name__ == '__main__':
    main()
