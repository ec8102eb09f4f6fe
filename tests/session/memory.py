#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run a command on a terminal: memory.py SAID COMMAND...

The standard error of COMMAND is a terminal, and this program appends the output on the terminal to the file SAID. It
prints the exit status, the used memory in MiB, the elapsed seconds, and the processor seconds.
"""
import os
import pty
import resource
import subprocess
import sys
import time


def main():
    terminal, other = pty.openpty()
    begin = time.monotonic()
    with subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=other) as command, open(sys.argv[1], 'ab') as said:
        os.close(other)
        try:
            while text := os.read(terminal, 4096):
                said.write(text)
        except OSError:
            pass  # the command has closed the terminal
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(command.returncode, used.ru_maxrss >> 10, f'{time.monotonic() - begin:.1f}', f'{used.ru_utime + used.ru_stime:.1f}')


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
