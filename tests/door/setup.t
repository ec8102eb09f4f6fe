#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test set-up. Set-up must be complete, must not need a network the second time, and must print a clear message if it
# cannot work.
. "$(dirname "$0")/../harness/tap.sh"

setup=$top/tools/setup/setup

offline() {
	# A new network namespace has no network. If this user may not create a namespace, use a proxy that does not
	# answer.
	if unshare -n true 2>/dev/null; then
		O=$tap_tmp/second unshare -n "$setup" test
	else
		http_proxy=http://127.0.0.1:9 O=$tap_tmp/second "$setup" test
	fi && [ -e "$tap_tmp/second/root/kernel-new/vmlinuz" ]
}

says() { # SENTENCE COMMAND...
	want=$1; shift
	if "$@" >"$tap_tmp/said" 2>&1; then echo "did not fail"; return 1; fi
	cat "$tap_tmp/said"
	grep -qF -- "$want" "$tap_tmp/said"
}

# Build a module on this host with a kernel header tree, whose modpost runs on this host
module() {
	mkdir -p "$tap_tmp/m-$1"
	printf '#include <linux/module.h>\nMODULE_LICENSE("GPL");\nMODULE_DESCRIPTION("empty");\n' >"$tap_tmp/m-$1/empty.c"
	echo 'obj-m := empty.o' >"$tap_tmp/m-$1/Kbuild"
	make -C "$O/root/kernel-$1/build" M="$tap_tmp/m-$1" ARCH=riscv CROSS_COMPILE=riscv64-linux-gnu- modules &&
	[ -s "$tap_tmp/m-$1/empty.ko" ]
}

# Run set-up as a user who is not root, on a host that has neither sudo nor the device tree compiler.
unprivileged() {
	d=$tap_tmp/unprivileged
	mkdir -p "$d/tools/setup" "$d/bin" "$d/home"
	cp "$setup" "$d/tools/setup/"
	ln -s /usr/bin/* "$d/bin/"
	rm -f "$d/bin/dtc" "$d/bin/sudo"
	as=
	if [ "$(id -u)" -eq 0 ]; then
		chmod 755 "$tap_tmp"
		chown 65534 "$d/home"
		as='setpriv --reuid=65534 --regid=65534 --clear-groups'
	fi
	$as env -i PATH="$d/bin" HOME="$d/home" O="$d/home/build" "$d/tools/setup/setup" host </dev/null
}

plan 12
ok "the second time, no network is needed" offline
ok "an unknown name of a root" says "'nosuch' cannot be set up; choose from:" "$setup" nosuch
ok "packages are missing, and the user cannot install them" \
	says "these packages are needed; as root: apt-get install device-tree-compiler" unprivileged
ok "an archive that cannot be reached" says "cannot read the package lists" \
	env XDG_CACHE_HOME="$tap_tmp/cache" O="$tap_tmp/empty" NTRACE_MIRROR=http://127.0.0.1:9/debian "$setup" qemu
ok "QEMU has the plugin interface that the board needs" \
	sh -c '"$0" --version | grep -E "version (11\.[1-9]|1[2-9])"' "$O/root/bin/qemu-system-riscv64"
ok "gdb knows RISC-V and has Python" sh -c '"$0" -batch -ex "set architecture riscv:rv64" -ex "python print(6 * 7)" | grep -x 42' \
	"$O/root/bin/gdb-multiarch"
ok "a module for 6.12 is built" module lts
ok "a module for the newest kernel is built" module new
ok "programs for the guest are built" sh -c 'echo "int main(void) { return 0; }" >"$1/t.c" &&
	"$0" -o "$1/t" "$1/t.c" && qemu-riscv64-static -L "$2" "$1/t"' \
	"$O/root/bin/riscv64-guest-gcc" "$tap_tmp" "$O/root/guest"
ok "make guest-static after make demo alone" says "run make setup" make -C "$top" O="$tap_tmp/empty" guest-static
ok "a static program of one line for the guest is built" sh -c 'echo "int main(void) { return 0; }" >"$1/t.c" &&
	"$0" -static -o "$1/t" "$1/t.c" && qemu-riscv64-static "$1/t"' "$O/root/bin/riscv64-guest-gcc" "$tap_tmp"

# Another process holds the lock of the download cache, like another set-up that is running
waits() {
	mkdir -p "$tap_tmp/busy/ntrace"
	# The other process releases the lock after set-up has printed that it waits
	flock "$tap_tmp/busy/ntrace/lock" sh -c ': >"$0/locked"; until grep -q waiting "$0/said"; do sleep 0.1; done' "$tap_tmp/busy" &
	until [ -e "$tap_tmp/busy/locked" ]; do sleep 0.1; done
	: >"$tap_tmp/busy/said"
	XDG_CACHE_HOME=$tap_tmp/busy O=$tap_tmp/empty "$setup" list >"$tap_tmp/busy/said" 2>&1
	wait
	grep "waiting for another set-up that uses $tap_tmp/busy/ntrace" "$tap_tmp/busy/said"
}
ok "set-up says that it waits for another set-up" waits
done_testing
