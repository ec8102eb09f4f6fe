#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run set-up with small package archives that this test makes and signs. Each archive has a newer kernel, has no
# kernel, or is only partly updated. One download cache was copied from another machine. No network is needed.
. "$(dirname "$0")/../harness/tap.sh"
command -v gpg >/dev/null || skip_all "gpg is missing: apt-get install gnupg"
command -v apt-get >/dev/null || skip_all "this host has no apt-get"
plan 27

setup=$top/tools/setup/setup
export GNUPGHOME="$tap_tmp/gnupg" XDG_CACHE_HOME="$tap_tmp/home/.cache" O="$tap_tmp/build"
export NTRACE_MIRROR="file:$tap_tmp/archive" NTRACE_KEYRING="$tap_tmp/keys.gpg"
mkdir -m 700 "$GNUPGHOME"
trap 'gpgconf --kill all; rm -rf "$tap_tmp"' EXIT
new_key() { gpg --batch --quiet --passphrase '' --quick-generate-key "$1" ed25519 sign never 2>/dev/null; }
new_key archive && new_key other && gpg --export archive >"$tap_tmp/keys.gpg" && gpg --export other >"$tap_tmp/other.gpg" || exit

# Print the files that are mapped into this program, and its arguments.
cat >"$tap_tmp/maps.c" <<'E2'
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	char line[4096];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		if (strchr(line, '/'))
			printf("%s", strchr(line, '/'));
	while (*argv)
		puts(*argv++);
	return 0;
}
E2
gcc -o "$tap_tmp/maps" "$tap_tmp/maps.c" || exit

sign() { # SUITE...
	for suite; do
		gpg --batch --yes --quiet --local-user archive --clearsign -o "$tap_tmp/archive/dists/$suite/InRelease" \
			"$tap_tmp/archive/dists/$suite/Release" || return
	done
}

# archive: replace the package archive by an archive with the items on standard input
archive() {
	rm -rf "$tap_tmp/archive"
	python3 "$top/tests/door/archive.py" "$tap_tmp/archive" "$tap_tmp/maps" &&
		sign $(cd "$tap_tmp/archive/dists" && ls)
}

# sets_up ROOT...: run set-up, and write its output to $tap_tmp/said
sets_up() {
	"$setup" "$@" >"$tap_tmp/said" 2>&1 </dev/null
	_rc=$?
	cat "$tap_tmp/said"
	return $_rc
}
refuses() { ! sets_up "$@"; }
said() { grep -qF -- "$1" "$tap_tmp/said"; }
version() { cat "$O/root/kernel-$1/version"; }
link() { readlink "$O/root/$1"; }

base="trixie kernel 6.12.100+deb13 6.12.100-1
trixie kernel 6.12.110+deb13 6.12.110-1
trixie gcc 14
trixie libc
trixie-backports qemu 1:11.1.3+ds-1~bpo13+1
forky gcc 16
forky libc"

archive <<E2
$base
trixie qemu 1:10.0.13
forky qemu 1:11.1.2+ds-3
forky kernel 7.2.12+deb14 7.2.12-1
trixie-backports kernel 7.2.11+deb13 7.2.11-1~bpo13+1
E2
ok "an archive with 7.2 in testing" sets_up qemu cross kernel-lts kernel-new linux-new
is "lts is the newest 6.12 of the stable release" "$(version lts)" "6.12.110+deb13-riscv64"
is "new is the newest kernel that the archive has" "$(version new)" "7.2.12+deb14-riscv64"
is "kernel-new and linux-new are links to folders of the version" "$(link kernel-new) $(link linux-new)" "kernel-7.2 linux-7.2"
ok "QEMU is that of backports, even if testing has one" test -d "$tap_tmp"/home/.cache/ntrace/root/qemu-11.1.3-*
ok "the newest kernel's modules are built by the compiler of the same release" \
	sh -c 'make -s -C "$0/root/kernel-new/build" | grep "usr/bin/.riscv64-linux-gnu-gcc-16.elf$"' "$O"

# ---- a copy of the download cache
own_files() { # COMMAND...
	"$@" >"$tap_tmp/maps.all" || return
	sort -u "$tap_tmp/maps.all" >"$tap_tmp/maps.out"
	cat "$tap_tmp/maps.out"
	grep -q "$tap_tmp/copy/.*/ld-linux" "$tap_tmp/maps.out" && grep -q "$tap_tmp/copy/.*/libc.so" "$tap_tmp/maps.out" &&
		! grep "$tap_tmp/home" "$tap_tmp/maps.out"
}
mkdir "$tap_tmp/copy" && cp -a "$tap_tmp/home/.cache/ntrace" "$tap_tmp/copy/" || exit
ok "no file of the cache contains the path of the cache" sh -c '! grep -rlF "$0" "$0"' "$tap_tmp/home"
ok "no link of the cache is absolute" sh -c '! find "$0" -type l -lname "/*" | grep .' "$tap_tmp/home"
mv "$tap_tmp/home" "$tap_tmp/away"
ok "a copy of the cache needs no network" env XDG_CACHE_HOME="$tap_tmp/copy" NTRACE_MIRROR="$NTRACE_MIRROR" \
	http_proxy=http://127.0.0.1:9 "$setup" qemu cross kernel-lts kernel-new linux-new
ok "QEMU of a copied cache runs with the copy's libraries" own_files "$O/root/bin/qemu-system-riscv64"
ok "a compiler of a copied cache runs with the copy's libraries" own_files "$O/root/cross/usr/bin/riscv64-linux-gnu-gcc"
ok "a kernel of a copied cache builds modules with the copy's compiler" own_files make -s -C "$O/root/kernel-new/build"
ok "a program of a kernel's headers runs with the copy's libraries" own_files \
	"$O/root/kernel-lts/usr/lib/linux-kbuild-6.12.110+deb13/scripts/mod/modpost"
mv "$tap_tmp/away" "$tap_tmp/home"

# ---- the archive of Debian packages gets new versions between two calls of set-up
archive <<E2
$base
forky kernel 7.3.1+deb14 7.3.1-1
E2
ok "after testing has replaced 7.2 by 7.3, set-up with NTRACE_UPDATE=1 succeeds" env NTRACE_UPDATE=1 "$setup" kernel-new linux-new
is "new is 7.3 after NTRACE_UPDATE=1" "$(version new) $(link kernel-new) $(link linux-new)" "7.3.1+deb14-riscv64 kernel-7.3 linux-7.3"
is "the root of 7.2 can still be used" "$(version 7.2)" "7.2.12+deb14-riscv64"

# The next tests let set-up prepare only the kernel source, because set-up prepares the source faster than a kernel.
archive <<E2
$base
forky kernel 7.3.1+deb14 7.3.1-1
trixie-backports kernel 7.4.1+deb13 7.4.1-1~bpo13+1 -kbuild
trixie-backports kernel 7.5.1+deb13 7.5.1-1~bpo13+1 -headers
sid kernel 7.6.1+deb14 7.6.1-1 -source
E2
rm -rf "$XDG_CACHE_HOME"
ok "half updated: backports has the image of 7.4 and not yet its programs for this host" sets_up linux-new
is "half updated: new is the newest kernel that has all its packages" "$(link linux-new)" linux-7.3

# Replace a package in the archive. The package lists that set-up has stored in its cache now name a package that the
# archive no longer has
rm -rf "$XDG_CACHE_HOME/ntrace/root" "$XDG_CACHE_HOME/ntrace/debs"
archive <<E2
$base
forky kernel 7.3.2+deb14 7.3.2-1
E2
ok "set-up succeeds if packages in its lists are gone from the archive" sets_up linux-new
ok "set-up reports that it reads the lists again, and takes the packages that replaced them" eval 'said "they are read again" && [ -d "$XDG_CACHE_HOME"/ntrace/root/linux-7.3.2-* ]'

# The package lists have changed, but the Release file is still the old one. The complete previous state of the
# archive is available under another name of the release.
cp -r "$tap_tmp/archive/dists/forky" "$tap_tmp/archive/dists/testing"
echo >>"$tap_tmp/archive/dists/forky/main/binary-riscv64/Packages"
rm -rf "$XDG_CACHE_HOME" "$O"
ok "half updated: the lists of testing are newer than its signature" sets_up linux-new
is "half updated: new is the kernel of the complete release" "$(link linux-new)" linux-7.3

archive <<E2
$base
E2
rm -rf "$XDG_CACHE_HOME" "$O"
ok "an archive without a newer kernel" sets_up linux-lts linux-new
is "without a newer kernel, new is 6.12, and set-up names the page to read" \
	"$(link linux-new) $(grep -c 'no kernel newer than 6.12.*(Documentation/developer/add-a-kernel.rst)' "$tap_tmp/said")" \
	"linux-6.12 1"

archive <<E2
trixie kernel 6.12.110+deb13 6.12.110-1
trixie qemu 1:10.0.13
trixie libc
forky libc
E2
rm -rf "$XDG_CACHE_HOME"
ok "an archive without backports" sets_up linux-lts
ok "no suite has the QEMU that the board needs" eval 'refuses qemu && said "the board needs QEMU 11.1 or newer, and none of"'
rm -rf "$XDG_CACHE_HOME"
ok "an archive that was signed with another key is refused" eval \
	'NTRACE_KEYRING=$tap_tmp/other.gpg refuses linux-lts && said "cannot read the package lists of trixie"'
done_testing
