#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Install, use and remove the packages in a fresh Debian 12 and a fresh Debian 13. perf-ntrace is only tested in the
# release of the host, because perf-ntrace needs the libraries that it was built with.
#
# HOW=PERF=/path/to/perf tests/run long/door-fresh-packages     use a perf that was already built
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/door/fresh.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "the roots are of amd64"
command -v dh_dkms >/dev/null || skip_all "debhelper or dh-dkms is not here"
[ -d "$O/root/linux-6.12/tools/perf" ] || skip_all "no source of Linux; run make setup"
cd "$top" || exit
root=$tap_tmp/root
why=$(fresh_make bookworm "$root") || skip_all "$why"
plan 17

ok "make deb with perf" make deb "${HOW:-KSRC=$O/root/linux-6.12}"
# shellcheck disable=SC1091
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
debs=$(ls "$O"/deb/*.deb | grep -v dbgsym)
is "five packages" "$(echo "$debs" | sed 's,.*/,,; s/_.*//' | LC_ALL=C sort | paste -sd' ')" \
	"libntrace-dev libntrace1 ntrace ntrace-dkms perf-ntrace"
is "lintian finds no error" "$(lintian --allow-root "$O"/deb/*.changes 2>&1 | grep '^E:')" ""
if command -v rpmbuild >/dev/null; then
	dpkg -x "$O"/deb/perf-ntrace_*.deb "$tap_tmp/perf"
	ok "rpmbuild succeeds with the source archive" rpmbuild -ta --quiet --nodeps --define "_topdir $tap_tmp/rpm" \
		--define "perf $tap_tmp/perf/usr/bin/perf-ntrace" "$O/dist/ntrace-$(cat VERSION).tar.gz"
	is "rpmbuild makes these packages of the archive" "$(find "$tap_tmp/rpm/RPMS" -name '*.rpm' -exec rpm -qp --qf '%{name} ' {} + | tr ' ' '\n' | sort | paste -sd' ')" \
		"libntrace libntrace-devel ntrace ntrace-dkms perf-ntrace"
else
	skip "rpmbuild succeeds with the source archive" "there is no rpmbuild"
	skip "rpmbuild makes these packages of the archive" "there is no rpmbuild"
fi
riscv64-linux-gnu-gcc -nostdlib -static -Wl,-Ttext=0x10000 -o "$tap_tmp/calls" tests/perf/calls.S &&
	python3 tests/perf/mkcalls.py "$tap_tmp/calls" "$tap_tmp/calls.data" good || exit

# packages NAME: install, use and remove the packages in a chroot. Its folder $root contains the fresh Debian NAME
packages() {
	mkdir -p "$root/debs"
	# shellcheck disable=SC2086
	cp $debs "$tap_tmp/calls.data" "$root/debs/"
	ours="ntrace libntrace1 libntrace-dev ntrace-dkms"
	if [ "$1" = "$release" ]; then ours="$ours perf-ntrace"; else rm "$root"/debs/perf-ntrace_*; fi
	fresh_run "$root" root sh -c 'apt-get update -q; apt-get install -y --no-install-recommends linux-perf /debs/*.deb' \
		>"$tap_tmp/apt" 2>&1
	is "$1: apt installs the packages, and the perf of Debian" $? 0
	tail -n 5 "$tap_tmp/apt" | sed 's/^/# /'
	is "$1: the command decodes the sample" "$(fresh_run "$root" root ntrace decode --stats \
		--elf /usr/share/doc/ntrace/examples/primes /usr/share/doc/ntrace/examples/primes.nt | awk '$1 == "instructions" { print $2 }')" 2642
	if [ "$1" = "$release" ]; then
		is "$1: perf-ntrace reads a recording" "$(fresh_run "$root" root perf-ntrace script -i /debs/calls.data --itrace=e 2>&1 |
			grep -c 'cannot read the code of')" 1
		ok "$1: the command perf is not perf-ntrace" fresh_run "$root" root sh -c 'perf version &&
			! cmp "$(command -v perf)" "$(command -v perf-ntrace)"'
	else
		skip "$1: perf-ntrace reads a recording" "it was built for $release"
		skip "$1: the command perf is not perf-ntrace" "perf-ntrace was built for $release"
	fi
	is "$1: DKMS knows the driver" "$(fresh_run "$root" root dkms status | grep -c '^ntrace/')" 1
	# shellcheck disable=SC2086
	fresh_run "$root" root apt-get purge -y $ours >"$tap_tmp/apt" 2>&1
	is "$1: no file of the packages remains after their removal" "$(find "$root" -xdev -name '*ntrace*' ! -path "$root/debs/*")" ""
	rm -rf "$root/debs"
}

for suite in bookworm trixie; do
	if [ $suite = trixie ]; then
		rm -rf "$root"
		fresh_make trixie "$root" >"$tap_tmp/why" 2>&1 || { cat "$tap_tmp/why"; exit 1; }
	fi
	packages $suite
done
done_testing
