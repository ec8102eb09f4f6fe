#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/board/stream.t with over 70 windows.
LONG=1 exec "$(dirname "$0")/../board/stream.t"
