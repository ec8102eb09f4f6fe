#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Build perf with N-Trace from a kernel's source.
#
#   tools/perf/build.sh KVER ARCH     KVER lts, new, custom or a version; ARCH x86_64 or riscv64
#
#   KSRC=DIR      the kernel source; default build/root/linux-KVER. "custom" reads its version
#   SYSROOT=DIR   riscv64 libraries for cross building; default build/root/sysroot
#   SANITIZE=1    with address and undefined behaviour sanitizers, in perf/KVER/ARCH-sanitized
#   SCRIPTS=1     with Python (python3-dev) for perf script -s, in perf/KVER/ARCH-scripts
#   O=DIR         parent directory of perf/KVER/ARCH/perf; default build
#   V=1           show the commands
#
# The script does not change the kernel source. It copies the part that perf
# needs to a cache directory whose name depends on source, patch and flags. A
# second run compiles only our own files that have changed.
#
# A hook patch, hooks-VERSION.patch, makes perf call our files. A version without its own hook patch uses the
# nearest one that applies. If none applies to the kernel "new", perf/new is a link to perf/6.12, the perf of "lts".
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
O=${O:-$top/build}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ntrace/perf
jobs=${JOBS:-2}

die() { echo "perf: $*" >&2; exit 1; }
say() { [ "${V:-}" = 1 ] || printf '  %-7s %s\n' "$1" "$2"; }

[ $# -eq 2 ] || die "usage: build.sh lts|new|custom|VERSION x86_64|riscv64"
role=$1 arch=$2
kver=$(O=$O "$top/tools/setup/kernel" "$role")
ksrc=${KSRC:-$O/root/linux-$kver}
sysroot=$(readlink -f "${SYSROOT:-$O/root/sysroot}" || echo "${SYSROOT:-$O/root/sysroot}")
[ -f "$ksrc/tools/perf/MANIFEST" ] ||
	die "$ksrc is no kernel source: it has no tools/perf/MANIFEST. KSRC= names the folder that has Makefile and tools/"
ksrc=$(readlink -f "$ksrc")
version=$(sed -n 's/^VERSION = //p;s/^PATCHLEVEL = /./p;s/^SUBLEVEL = /./p' "$ksrc/Makefile" 2>/dev/null | tr -d '\n')
[ "$kver" != custom ] || kver=$(echo "$version" | cut -d. -f1,2)
[ -n "$kver" ] || die "$ksrc/Makefile names no VERSION and PATCHLEVEL; give the version as KVER="
version=${version:-$kver}

# List the hook patches, those of the nearest version first. 7.3 has the distance 1 from 7.2.
hook_patches() {
	for p in "$here"/hooks-*.patch; do
		v=${p##*/hooks-} v=${v%.patch}
		echo "$kver $v" | awk -F '[. ]' -v patch="$p" \
			'{ d = ($1 - $3) * 100 + $2 - $4; print d < 0 ? -d : d, patch }'
	done | sort -n | cut -d ' ' -f 2
}

applies() { patch --dry-run -f -s -F0 -p1 -d "$ksrc" <"$1" >/dev/null 2>&1; }

choose_patch() {
	for patch in $(hook_patches); do
		applies "$patch" || continue
		[ "${patch##*/}" = "hooks-$kver.patch" ] ||
			echo "perf: tools/perf has no hook patch for Linux $kver; ${patch##*/} applies to it, and is used" >&2
		return
	done
	none="no hook patch applies to Linux $kver in $ksrc (there are:$(cd "$here" && printf ' %s' hooks-*.patch));"
	none="$none Documentation/developer/add-a-kernel.rst says how to make one"
	older_perf "$none"
}

# older_perf REASON: print REASON, and build the perf of "lts" in place of that of "new"; for other kernels, fail
older_perf() {
	[ "$role" = new ] || die "$1"
	echo "perf: $1. The perf of Linux 6.12 is used in its place" >&2
	"$0" lts "$arch"
	ln -sfn 6.12 "$O/perf/new"
	exit
}
choose_patch
# The patch that corrects errors in the perf of the kernel for which $patch was made
backport=$here/backport-$(basename "${patch##*/hooks-}" .patch).patch
[ -f "$backport" ] && applies "$backport" || backport=/dev/null

# perf uses the libraries that it finds. Disable features that trace does not need and that need
# additional tools (Java, Perl, Rust, clang), and the counters of other processors.
flags="WERROR=0 NO_LIBPERL=1 NO_JVMTI=1 NO_SDT=1 NO_LIBPFM4=1 NO_LIBLLVM=1 NO_RUST=1 NO_SHELLCHECK=1
	BUILD_BPF_SKEL=0 LANG_BINDINGS= prefix=/usr/local"
# Leave out the event lists of processors, because the board needs none, and they take as long to build as half of perf
[ -n "${KSRC:-}" ] || flags="$flags JEVENTS_ARCH=none"
[ "$kver" != 6.12 ] || flags="$flags NO_LIBZSTD=1"
# Build perf with Python only on request, because it starts slowly, and not every host has Python
[ -n "${SCRIPTS:-}${KSRC:-}" ] || flags="$flags NO_LIBPYTHON=1"
if [ -n "${SANITIZE:-}" ]; then
	flags="$flags NO_LIBUNWIND=1 NO_LIBBABELTRACE=1 NO_LIBNUMA=1 NO_LZMA=1 NO_LIBBPF=1 NO_SLANG=1 NO_LIBCRYPTO=1
		NO_LIBDEBUGINFOD=1 NO_CAPSTONE=1 DEBUG=1 EXTRA_CFLAGS=-fsanitize=address,undefined"
fi
case $arch in
x86_64)
	[ "$(uname -m)" = x86_64 ] || die "x86_64 is built on x86_64 only"
	cc=${CC:-gcc} ;;
riscv64)
	cc=${CROSS_COMPILE:-riscv64-linux-gnu-}gcc
	flags="$flags EXTRA_PERFLIBS=-latomic"
	if [ "$(uname -m)" = riscv64 ]; then
		cc=${CC:-gcc}
	else
		[ -d "$sysroot/usr/include" ] || die "no riscv64 libraries at $sysroot; run 'tools/setup/setup sysroot', or set SYSROOT="
		# Build without slang and Python, which the board does not have. With g++, perf would
		# need libstdc++ on the board.
		flags="$flags NO_SLANG=1 CXX=false"
		case $flags in *NO_LIBPYTHON*) ;; *) flags="$flags NO_LIBPYTHON=1" ;; esac
	fi ;;
*)	die "unknown architecture $arch: x86_64 or riscv64; set ARCH=" ;;
esac
# perf is linked with the first Python in PATH, so another Python needs another build
python=
case $flags in *NO_LIBPYTHON*) ;; *) python=$(command -v python3 || :) ;; esac
command -v "$cc" >/dev/null || die "no compiler $cc"
case $cc in gcc) ;; *gcc) command -v "${cc%gcc}ld" >/dev/null || die "no linker ${cc%gcc}ld; install binutils for it, or set CROSS_COMPILE=" ;; esac

key=$({ echo "$ksrc $version $arch $sysroot" $flags $python; "$cc" -v 2>&1 | tail -n 1; cat "$patch" "$backport"; } | sha256sum | cut -c1-16)
dir=$cache/$kver-$arch-$key
src=$dir/src out=$dir/obj
result=$O/perf/$kver/$arch${SANITIZE:+-sanitized}${SCRIPTS:+-scripts}/perf
mkdir -p "$out" "${result%/*}"
exec 9>"$dir/lock"
flock -n 9 || {
	echo "perf: waiting for another build of this perf ($dir/lock)" >&2
	flock 9
}

copy_source() {
	rm -rf "$src.new" && mkdir "$src.new"
	(cd "$ksrc" && for pattern in $(cat tools/perf/MANIFEST); do
		for f in $pattern; do [ ! -e "$f" ] || echo "$f"; done
	done | tar -cf - -T -) | tar -xf - -C "$src.new"
	echo "#define PERF_VERSION \"$version\"" >"$src.new/PERF-VERSION-FILE"
	(cd "$src.new" && cat "$patch" "$backport" | patch -s -f -F0 -p1) || die "${patch##*/} does not apply to $ksrc: is it Linux $kver?"
	rm -rf "$src" && mv "$src.new" "$src"
}

# lay FROM TO: copy if the files differ, so that make rebuilds only changed files
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
	(cd "$top/tools/lib/ntrace" && find . -name '*.[ch]') | while read -r f; do
		lay "$top/tools/lib/ntrace/$f" "$perf/util/ntrace-decoder/$f"
	done
	# Remove files that we no longer have, so that they are not compiled
	(cd "$perf/util/ntrace-decoder" && find . -name '*.[ch]') | while read -r f; do
		[ -f "$top/tools/lib/ntrace/$f" ] || rm -f "$perf/util/ntrace-decoder/$f"
	done
	for f in "$perf"/util/ntrace*.[ch]; do
		[ -f "$here/util/${f##*/}" ] || rm -f "$f"
	done
}

# With sanitizers, each reference to a map has a different pointer. perf compares pointers to detect
# the kernel's map, and would not read kcore, so change it to compare the maps.
mend_checked() {
	f=$src/tools/perf/util/map.c
	sed 's/return machine__kernel_map(\(.*\)) == map;/return RC_CHK_EQUAL(machine__kernel_map(\1), map);/' "$f" >"$dir/map.c"
	lay "$dir/map.c" "$f"
}

# Write a script that starts the compiler so that it searches the sysroot before its own riscv64 libc
wrapper() {
	lib=$sysroot/usr/lib/riscv64-linux-gnu
	cat >"$dir/cross-gcc" <<-EOT
		#!/bin/sh
		exec $cc --sysroot=$sysroot -B$lib -L$lib -isystem $sysroot/usr/include/riscv64-linux-gnu -isystem $sysroot/usr/include "\$@"
	EOT
	chmod +x "$dir/cross-gcc"
}

build() {
	set -- -C "$src/tools/perf" O="$out" $flags
	if [ "$arch" = riscv64 ] && [ "$(uname -m)" != riscv64 ]; then
		wrapper
		PKG_CONFIG_LIBDIR=$sysroot/usr/lib/riscv64-linux-gnu/pkgconfig:$sysroot/usr/share/pkgconfig
		PKG_CONFIG_SYSROOT_DIR=$sysroot
		export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
		set -- "$@" ARCH=riscv CROSS_COMPILE="${cc%gcc}" CC="$dir/cross-gcc"
	fi
	[ "${V:-}" != 1 ] || set -- "$@" V=1
	# Hide the variables of the make that called this script from perf's Makefile
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u O make -j"$jobs" "$@" >"$dir/log" 2>&1 || {
		grep -E 'error|Error|\*\*\*' "$dir/log" | head -n 30 >&2
		[ "${patch##*/}" != "hooks-$kver.patch" ] || die "building failed; the whole log is $dir/log"
		older_perf "${patch##*/} does not build on Linux $kver; the whole log is $dir/log," \
			"Documentation/developer/add-a-kernel.rst has what to do"
	}
	[ "${V:-}" != 1 ] || cat "$dir/log"
}

# Print the libraries that the build of perf looked for and did not find
missing() {
	sed -n 's/^\.*  *\([A-Za-z0-9_-]*\): \[.*OFF.*\].*/\1/p' "$dir/log" | sort -u | tr '\n' ' '
}

# Hash of our files, and of the name of the file of perf that mend_checked changes, to compare with the last good build
ours=$({
	cd "$top" && find tools/perf tools/lib/ntrace include -type f \( -name '*.[ch]' -o -name Build \) -exec cat {} +
	[ -z "${SANITIZE:-}" ] || echo map.c
} | sha256sum)
if [ ! -f "$dir/good" ] || [ "$(cat "$dir/good")" != "$ours" ] || [ ! -x "$out/perf" ]; then
	rm -f "$dir/good"
	[ -f "$src/PERF-VERSION-FILE" ] || copy_source
	lay_ours
	[ -z "${SANITIZE:-}" ] || mend_checked
	say PERF "$kver $arch${SANITIZE:+ (sanitized)}"
	build
	echo "$ours" >"$dir/good"
fi
# publish FROM TO: replace the file atomically, because it may be running
publish() {
	cmp -s "$1" "$2" || { cp "$1" "$2.new" && chmod 755 "$2.new" && mv "$2.new" "$2"; }
}
publish "$out/perf" "$result"
publish "$src/tools/perf/perf-archive.sh" "${result%/*}/perf-archive"
case $role in lts|new) ln -sfn "$kver" "$O/perf/$role" ;; esac
if [ -n "${KSRC:-}" ]; then
	echo "perf: built ${result#"$PWD/"}"
	[ -z "$(missing)" ] || echo "perf: built without these, as their libraries are not there: $(missing)"
fi
