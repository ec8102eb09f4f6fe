#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Build the library and the command for riscv64 and arm64, and run tests of lib and session with programs for these
# hosts in qemu-user. HOSTS is another list of hosts, and TESTS is another list of tests. Tests that need sanitizers,
# a board or the Python module are left out. Tests that limit the memory are also left out, because qemu-user needs
# more memory.
. "$(dirname "$0")/../harness/tap.sh"
unset TEST_MADE TEST_LEDGER BOARD_COUNTS
tests=${TESTS:-lib/api lib/elf lib/examples lib/rtl lib/unit lib/walk session/diff session/filtered session/limits session/losses
	session/profile session/raw session/shards session/shared}
hosts=${HOSTS:-riscv64 arm64}
plan $((2 * $(echo "$hosts" | wc -w)))

# tests_of HOST: run the tests with programs of HOST
tests_of() {
	_out=$O/host-$1
	mkdir -p "$_out/bin" "$_out/cc" && ln -sfn "$O/root" "$_out/root" || return
	for _name in gcc cc g++ c++; do ln -sf "$top/tests/harness/host-cc" "$_out/cc/$_name"; done
	export TEST_HOST="$1" TEST_ROOT="$O/root/host-$1"
	ok "$1: library and command build" env PATH="$_out/cc:$PATH" make -C "$top" O="$_out" CC=gcc CXX=g++ LINUX= tool
	# shellcheck disable=SC2086
	ok "$1: tests pass" env PATH="$_out/cc:$PATH" O="$_out" CC=gcc CXX=g++ LINUX= "$top/tests/run" $tests
}

for host in $hosts; do
	case $host in
	riscv64) tuple=riscv64-linux-gnu qemu=qemu-riscv64-static ;;
	arm64) tuple=aarch64-linux-gnu qemu=qemu-aarch64-static ;;
	esac
	missing=
	command -v "$tuple-g++" >/dev/null || missing="this host has no $tuple-g++; on Debian: apt-get install g++-$tuple"
	command -v "$qemu" >/dev/null || missing="this host has no $qemu; on Debian: apt-get install qemu-user-static"
	[ -n "$missing" ] || "$top/tools/setup/setup" "host-$host" || missing="set-up could not prepare host-$host"
	if [ -n "$missing" ]; then
		skip "$host: library and command build" "$missing"
		skip "$host: tests pass" "$missing"
	else
		tests_of "$host"
	fi
done
done_testing
