#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run the long form of tests/session/losses.t, with 10,000 random schedules.
SCHEDULES=10000 exec "$(dirname "$0")/../session/losses.t"
