#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Build the Python module of recordings by cffi: build.py BUILD_FOLDER

The module is then in BUILD_FOLDER/python. BUILD_FOLDER/lib must have the libraries, which "make tool" builds.
"""
import os
import re
import shutil
import sys

import cffi

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


def main():
    out = os.path.abspath(sys.argv[1])
    folder = os.path.join(out, 'python')
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(HERE, 'collect.h'), encoding='utf-8') as f:
        header = re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)
    builder = cffi.FFI()
    builder.cdef(header)
    builder.set_source(
        '_ntrace', '#include <stddef.h>\n#include <stdint.h>\n#include "collect.h"\n',
        sources=[os.path.join(HERE, 'collect.c')],
        include_dirs=[HERE, os.path.join(TOP, 'include'), os.path.join(TOP, 'tools/lib')],
        extra_objects=[os.path.join(out, 'lib', f'lib{name}.a') for name in ('ntrace-session', 'ntrace')],
        libraries=['dw', 'elf', 'zstd', 'pthread'], extra_compile_args=['-D_GNU_SOURCE'])
    builder.compile(tmpdir=folder)
    shutil.copy(os.path.join(HERE, 'ntrace_session.py'), folder)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
