# SPDX-License-Identifier: GPL-2.0-only
# Programs of tests/unit, in $dir; sourced behind tap.sh.
# shellcheck shell=sh

# unit_build NAME [FLAG...]: $dir/NAME of tests/unit/NAME.c
unit_build() {
	_name=$1; shift
	make -C "$top" tool &&
		gcc -g -O2 -Wall -Wextra ${SANITIZE:-} -I"$top/include" -I"$top/tools/ntrace" \
			-o "$dir/$_name" "$top/tests/unit/$_name.c" "$top/tools/ntrace/elf-image.c" \
			"$O/lib/libntrace.a" "$@" -lelf -lpthread
}

# unit_workload ROUNDS: $dir/prog.elf, a program of RV64, and $dir/prog.pcs, what it runs
unit_workload() {
	[ -s "$dir/prog.pcs" ] && [ ! "$top/tests/unit/workload.c" -nt "$dir/prog.pcs" ] && return
	riscv64-linux-gnu-gcc -O2 -static -o "$dir/prog.elf" "$top/tests/unit/workload.c" &&
		"$top/tests/lib/pcs" "$dir/prog.pcs" "$dir/prog.elf" "$1" >/dev/null
}
