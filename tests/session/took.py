#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run a command, and print the maximum memory in MiB that the command or one of its children used: took.py
COMMAND..."""
import resource
import subprocess
import sys


def main():
    status = subprocess.run(sys.argv[1:], check=False).returncode
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
    return status


if __name__ == '__main__':
    sys.exit(main())
