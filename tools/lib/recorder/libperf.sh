#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Build libperf.a and libapi.a from a kernel's source, with their headers.
#
#   libperf.sh LINUX CC DIR     write DIR/lib*.a, and DIR/cflags for users of the headers
#
# The source is not changed. The few folders that libperf needs are copied to DIR/src.
set -eu
linux=$(readlink -f "$1") cc=$2 dir=$3

die() { echo "libperf: $*" >&2; exit 1; }

[ -f "$linux/tools/lib/perf/Makefile" ] || die "$1 is no kernel source: it has no tools/lib/perf"
case $("$cc" -dumpmachine) in
riscv*) arch=riscv ;;
x86_64*) arch=x86 ;;
aarch64*) arch=arm64 ;;
*) die "unknown processor of $cc: $("$cc" -dumpmachine)" ;;
esac
key="$linux $("$cc" -v 2>&1 | tail -n 1) $(cksum <"$0")"
[ "$(cat "$dir/good" 2>/dev/null)" != "$key" ] || exit 0

rm -rf "$dir" && mkdir -p "$dir/src"
(cd "$linux" && tar -cf - tools/lib/*.[ch] tools/lib/api tools/lib/perf tools/include tools/build tools/scripts tools/arch) |
	tar -xf - -C "$dir/src"
# fixdep is built for this machine, because the build runs it; the library is built for the target
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u O -u V -u CFLAGS -u LDFLAGS -u KSRC \
	make -C "$dir/src/tools/lib/perf" OUTPUT="$dir/" ARCH="$arch" CC="$cc" LD="$("$cc" -print-prog-name=ld)" HOSTCC=gcc \
	EXTRA_CFLAGS=-O2 fixdep "$dir/libperf.a" "$dir/libapi.a" >"$dir/log" 2>&1 ||
	{ tail -n 20 "$dir/log" >&2; die "building failed; the whole log is $dir/log"; }
mkdir -p "$dir/include"
for headers in perf/include/perf perf/include/internal api; do
	(cd "$dir/src/tools/lib/$headers" && find . -name '*.h' | tar -cf - -T -) |
		{ mkdir -p "$dir/include/${headers##*/}" && tar -xf - -C "$dir/include/${headers##*/}"; }
done
# keep tools/include and tools/arch, because the copied headers include headers from there
mv "$dir/src/tools" "$dir/tools" && rm -rf "$dir/src" "$dir/tools/lib" "$dir/tools/build" "$dir/tools/scripts"
# the compiler searches these folders before the C library's Linux headers, which a cross compiler
# may add by -isystem
for headers in include tools/include "tools/arch/$arch/include" "tools/arch/$arch/include/uapi" tools/include/uapi; do
	echo "-I$dir/$headers"
done >"$dir/cflags"
find "$dir" -name '*.o' -delete
echo "$key" >"$dir/good"
