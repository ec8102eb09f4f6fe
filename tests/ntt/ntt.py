#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run readable decoder tests (.ntt files). README.rst in this folder describes the format.

    ntt.py NTRACE FILE.ntt ...        prints TAP
    ntt.py --same PROGRAM NTRACE FILE.ntt ...   also runs PROGRAM (tests/lib/same.c), which
                                      decodes each trace in every way and compares the items
    ntt.py --programs FOLDER ...      must be the first option: stores the programs of the cases in
                                      FOLDER, and reuses the programs that it contains
    ntt.py --update NTRACE FILE.ntt ...   writes the decoder's output into the files, so that you
                                      can compare it with the specification

This program encodes messages by the specification's tables, without code of the
decoder or the encoder.
"""
import difflib
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

CROSS = os.environ.get('CROSS_COMPILE', 'riscv64-linux-gnu-')

# TCODE, fixed fields (name, bits), and variable fields of each message, from the table "Fields in Messages"
MESSAGES = {
    'Ownership': (2, [], ['PROCESS']),
    'DirectBranch': (3, [], ['I-CNT']),
    'IndirectBranch': (4, [('B-TYPE', 2)], ['I-CNT', 'U-ADDR']),
    'Error': (8, [('ETYPE', 4)], ['ECODE']),
    'ProgTraceSync': (9, [('SYNC', 4)], ['I-CNT', 'F-ADDR']),
    'DirectBranchSync': (11, [('SYNC', 4)], ['I-CNT', 'F-ADDR']),
    'IndirectBranchSync': (12, [('SYNC', 4), ('B-TYPE', 2)], ['I-CNT', 'F-ADDR']),
    'ResourceFull': (27, [('RCODE', 4)], ['RDATA', 'HREPEAT']),
    'IndirectBranchHist': (28, [('B-TYPE', 2)], ['I-CNT', 'U-ADDR', 'HIST']),
    'IndirectBranchHistSync': (29, [('SYNC', 4), ('B-TYPE', 2)],
                               ['I-CNT', 'F-ADDR', 'HIST']),
    'RepeatBranch': (30, [], ['B-CNT']),
    'ProgTraceCorrelation': (33, [('EVCODE', 4), ('CDF', 2)], ['I-CNT', 'HIST']),
}
# additional messages of version 0 of SiFive's trace components
SIFIVE_MESSAGES = {
    'DataAcquisition': (7, [], ['IDTAG', 'DQDATA']),
    'AuxAccessWrite': (23, [], ['ADDR', 'DATA']),
    'InCircuitTrace': (34, [('CKSRC', 4), ('CKDF', 2)], ['CKDATA0', 'CKDATA1']),
    'InCircuitTraceSync': (35, [('CKSRC', 4), ('CKDF', 2)], ['CKDATA0', 'CKDATA1']),
}
# name of a message without a known layout, which has a TCODE and any number of fields V0, V1, ...
OTHER = 'Message'


class Bad(Exception):
    pass


def mdo(value, bits):
    """Return the 6-bit groups of a value that has @bits bits, with the least significant group first"""
    return [(value >> i) & 63 for i in range(0, max(bits, 1), 6)]


def var_bits(value, field, extend, xlen):
    """Return the number of bits that are sent for a variable-length field"""
    if extend and field in ('F-ADDR', 'U-ADDR'):
        top = xlen - 1          # bit 0 of the address is not sent
        value &= (1 << top) - 1
        for n in range(6, top, 6):
            sign = value >> (n - 1) & 1
            if value >> (n - 1) == (((1 << (top - n + 1)) - 1) if sign else 0):
                return value & ((1 << n) - 1), n
        return value, top
    return value, max(value.bit_length(), 1)


def encode(name, fields, config):
    if name == OTHER:
        tcode = fields.pop('TCODE')
        fixed = [(f, int(f[1:])) for f in fields if re.fullmatch(r'F\d+', f)]
        names = [f for f in fields if f.startswith('V')]
    elif name in MESSAGES:
        tcode, fixed, names = MESSAGES[name]
    elif name in SIFIVE_MESSAGES:
        tcode, fixed, names = SIFIVE_MESSAGES[name]
    else:
        raise Bad(f'no message {name}')
    head, bits = tcode, 6
    for field, width in [('SRC', config['src_bits'])] + fixed:
        head |= fields.pop(field, 0) << bits
        bits += width
    groups, first = [], True
    for field in names + ['TSTAMP']:
        if field not in fields:
            continue
        value, width = var_bits(fields.pop(field), field, config['extend'], config['xlen'])
        if first:
            groups.append(mdo(value << bits | head, bits + width))
            first = False
        else:
            groups.append(mdo(value, width))
    if fields:
        raise Bad(f'{name} has no field {" ".join(fields)}')
    if first:
        groups.append(mdo(head, bits))
    data = [b << 2 for g in groups for b in g]
    at = 0
    for g in groups:
        at += len(g)
        data[at - 1] |= 1
    data[-1] |= 3
    return bytes(data)


def pack_bits(text):
    """Convert bits such as "0110 1", in the order of sending, to bytes. The first bit is the least significant"""
    bits = [int(c) for c in text if c in '01']
    bits += [1] * (-len(bits) % 8)
    return bytes(sum(b << i for i, b in enumerate(bits[n:n + 8]))
                 for n in range(0, len(bits), 8))


class Case:
    programs = None         # folder in which the programs of all cases are stored, or None

    def __init__(self, path):
        self.path = path
        self.sections = []
        name, args, lines = None, '', []
        with open(path, encoding='utf-8') as file:
            for line in file:
                line = line.rstrip('\n')
                m = re.match(r'\[([a-z]+)\]\s*(.*)$', line)
                if m:
                    if name:
                        self.sections.append((name, args, lines))
                    name, args, lines = m.group(1), m.group(2), []
                elif name:
                    lines.append(line)
        self.sections.append((name, args, lines))
        self.options = []
        for name, args, lines in self.sections:
            if name == 'options':
                self.options += shlex.split(args + ' ' + ' '.join(lines), comments=True)
        self.symbols = {}
        bits = [self.options[i + 1] for i, o in enumerate(self.options) if o == '--src-bits']
        self.config = {
            'src_bits': int(bits[0]) if bits else 0,
            'extend': '--extend-addr' in self.options,
            'xlen': 32 if '--rv32' in self.options else 64,
            'addr_mask': (1 << (48 if 'sifive' in self.options else 64)) - 1,
        }

    def get(self, name):
        for n, args, lines in self.sections:
            if n == name:
                return args, lines
        return None

    def value(self, text):
        """Evaluate a number, or an expression of numbers and labels"""
        def label(m):
            if m.group(0) not in self.symbols:
                raise Bad(f'no label {m.group(0)}')
            return str(self.symbols[m.group(0)])
        text = re.sub(r'(?<![\w.])[A-Za-z_.][\w.]*', label, text)
        if not re.fullmatch(r'[0-9a-fA-FxXbo_+\-*/^|&<>()~ ]+', text):
            raise Bad(f'bad expression {text}')
        return eval(text, {'__builtins__': {}})     # the text contains only digits and operators

    def assemble(self, tmp):
        """Assemble the [code] sections to an ELF file. Return None if there are none"""
        arch = (self.get('arch') or ('rv64gc' if self.config['xlen'] == 64 else 'rv32gc', 0))[0]
        source, starts, base = ['.option norelax'], [], None
        for name, args, lines in self.sections:
            if name != 'code':
                continue
            addr = int(args.split()[0], 0)
            if base is not None and 0 < addr - base < 0x80000:
                source.append(f'.org {addr - base:#x}')         # the section is so near that branches reach it
            else:
                base = addr
                source += [f'.section .t{len(starts)}, "ax"', '.balign 2']
                starts.append(f'--section-start=.t{len(starts)}={addr:#x}')
            source += lines
        if not starts:
            return None
        rv32 = self.config['xlen'] == 32
        text = '\n'.join(source) + '\n'
        key = hashlib.sha256(repr((text, arch, rv32, starts)).encode()).hexdigest()
        elf = f'{self.programs or tmp}/{key}'
        if not os.path.exists(elf):
            with open(f'{tmp}/a.s', 'w', encoding='utf-8') as file:
                file.write(text)
            subprocess.run([CROSS + 'as', f'-march={arch}', '-mabi=' + ('ilp32' if rv32 else 'lp64'),
                            '-o', f'{tmp}/a.o', f'{tmp}/a.s'], check=True)
            subprocess.run([CROSS + 'ld', '-m', 'elf32lriscv' if rv32 else 'elf64lriscv', '-e', '0',
                            '--no-relax', '-N', *starts, '-o', f'{tmp}/a.elf', f'{tmp}/a.o'],
                           check=True)
            with open(f'{tmp}/a.nm', 'w', encoding='utf-8') as file:
                subprocess.run([CROSS + 'nm', f'{tmp}/a.elf'], check=True, stdout=file)
            # Another process may use the program as soon as it exists, so store its list of symbols before the program
            for ending in ('nm', 'elf'):
                shutil.copy(f'{tmp}/a.{ending}', f'{elf}.{os.getpid()}')
                os.replace(f'{elf}.{os.getpid()}', elf + ('.nm' if ending == 'nm' else ''))
        with open(f'{elf}.nm', encoding='utf-8') as file:
            for line in file:
                addr, kind, symbol = line.split(maxsplit=2)
                self.symbols[symbol.rstrip()] = int(addr, 16)
        return elf

    def trace(self):
        data = b''
        for line in self.get('trace')[1]:
            words = shlex.split(line, comments=True)
            if not words:
                continue
            if words[0] == 'bytes':
                data += bytes(int(w, 16) for w in words[1:])
            elif words[0] == 'idle':
                data += b'\xff' * int(words[1])
            elif words[0] == 'bits':
                data += pack_bits(''.join(words[1:]))
            elif words[0] == 'repeat':
                data += bytes([int(words[1], 16)]) * int(words[2])
            else:
                fields = {}
                for word in words[1:]:
                    key, _, value = word.partition('=')
                    fields[key] = self.value(value)
                    if key in ('F-ADDR', 'U-ADDR', 'CKDATA0') and re.search('[A-Za-z_]',
                                                                 re.sub('0x[0-9a-fA-F]+', '', value)):
                        fields[key] = (fields[key] & self.config['addr_mask']) >> 1
                data += encode(words[0], fields, self.config)
        return data


def run(command, **kwargs):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                          **kwargs)


def clean(lines):
    out = [re.sub(r'\s+', ' ', re.sub(r'(^|\s)#.*', '', line)).strip() for line in lines]
    return [line for line in out if line]


def result(case, ntrace, tmp, what, elf):
    """Return the (lines, exit status) that a section of expected output describes"""
    if what == 'dump':
        command = [ntrace, 'dump'] + case.options
    else:
        output = 'ranges' if what == 'errors' else what
        command = [ntrace, 'decode', '--elf', elf, f'--{output}'] + case.options
    done = run(command + [f'{tmp}/trace'])
    if what == 'errors':
        lines = [re.sub('^ntrace: ', '', line) for line in done.stderr.splitlines()
                 if 'hint:' not in line]
    else:
        lines = done.stdout.splitlines()
    if done.returncode not in (0, 1):
        raise Bad(f'{" ".join(command)}: exit status {done.returncode}: {done.stderr}')
    return clean(lines), done.returncode


EXPECTED = ('dump', 'ranges', 'branches', 'pcs', 'stats', 'errors')


def check_bytes(case, data):
    section = case.get('bytes')
    if not section:
        return []
    want = bytes.fromhex(re.sub(r'#.*', '', ' '.join([section[0]] + [
        re.sub(r'#.*', '', line) for line in section[1]])))
    return [] if data == want else [f'bytes: got {data.hex(" ")}', f'bytes: want {want.hex(" ")}']


def update(case, name, lines, status):
    """Replace the expected output of a section in the file"""
    with open(case.path, encoding='utf-8') as file:
        text = file.read()
    head = f'[{name}]' + (' 1' if status and name != 'errors' else '')
    body = ''.join(line + '\n' for line in [head] + lines)
    text = re.sub(rf'^\[{name}\].*\n(?:(?!\[[a-z]+\]).*\n?)*', lambda m: body, text, flags=re.M)
    with open(case.path, 'w', encoding='utf-8') as file:
        file.write(text)


def check_same(case, same, tmp, elf):
    """Let tests/lib/same.c check that each way of decoding the trace gives the same items"""
    if not same or not elf:
        return []
    done = run([same, '--elf', elf] + case.options + [f'{tmp}/trace'])
    if done.returncode == 0:
        return []
    return ['not the same in every way:'] + done.stdout.splitlines() + done.stderr.splitlines()


def check(case, ntrace, write=False, same=None):
    """Return the problems of a case as lines, or none if it passes"""
    problems = []
    with tempfile.TemporaryDirectory() as tmp:
        elf = case.assemble(tmp)
        data = case.trace()
        with open(f'{tmp}/trace', 'wb') as file:
            file.write(data)
        problems += check_bytes(case, data)
        found = 0
        for name, args, lines in case.sections:
            if name not in EXPECTED:
                continue
            found += 1
            got, status = result(case, ntrace, tmp, name, elf)
            want = clean(lines)
            want_status = int(args) if args else 0
            if name == 'errors':
                want_status = status
            if write:
                update(case, name, got, status)
            elif got != want:
                problems += difflib.unified_diff(want, got, f'{name}, wanted', f'{name}, got', lineterm='')
            if status != want_status and not write:
                problems.append(f'{name}: exit status {status}, wanted {want_status}')
        if not found:
            problems.append('expects nothing')
        problems += check_same(case, same, tmp, elf)
    return problems


def main():
    args = sys.argv[1:]
    if args[0] == '--programs':
        Case.programs, args = args[1], args[2:]
    write = args[0] == '--update'
    if write:
        args = args[1:]
    same = None
    if args[0] == '--same':
        same, args = args[1], args[2:]
    ntrace, files = args[0], args[1:]
    print(f'1..{len(files)}')
    failed = False
    for number, path in enumerate(files, 1):
        name = os.path.basename(path)[:-4]
        try:
            problems = check(Case(path), ntrace, write, same)
        except (Bad, subprocess.SubprocessError, ValueError, SyntaxError, KeyError,
                TypeError) as error:
            problems = [f'{type(error).__name__}: {error}']
        print('not ok' if problems else 'ok', number, '-', name)
        for line in problems:
            print('#', line)
        if problems:
            print(f'# to repeat it alone: tests/run ntt/{name}')
        failed = failed or bool(problems)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
