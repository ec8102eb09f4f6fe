#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Read inputs that another user has prepared, or that another process changes. Each command must end, and must print a
# sentence if it cannot answer. A command must not read or write a file that the user did not name.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
recording good kernel || exit 1
mkdir "$tap_tmp/there" && cd "$tap_tmp/there" || exit

# refused STATUS SENTENCE COMMAND...: check the exit status and the message of a command that refuses its input
refused() {
	_status=$1 _sentence=$2; shift 2
	timeout 100 "$ntrace" "$@" >got 2>said
	_rc=$?
	[ $_rc -eq "$_status" ] && { [ -z "$_sentence" ] || grep -q "$_sentence" said; } && return
	echo "$*: status $_rc, not $_status with '$_sentence'"; head -n 3 said
	return 1
}
# recorded NAME: copy the program of the test to NAME, and make a recording of NAME
recorded() { cp ../calls "$1" && python3 "$top/tests/perf/mkcalls.py" "$PWD/$1" "$1.data" good; }
kernel_of() { rm -rf rec && mkdir -p rec/kcore_dir && cp ../kernel.data rec/data && cp ../calls rec/kcore_dir/kcore && : >rec/kcore_dir/kallsyms; }

# Replace each input file in turn by a named pipe that no process writes
pipes() {
	recorded program && rm program && mkfifo program
	refused 0 "code of .*program: not a file" report -i program.data || return
	for file in kcore kallsyms; do
		kernel_of && rm "rec/kcore_dir/$file" && mkfifo "rec/kcore_dir/$file" && refused 0 "" script -i rec || return
	done
	cp ../good.data rec/data && refused 2 "copying rec/kcore_dir/kallsyms failed" share --kernel -o shared.tar -i rec && [ ! -e shared.tar ] || return
	kernel_of && rm rec/data && mkfifo rec/data && refused 2 "rec/data: not a file" report -i rec &&
		refused 2 "program" decode --elf program ../good.data && refused 2 "program: not a file" report -i ../good.data --firmware program &&
		refused 2 "program: not a file" decode --binary program@0 ../good.data && refused 2 "program: not a file" flight --vmcore program &&
		refused 2 "must be in a file" decode --detect --elf ../calls program
}
# Read an input from a named pipe whose writer writes the data only once
named_pipe() {
	mkfifo stream
	for command in "report -i" "profile --counts -i" "share --list -i" dump; do
		case $command in dump) input=$top/samples/primes.nt ;; *) input=../good.data ;; esac
		refused 0 "" $command "$input" && mv got wanted || return
		timeout 100 cat "$input" >stream &
		refused 0 "" $command stream && wait $! && cmp wanted got || return
	done
}
# source_is FILE: make a recording of a program whose debug information names FILE as its source
source_is() {
	awk -v name="$1" 'BEGIN { print "\t.file 1 \"" name "\"" } /^[a-z0-9_]*:\t[a-z]/ { i = index($0, ":"); print substr($0, 1, i); $0 = substr($0, i + 1) }
		/^\t[a-z]/ { print "\t.loc 1 " ++n } { print }' "$top/tests/perf/calls.S" >named.S &&
		"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -nostdlib -static -Wl,-Ttext=0x10000 -o named named.S &&
		python3 "$top/tests/perf/mkcalls.py" "$PWD/named" named.data good
}
# Commands may copy only files that contain source code to their output
sources() {
	for n in $(seq 40); do echo "a SECRET word"; done >private && cp private own.c && mkfifo pipe.c
	for name in private own.c pipe.c; do
		source_is "$PWD/$name" || return
		for command in "profile --gcov" "html -o -" "annotate outer"; do
			refused 0 "" $command -i named.data || return
			[ "$name" = own.c ] || ! grep SECRET got || { echo "$command copied $name"; return 1; }
			[ "$name" != own.c ] || grep -q SECRET got || { echo "$command did not copy $name"; return 1; }
		done
	done
	source_is /dev/zero && (ulimit -v 2000000; refused 0 "" profile --gcov -i named.data)
}
endless() {
	(ulimit -f 20000; timeout 100 "$ntrace" report -i - </dev/zero >got 2>said)
	[ $? -eq 2 ] && grep "does not begin with PERFILE2" said
}
# Each of 20,000 event attributes of a recording claims that its array of event IDs is the whole file
attributes() {
	python3 - ../good.data ids.data <<-'E2' || return
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		at, number = struct.unpack_from("<Q", data, 24)[0], 20000
		begin, size = len(data), 144 * number
		data += (data[at:at + 128] + struct.pack("<QQ", 0, begin + size)) * number
		struct.pack_into("<QQ", data, 24, begin, size)
		open(sys.argv[2], "wb").write(data)
	E2
	(ulimit -v 2000000; refused 2 "the file is damaged" report -i ids.data)
}
# Another process shortens a recording that the command has mapped into its memory
shorter() {
	cat >cut.c <<-'E2'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <sys/mman.h>
		#include <sys/stat.h>
		#include <unistd.h>
		void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
		{
			void *(*real)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
			void *map = real(addr, size, prot, flags, fd, offset);

			struct stat mapped, cut;

			if (!fstat(fd, &mapped) && !stat("cut.data", &cut) && mapped.st_ino == cut.st_ino && truncate("cut.data", 4096))
				_exit(99);
			return map;
		}
	E2
	gcc -shared -fPIC -o cut.so cut.c && python3 "$top/tests/session/mkrecording.py" --timestamp "$top/samples/primes" "$top/samples/primes.nt" long.data 100 || return
	for command in "report -i" "script -i" "slow main -i" "query main -i" "annotate main -i" "audit -i" "info -i" "html -o out -i" "share -o out -i" \
		"split -n 3 -o shards -i" "inject -o out -i" "export --format jsonl -o out -i" "profile --counts -o out -i" stat dump "diff long.data" "decode --elf $top/samples/primes"; do
		rm -rf out shards && cp long.data cut.data && echo before >out
		(LD_PRELOAD=$PWD/cut.so; export LD_PRELOAD; refused 2 "an input file was shortened" $command cut.data) || return
		[ "$(cat out)" = before ] && ! ls -d ./*.part-* 2>/dev/null || { echo "$command left files"; ls; return 1; }
	done
}
# Another process writes other bytes over a recording after the library has checked them
changed() {
	gcc -D_GNU_SOURCE -Wall -I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" -o changed "$top/tests/command/changed.c" \
		"$O/lib/libntrace-session.a" "$O/lib/libntrace.a" -ldw -lelf -lzstd -lpthread &&
		for file in good kernel; do cp ../$file.data in.data && ./changed in.data || return; done
}
# Files of the kernel and source files are inputs, which a command must not overwrite
over_inputs() {
	source_is "$PWD/own.c" && cp own.c before.c && refused 2 "the command also reads this file" html -i named.data -o own.c && cmp own.c before.c || return
	for file in data kcore kallsyms; do
		kernel_of && echo "ffffffff80000000 T outer" >rec/kcore_dir/kallsyms && cp "rec/kcore_dir/$file" before 2>/dev/null || cp "rec/$file" before
		at=rec/kcore_dir/$file
		[ -e "$at" ] || at=rec/$file
		refused 2 "the command also reads this file" export --format jsonl -i rec -o "$at" && cmp "$at" before || return
	done
}
# Two commands write the same output at the same time. The output must be the complete file of one command
two_writers() {
	"$ntrace" export --format jsonl -i ../good.data -o one 2>said && "$ntrace" export --format folded -i ../good.data -o two 2>said || return
	for n in $(by_size "1 2 3" "$(seq 40 | xargs)"); do
		"$ntrace" export --format jsonl -i ../good.data -o both 2>said1 & "$ntrace" export --format folded -i ../good.data -o both 2>said2
		rc=$?
		wait $! && [ $rc -eq 0 ] && { cmp -s both one || cmp both two; } && ! ls ./*.part-* 2>/dev/null || { cat said1 said2; return 1; }
		"$ntrace" split -n 2 -i ../good.data -o shards 2>said1 & "$ntrace" split -n 2 -i ../good.data -o shards 2>said2
		rc=$?
		wait $! && [ $rc -eq 0 ] && "$ntrace" report -i shards/1.data >got 2>said && ! ls shards/*.part-* 2>/dev/null || { cat said1 said2; return 1; }
	done
}
# PERF_RECORD_AUX has the largest possible time, in which all bits are set
last_time() {
	python3 - ../good.data time.data <<-'E2' || return
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		at, size = struct.unpack_from("<QQ", data, 40)
		end, found = at + size, 0
		while at < end:
		    kind, _, length = struct.unpack_from("<IHH", data, at)
		    if kind == 11:
		        struct.pack_into("<Q", data, at + length - 24, 2 ** 64 - 1)
		        found += 1
		    at += length + (struct.unpack_from("<Q", data, at + 8)[0] if kind == 71 else 0)
		open(sys.argv[2], "wb").write(data)
		sys.exit(not found)
	E2
	for command in report script info "export --format folded -o -" "html -o -"; do refused 0 "" $command -i time.data || return; done
}

plan 10
ok "a pipe without a writer is not a program, kernel or recording" pipes
ok "commands read a recording from a named pipe" named_pipe
ok "only source code is copied to an output, and an endless source file does not hang a command" sources
ok "an endless standard input that is not a recording is refused before it fills the disk" endless
ok "events that share their ids do not fill the memory" attributes
ok "a recording that gets shorter while it is read ends the command with a sentence, and leaves no file" shorter
ok "what was read of a recording does not change if the file changes" changed
ok "no output replaces a file of the kernel or a source file that the command reads" over_inputs
ok "two commands that write the same output leave one complete output" two_writers
ok "a record of trace with the last possible time does not hang a command" last_time
done_testing
