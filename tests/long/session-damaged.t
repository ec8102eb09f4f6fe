#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run tests/session/damaged.t with 100,000 damaged recordings. A run continues after the last recording of an
# interrupted run.
top=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "${O:-$top/build}/tests"
DAMAGED=${DAMAGED:-100000} DAMAGED_NEXT=${O:-$top/build}/tests/damaged.next exec "$top/tests/session/damaged.t"
