#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# End Linux in each possible way while it is traced, in each topology of the board.
TOPOLOGIES="direct funnel funnel2 interrupt mixed sram" exec "$(dirname "$0")/../driver/shutdown.t"
