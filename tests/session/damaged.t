#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Read recordings with a damaged structure, and damaged files of programs, kernels, raw trace and execution counts, in a
# build with sanitizers. Each command must end within 10 seconds with a documented exit status, and must not change the
# recording or create another file.
#
# tests/long/session-damaged.t reads 100,000 damaged files, which takes about an hour, and can continue an interrupted
# run.
. "$(dirname "$0")/../harness/tap.sh"
number=${DAMAGED:-$(by_size 300 4000)}
build_sanitized || skip_all "this host's compiler has no sanitizers: $(grep -m1 error "$tap_tmp/make")"
ntrace=$O/sanitized/bin/ntrace read=$tap_tmp/read
mkdir "$read" "$tap_tmp/files" && cd "$tap_tmp" || exit
# Make recordings of each kind
recordings() {
	recording good partial samples rounds two-sources frames lost-kept late-mapping switches clock-anew kernel guest-two guest-data-host missing-calls &&
		recording_as compressed rounds compressed && recording_as pipe rounds pipe && recording_as both rounds pipe compressed &&
		python3 "$top/tests/session/mkevents.py" calls events.data && python3 "$top/tests/session/mkshared.py" calls shared shared 2 2 &&
		for kind in gtrace rvtrace k3; do python3 "$top/tests/session/foreign.py" $kind shared.data $kind.data || return; done
}
# Make the files that recordings and commands name: programs, the code and symbols of the kernel, raw trace and counts
files() {
	cp calls "$top/samples/primes" "$top/samples/primes.nt" files && "$gcc" -g -nostdlib -static -Wl,-Ttext=0x10000 -o files/lines "$top/tests/perf/calls.S" &&
		"$gcc" -nostdlib -static -Wl,-Ttext=0xffffffff80000000 -o files/kcore "$top/tests/perf/calls.S" &&
		printf 'ffffffff80000000 T _stext\nffffffff80000000 t start\nffffffff80000008 T outer\nffffffff02000000 t load\t[one]\n' >files/kallsyms &&
		echo "one 16384 1 two, Live 0xffffffff02000000 (OE)" >files/modules && "$ntrace" decode --pcs --elf calls good.data >pcs &&
		"$O/bin/ntrace" encode --elf calls --pcs pcs -o files/calls.nt --timestamp && "$ntrace" profile --counts -i good.data -o files/counts
}
# Copy the undamaged files to folder $read, for commands that need them. Only one of the kernel's code, symbols and
# modules is damaged at a time
beside() {
	cp calls good.data files/*.nt "$read" && cp rounds.data "$read/calls.data" && cp files/counts "$read/counts.data" && cp files/lines "$read/in.data" &&
		python3 "$top/tests/perf/mkcalls.py" "$read/in.data" "$read/program.data" good || return
	for file in kcore kallsyms modules; do
		mkdir -p "$read/$file/kcore_dir" && cp kernel.data "$read/$file/data" && cp files/k* files/modules "$read/$file/kcore_dir" &&
			ln -sf ../../in.data "$read/$file/kcore_dir/$file" || return
	done
}
gcc=${CROSS_COMPILE:-riscv64-linux-gnu-}gcc
{ build_tool && recordings && files && beside; } >said 2>&1 || { cat said; exit 1; }
gcc -D_GNU_SOURCE -Wall -Werror -shared -fPIC -o serve.so "$top/tests/session/serve.c" || exit

# Make a recording that maps the same file twice and lacks the build ID of this file, and read the recording
mapped_twice() {
	python3 - good.data twice.data <<-'E2' || return
		import struct, sys
		data = open(sys.argv[1], "rb").read()
		at, size = struct.unpack_from("<QQ", data, 40)
		end, maps = at + size, b""
		while at < end:
		    kind, _, length = struct.unpack_from("<IHH", data, at)
		    maps += data[at:at + length] if kind == 10 else b""
		    at += length + (struct.unpack_from("<Q", data, at + 8)[0] if kind == 71 else 0)
		begin = struct.unpack_from("<Q", data, 40)[0]
		# Clear the header's bitmap of features, because the sections of the features are dropped
		head = data[:48] + struct.pack("<Q", size + len(maps)) + data[56:72] + bytes(32)
		open(sys.argv[2], "wb").write(head + data[104:begin] + maps + data[begin:end])
		sys.exit(not maps)
	E2
	for command in "report" "script" "export --format folded -o -"; do
		UBSAN_OPTIONS=halt_on_error=1:exitcode=99 "$ntrace" $command -i twice.data >got 2>said && ! grep "runtime error" said || { cat said; return 1; }
	done
}

# Use a small stack, because the sanitizer takes longer to clear a thread's stack of 8 MB than a command runs
ulimit -s 512
plan 2
ok "a file that is mapped twice without a build ID causes no undefined behaviour" mapped_twice
ok "$number damaged recordings and files beside them are read by all commands without a crash, a hang or a loss" \
	python3 "$top/tests/session/damaged.py" "$ntrace" "$tap_tmp/serve.so" "$read" "${DAMAGED_NEXT:-0}" "$number" "$tap_tmp"/*.data "$tap_tmp"/files/*
# After a complete run without a failure, the next run starts from the beginning
[ "$tap_failed" -ne 0 ] || rm -f "${DAMAGED_NEXT:-$read/none}"
done_testing
