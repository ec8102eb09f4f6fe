# SPDX-License-Identifier: GPL-2.0-only
# Functions that build the programs of tests/lib in $dir.
# Source this file after tap.sh.
# shellcheck shell=sh

# unit_build NAME [SOURCE or FLAG...]: build $dir/NAME from tests/lib/NAME.c
unit_build() {
	_name=$1; shift
	make -C "$top" tool &&
		gcc -g -O2 -Wall -Wextra ${SANITIZE:-} -I"$top/include" -I"$top/tools/ntrace" -I"$top/tools/lib" \
			-o "$dir/$_name" "$top/tests/lib/$_name.c" "$top/tools/ntrace/raw/elf-image.c" \
			"$@" "$O/lib/libntrace-session.a" "$O/lib/libntrace-elf.a" "$O/lib/libntrace.a" -ldw -lelf -lzstd -lpthread
}

# unit_library NAME FLAG...: build the library with these flags in $O/NAME, and print the names of its files. The folder
# remains, so that make compiles only changed files. The optimised library takes longer to compile than the test runs.
unit_library() {
	_name=$1; shift
	make -C "$top" lib O="$O/$_name" CFLAGS="-g -O0 $*" >&2 && echo "$O/$_name/lib/libntrace-elf.a $O/$_name/lib/libntrace.a"
}

# unit_workload ROUNDS: make $dir/prog.elf, a program of RV64, and $dir/prog.pcs, its executed PCs
unit_workload() {
	[ -s "$dir/prog.pcs" ] && [ ! "$top/tests/lib/workload.c" -nt "$dir/prog.pcs" ] && return
	riscv64-linux-gnu-gcc -O2 -static -o "$dir/prog.elf" "$top/tests/lib/workload.c" &&
		"$top/tests/harness/pcs" "$dir/prog.pcs" "$dir/prog.elf" "$1" >/dev/null
}

# unit_build_same - build $dir/same from tests/lib/same.c, with the options of `ntrace decode` and allocations that
# can fail
unit_build_same() {
	unit_build same "$top/tools/ntrace/cli/option.c" "$top/tools/ntrace/cli/options.c" "$top/tools/ntrace/cli/output.c" "$top/tools/ntrace/raw/input.c" \
		"$top/tools/ntrace/raw/deframer.c" "$O/lib/libntrace-session.a" -lzstd \
		-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
}

# unit_encode NAME OPTION...: make $dir/NAME, the trace of the execution of $dir/prog.elf
unit_encode() {
	_name=$1; shift
	"$O/bin/ntrace" encode --elf "$dir/prog.elf" --pcs "$dir/prog.pcs" -o "$dir/$_name" "$@"
}

# unit_traces - trace $dir/prog.elf with several sets of options, each of which has a name (the file
# is $dir/NAME)
unit_traces() {
	unit_workload 200 &&
		unit_encode htm --sync-mode 1 --sync-max 6 &&
		unit_encode btm --mode btm --sync-mode 3 --sync-max 10 &&
		unit_encode ir --implicit-return --sync-mode 1 --sync-max 6 --hist-bits 9 &&
		unit_encode ts --timestamp --src-bits 4 --src 7 --sync-mode 1 --sync-max 6 &&
		unit_encode rep --mode btm --repeat-branch --implicit-return --sync-mode 1 --sync-max 6 &&
		unit_encode all --implicit-return --sequential-jump --all-jumps --extend-addr --timestamp \
			--repeated-history --context 12 --sync-mode 1 --sync-max 6
}
