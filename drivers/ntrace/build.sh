#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Build the module for one of the kernels of the emulated board.
#
#   drivers/ntrace/build.sh 6.12|7.2|... [make arguments]
#
# Result: $O/drivers/KVER/ntrace.ko. KDIR= and CROSS_COMPILE= can be given.
# Sources are linked into a folder for each kernel, so that objects do not mix.
set -eu
kver=$1
shift
top=$(cd "$(dirname "$0")/../.." && pwd)
O=${O:-$top/build}
KDIR=${KDIR:-$O/root/kernel-$kver/build}
src=$O/drivers/$kver/src

if [ ! -f "$KDIR/Makefile" ]; then
	echo "$0: no kernel to build for in $KDIR; 'make setup' fetches it" >&2
	exit 1
fi
mkdir -p "$src/drivers/ntrace" "$src/include/uapi/linux"
exec 9>"$O/drivers/$kver/lock"
flock 9
for f in "$top"/drivers/ntrace/*.[ch] "$top"/drivers/ntrace/Makefile; do
	ln -sf "$f" "$src/drivers/ntrace/"
done
ln -sf "$top/include/uapi/linux/ntrace.h" "$src/include/uapi/linux/"
# links whose source is gone
find "$src" -xtype l -delete

make -C "$KDIR" M="$src/drivers/ntrace" ARCH=riscv \
	CROSS_COMPILE="${CROSS_COMPILE-riscv64-linux-gnu-}" "$@" modules
# the board's guest needs no debug information
"${CROSS_COMPILE-riscv64-linux-gnu-}objcopy" --strip-debug \
	"$src/drivers/ntrace/ntrace.ko" "$O/drivers/$kver/ntrace.ko.new"
# at once, as somebody may be reading it
if cmp -s "$O/drivers/$kver/ntrace.ko.new" "$O/drivers/$kver/ntrace.ko"; then
	rm "$O/drivers/$kver/ntrace.ko.new"
else
	mv "$O/drivers/$kver/ntrace.ko.new" "$O/drivers/$kver/ntrace.ko"
fi
