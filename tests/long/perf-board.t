#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# tests/perf/board.t on the newest kernel, and its recordings decoded by a perf with sanitizers.
export KERNEL=new SANITIZED=1
exec "$(dirname "$0")/../perf/board.t"
