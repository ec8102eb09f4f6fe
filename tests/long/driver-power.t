#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/driver/power.t, which tests power domains, clocks, resets and a debugger's session, on kernel 6.12.
KERNEL=6.12 exec "$(dirname "$0")/../driver/power.t"
