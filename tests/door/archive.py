#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a small Debian archive for tests of set-up.

archive.py DIR PROGRAM reads the contents of each suite from standard input, one item per line. A word that begins
with "-" names a package that the archive lacks:

    SUITE kernel VERSION DEBIAN-VERSION [-kbuild] [-headers] [-source]
    SUITE source VERSION DEBIAN-VERSION          only the source, for the architecture amd64
    SUITE qemu VERSION | gcc NUMBER | libc

Every program in its packages is a copy of PROGRAM. The lists are not signed.
"""
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile

top, program = sys.argv[1:]
suites = {}


def tar(files, prefix='./'):
    """Return a tar archive of the dictionary @files, which has the bytes of each path, or (bytes,) for a program."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w') as archive:
        for path, data in files.items():
            info = tarfile.TarInfo(prefix + path)
            info.mode = 0o755 if isinstance(data, tuple) else 0o644
            data = data[0] if isinstance(data, tuple) else data
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def package(suite, arch, name, version, files, depends=''):
    """Add a package to the pool, and to the package lists of its architecture. A package for all architectures is in
    the lists 'board' and 'host'."""
    where = 'all' if arch == 'all' else arch
    control = f'Package: {name}\nVersion: {version}\nArchitecture: {where}\nMaintainer: test\nDescription: test\n'
    if depends:
        control += f'Depends: {depends}\n'
    deb = b'!<arch>\n'
    for member, data in ('debian-binary', b'2.0\n'), ('control.tar', tar({'control': control.encode()})), ('data.tar', tar(files)):
        deb += f'{member:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n'.encode() + data + b'\n' * (len(data) % 2)
    file = f'pool/{name}_{version.split(":")[-1]}_{where}.deb'
    os.makedirs(f'{top}/pool', exist_ok=True)
    with open(f'{top}/{file}', 'wb') as out:
        out.write(deb)
    entry = control + f'Filename: {file}\nSize: {len(deb)}\nSHA256: {hashlib.sha256(deb).hexdigest()}\n\n'
    for each in ('amd64', 'riscv64') if arch == 'all' else (arch,):
        suites[suite][each] += entry


def libc():
    """Return the C library and the loader of this host."""
    said = subprocess.run(['ldd', program], capture_output=True, text=True, check=True).stdout
    paths = [path for path in re.findall(r'(/\S+)', said)]
    return {'usr/lib/x86_64-linux-gnu/' + os.path.basename(path): (open(path, 'rb').read(),) for path in paths}


def source(suite, arch, version, debian):
    tree = tar({f'linux-source-{version}/tools/perf/MANIFEST': b'tools/perf\n',
                f'linux-source-{version}/Makefile': b'VERSION = 1\n'}, '')
    packed = subprocess.run(['xz', '-0'], input=tree, capture_output=True, check=True).stdout
    package(suite, arch, f'linux-source-{version}', debian, {f'usr/src/linux-source-{version}.tar.xz': packed})


def kernel(suite, version, debian, without):
    name, common = f'{version}-riscv64', f'linux-headers-{version}-common'
    package(suite, 'riscv64', f'linux-image-{name}', debian,
            {f'boot/{what}-{name}': b'' for what in ('vmlinux', 'System.map', 'config')} | {
                f'lib/modules/{name}/modules.order': b'', f'lib/modules/{name}/modules.builtin': b''})
    if '-headers' not in without:
        package(suite, 'riscv64', f'linux-headers-{name}', debian, {
            f'usr/src/linux-headers-{name}/Makefile':
                f'KBUILD_OUTPUT=/usr/src/linux-headers-{name}\ninclude /usr/src/{common}/Makefile\n'.encode(),
            f'usr/src/linux-headers-{name}/.kernelvariables':
                b'CC = $(CROSS_COMPILE)gcc-14\noverride CROSS_COMPILE = riscv64-linux-gnu-\n'})
        package(suite, 'riscv64', common, debian, {
            f'usr/src/{common}/Makefile': b"""
ifneq ($(KBUILD_OUTPUT),)
all:
	@$(MAKE) -s -C $(KBUILD_OUTPUT) -f $(abspath $(lastword $(MAKEFILE_LIST))) KBUILD_OUTPUT=
else
-include .kernelvariables
all:
	@$(CC)
endif
"""})
    if '-kbuild' not in without:
        package(suite, 'amd64', f'linux-kbuild-{version}', debian,
                {f'usr/lib/linux-kbuild-{version}/scripts/mod/modpost': (open(program, 'rb').read(),)})
    if '-source' not in without:
        source(suite, 'all', '.'.join(version.split('.')[:2]), debian)


for line in sys.stdin:
    suite, what, *words = line.split()
    suites.setdefault(suite, {'amd64': '', 'riscv64': ''})
    if what == 'kernel':
        kernel(suite, words[0], words[1], words[2:])
    elif what == 'source':
        source(suite, 'amd64', *words)
    elif what == 'qemu':
        package(suite, 'amd64', 'qemu-system-riscv', words[0],
                {'usr/bin/qemu-system-riscv64': (open(program, 'rb').read(),)}, 'libc6')
        package(suite, 'amd64', 'opensbi', '1', {'usr/lib/riscv64-linux-gnu/opensbi/generic/fw_dynamic.elf': b''})
        package(suite, 'amd64', 'libzstd1', '1', {})
    elif what == 'gcc':
        package(suite, 'amd64', f'gcc-{words[0]}-riscv64-linux-gnu', words[0],
                {f'usr/bin/riscv64-linux-gnu-gcc-{words[0]}': (open(program, 'rb').read(),)}, 'libc6')
    elif what == 'libc':
        package(suite, 'amd64', 'libc6', '2', libc())

for suite, lists in suites.items():
    folder = f'{top}/dists/{suite}'
    release = f'Origin: test\nCodename: {suite}\nSuite: {suite}\nArchitectures: amd64 riscv64\nComponents: main\n'
    if suite.endswith('-backports'):
        release += 'NotAutomatic: yes\nButAutomaticUpgrades: yes\n'
    release += 'Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n'
    for arch, text in lists.items():
        os.makedirs(f'{folder}/main/binary-{arch}', exist_ok=True)
        with open(f'{folder}/main/binary-{arch}/Packages', 'w') as out:
            out.write(text)
        release += f' {hashlib.sha256(text.encode()).hexdigest()} {len(text)} main/binary-{arch}/Packages\n'
    with open(f'{folder}/Release', 'w') as out:
        out.write(release)
