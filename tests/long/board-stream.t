#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run the long form of tests/board/stream.t, which compares over 70 times 50 million
# instructions.
LONG=1 exec "$(dirname "$0")/../board/stream.t"
