#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/command/gdb.t, and let it send random packets for 30 minutes, half of them with the
# option --machine.
PACKETS=${PACKETS:-900s} exec "$(dirname "$0")/../command/gdb.t"
