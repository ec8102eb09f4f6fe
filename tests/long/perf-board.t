#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# tests/perf/board.t on Linux 7.2, and its recordings decoded by a perf with sanitizers.
export KERNEL=7.2 SANITIZED=1
exec "$(dirname "$0")/../perf/board.t"
