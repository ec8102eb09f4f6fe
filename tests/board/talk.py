#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Use a board like a user of its shell, or like a debugger.

    talk.py shell COMMAND ARG...    run COMMAND, which starts the shell of a board, and print its output.
                                    The environment variable TALK is the text to type in the shell
    talk.py gdb PORT                stop the hart, read its pc, and let it continue
"""
import os
import pty
import select
import socket
import subprocess
import sys
import time


def shell(command):
    parent, child = pty.openpty()
    board = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, close_fds=True)
    os.close(child)
    said, asked, end = b"", False, time.time() + 1200
    while time.time() < end:
        if select.select([parent], [], [], 1)[0]:
            try:
                data = os.read(parent, 4096)
            except OSError:
                break
            said += data
        if not asked and b"board# " in said:
            asked = True
            typed = os.environ.get("TALK", "echo $((6 * 7)) $(nproc) harts")
            os.write(parent, typed.encode() + b"\nexit\n")
    board.kill()
    sys.stdout.write(said.decode(errors="replace"))
    return 0 if board.wait() == 0 else 1


def packet(text):
    return b"$%s#%02x" % (text.encode(), sum(text.encode()) & 255)


def ask(stub, text):
    stub.sendall(packet(text))
    reply = b""
    while b"#" not in reply or len(reply.split(b"#", 1)[1]) < 2:
        data = stub.recv(4096)
        if not data:
            raise EOFError("gdb's stub has closed the connection")
        reply += data
    stub.sendall(b"+")
    return reply.split(b"$", 1)[1].split(b"#")[0].decode()


def gdb(port):
    end = time.time() + 1200
    while True:
        try:
            stub = socket.create_connection(("127.0.0.1", port), 100)
            break
        except OSError:
            if time.time() > end:
                raise
            time.sleep(0.2)
    stub.settimeout(600)
    print("stopped", ask(stub, "?")[:3])
    # "p20" reads register 32 (0x20), the pc, whose bytes arrive in little endian
    print("pc %#x" % int.from_bytes(bytes.fromhex(ask(stub, "p20")), "little"))
    stub.sendall(packet("c"))
    try:
        while stub.recv(4096):
            pass
    except OSError:
        pass
    return 0


if sys.argv[1] == "gdb":
    sys.exit(gdb(int(sys.argv[2])))
sys.exit(shell(sys.argv[2:]))
