#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Each way in which Linux ends, while it is traced, in each topology of the board.
TOPOLOGIES="direct funnel funnel2 interrupt mixed sram" exec "$(dirname "$0")/../driver/shutdown.t"
