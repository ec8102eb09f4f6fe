#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Damage the structure of recordings and of the files that belong to recordings, and let commands read the damaged
files.

    damaged.py NTRACE SERVE FOLDER NEXT END FILE...

READERS has commands for each kind of file, which read the damaged files in turn. A command must end within 10 seconds
with an exit status of 0, 1 or 2, and must not change the file. If a command violates these rules, the damaged file is
stored in FOLDER. NEXT is the number of the first file, or the name of a file that contains this number. The program
updates the file NEXT, so that an interrupted run can continue.

FOLDER has the files of tests/session/damaged.t. good.data is a recording, and calls is its program. program.data is a
recording whose program is damaged. The recordings kcore, kallsyms and modules each have a damaged file of this name
with the kernel's code.
"""
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'command'))
import packets  # noqa: E402

COMMANDS = [
    ['report'], ['report', '--insns'], ['report', '--functions'], ['report', '--stack'], ['script'], ['script', '--calls'],
    ['script', '--insns', '--json'], ['script', '--events'], ['slow', 'outer'], ['stat'], ['dump'],
    ['inject', '-o', 'out'], ['export', '--format', 'folded', '-o', 'out'], ['export', '--format', 'perfetto', '-o', 'out'],
    ['html', '-o', 'out'], ['profile', '--counts', '-o', 'out'], ['profile', '--bolt', '-o', 'out'],
    ['split', '-n', '3', '-o', 'shards'], ['share', '-o', 'out'], ['share', '--list'],
    ['report', '--cpu', '7'], ['export', '--format', 'chrome', '-o', 'out'],
    ['export', '--format', 'speedscope', '-o', 'out'], ['export', '--format', 'jsonl', '-o', 'out'],
    ['export', '--format', 'sqlite', '-o', 'out'], ['profile', '--lcov', '-o', 'out'], ['profile', '--llvm', '-o', 'out'],
    ['profile', '--gcov', '-o', 'out'], ['profile', '--callgrind', '-o', 'out'], ['decode', '--elf', 'calls'],
    ['decode', '--pcs', '--elf', 'calls'], ['report', '--lines'], ['flight', 'calls'], ['inject', '--period', '1', '-o', 'out'],
    ['export', '--format', 'perfetto', '--time', '0.1,0.2', '-o', 'out'], ['info'], ['report', '--inline'],
    ['script', '--function', 'outer'], ['slow', 'outer', '--nth', '2'], ['annotate', 'outer'], ['audit'],
    ['query', 'outer'], ['query', '--print', 'window', '--sort', 'ns', 'ns>0 in (outer after inner)'], ['query', '--json', '* or not has inner'],
    ['diff', 'good.data'], ['diff', '--kernel', 'calls.data'], ['gdb', '--stdio', '--kernel'], ['gdb', '--stdio', '--at', 'end'], ['export', '--format', 'pprof', '-o', 'out'],
    ['gdb', '--stdio', '--machine'], ['export', '--format', 'parquet', '-o', 'folder'], ['share', '--kernel', '-o', 'out'], ['decode', '--stats', '--elf', 'calls'],
]
OF_COUNTS = [['merge', '-o', 'out'], ['merge', 'counts.data'], ['profile', '--bolt', '-o', 'out']]
OF_CODE = [
    ['report'], ['report', '--lines'], ['report', '--inline'], ['report', '--stack'], ['script'], ['script', '--insns'], ['annotate', 'outer'],
    ['html', '-o', 'out'], ['profile', '--lcov', '-o', 'out'], ['profile', '--llvm', '-o', 'out'], ['profile', '--gcov', '-o', 'out'],
    ['profile', '--bolt', '-o', 'out'], ['profile', '--callgrind', '-o', 'out'], ['profile', '--counts', '-o', 'out'],
    ['export', '--format', 'pprof', '-o', 'out'], ['share', '-o', 'out'], ['share', '--list'], ['gdb', '--stdio', '--kernel'], ['audit'],
    ['query', '--count', 'not cpu=1'], ['slow', 'outer'], ['script', '--calls', '--lines'],
]
BESIDE = 'program.data', 'program.data', 'kcore', 'kallsyms', 'modules'
OF_ELF = [
    ['decode', 'TRACE', '--elf'], ['decode', '--pcs', '--timestamp', 'TRACE', '--elf'], ['decode', '--detect', 'TRACE', '--elf'],
    *([*command, '--raw', 'TRACE', '--elf'] for command in OF_CODE if command[1:2] != ['--bolt']), ['annotate', '*', '--raw', 'TRACE', '--elf'],
    ['report', '-i', 'good.data', '--firmware'], ['flight', '--vmcore'], ['flight', 'save', '-o', 'out', '--vmcore'],
]
OF_RAW = [
    ['dump'], ['stat'], ['decode', '--elf', 'calls'], ['decode', '--detect', '--elf', 'calls'], ['decode', '--timestamp', '--elf', 'calls'],
    ['decode', '--timestamp', '--branches', '--elf', 'calls'], ['decode', '--frames', '--elf', 'calls'], ['decode', '--pins', '4', '--elf', 'calls'],
    ['decode', '--encoder', 'sifive0', '--elf', 'calls'], ['decode', '--encoder', 'spacemit-k3', '--elf', 'calls'],
    ['decode', '--timestamp', '--wrapped-at', '40', '--elf', 'calls'], ['report', '--elf', 'calls', '--raw'], ['dump', '--frames'],
    ['script', '--timestamp', '--elf', 'calls', '--raw'], ['gdb', '--stdio', '--timestamp', '--elf', 'calls', '--raw'], ['stat', '--timestamp'],
    ['profile', '--counts', '--timestamp', '--elf', 'calls', '--raw'],
]
BARE = 'stat', 'dump', 'decode', 'merge', 'diff'
VALUES = [0, 1, 2, 7, 8, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 32, 1 << 40, 4096,
          (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 2, (1 << 64) - 8]
AUXTRACE = 71
HEADER_SIZE = 104


def records(data):
    """Return (offset, type, size of the record, size with the trace after it) of each record"""
    at, size = struct.unpack_from('<QQ', data, 40)
    end = min(len(data), at + size)
    while at + 16 <= end:
        kind, _, length = struct.unpack_from('<IHH', data, at)
        if length < 8:
            return
        whole = length + (struct.unpack_from('<Q', data, at + 8)[0] if kind == AUXTRACE else 0)
        if at + whole > end:
            return
        yield at, kind, length, whole
        at += whole


def put(data, offset, value, size):
    if 0 <= offset <= len(data) - size:
        data[offset:offset + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, 'little')


def change_size(data, change):
    size = int.from_bytes(data[48:56], 'little')
    put(data, 48, max(0, size + change), 8)


def features(data):
    """Return (position of the feature's description, its offset, its size) of each feature"""
    begin, size = struct.unpack_from('<QQ', data, 40)
    bits = int.from_bytes(data[72:104], 'little').bit_count()
    for at in range(begin + size, min(begin + size + 16 * bits, len(data) - 15), 16):
        yield (at, *struct.unpack_from('<QQ', data, at))


def damage_feature(data, rand):
    """Change the set of features, the position of a feature, or a word or byte in a feature, such as the index of
    trace"""
    at, offset, size = rand.choice(list(features(data)) or [(72, 72, 32)])
    kind = rand.randrange(4)
    if kind == 0:
        data[72 + rand.randrange(8)] ^= 1 << rand.randrange(8)
    elif kind == 1:
        put(data, at + rand.choice([0, 8]), rand.choice(VALUES + [len(data), len(data) - 4, size - 1, size + 8]), 8)
    elif kind == 2:
        put(data, offset + 4 * rand.randrange(max(1, min(size, 4096) // 4)), rand.choice(VALUES), rand.choice([4, 8]))
    else:
        put(data, offset + rand.randrange(max(1, min(size, 4096))), rand.getrandbits(8), 1)


def damage_record(data, rand, at, length, whole, others):
    """Change a recording's record at one place: its header, a word or byte, the time at its end, or its position in
    the file"""
    kind = rand.randrange(8)
    if kind == 0:
        put(data, at + rand.choice([0, 4, 6]), rand.choice(VALUES + [length - 8, length + 8]), 2)
    elif kind in (1, 2):
        put(data, at + 8 + 4 * rand.randrange(max(1, (length - 8) // 4)), rand.choice(VALUES), rand.choice([4, 8]))
    elif kind == 3:
        put(data, at + length - 8 * rand.randrange(1, 5), rand.choice(VALUES + [rand.getrandbits(40)]), 8)
    elif kind in (4, 5):
        # Damage bytes at any offset, because the words of a compressed record are not aligned
        put(data, at + 8 + rand.randrange(max(1, whole - 8)), rand.choice(VALUES), rand.choice([1, 2, 4, 8]))
    elif kind == 6:
        to = rand.choice(others)[0]
        data[to:to] = data[at:at + whole]
        change_size(data, whole)
    else:
        del data[at:at + whole]
        change_size(data, -whole)


def damage(data, rand):
    """Make one change in the header, attributes, a record or features, or at any byte, or cut off the end of the
    recording"""
    kind, all_records = rand.randrange(11), list(records(data))
    begin = struct.unpack_from('<Q', data, 40)[0]
    if kind == 0:
        put(data, 8 * rand.randrange(HEADER_SIZE // 8), rand.choice(VALUES), 8)
    elif kind == 1:
        del data[rand.randrange(HEADER_SIZE, len(data)):]
    elif kind == 2:
        for _ in range(rand.choice([1, 3, 20])):
            data[rand.randrange(len(data))] = rand.getrandbits(8)
    elif kind == 3:
        put(data, HEADER_SIZE + 4 * rand.randrange(max(1, (begin - HEADER_SIZE) // 4)), rand.choice(VALUES), rand.choice([4, 8]))
    elif kind in (4, 5):
        damage_feature(data, rand)
    elif all_records:
        at, _, length, whole = rand.choice(all_records)
        damage_record(data, rand, at, length, whole, all_records)


def damage_trace(data, rand):
    """Change the trace of one record, and keep the header of this record correct"""
    traces = [(at + length, whole - length) for at, kind, length, whole in records(data) if kind == AUXTRACE and whole > length]
    if not traces:
        return
    at, size = rand.choice(traces)
    for _ in range(rand.choice([1, 1, 4])):
        data[at + rand.randrange(size)] = rand.getrandbits(8)


def damage_recording(data, rand):
    if len(data) <= HEADER_SIZE + 8:
        return
    if rand.randrange(10) == 0:
        damage_trace(data, rand)
    else:
        damage(data, rand)


def damage_text(data, rand):
    """Change some bytes of a text, or cut off its end"""
    for _ in range(rand.randrange(1, 4)):
        data[rand.randrange(len(data))] = rand.choice(b'0123456789abcdef -\n\0\xff')
    if rand.randrange(5) == 0:
        del data[rand.randrange(1, len(data) + 1):]


def damage_bytes(data, rand):
    """Change some bytes or a word of the data, or cut off their end"""
    kind = rand.randrange(4)
    if kind == 0:
        put(data, 4 * rand.randrange(max(1, len(data) // 4)), rand.choice(VALUES), rand.choice([1, 2, 4, 8]))
    elif kind == 1 and rand.randrange(3) == 0:
        del data[rand.randrange(1, len(data) + 1):]
    else:
        for _ in range(rand.choice([1, 3, 20])):
            data[rand.randrange(len(data))] = rand.getrandbits(8)


def elf_tables(data):
    """Return (offset, size) of the header, and of each program header, section header and section"""
    yield 0, 64
    if len(data) < 64:
        return
    segments, sections = struct.unpack_from('<QQ', data, 32)
    size, nr, section_size, section_nr = struct.unpack_from('<HHHH', data, 54)
    for n in range(min(nr, 100)):
        yield segments + n * size, 56
    for n in range(min(section_nr, 100)):
        at = sections + n * section_size
        yield at, 64
        if at + 64 <= len(data):
            yield struct.unpack_from('<QQ', data, at + 24)


def damage_elf(data, rand):
    """Change a word of one of the ELF file's headers or sections, or any bytes"""
    if rand.randrange(6) == 0:
        damage_bytes(data, rand)
        return
    at, size = rand.choice(list(elf_tables(data)))
    put(data, at + 2 * rand.randrange(max(1, min(size, 4096) // 2)), rand.choice(VALUES + [len(data), len(data) - 4]), rand.choice([1, 2, 4, 8]))


def reader(data, n):
    """Return the function that damages this kind of file, and the command that reads the damaged file"""
    turn, first = n // len(BESIDE), data[:8]
    if first == b'PERFILE2':
        command = COMMANDS[n % len(COMMANDS)]
        return damage_recording, [*command, *([] if command[0] in BARE else ['-i']), 'in.data']
    if first[:4] == b'\x7fELF':
        trace = 'primes.nt' if b'primes.c' in data else 'calls.nt'
        if n % 3 == 0 or trace == 'primes.nt':
            return damage_elf, [trace if word == 'TRACE' else word for word in OF_ELF[turn % len(OF_ELF)]] + ['in.data']
        return damage_elf, [*OF_CODE[turn % len(OF_CODE)], '-i', BESIDE[n % 3]]
    if first[:6] == b'ntrace':
        return damage_text, [*OF_COUNTS[n % len(OF_COUNTS)], *(['-i'] if n % len(OF_COUNTS) == 2 else []), 'in.data']
    if data.isascii():
        return damage_text, [*OF_CODE[turn % len(OF_CODE)], '-i', BESIDE[3 + n % 2]]
    return damage_bytes, [*OF_RAW[n % len(OF_RAW)], 'in.data']


def damaged(original, n, rand):
    """Return the damaged file, and the command that reads it"""
    data = bytearray(original)
    damage_it, command = reader(original, n)
    for _ in range(rand.choice([1, 1, 1, 2, 3, 6])):
        if data:
            damage_it(data, rand)
    return bytes(data), command


class Server:
    """A command that serve.c runs repeatedly in a worker process"""

    def __init__(self, ntrace, serve, folder):
        self.folder = folder
        env = {**os.environ, 'HOME': folder, 'LD_PRELOAD': serve, 'UBSAN_OPTIONS': 'halt_on_error=1:exitcode=99',
               'ASAN_OPTIONS': 'exitcode=99:detect_leaks=0:verify_asan_link_order=0:quarantine_size_mb=1:malloc_context_size=3'}
        self.process = subprocess.Popen([ntrace], cwd=folder, env=env, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, command):
        """Return a description of the command's fault, or nothing if the command made no fault"""
        print(*command, sep='\t', file=self.process.stdin, flush=True)
        status = int(self.process.stdout.readline())
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 1, 2):
            return ''
        how = f'status {os.WEXITSTATUS(status)}' if os.WIFEXITED(status) else f'signal {os.WTERMSIG(status)}'
        with open(os.path.join(self.folder, 'said'), encoding='utf8', errors='replace') as said:
            return f'{how}: {said.read(2000)}'


def badly_read(server, command, data):
    path = os.path.join(server.folder, 'in.data')
    with open(path, 'wb') as out:
        out.write(data)
    wrong = server.run(command)
    with open(path, 'rb') as again:
        if again.read() != data:
            wrong += ' the recording was changed'
    left = [name for name in os.listdir(server.folder) if '.part-' in name]
    for name in left:
        os.rename(os.path.join(server.folder, name), os.path.join(server.folder, 'left'))
    return wrong + (f' {left} was left' if left else '')


def main(ntrace, serve, folder, where, end, *paths):
    with open(os.path.join(folder, 'packets'), 'wb') as out:
        out.write(b''.join(packets.frame(packet) + b'+' for packet in [*packets.VALID, *packets.VALID, b'bs', b'bc', b's', b'c']))
    originals = []
    for path in paths:
        with open(path, 'rb') as original:
            originals.append(original.read())
    first = int(where) if where.isdigit() else 0
    if os.path.exists(where):
        with open(where, encoding='ascii') as kept:
            first = int(kept.read())
    bad, server = 0, Server(ntrace, serve, folder)
    for n in range(first, int(end)):
        rand = random.Random(n)
        data, command = damaged(rand.choice(originals), n, rand)
        wrong = badly_read(server, command, data)
        if wrong:
            bad += 1
            print(f'{n}:', *command, wrong, flush=True)
            os.rename(os.path.join(folder, 'in.data'), os.path.join(folder, f'bad-{n}.data'))
        if not where.isdigit() and n % 100 == 99:
            with open(where, 'w', encoding='ascii') as kept:
                kept.write(str(n + 1))
    print(f'damaged recordings {first} to {end}, {bad} of them read with a fault')
    return bad != 0 or first >= int(end)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
