#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# With `ntrace gdb`, gdb shows four kinds of recordings: the kernel, all CPUs of a machine, a record of a flight
# recorder, in which gdb starts at the end, and a process that executes several programs. Each step and all callers must
# be those of `ntrace script --insns`.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/gdb.sh"
build() { riscv64-linux-gnu-gcc -nostdlib -static "$@" "$top/tests/perf/calls.S"; }
id() { for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do printf %s "$1"; done; }
build -Wl,-Ttext=0x10000,--build-id=0x"$(id 11)" -o calls &&
	build -march=rv64g -Wl,-Ttext=0x10000,--build-id=0x"$(id 22)" -o calls-uncompressed &&
	build -Wl,-Ttext=0xffffffff80000000 -o kcore && mkdir debug &&
	build -g -Wl,-Ttext=0xffffffff80400000 -o debug/vmlinux || exit 1
build -march=rv32gc -mabi=ilp32d -Dsd=sw -Dld=lw -Wl,-melf32lriscv -Wl,-Ttext=0xc0000000 -o kcore32 || exit 1
for what in machine apart flight flight32 switch fault exec replaced rebuilt loaded fork; do
	case $what in switch) inner=__switch_to ;; *) inner=inner ;; esac
	case $what in *32) kernel=kcore32 ;; *) kernel=kcore ;; esac
	mkdir -p $what/kcore_dir && cp $kernel $what/kcore_dir/kcore && riscv64-linux-gnu-nm $kernel | sed "s/ inner/ $inner/" >$what/kcore_dir/kallsyms &&
		python3 "$top/tests/command/machine.py" calls $what/data $what || exit 1
done
# truth THREAD RECORDING OPTIONS...: list the address and the function of each instruction of gdb's thread THREAD
truth() {
	_thread=$1; shift
	"$ntrace" script --insns -F ip,sym -i "$@" 2>/dev/null | awk '{ print $1, $2 }' >"truth.$_thread"
}
# compare NAME RECORDING OPTION...: run gdb-machine.py in gdb on this recording
compare() {
	export NAME="$1"
	shift
	in_gdb gdb-machine.py 6 -i "$@"
}
cpus() { for cpu in 0 1; do truth $((cpu + 1)) "$1" --cpu $cpu; done; }
cpus apart
compare "two programs and the kernel" apart --machine
cpus machine
CLASH=1 compare "two programs at the same addresses" machine --machine
truth 1 apart --tid 1234
compare "one process and the kernel" apart --pid 1234 --kernel
cpus flight
END=1 compare "only the kernel" flight
cpus flight32
END=1 compare "a kernel of 32 bits" flight32
truth 1 exec
compare "a process calls exec" exec
truth 1 replaced
compare "a file is mapped in place of another" replaced
for id in 11 22; do
	folder=$(id $id | sed 's|..|ids/.build-id/&/|')
	case $id in 11) file=calls ;; *) file=calls-uncompressed ;; esac
	mkdir -p "$folder" && cp $file "$folder/elf"
done
truth 1 rebuilt --buildid-dir ids
compare "a file is mapped in place of an older file with the same path" rebuilt --buildid-dir ids
truth 1 loaded
# the library executes after function done made a system call, like a signal handler that interrupts done
KERNEL=0x30000 compare "a library is loaded later" loaded

plan $(($(wc -l <results) + 9))
results 66
"$ntrace" gdb -i flight --modules debug -- -nx -batch -ex 'tbreak inner' -ex reverse-continue -ex bt >lines 2>&1
ok "the kernel's lines are those of vmlinux, whose addresses differ" eval "said 'calls.S:26' lines && said 'calls.S:19' lines"
# inner belongs to a module, whose file has no addresses
cp -r flight module && sed -i "s/ inner$/&\t[calls]/" module/kcore_dir/kallsyms && mkdir modules &&
	riscv64-linux-gnu-gcc -g -c -o modules/calls.ko "$top/tests/perf/calls.S"
"$ntrace" gdb -i module --modules modules -- -nx -batch -ex 'tbreak inner' -ex reverse-continue -ex bt -ex 'info sharedlibrary' >lines 2>&1
ok "the lines of a kernel module are those of its file" eval "said 'calls.S:26' lines && said 'calls.S:19' lines && said '/kernel/calls.ko' lines"
printf '%s\n' 'break __switch_to' continue 'info threads' continue 'info threads' continue 'info threads' >commands
is "after the kernel has written the id of the next thread, the CPU executes the previous one until __switch_to returns" \
	"$("$ntrace" gdb -i switch --at begin -- -nx -batch -x commands 2>&1 | grep -o 'CPU 0, thread [0-9]*' | awk '{ print $4 }' | xargs)" "1234 1234 2234"
is "the caller of a trap is the function whose first instruction it interrupted" \
	"$("$ntrace" gdb -i fault --pid 1234 --kernel --at end -- -nx -batch -ex bt 2>&1 | sed -n 's/.* in \([a-z_]*\) ().*/\1/p' | tail -n 4 | xargs)" \
	"done inner outer _start"
"$ntrace" gdb -i fork -- -nx -batch -ex 'info threads' >forked 2>&1
ok "if there are several processes, a message names the one that is shown" said "this is process" forked
is "--pid shows the process that forks" "$("$ntrace" gdb -i fork --pid 1234 --at end -- -nx -batch -ex 'p $trace_insn' 2>&1 | grep '^\$')" '$1 = 32'
"$ntrace" gdb -i flight --pid 1234 -- -nx -batch >pid 2>&1
is "--pid of a process without user code is refused" "$?: $(sed 's/\..*//' pid)" "1: ntrace: nothing matched with --pid 1234"
"$ntrace" gdb -i flight --machine --pid 1234 >both 2>&1
ok "--machine and --pid exclude each other" said "so it excludes --pid and --kernel" both
done_testing
