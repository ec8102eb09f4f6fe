#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check that `ntrace diff A... -- B...` finds the function that is slower in B, among 30 functions.

    slower.py NTRACE PERCENT TRIES
    slower.py NTRACE one 1

Each side has five runs. In each run, the time of each function differs at random by 0.7 % (standard deviation).
PERCENT is how much slower the function is, and 0 means that no function is slower. "one" compares single runs, for
which ntrace must list the different numbers of calls and instructions.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
FUNCTIONS, RUNS, NOISE = 30, 5, 0.007
CODE = '.globl _start, main\n_start:\n' + ''.join(f'\tjal f{i}\n' for i in range(FUNCTIONS)) + '1:\tnop\n' + ''.join(
    f'.globl f{i}\n.type f{i}, @function\nf{i}:\n\tnop\nl{i}:\taddi a0, a0, -1\n\tbnez a0, l{i}\n\tret\n.size f{i}, .-f{i}\n' for i in range(FUNCTIONS))


def record(tmp, ntrace, name, symbols, loops):
    out = []
    for i, times in enumerate(loops):
        at, loop = symbols[f'f{i}'], symbols[f'l{i}']
        out += [symbols['_start'] + 4 * i, at] + [loop, loop + 4] * times + [loop + 8]
    with open(f'{tmp}/list', 'w') as f:
        f.write(''.join(f'{pc:#x}\n' for pc in out))
    subprocess.run([ntrace, 'encode', '--elf', f'{tmp}/program', '--pcs', f'{tmp}/list', '-o', f'{tmp}/nt', '--timestamp'],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, f'{TOP}/tests/session/mkrecording.py', '--timestamp', f'{tmp}/program', f'{tmp}/nt', name], check=True)
    return name


def main():
    ntrace, percent, tries = sys.argv[1:4]
    one = percent == 'one'
    rng, wrong = random.Random(7), 0
    with tempfile.TemporaryDirectory() as tmp:
        with open(f'{tmp}/program.s', 'w') as f:
            f.write('.option norvc\n' + CODE)
        subprocess.run(['riscv64-linux-gnu-gcc', '-nostdlib', '-static', '-march=rv64i', '-mabi=lp64', '-o', f'{tmp}/program',
                        f'{tmp}/program.s'], check=True)
        nm = subprocess.run(['riscv64-linux-gnu-nm', f'{tmp}/program'], capture_output=True, text=True, check=True).stdout
        symbols = {line.split()[2]: int(line.split()[0], 16) for line in nm.splitlines()}
        for nth in range(int(tries)):
            base = [int(2 ** rng.uniform(9, 12)) for _ in range(FUNCTIONS)]
            slow = rng.randrange(FUNCTIONS)
            sides = [], []
            for side in 0, 1:
                for run in range(1 if one else RUNS):
                    loops = [b if one else round(b * rng.gauss(1, NOISE)) for b in base]
                    if side:
                        loops[slow] = round(loops[slow] * (1 + (50 if one else float(percent)) / 100))
                    sides[side].append(record(tmp, ntrace, f'{tmp}/{side}{run}', symbols, loops))
            out = subprocess.run([ntrace, 'diff', *sides[0], *([] if one else ['--']), *sides[1]], capture_output=True, text=True, check=False)
            rows = re.findall(r'^ .* (\S+) \[program\]$', out.stdout.split('function\n')[-1].split(' of\n')[-1], re.M)
            right = out.returncode == 0 and not rows if percent == '0' else out.returncode == 1 and rows[:1] == [f'f{slow}']
            if one:
                right = right and len(rows) == 1 and f'{2 * base[slow] + 2}' in out.stdout
            if not right:
                wrong += 1
                print(f'f{slow} was expected, status {out.returncode}: {out.stdout}{out.stderr}')
    print(f'{tries} tries, {wrong} wrong')
    return wrong > 0


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main())
