#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/session/damaged.t with 100,000 damaged recordings. If the previous run was interrupted, continue after its
# last recording.
top=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "${O:-$top/build}/tests"
DAMAGED=${DAMAGED:-100000} DAMAGED_NEXT=${O:-$top/build}/tests/damaged.next exec "$top/tests/session/damaged.t"
