#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print the binary interface of the libraries for a 64-bit machine. The interface consists of symbols, constants, and
the offset of each structure field in the headers. tests/abi/abi.txt has the released interface.

    abi.py BUILD_FOLDER           prints it
    abi.py BUILD_FOLDER FILE      prints the lines of FILE that the libraries lack or have changed;
                                  exits 1 if there is one. New lines are fine.
                                  Before a release, FILE may be printed anew.
"""
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = ['ntrace/ntrace.h', 'ntrace/elf.h']
LIBRARIES = ['libntrace.so', 'libntrace-elf.so']


def fields(text):
    """Return (structure, path of the field) for every field, including the fields of nested structures"""
    stack = []
    for line in re.sub(r'/\*.*?\*/', '', text, flags=re.S).splitlines():
        line = line.rstrip()
        begin = re.match(r'\s*(?:struct|union)\s*(\w*)\s*{$', line)
        end = re.match(r'\s*}\s*(\w*);$', line)
        if begin:
            stack.append([begin.group(1), []])
        elif end and stack:
            name, inner = stack.pop()
            if stack:
                prefix = end.group(1) + '.' if end.group(1) else ''
                stack[-1][1] += ([end.group(1)] if prefix else []) + [prefix + f for f in inner]
            else:
                yield from ((name, field) for field in inner)
        elif stack:
            one = re.search(r'(?:\(\*(\w+)\)\(.*|(\w+)(?:\[[^]]*\])*);$', line)
            if one:
                stack[-1][1].append(one.group(1) or one.group(2))


def constants(text):
    """Return the names of enum values, and of macros that are numbers"""
    yield from re.findall(r'^\t(NT_\w+)\s*=', text, flags=re.M)
    yield from re.findall(r'^\tX\((NT_\w+),', text, flags=re.M)
    yield from re.findall(r'^#define\s+(NT_\w+)\s+\(?[0-9]', text, flags=re.M)


def program():
    lines = ['#include <stddef.h>', '#include <stdio.h>'] + [f'#include <{h}>' for h in HEADERS]
    body = []
    for header in HEADERS:
        with open(f'{TOP}/include/{header}') as file:
            text = file.read()
        for struct, field in fields(text):
            at = f'struct {struct}, {field}'
            body.append(f'printf("struct {struct} {field} at %zu, %zu bytes\\n", offsetof({at}), '
                        f'sizeof(((struct {struct} *)0)->{field}));')
        for name in constants(text):
            body.append(f'printf("{name} = %lld\\n", (long long){name});')
    return '\n'.join(lines + ['int main(void)', '{'] + body + ['return 0;', '}', ''])


def layouts():
    with tempfile.TemporaryDirectory() as tmp:
        with open(f'{tmp}/abi.c', 'w') as file:
            file.write(program())
        subprocess.run([os.environ.get('CC', 'gcc'), '-w', f'-I{TOP}/include', '-o', f'{tmp}/abi',
                        f'{tmp}/abi.c'], check=True)
        done = subprocess.run([f'{tmp}/abi'], check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.splitlines()


def symbols(build):
    for library in LIBRARIES:
        done = subprocess.run(['nm', '-D', '--with-symbol-versions', '--defined-only',
                               f'{build}/lib/{library}'], check=True, stdout=subprocess.PIPE,
                              text=True)
        for line in done.stdout.splitlines():
            kind, name = line.split()[1:3]
            if kind == 'T':
                yield f'{library} {name}'


def main():
    lines = sorted(symbols(sys.argv[1])) + layouts()
    if len(sys.argv) < 3:
        print('\n'.join(lines))
        return 0
    with open(sys.argv[2]) as file:
        missing = [line for line in file.read().splitlines() if line not in set(lines)]
    for line in missing:
        print('not as released:', line)
    return 1 if missing else 0


if __name__ == '__main__':
    sys.exit(main())
