#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check the calls of recordings with an address filter against all instructions of the program. A filter starts and
# stops the trace between any two functions, or traces only some functions. tests/session/filtered.py describes the
# calls that must be equal.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
need_tool qemu-riscv64-static qemu-user-static
cd "$tap_tmp" || exit
riscv64-linux-gnu-gcc -nostdlib -static -march=rv64g -Wl,-Ttext=0x10000,--build-id=none -o filtered "$top/tests/session/filtered.S" &&
	gcc -D_GNU_SOURCE -O2 -I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" -o stacks "$top/tests/session/stacks.c" \
		"$O/lib/libntrace-session.a" "$O/lib/libntrace.a" -ldw -lelf -lzstd -lpthread &&
	"$top/tests/harness/pcs" pcs filtered || exit 1

# Without symbols, each function is a separate node in the tree of calls
stripped() {
	cp filtered bare && riscv64-linux-gnu-strip bare &&
		"$O/bin/ntrace" encode --timestamp --elf bare --pcs pcs -o trace &&
		python3 "$top/tests/session/mkrecording.py" --timestamp bare trace bare.data && ./stacks bare.data || return
	"$O/bin/ntrace" report --stack --limit 0 -i bare.data >tree
	[ "$(grep -c 'bare+0x[0-9a-f]*$' tree)" -ge 15 ] && ! grep 'unknown' tree
}

# Link the same program as a kernel
in_kernel() {
	mkdir -p kernel && riscv64-linux-gnu-gcc -nostdlib -static -march=rv64g -mcmodel=medany -Wl,-Ttext=0xffffffff80000000,--build-id=none \
		-o kernel/filtered "$top/tests/session/filtered.S" && cp stacks kernel || return
	python3 "$top/tests/session/filtered.py" "$O/bin/ntrace" kernel/filtered pcs kernel "$(by_size 5 1)"
}

# ntrace must not report that calls without a known end do not exist, or that time outside of the filter was not running
says_why() {
	"$O/bin/ntrace" report -i filtered.data >out && grep -q '  serve \[filtered\], traced for ' out && grep -q '^CPU .* not traced$' out &&
		! grep 'not running' out && "$O/bin/ntrace" info -i filtered.data | grep -q '^ *traced  *instructions' || return
	if "$O/bin/ntrace" slow -i filtered.data again 2>err || grep nearest err; then return 1; fi
	grep -q 'no call of again was recorded from its start to its end, because the trace does not show' err || { cat err; return 1; }
	"$O/bin/ntrace" report --callers agai -i filtered.data 2>err
	grep -q 'no call of agai was recorded\. The nearest names .* are again' err
}

plan 4
ok "the tree of calls of a stripped program agrees with the table" stripped
# make test uses every fifth filter
ok "calls, and the time and instructions in them, are those that the trace shows" \
	python3 "$top/tests/session/filtered.py" "$O/bin/ntrace" filtered pcs . "$(by_size 5 1)"
ok "calls in the kernel are also those that the trace shows" in_kernel
ok "commands say that calls have an unknown end, and that time is not traced" says_why
done_testing
