#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test that the installed header, library, libntrace.pc and manual pages can be used. Also
# decode a trace whose code is in several ELF files that are loaded at other addresses.
. "$(dirname "$0")/../harness/tap.sh"
prefix=$tap_tmp/prefix
make -C "$top" install PREFIX="$prefix" >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
ntrace=$prefix/bin/ntrace
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"
plan 13

# The library exports every function of the header, and nothing else.
grep -v '^static inline' "$prefix/include/ntrace/ntrace.h" |
	sed -n 's/^[a-z].*[ *]\(nt_[a-z_]*\)(.*/\1/p' | sort >"$tap_tmp/header"
nm -D --defined-only "$prefix/lib/libntrace.so.1" | sed -n 's/.* T \([^@]*\).*/\1/p' | sort >"$tap_tmp/so"
is "over 40 functions in the header" "$([ "$(wc -l <"$tap_tmp/header")" -gt 40 ] && echo yes)" yes
ok "the shared library exports exactly the functions of the header" diff "$tap_tmp/header" "$tap_tmp/so"
is "the shared library exports the functions of the header, in version LIBNTRACE_1.0" "$(nm -D --with-symbol-versions --defined-only \
	"$prefix/lib/libntrace.so.1" | grep -c ' T .*@@LIBNTRACE_1.0$')" "$(wc -l <"$tap_tmp/header")"
is "the shared library needs only the C library" "$(readelf -d "$prefix/lib/libntrace.so.1" |
	sed -n 's/.*NEEDED.*\[\(.*\)\.so.*/\1/p' | grep -v '^libpthread$')" libc

# Each public function has a manual page, which describes more than its name.
sed -n 's/^[a-z].*[ *]\(nt_[a-z_]*\)(.*/\1/p' "$prefix"/include/ntrace/*.h | grep -vE '_sized$|^nt_config_initial$' |
	sort -u >"$tap_tmp/functions"
is "functions without a manual page" \
	"$(while read -r f; do [ -s "$prefix/share/man/man3/$f.3" ] || echo "$f"; done <"$tap_tmp/functions")" ""
without=$(while read -r f; do
	page=$(sed -n 's/^\.so //p' "$prefix/share/man/man3/$f.3")
	awk -v name="$f" '$1 == ".BR" && $2 == name && $3 == "()" { found = 1; next }
		found && !/^\.(TQ|BR|TP)/ { said = length($0) > 4; exit }
		END { exit !said }' "$prefix/share/man/$page" || echo "$f"
done <"$tap_tmp/functions")
is "functions without a manual page, or without a description in it" "$without" ""

cat >"$tap_tmp/prog.c" <<'EOT'
#include <ntrace/ntrace.h>
#include <stdio.h>

int main(void)
{
	/* ProgTraceSync at 0x1000; IndirectBranch I-CNT=3 to 0x1000: two c.nop and a ret */
	static const uint8_t trace[] = { 0x24, 0x0d, 0x00, 0x83, 0x10, 0x31, 0x03 };
	static const uint8_t code[] = { 1, 0, 1, 0, 0x82, 0x80 };
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image *image = nt_image_new();
	struct nt_flow *flow;
	struct nt_item item;
	char desc[100];

	nt_image_add(image, 0, 0x1000, code, sizeof(code));
	flow = nt_flow_new(&config, image);
	nt_flow_feed(flow, trace, sizeof(trace));
	while (nt_flow_next(flow, &item) > 0) {
		nt_item_desc(&item, desc, sizeof(desc));
		puts(desc);
	}
	nt_flow_free(flow);
	nt_image_free(image);
	return 0;
}
EOT
cat >"$tap_tmp/wanted" <<'EOT'
start at 0x1000: Exit from Debug Mode
0x1000..0x1006 3 insns, return to 0x1000
EOT
# build_and_run OUTPUT COMPILER...: build a program with the installed library, and write its output to
# OUTPUT
build_and_run() {
	out=$1; shift
	# shellcheck disable=SC2046
	"$@" -o "$tap_tmp/prog" $(pkg-config --cflags --libs libntrace) && "$tap_tmp/prog" >"$out"
}
ok "a C program builds with the options of pkg-config" build_and_run "$tap_tmp/c" gcc -std=c11 -Wall -Werror -pedantic "$tap_tmp/prog.c"
ok "the C program prints the right output" diff "$tap_tmp/wanted" "$tap_tmp/c"
printf '#include <ntrace/elf.h>\nint main() { nt_config c = NT_CONFIG_INIT; return nt_config_check(&c) || c.xlen != 64; }\n' >"$tap_tmp/prog.cc"
ok "a C++ program builds with the header" build_and_run "$tap_tmp/cc" g++ -std=c++11 -pedantic -Wall -Wextra -Werror "$tap_tmp/prog.cc"

for page in "$prefix"/share/man/man?/*; do
	# The path after .so in a manual page is relative to the folder that contains man1 and man3
	(cd "$prefix/share/man" && groff -man -Tutf8 -ww "$page" 2>&1 >/dev/null)
done >"$tap_tmp/man"
is "manual pages: no warning of groff" "$(cat "$tap_tmp/man")" ""

# Make two ELF files that call each other's code. One of them is linked to address 0, and loaded elsewhere.
cat >"$tap_tmp/main.S" <<'EOT'
	.option norvc
	.globl _start
_start:	lui	t0, 0x400
	jalr	ra, 0(t0)
	nop
	ret
EOT
cat >"$tap_tmp/other.S" <<'EOT'
	.option norvc
	.globl _start
_start:	beqz	a0, 1f
	nop
1:	ret
EOT
for part in main:0x10000 other:0; do
	riscv64-linux-gnu-gcc -nostdlib -static -Wl,--build-id=none,-N,-Ttext="${part#*:}" \
		-Wl,--no-warn-rwx-segments -o "$tap_tmp/${part%:*}" "$tap_tmp/${part%:*}.S" || exit 1
done
printf '0x%x\n' 0x10000 0x10004 0x400000 0x400004 0x400008 0x10008 0x1000c >"$tap_tmp/list"
elfs="--elf $tap_tmp/main --elf $tap_tmp/other@0x400000"
# shellcheck disable=SC2086
"$ntrace" encode $elfs --pcs "$tap_tmp/list" -o "$tap_tmp/nt" || exit 1
# shellcheck disable=SC2086
"$ntrace" decode $elfs --pcs "$tap_tmp/nt" >"$tap_tmp/pcs"
is "code in two ELF files is decoded" "$? $(cat "$tap_tmp/pcs")" "0 $(cat "$tap_tmp/list")"
"$ntrace" decode --elf "$tap_tmp/main" --pcs "$tap_tmp/nt" >/dev/null 2>"$tap_tmp/err"
is "code in two ELF files, one of which is not given, is a gap" "$? $(grep -c NT_E_NO_CODE "$tap_tmp/err")" "1 1"
"$ntrace" encode --elf "$tap_tmp/main@-4" --pcs "$tap_tmp/list" -o "$tap_tmp/nt" 2>"$tap_tmp/err"
is "an offset that is not a number is refused" "$? $(grep -c "'-4' is not a number" "$tap_tmp/err")" "2 1"
done_testing
