#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check the calls of recordings with an address filter, which starts and stops the trace between any two functions, or
# traces only some of them, against all instructions of the program. tests/session/filtered.py says what must be equal.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
need_tool qemu-riscv64-static qemu-user-static
cd "$tap_tmp" || exit
riscv64-linux-gnu-gcc -nostdlib -static -march=rv64g -Wl,-Ttext=0x10000,--build-id=none -o filtered "$top/tests/session/filtered.S" &&
	gcc -D_GNU_SOURCE -O2 -I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" -o stacks "$top/tests/session/stacks.c" \
		"$O/lib/libntrace-session.a" "$O/lib/libntrace.a" -ldw -lelf -lzstd -lpthread &&
	"$top/tests/harness/pcs" pcs filtered || exit 1
plan 1
# make test takes each fifth filter
ok "calls, and the time and instructions in them, are those that the trace shows" \
	python3 "$top/tests/session/filtered.py" "$O/bin/ntrace" filtered pcs . "$(by_size 5 1)"
done_testing
