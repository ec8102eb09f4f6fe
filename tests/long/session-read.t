#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/session/read.t with 2,000 damaged recordings.
DAMAGED=${DAMAGED:-2000} exec "$(dirname "$0")/../session/read.t"
