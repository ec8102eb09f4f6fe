#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test `ntrace profile`. Its coverage must equal that of gcov in the same execution of a program. clang, BOLT and
# callgrind_annotate must accept the other formats.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
ntrace=$O/bin/ntrace
gcc=riscv64-linux-gnu-gcc
cd "$tap_tmp" || exit 1
cp "$top/tests/pictures/coverage.c" coverage.c

# recording PROGRAM: execute PROGRAM, and make PROGRAM.data, a recording of the execution
recording() {
	"$top/tests/harness/pcs" "$1.pcs" "./$1" && "$ntrace" encode --elf "$1" --pcs "$1.pcs" -o "$1.nt" &&
		python3 "$top/tests/session/mkrecording.py" "$1" "$1.nt" "$1.data"
}
profile() { "$ntrace" profile "--$1" --object "$2" -i "$2.data" -o "$2.$1"; }

"$gcc" -O0 -g -static -o plain coverage.c && recording plain || exit 1
"$gcc" -O0 -g -static --coverage -o counted coverage.c && qemu-riscv64-static ./counted &&
	riscv64-linux-gnu-gcov -b -c -t counted-coverage.gcda >gcov 2>/dev/null || exit 1

plan 37
ok "lcov" profile lcov plain
ok "gcov" profile gcov plain
ok "counts of lines, branches and functions are those of gcov" python3 "$top/tests/pictures/coverage.py" gcov plain.gcov plain.lcov coverage.c 45 9
# In optimised code, some entries of the line table have no instruction, so nothing can be counted for their lines
executed_lines_are_covered() {
	"$gcc" -O1 -g -static -o quick coverage.c && recording quick && profile lcov quick || return
	awk -F '[:,]' 'FNR == NR { if ($1 ~ /^ *[0-9]+\*?$/) ran[$2 + 0] = 1; next }
		/^SF:/ { here = /coverage.c$/ } here && /^DA:/ { n++; if (!$3 && $2 in ran) { print; bad = 1 } }
		END { exit bad || n < 30 }' gcov quick.lcov
}
ok "no line that was executed has the count 0 in optimised code" executed_lines_are_covered

# Record a program with several threads, each on its own CPU
threads() {
	cp "$top/tests/pictures/threads.cc" threads.cc && "$gxx" -O0 -g -fno-exceptions -static -o threads threads.cc -pthread &&
		THREADS=1 "$top/tests/harness/pcs" list ./threads || return 1
	for list in list.[0-9]; do
		"$ntrace" encode --elf threads --pcs "$list" -o "$list.nt" || return 1
	done
	python3 "$top/tests/pictures/threads.py" threads threads.data list.*.nt && [ "$(echo list.*.nt)" = \
		"list.0.nt list.1.nt list.2.nt list.3.nt" ] && profile lcov threads && profile gcov threads
}
gxx=riscv64-linux-gnu-g++
if command -v $gxx >/dev/null; then
	mkdir gxx && cp "$top/tests/pictures/threads.cc" gxx/ && cd gxx &&
		$gxx -O0 -g -fno-exceptions -static --coverage -fprofile-update=atomic -o counted threads.cc -pthread &&
		qemu-riscv64-static ./counted && riscv64-linux-gnu-gcov -b -c -t counted-threads.gcda >../gcov++ 2>/dev/null
	cd ..
	ok "a C++ program with four threads is recorded" threads
	ok "counts of lines, branches and functions of a C++ program with templates are those of gcov" \
		python3 "$top/tests/pictures/coverage.py" gcov++ threads.gcov threads.lcov threads.cc 35 8
else
	skip "a C++ program with four threads is recorded" "no g++-riscv64-linux-gnu"
	skip "lines, branches and functions of a program of C++" "no g++-riscv64-linux-gnu"
fi

# Test the coverage of a kernel module. Link the module into a program that represents the kernel.
modules=$top/tests/pictures/module
kernel() {
	module_build -Og && $gcc -static -no-pie -Wl,--no-relax -o kernel ntrace-counted.ko &&
		"$top/tests/harness/pcs" kernel.pcs ./kernel >counts &&
		python3 "$modules.py" make kernel ntrace-counted.ko kernel.pcs kernel.data &&
		"$ntrace" encode --elf kernel.data/kcore_dir/kcore --pcs kernel.data/pcs -o kernel.data/nt &&
		python3 "$modules.py" data kernel.data
}
module_build() {
	"$gcc" "$1" -g -mno-relax -fno-pie -c -o module.o "$modules/ntrace-counted.c" &&
		riscv64-linux-gnu-ld -r -o ntrace-counted.ko module.o
}
module_lines() { python3 "$modules.py" compare module.lcov counts "$modules/ntrace-counted.c" && rm module.lcov; }
ok "a recording of a kernel with a module that counts its lines" kernel
lacks="[ntrace_counted]: name a folder that has vmlinux or the files of modules, with debug information, by --modules
ntrace: there are no source lines of the kernel module " cure=". --modules names a folder that has the files of modules"
"$ntrace" profile --lcov -i kernel.data -o module.lcov 2>said
is "without the file of a kernel module, there are no lines, and messages name the file" "$? $(cat said) $(ls module.lcov 2>&1 | grep -c 'No such')" "1 ntrace: there is no line information, for example of $lacks[ntrace_counted]: its file was not found$cure 1"
mkdir -p symfs/lib/modules/board/extra && cp ntrace-counted.ko symfs/lib/modules/board/extra/
"$ntrace" profile --lcov --symfs symfs -i kernel.data -o module.lcov
ok "coverage of the module equals its counters" module_lines
is "ntrace report prints the lines of the module" "$("$ntrace" report --lines --limit 0 --modules . -i kernel.data |
	grep -c 'ntrace-counted.c:[0-9]*  rare \[ntrace_counted\]$')" 6
# elfutils also finds debug information beside the recording, so move this file away
mkdir stripped && riscv64-linux-gnu-strip -g -o stripped/ntrace-counted.ko ntrace-counted.ko && mv ntrace-counted.ko counted.ko
"$ntrace" profile --lcov --modules stripped -i kernel.data -o module.lcov 2>said
is "a module file without debug information is named" "$? $(cat said)" "1 ntrace: there is no line information, for example of \
$lacks[ntrace_counted]: stripped/ntrace-counted.ko: it has no debug information$cure"
"$ntrace" profile --lcov --modules stripped --symfs symfs -i kernel.data -o module.lcov
ok "a module file with debug information is preferred" module_lines
mv counted.ko ntrace-counted.ko && xz -k ntrace-counted.ko && mkdir packed && mv ntrace-counted.ko.xz packed/
"$ntrace" profile --lcov --modules packed -i kernel.data -o module.lcov
ok "coverage from a compressed file of the module" module_lines
module_build -O1 && mkdir anew && mv ntrace-counted.ko anew/
"$ntrace" profile --lcov --modules anew -i kernel.data -o anew.lcov 2>said
is "a module file of another build is refused" "$? $(grep -o 'ntrace-counted.ko: .*build\.' said) $(ls anew.lcov 2>&1 | grep -c 'No such')" \
	"1 ntrace-counted.ko: its functions differ from those of the recorded kernel, so it is from another build. 1"
# Test code that is built into the kernel. Use the code of the module for this. `ntrace profile` reads its lines from
# vmlinux, which is a copy of the program at the addresses of a kernel.
vmlinux() {
	module_build -Og && python3 "$modules.py" make kernel ntrace-counted.ko kernel.pcs built.data builtin &&
		"$ntrace" encode --elf built.data/kcore_dir/kcore --pcs built.data/pcs -o built.data/nt && python3 "$modules.py" data built.data
}
ok "a recording of a kernel that contains the same code" vmlinux
"$ntrace" profile --lcov -i built.data -o none.lcov 2>said
is "without vmlinux, there are no lines" "$? $(cat said) $(ls none.lcov 2>&1 | grep -c 'No such')" "1 ntrace: there is no line information, for example of $(echo "$lacks" | sed '2d; s/ntrace_counted/kernel.kallsyms/') 1"
mkdir debug && mv kernel debug/vmlinux-6.12
"$ntrace" profile --lcov --object '[kernel.kallsyms]' --modules debug -i built.data -o module.lcov
ok "coverage of the kernel equals its counters" module_lines
is "ntrace report prints the lines of the kernel" "$("$ntrace" report --lines --limit 0 --modules debug -i built.data |
	grep -c 'ntrace-counted.c:[0-9]*  rare \[kernel.kallsyms\]$')" 6
mkdir other && module_build -O1 && $gcc -static -no-pie -Wl,--no-relax -o other/vmlinux ntrace-counted.ko
"$ntrace" profile --lcov --modules other -i built.data -o other.lcov 2>said
is "the vmlinux of another kernel is refused" "$? $(sed 1d said) $(ls other.lcov 2>&1 | grep -c 'No such')" "1 ntrace: there are no \
source lines of the kernel [kernel.kallsyms]: other/vmlinux: its functions differ from those of the recorded kernel, so it is from another build$cure 1"
ok "llvm" profile llvm plain
ok "offsets, functions and targets of pointers in the LLVM profile are those of gcov" python3 "$top/tests/pictures/llvm.py" plain.llvm gcov coverage.c
ok "callgrind" profile callgrind plain
total() { sed -n 's/^summary: //p' plain.callgrind; }
"$ntrace" profile --callgrind -i plain.data -o plain.callgrind
is "the callgrind profile has all instructions" "$(total)" "$(wc -l <plain.pcs)"
is "the callgrind profile has the calls" "$(awk '/^fn=/ { fn = $0 } /^cfn=/ { cfn = $0 } /^calls=/ { if (fn == "fn=main" && cfn == "cfn=is_prime") print $1 }' plain.callgrind)" \
	"calls=200"
if command -v callgrind_annotate >/dev/null; then
	ok "callgrind_annotate reads the profile" sh -c "callgrind_annotate plain.callgrind | grep -q 'coverage.c:is_prime'"
else
	skip "callgrind_annotate reads the profile" "no valgrind"
fi
if command -v genhtml >/dev/null; then
	ok "genhtml reads the coverage" sh -c "genhtml -q --branch-coverage -o html plain.lcov && ls -R html | grep -q coverage.c.gcov.html"
else
	skip "genhtml reads the coverage" "no lcov"
fi

# instrumented PROFILE: compare the profile with clang's own counters
instrumented() {
	clang-19 --target=riscv64-linux-gnu -march=rv64gc -O0 -g -fprofile-instr-generate -fcoverage-mapping -c -o counters.o coverage.c &&
		"$gcc" -static -u __llvm_profile_runtime -o counters counters.o "$runtime" && qemu-riscv64-static ./counters &&
		llvm-profdata-19 merge -o profdata default.profraw &&
		llvm-cov-19 export -format=lcov -instr-profile profdata counters >counters.lcov &&
		python3 "$top/tests/pictures/instrumented.py" "$1" counters.lcov coverage.c 38
}
runtime=$(find "$O/root/clang-rt/" -name libclang_rt.profile-riscv64.a 2>/dev/null | head -n 1)
if command -v clang-19 >/dev/null; then
	clang() { clang-19 --target=riscv64-linux-gnu -march=rv64gc -O2 -g -gdwarf-4 -fdebug-info-for-profiling -Wall -Werror -c "$@" coverage.c; }
	clang -o clang.o && "$gcc" -static -o clang clang.o && recording clang || exit 1
	ok "an LLVM profile of a program that clang has built" profile llvm clang
	ok "the LLVM profile has inlined functions in their callers" grep -qE '^ +[0-9.]+: (add|is_prime|choose):[0-9]+$' clang.llvm
	ok "clang accepts the LLVM profile without a warning" clang -o again.o -fprofile-sample-use=clang.llvm
	if [ -n "$runtime" ]; then
		clang -O0 -o slow.o && "$gcc" -static -o slow slow.o && recording slow || exit 1
		ok "an LLVM profile of a program that is not optimised" profile llvm slow
		ok "its functions and lines are those that clang's instrumentation counts" instrumented slow.llvm
	else
		skip "an LLVM profile of a program that is not optimised" "no clang-rt: tools/setup/setup clang-rt"
		skip "functions and lines of clang's instrumentation" "no clang-rt"
	fi
else
	for n in 1 2 3 4 5; do skip "clang $n" "no clang-19"; done
fi
bin=/usr/lib/llvm-19/bin
if [ -x $bin/perf2bolt ]; then
	"$gcc" -O1 -g -static -Wl,--emit-relocs -o bolted coverage.c && recording bolted || exit 1
	ok "bolt" profile bolt bolted
	ok "perf2bolt finds no mismatch" sh -c "$bin/perf2bolt -pa -p bolted.bolt -o fdata bolted | grep 'mismatching disassembled function contents: 0 '"
	ok "the program that BOLT has optimised works" sh -c "$bin/llvm-bolt bolted -o new -data fdata -reorder-blocks=ext-tsp -dyno-stats >log 2>&1 && qemu-riscv64-static ./new"
	# BOLT estimates counts of instructions from the paths between blocks, and omits some functions, so expect only
	# 95 %.
	instructions=$(sed -n 's/^ *\([0-9]*\) : executed instructions$/\1/p' log)
	ok "BOLT's counts have 95 % of the executed instructions" [ "$((${instructions:-0} * 100))" -ge "$(($(wc -l <bolted.pcs) * 95))" ]
else
	for n in 1 2 3 4; do skip "bolt $n" "no bolt-19"; done
fi
"$ntrace" profile -i plain.data >said 2>&1
is "no format" "$? $(cat said)" "2 ntrace: profile needs a format; \`ntrace help profile\` lists them"
"$ntrace" profile --lcov -o /dev/full -i plain.data >said 2>&1
is "a full disk" "$? $(cat said)" "2 ntrace: writing /dev/full failed: No space left on device"
done_testing
