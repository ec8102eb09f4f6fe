#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/perf/itrace.t with recordings of both kernels.
export KERNELS="lts new"
exec "$(dirname "$0")/../perf/itrace.t"
