#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Remove the end of trace sessions, like a sink that gets full.

    cut.py TRACE OUT COUNT

Remove the last COUNT messages of each session except the last session. A session ends with ProgTraceCorrelation.
Print the number of shortened sessions."""
import sys

CORRELATION = 33


def messages(data):
    """Split the bytes into messages. A message ends with a byte whose MSEO is 11 (chapter 3.1)"""
    at = 0
    for end, byte in enumerate(data):
        if byte & 3 == 3:
            yield data[at:end + 1]
            at = end + 1


def main():
    path, out, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(path, 'rb') as f:
        all_messages = list(messages(f.read()))
    stops = [n for n, message in enumerate(all_messages) if message[0] >> 2 == CORRELATION]
    missing = {n for stop in stops[:-1] for n in range(stop + 1 - count, stop + 1)}
    with open(out, 'wb') as f:
        f.write(b''.join(message for n, message in enumerate(all_messages) if n not in missing))
    print(len(stops) - 1)


if __name__ == '__main__':
    main()
