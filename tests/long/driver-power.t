#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test power domains, clocks, resets and a debugger's session on the other kernel.
KERNEL=6.12 exec "$(dirname "$0")/../driver/power.t"
