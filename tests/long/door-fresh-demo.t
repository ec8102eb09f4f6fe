#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# An ordinary user runs make demo in a fresh Debian 12 and a fresh Debian 13, which have only apt, sudo and make. The
# demo downloads 1.5 GB for each release.
#
#   SUITES=trixie tests/run long/door-fresh-demo
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/door/fresh.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "the roots are of amd64"
suites=${SUITES:-bookworm trixie}
cd "$top" || exit
root=$tap_tmp/root
why=$(fresh_make "${suites%% *}" "$root") || skip_all "$why"
plan $(($(echo "$suites" | wc -w) * 3 + 1))
ok "make dist" make dist

# demo NAME: run make demo as an ordinary user of a fresh Debian NAME
demo() {
	chroot "$root" useradd -m -s /bin/sh ann
	mkdir -p "$root/home/ann/ntrace"
	tar -C "$root/home/ann/ntrace" --strip-components=1 -xzf "$O/dist/ntrace-$(cat VERSION).tar.gz"
	chroot "$root" chown -R ann: /home/ann
	fresh_run "$root" ann make -C ntrace demo >"$tap_tmp/demo" 2>&1
	ok "$1: without sudo, it prints the line for root" grep 'these packages are needed; as root: apt-get install' "$tap_tmp/demo"
	echo 'ann ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/ann"
	begin=$(date +%s)
	fresh_run "$root" ann sh -c 'make -C ntrace demo; rc=$?; times; exit $rc' >"$tap_tmp/demo" 2>&1
	is "$1: with sudo, make demo" $? 0
	grep -v -E '^  (CC|AR|LINK) ' "$tap_tmp/demo" | sed 's/^/# /'
	figure "$1: make demo from nothing took $(($(date +%s) - begin)) s; processor time: $(tail -n 1 "$tap_tmp/demo")"
	is "$1: without trace errors" "$(sed -n 's/^demo: .* \([0-9]*\) trace errors$/\1/p' "$tap_tmp/demo")" 0
}

for suite in $suites; do
	if [ ! -d "$root" ]; then
		fresh_make "$suite" "$root" >"$tap_tmp/why" 2>&1 || { cat "$tap_tmp/why"; exit 1; }
	fi
	demo "$suite"
	rm -rf "$root"
done
done_testing
