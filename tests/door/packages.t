#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the packages and make install. The version must be the same in all files, removal must delete all installed
# files, and the installed files must work.
. "$(dirname "$0")/../harness/tap.sh"
plan 24
cd "$top" || exit
version=$(cat VERSION)
short=$(echo "$version" | cut -d. -f1,2)

# ---- All files that contain the version of this project have the version in the file VERSION
is "the header has the version" "$(sed -n 's/^#define NT_VERSION_M[A-Z]*	//p' include/ntrace/ntrace.h | paste -sd.)" "$short"
is "dkms.conf has the version" "$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)" "$version"
is "debian/changelog has the version" "$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)" "$version"
is "the .spec has the version" "$(sed -n 's/^Version:[[:space:]]*//p' packaging/ntrace.spec)" "$version"
cp -r tools include VERSION "$tap_tmp/" && echo 2.7 >"$tap_tmp/VERSION"
ok "the build fails if library and header have different versions" sh -c \
	"! make -C '$tap_tmp/tools/lib/ntrace' O='$tap_tmp/o' 2>'$tap_tmp/err' && grep -q 'and VERSION is 2.7' '$tap_tmp/err'"

# ---- make install
places="PREFIX=/usr LIBDIR=/usr/lib/riscv64-linux-gnu DESTDIR=$tap_tmp/dest"
# shellcheck disable=SC2086
ok "make install LIBDIR=" make install $places
ok "make install LIBDIR= installs the library in this folder" [ -e "$tap_tmp/dest/usr/lib/riscv64-linux-gnu/libntrace.so" ]
is "make install LIBDIR= writes the folder into libntrace.pc" "$(sed -n 's/^libdir=//p' "$tap_tmp/dest/usr/lib/riscv64-linux-gnu/pkgconfig/libntrace.pc")" \
	/usr/lib/riscv64-linux-gnu
ok "make install installs ntrace-dev for ntrace encode" "$tap_tmp/dest/usr/bin/ntrace" encode --help
# Build a shipped example with the installed library.
mkdir -p "$tap_tmp/examples" && cp -r examples/* "$tap_tmp/examples/"
lib=$tap_tmp/dest/usr/lib/riscv64-linux-gnu
PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$tap_tmp/dest LDFLAGS= \
	make -C "$tap_tmp/examples" CFLAGS="-Wall -Werror -L$lib -I$tap_tmp/dest/usr/include" calls >"$tap_tmp/log" 2>&1
ok "an example builds with the options of pkg-config, without a warning" [ -x "$tap_tmp/examples/calls" ]
sed 's/^/# /' "$tap_tmp/log"
riscv64-linux-gnu-objcopy -O binary -j .text samples/primes "$tap_tmp/text"
text=$(riscv64-linux-gnu-objdump -h samples/primes | awk '$2 == ".text" { print "0x" $4 }')
LD_LIBRARY_PATH=$lib "$tap_tmp/examples/calls" samples/primes.nt "$tap_tmp/text" "$text" >"$tap_tmp/calls" 2>&1
# The program calls count_primes once, and strike_out for each of the 46 primes.
is "the example prints the calls of the sample" "$? $(awk '{ print $1 }' "$tap_tmp/calls" | sort | uniq -c | awk '{ print $1 }' | sort -n | paste -sd' ')" "0 1 46"
# All versions of perf can read this recording.
mkdir -p "$tap_tmp/o/perf/7.9/$(uname -m)" && echo '#!/bin/sh' >"$tap_tmp/o/perf/7.9/$(uname -m)/perf"
ok "make install-perf" make O="$tap_tmp/o" install-perf PREFIX=/usr DESTDIR="$tap_tmp/dest"
ok "make install-perf installs beside the perf of the distribution" [ -x "$tap_tmp/dest/usr/bin/perf-ntrace" ]
# shellcheck disable=SC2086
ok "make uninstall" make uninstall $places
is "make uninstall leaves no file" "$(find "$tap_tmp/dest" -type f -o -type l)" ""

# ---- packages of Debian
ok "make dist" make dist
if ! command -v dh >/dev/null || ! command -v dh_dkms >/dev/null; then
	for n in 1 2 3 4 5 6 7 8; do skip "packages of Debian, $n" "debhelper or dh-dkms is not here"; done
	done_testing
fi
# Use a perf that was already built, because a new build takes minutes.
perf=$O/perf/new/$(uname -m)/perf
[ -x "$perf" ] || perf=
ok "make deb" make deb PERF="$perf"
debs=$(ls "$O"/deb/*.deb | grep -v dbgsym)
is "the packages" "$(echo "$debs" | sed 's,.*/,,; s/_.*//' | LC_ALL=C sort | paste -sd' ')" \
	"libntrace-dev libntrace1 ntrace ntrace-dkms${perf:+ perf-ntrace}"
# DKMS builds the module when the package is installed. The package must contain the files that DKMS needs for this.
is "ntrace-dkms needs dkms, and calls it" "$(dpkg-deb -f "$O"/deb/ntrace-dkms_*.deb Depends | grep -c dkms) $(dpkg-deb -I \
	"$O"/deb/ntrace-dkms_*.deb postinst | grep -c 'dkms/common.postinst')" "1 1"
root=$tap_tmp/root
mkdir -p "$root/var/lib/dpkg" && : >"$root/var/lib/dpkg/status"
install_all() {
	# Run dpkg itself, in a separate root folder. The scripts of ntrace-dkms are not run, because they need dkms
	# in this folder.
	# shellcheck disable=SC2046
	dpkg --root="$root" --force-depends --force-not-root --force-bad-path --no-triggers -i \
		$(echo "$debs" | grep -v dkms) &&
		dpkg-deb -x "$(echo "$debs" | grep dkms)" "$tap_tmp/dkms" &&
		LD_LIBRARY_PATH=$(echo "$root"/usr/lib/*-linux-gnu) "$root/usr/bin/ntrace" decode --stats \
			--elf "$root/usr/share/doc/ntrace/examples/primes" "$root/usr/share/doc/ntrace/examples/primes.nt" |
			grep -x 'instructions  *2642'
}
ok "the packages install, and their command decodes the sample" install_all
if [ -n "$perf" ]; then
	is "perf-ntrace knows N-Trace" "$("$root/usr/bin/perf-ntrace" test ntrace 2>&1 | grep -c 'N-Trace (ntrace): .* Ok')" 3
else
	skip "perf-ntrace knows N-Trace" "there is no perf; make perf builds it"
fi
ok "the package perf-ntrace can be removed" sh -c "dpkg --root='$root' --force-depends --force-not-root --force-bad-path --no-triggers \
	-P ntrace libntrace-dev libntrace1 ${perf:+perf-ntrace} >/dev/null 2>&1; ! find '$root/usr' -name '*ntrace*' | grep ."

# Build the module from the package as DKMS builds it
build_module() {
	# shellcheck disable=SC2034
	kernel_source_dir=$(readlink -f "$O/root/kernel-6.12/build") dkms_tree=$tap_tmp/tree
	mkdir -p "$dkms_tree/ntrace/$version"
	cp -r "$tap_tmp/dkms/usr/src/ntrace-$version" "$dkms_tree/ntrace/$version/build"
	if command -v dkms >/dev/null; then
		mkdir -p "$tap_tmp/tree.dkms"
		ARCH=riscv CROSS_COMPILE=riscv64-linux-gnu- dkms --dkmstree "$tap_tmp/tree.dkms" \
			--sourcetree "$tap_tmp/dkms/usr/src" --kernelsourcedir "$kernel_source_dir" -a riscv64 \
			-k "$(cat "$O/root/kernel-6.12/version")" build "ntrace/$version" &&
			find "$tap_tmp/tree.dkms" -name 'ntrace.ko*' | grep .
		return
	fi
	# shellcheck disable=SC1091
	command=$(bash -c '. "$0" && echo "${MAKE[0]}"' "$dkms_tree/ntrace/$version/build/dkms.conf")
	sh -c "$command ARCH=riscv CROSS_COMPILE=riscv64-linux-gnu-" && [ -s "$dkms_tree/ntrace/$version/build/drivers/ntrace/ntrace.ko" ]
}
export kernel_source_dir dkms_tree
if [ -e "$O/root/kernel-6.12/build" ]; then
	ok "the module builds with the command in dkms.conf" build_module
else
	skip "the module builds with the command in dkms.conf" "there are no headers of a kernel; run make setup"
fi
if command -v lintian >/dev/null; then
	is "lintian finds no error" "$(lintian --allow-root "$O"/deb/*.changes 2>/dev/null | grep '^E:')" ""
else
	skip "lintian finds no error" "there is no lintian"
fi
done_testing
