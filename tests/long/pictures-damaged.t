#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/pictures/damaged.t with 1000 damaged recordings for each format.
EACH=1 DAMAGED=${DAMAGED:-1000} exec "$(dirname "$0")/../pictures/damaged.t"
