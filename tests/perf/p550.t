#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# As on SiFive's P550: messages and registers that are older than N-Trace 1.0, one funnel for all
# harts, a clock of 700 MHz, no context and no filters. Every branch that perf prints is one that
# the truth has, in order, of that CPU, in user code and in the kernel. Switches say which thread it is.
. "$(dirname "$0")/../harness/tap.sh"
