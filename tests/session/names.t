#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the names of functions. Names of C++ and Rust must be demangled, and the best of several names must be printed.
# For stripped programs, names must come from all folders in which distributions store debug files, and never from the
# debug file of another program.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/says.sh"
build_tool
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
ntrace=$O/bin/ntrace
objcopy=riscv64-linux-gnu-objcopy
cd "$tap_tmp" || exit 1
unset DEBUGINFOD_URLS
HOME=$tap_tmp

# record PROGRAM [LIST OF PCS]: make PROGRAM.data
record() {
	[ -n "${2:-}" ] || "$top/tests/harness/pcs" "$1.pcs" "./$1" >/dev/null || return
	"$ntrace" encode --elf "$1" --pcs "$1.pcs" -o "$1.nt" &&
		python3 "$top/tests/session/mkrecording.py" "$1" "$1.nt" "$1.data"
}
riscv64-linux-gnu-gcc -static -nostdlib -Wl,--build-id -o names "$top/tests/session/names.S" && record names || exit 1
mkdir full && cp names full/names
address_of() { riscv64-linux-gnu-nm full/names | sed -n "s/^0*\([0-9a-f]*\) . $1\$/\1/p"; }
# The function .Lunnamed starts after the code of function thing. This has 4 bytes, and four names
unnamed="names+0x$(printf '%x' $((0x$(address_of thing) + 4)))"
demangled=
"$ntrace" report --function 'foo::bar(int)' -i names.data >/dev/null 2>&1 && demangled=yes

report() { "$ntrace" report --limit 0 "$@" | sed -nE 's/^ .* ([0-9]+)  (.*) \[.*/\1 \2/p' | sort -k 2; }
executed() { "$ntrace" report --functions --limit 0 "$@" | sed -nE 's/^ +([0-9]+) +[0-9.]+  (.*) \[.*/\1 \2/p' | sort -k 2; }
# Print the number of instructions of each function in names.S
expected() {
	cat <<-END
	12 _start
	2 core::fmt::write
	2 foo::bar(int)
	2 int foo::baz<int>(int)
	2 label
	2 mycrate::run
	4 outer
	2 thing
	3 $unnamed
	END
}
same_as() { cat >want; diff want "$1"; }
show() { # the shortest form of demangled Rust names, which have their hash in some releases
	sed -E 's/::h0123456789abcdef$//; s/mycrate\[[0-9a-f]+\]/mycrate/'
}
calls() { report -i names.data "$@" | show >got; expected | sort -k 2 | same_as got; }
functions() { executed -i names.data "$@" | show >got; expected | sort -k 2 | same_as got; }
mangled() {
	report --mangled -i names.data >got
	[ "$(grep -cE ' (_ZN3foo3barEi|_ZN3foo3bazIiEET_S1_|_RNvCs1234_7mycrate3run|_ZN4core3fmt5write17h0123456789abcdefE)$' got)" -eq 4 ]
}

# stripped OPTION...: check that ntrace finds the same names if the program has no symbols
stripped() { functions "$@" && calls "$@"; }
# Without debug files, ntrace prints the address as the name of each function that has unwind information
nameless() {
	executed -i names.data "$@" >got
	riscv64-linux-gnu-nm full/names >nm
	while read -r count name; do
		start=$(printf '%016x' $((0x$(echo "${name#names+0x}"))))
		grep -q "^$start [Tt] " nm || [ "$name" = "$unnamed" ] || return
	done <<-END
	$(grep -v unknown got)
	END
	[ "$(wc -l <got)" -eq 9 ] && [ "$(grep -c 'names+0x' got)" -eq 8 ]
}
without_files() { rm -rf names.debug .debug debug && mkdir .debug; }
as_debuglink() {
	without_files
	$objcopy --only-keep-debug full/names "$1" && $objcopy --strip-all --add-gnu-debuglink="$1" full/names names && stripped
}
by_build_id() { # FOLDER OPTION...
	folder=$1; shift
	without_files
	id=$(riscv64-linux-gnu-readelf -n full/names | sed -n 's/.*Build ID: //p')
	path=$folder/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-)
	$objcopy --strip-all full/names names && mkdir -p "${path%/*}" &&
		$objcopy --only-keep-debug full/names "$path.debug" && stripped "$@"
}
mini_debug_data() {
	without_files
	$objcopy --strip-all full/names names && $objcopy --strip-debug full/names mini && xz -k mini &&
		$objcopy --add-section .gnu_debugdata=mini.xz names && stripped
}
wrong_debug_file() {
	without_files
	sed 's/foo3bar/foo3wrong/' "$top/tests/session/names.S" >other.S
	riscv64-linux-gnu-gcc -static -nostdlib -Wl,--build-id -o other other.S &&
		$objcopy --only-keep-debug other names.debug &&
		$objcopy --strip-all --add-gnu-debuglink=names.debug full/names names && nameless
}
plt() {
	echo '.globl other; .type other, @function; other: ret' >other.S
	riscv64-linux-gnu-gcc -shared -nostdlib -o libother.so other.S &&
		riscv64-linux-gnu-gcc -no-pie -nostdlib -Wl,-z,lazy -o plt "$top/tests/session/plt.S" ./libother.so || return
	start=$((0x$(riscv64-linux-gnu-nm plt | sed -n 's/ T _start//p')))
	landing=$((0x$(riscv64-linux-gnu-nm plt | sed -n 's/ t landing//p')))
	entry=$((0x$(riscv64-linux-gnu-readelf -SW plt | sed -nE 's/.* \.plt +PROGBITS +([0-9a-f]+).*/\1/p') + 32))
	for pc in $start $((start + 4)) $entry $((entry + 4)) $((entry + 8)) $landing $((start + 8)); do printf '0x%x\n' "$pc"; done >plt.pcs
	"$ntrace" encode --elf plt --pcs plt.pcs -o plt.nt &&
		python3 "$top/tests/session/mkrecording.py" plt plt.nt plt.data || return
	riscv64-linux-gnu-strip plt
	executed -i plt.data >got
	cat got
	grep -qx "3 other@plt" got
}

plan 13
[ -n "$demangled" ] || skip_all "this build has no demangler"
ok "script --calls prints the right names" calls
ok "report --functions prints the right names" functions
ok "--mangled prints names that are not demangled" mangled
$objcopy --strip-all full/names names
ok "a stripped program has functions, which are named by their addresses" nameless
ok "the debug file of .gnu_debuglink beside the program" as_debuglink names.debug
ok "the debug file of .gnu_debuglink in .debug" as_debuglink .debug/names.debug
ok "a debug file of another build is not used" wrong_debug_file
ok ".gnu_debugdata" mini_debug_data
ok "debug files by build id, in --buildid-dir" by_build_id ids --buildid-dir ids
ok "debug files by build id, in --symfs" by_build_id root/usr/lib/debug --symfs root
ok "debug files by build id, in debug/ beside the recording, without an option" by_build_id debug
ok "debug files by build id, in .debug/ beside the recording, without an option" by_build_id .debug
ok "functions that are called through the PLT have names" plt
done_testing
