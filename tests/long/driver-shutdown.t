#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/driver/shutdown.t on each topology of the board. This test ends a traced Linux in each possible way.
TOPOLOGIES="direct funnel funnel2 interrupt mixed sram" exec "$(dirname "$0")/../driver/shutdown.t"
