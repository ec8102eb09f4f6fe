#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/perf/itrace.t with recordings from both kernels.
export KERNELS="lts new"
exec "$(dirname "$0")/../perf/itrace.t"
