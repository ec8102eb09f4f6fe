#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the driver's register logic on this host with the model
# of the hardware.
top=$(cd "$(dirname "$0")/../.." && pwd)
O=${O:-$top/build}
make -s -C "$top/tests/driver" O="$O" >&2 || exit 1
CMOCKA_MESSAGE_OUTPUT=TAP exec "$O/tests/driver/registers"
