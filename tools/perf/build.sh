#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Build perf with N-Trace from a kernel's source.
#
#   tools/perf/build.sh KVER ARCH     KVER 6.12 or 7.2, ARCH x86_64 or riscv64
#
#   KSRC=DIR      the kernel source; default build/root/linux-KVER
#   SYSROOT=DIR   riscv64 libraries for cross building; default build/root/sysroot
#   SANITIZE=1    with address and undefined behaviour sanitizers, in perf/KVER/ARCH-sanitized
#   SCRIPTS=1     with Python (python3-dev) for perf script -s, in perf/KVER/ARCH-scripts
#   O=DIR         where perf/KVER/ARCH/perf goes; default build
#
# The source is not touched: what perf needs of it is copied to the cache, in a
# folder named by source, patch and flags. A second run only compiles what
# changed in our own files.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
O=${O:-$top/build}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ntrace/perf
jobs=${JOBS:-2}

die() { echo "perf: $*" >&2; exit 1; }

[ $# -eq 2 ] || die "usage: build.sh 6.12|7.2 x86_64|riscv64"
kver=$1 arch=$2
ksrc=${KSRC:-$O/root/linux-$kver}
sysroot=$(readlink -f "${SYSROOT:-$O/root/sysroot}" || echo "${SYSROOT:-$O/root/sysroot}")
patch=$here/hooks-$kver.patch
[ -f "$patch" ] || die "no hook patch for Linux $kver; there are: $(cd "$here" && echo hooks-*.patch)"
[ -f "$ksrc/tools/perf/MANIFEST" ] || die "no kernel source at $ksrc (tools/perf/MANIFEST is missing); set KSRC="
ksrc=$(readlink -f "$ksrc")
version=$(sed -n 's/^VERSION = //p;s/^PATCHLEVEL = /./p;s/^SUBLEVEL = /./p' "$ksrc/Makefile" 2>/dev/null | tr -d '\n')
version=${version:-$kver}

# What N-Trace does not need is left out, so that perf needs few libraries.
flags="WERROR=0 NO_LIBPYTHON=1 NO_LIBPERL=1 NO_JVMTI=1 NO_LIBUNWIND=1 NO_LIBBABELTRACE=1
	NO_LIBNUMA=1 NO_LZMA=1 NO_LIBBPF=1 NO_SLANG=1 NO_GTK2=1 NO_SDT=1 NO_LIBCRYPTO=1
	NO_LIBPFM4=1 NO_LIBDEBUGINFOD=1 NO_LIBLLVM=1 NO_CAPSTONE=1 NO_RUST=1 NO_SHELLCHECK=1
	BUILD_BPF_SKEL=0 JEVENTS_ARCH=none"
[ "$kver" != 6.12 ] || flags="$flags NO_LIBZSTD=1"
# a script is run by perf, and needs no module of it
[ -z "${SCRIPTS:-}" ] || flags=$(echo "$flags" | sed 's/NO_LIBPYTHON=1/LANG_BINDINGS=/')
[ -z "${SANITIZE:-}" ] || flags="$flags DEBUG=1 EXTRA_CFLAGS=-fsanitize=address,undefined"
case $arch in
x86_64)
	[ "$(uname -m)" = x86_64 ] || die "x86_64 is built on x86_64 only"
	cc=${CC:-gcc} ;;
riscv64)
	cc=${CROSS_COMPILE:-riscv64-linux-gnu-}gcc
	[ "$(uname -m)" != riscv64 ] || cc=${CC:-gcc}
	flags="$flags EXTRA_PERFLIBS=-latomic"
	[ "$(uname -m)" = riscv64 ] || [ -d "$sysroot/usr/include" ] || die "no riscv64 libraries at $sysroot; set SYSROOT=" ;;
*)	die "unknown architecture $arch: x86_64 or riscv64" ;;
esac
command -v "$cc" >/dev/null || die "no compiler $cc"

key=$({ echo "$ksrc $version $arch $sysroot" $flags; "$cc" -v 2>&1 | tail -n 1; cat "$patch"; } | sha256sum | cut -c1-16)
dir=$cache/$kver-$arch-$key
src=$dir/src out=$dir/obj
result=$O/perf/$kver/$arch${SANITIZE:+-sanitized}${SCRIPTS:+-scripts}/perf
mkdir -p "$out" "${result%/*}"
exec 9>"$dir/lock"
flock 9

copy_source() {
	rm -rf "$src.new" && mkdir "$src.new"
	(cd "$ksrc" && for pattern in $(cat tools/perf/MANIFEST); do
		for f in $pattern; do [ ! -e "$f" ] || echo "$f"; done
	done | tar -cf - -T -) | tar -xf - -C "$src.new"
	echo "#define PERF_VERSION \"$version\"" >"$src.new/PERF-VERSION-FILE"
	(cd "$src.new" && patch -s -p1 <"$patch") || die "the hook patch does not apply to $ksrc: is it Linux $kver?"
	rm -rf "$src" && mv "$src.new" "$src"
}

# lay FROM TO: copy where it differs, so that make sees only what changed
lay() {
	mkdir -p "$(dirname "$2")"
	cmp -s "$1" "$2" || cp "$1" "$2"
}

lay_ours() {
	perf=$src/tools/perf
	(cd "$here" && find arch util tests -type f 2>/dev/null) | while read -r f; do lay "$here/$f" "$perf/$f"; done
	[ ! -f "$top/Documentation/perf-ntrace.txt" ] || lay "$top/Documentation/perf-ntrace.txt" "$perf/Documentation/perf-ntrace.txt"
	lay "$top/include/uapi/linux/ntrace.h" "$src/tools/include/uapi/linux/ntrace.h"
	for f in "$top"/include/ntrace/*.h; do
		[ ! -f "$f" ] || lay "$f" "$perf/util/include/ntrace/${f##*/}"
	done
	for f in "$top"/tools/lib/ntrace/*.[ch]; do
		[ ! -f "$f" ] || lay "$f" "$perf/util/ntrace-decoder/${f##*/}"
	done
	# what the library no longer has must not be compiled
	for f in "$perf"/util/ntrace-decoder/*.[ch]; do
		[ -f "$top/tools/lib/ntrace/${f##*/}" ] || rm -f "$f"
	done
}

# With sanitizers, each holder of a map has a pointer of its own, and perf compares these where it
# asks whether a map is the kernel's: no kcore would be read.
mend_checked() {
	f=$src/tools/perf/util/map.c
	sed 's/return machine__kernel_map(\(.*\)) == map;/return RC_CHK_EQUAL(machine__kernel_map(\1), map);/' "$f" >"$dir/map.c"
	lay "$dir/map.c" "$f"
}

# A compiler that searches the sysroot before its own riscv64 libc
wrapper() {
	lib=$sysroot/usr/lib/riscv64-linux-gnu
	for tool in gcc g++; do
		cat >"$dir/cross-$tool" <<-EOT
			#!/bin/sh
			exec ${cc%gcc}$tool --sysroot=$sysroot -B$lib -L$lib -isystem $sysroot/usr/include/riscv64-linux-gnu -isystem $sysroot/usr/include "\$@"
		EOT
		chmod +x "$dir/cross-$tool"
	done
}

build() {
	set -- -C "$src/tools/perf" O="$out" $flags
	if [ "$arch" = riscv64 ] && [ "$(uname -m)" != riscv64 ]; then
		wrapper
		PKG_CONFIG_LIBDIR=$sysroot/usr/lib/riscv64-linux-gnu/pkgconfig:$sysroot/usr/share/pkgconfig
		PKG_CONFIG_SYSROOT_DIR=$sysroot
		export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
		set -- "$@" ARCH=riscv CROSS_COMPILE="${cc%gcc}" CC="$dir/cross-gcc" CXX="$dir/cross-g++"
	fi
	# perf is not told of the make that called us: its Makefile is a front door of its own
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u O make -j"$jobs" "$@" >"$dir/log" 2>&1 || {
		grep -E 'error|Error|\*\*\*' "$dir/log" | head -n 30 >&2
		die "building failed; the whole log is $dir/log"
	}
}

# our files, and what is mended, as they were at the last good build
ours=$({
	cd "$top" && find tools/perf tools/lib/ntrace include -type f \( -name '*.[ch]' -o -name Build \) -exec cat {} +
	[ -z "${SANITIZE:-}" ] || echo map.c
} | sha256sum)
if [ ! -f "$dir/good" ] || [ "$(cat "$dir/good")" != "$ours" ] || [ ! -x "$out/perf" ]; then
	rm -f "$dir/good"
	[ -f "$src/PERF-VERSION-FILE" ] || copy_source
	lay_ours
	[ -z "${SANITIZE:-}" ] || mend_checked
	echo "perf: building for Linux $kver, $arch"
	build
	echo "$ours" >"$dir/good"
fi
cmp -s "$out/perf" "$result" || { cp "$out/perf" "$result.new" && mv "$result.new" "$result"; }
