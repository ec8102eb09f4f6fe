#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/perf/board.t on the newest kernel, and decode its recordings with a perf that is built with sanitizers.
export KERNEL=new SANITIZED=1
exec "$(dirname "$0")/../perf/board.t"
