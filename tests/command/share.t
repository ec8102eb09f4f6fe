#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ntrace share` must write an archive that decodes to the same branches on another machine, and that contains none
# of the secrets in the recording and the program.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
# Put secret words into the program. The debug information names a folder, and the data, notes and source name contain
# other words
mkdir -p "$tap_tmp/home-SECRET01" "$tap_tmp/elsewhere" && cp "$top/tests/perf/calls.S" "$tap_tmp/home-SECRET01/SECRET02.S" &&
	cat >>"$tap_tmp/home-SECRET01/SECRET02.S" <<-'E2' || exit 1
		.file "SECRET03.c"
		.section .rodata
		.asciz "SECRET04"
		.data
		.globl SECRET26
		.type SECRET26, @object
		SECRET26: .asciz "SECRET05"
		.equ SECRET27, 5
		.globl SECRET27
		.section .note.SECRET28
		.section .comment
		.asciz "SECRET06"
		.section .note.package, "a", @note
		.word 8, 9, 1
		.asciz "package"
		.asciz "SECRET07"
		.balign 4
	E2
(cd "$tap_tmp/home-SECRET01" && "${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -g -nostdlib -static -Wl,-Ttext=0x10000 \
	-Wl,--build-id -o "$tap_tmp/calls" SECRET02.S) && recording_as plain good || exit 1
# Put SECRET08 to SECRET20 into features of the recording, and into every kind of record that contains text
cat >"$tap_tmp/plant.py" <<'E2'
import struct, sys
data = open(sys.argv[1], "rb").read()
begin, size = struct.unpack_from("<QQ", data, 40)
attrs_at = struct.unpack_from("<Q", data, 24)[0]
sample_type = struct.unpack_from("<Q", data, attrs_at + 24)[0]
at, kept, tail, last = begin, b"", b"", b""
bits = int.from_bytes(data[72:104], "little")
sections = [struct.unpack_from("<QQ", data, begin + size + 16 * n) for n in range(bits.bit_count())]
features = {n: data[o:o + s] for (n, (o, s)) in zip([n for n in range(256) if bits >> n & 1], sections)}
features.pop(18, None)
def text(word):
    word = word.encode() + b"\0" * (8 - len(word) % 8)
    return struct.pack("<I", len(word)) + word
ids = sum(8 for bit in (1, 2, 6, 7, 9) if sample_type & 1 << bit) + (8 if sample_type & 1 << 16 else 0)
while at < begin + size:
    kind, misc, length = struct.unpack_from("<IHH", data, at)
    whole = length + (struct.unpack_from("<Q", data, at + 8)[0] if kind == 71 else 0)
    if kind == 3:
        tail = data[at + length - ids:at + length]
        name = data[at + 16:at + length - ids].rstrip(b"\0")
        kept += struct.pack("<IHHII", kind, misc, 16 + 32 + ids, *struct.unpack_from("<II", data, at + 8)) + \
            (name + b"\0").ljust(16, b".") + b"SECRET08".ljust(16, b"\0") + tail
    else:
        kept += data[at:at + whole]
    at += whole
def record(kind, body, misc=2):
    return struct.pack("<IHH", kind, misc, 8 + len(body) + len(tail)) + body + tail
mmap = struct.pack("<IIQQQ", 1234, 1234, 0x7f0000000000, 0x1000, 0)
kept += record(1, mmap + b"/home/SECRET09/lib.so\0\0\0")
kept += record(1, mmap + b"[anon:SECRET29]\0")
kept += record(10, mmap + bytes(24) + struct.pack("<II", 5, 2) + b"/home/SECRET10/lib.so\0\0\0")
kept += record(10, mmap + bytes(24) + struct.pack("<II", 1, 2) + b"/home/SECRET11/data\0\0\0\0\0", 2 | 1 << 13)
kept += record(19, struct.pack("<Q", 1) + b"/SECRET12.slice\0")
kept += record(17, struct.pack("<QIHH", 0, 8, 1, 0) + b"SECRET13\0\0\0\0\0\0\0\0")
kept += record(9, struct.pack("<Q", 0) + b"SECRET14")
kept += record(60, b"SECRET15")
kept += struct.pack("<IHH", 73, 0, 8 + 8 + 24) + struct.pack("<QQ", 1, 1234) + b"SECRET16".ljust(16, b"\0")
for n, word in ((3, "SECRET17"), (4, "SECRET18"), (11, "SECRET19"), (12, "SECRET20"), (8, "SECRET21"), (25, "SECRET22")):
    features[n] = (struct.pack("<I", 1) if n == 11 else b"") + text(word)
out = bytearray(data[:begin] + kept)
struct.pack_into("<Q", out, 48, len(kept))
out[72:104] = sum(1 << n for n in features).to_bytes(32, "little")
at = len(out) + 16 * len(features)
for n in sorted(features):
    out += struct.pack("<QQ", at, len(features[n]))
    at += len(features[n])
for n in sorted(features):
    out += features[n]
open(sys.argv[2], "wb").write(out)
E2
cd "$tap_tmp" && python3 plant.py plain.data perf.data && "$ntrace" script -i perf.data >branches && "$ntrace" report -i perf.data >calls.txt || exit 1
export SECRET23=SECRET24

planted() {
	n=$(cat calls perf.data | grep -aoE 'SECRET[0-9]+' | sort -u | wc -l)
	echo "$n secrets in the recording and the program"
	[ "$n" -ge 20 ]
}
shared() { "$ntrace" share -i perf.data -o shared.tar 2>said && cat said && tar -tvf shared.tar; }
none() { ! strings -a -n 4 shared.tar | grep SECRET; }
# The archive must be readable after the program and the recording have moved to other folders
elsewhere() {
	mkdir -p gone && mv calls perf.data gone/ && tar -xf shared.tar -C elsewhere || return
	"$ntrace" script -i elsewhere/shared/perf.data >got 2>err
	rc=$?
	"$ntrace" report -i elsewhere/shared/perf.data >report 2>>err
	mv gone/* .
	cat err
	[ $rc -eq 0 ] && [ ! -s err ] && cmp branches got && cmp calls.txt report
}
listed() {
	"$ntrace" share -i perf.data --list >list 2>err || { cat err; return 1; }
	cat list
	grep -q "^file .*/calls$" list && grep -q "^process calls$" list && ! grep SECRET list && [ -z "$(ls shared2.tar 2>/dev/null)" ]
}
# `ntrace share --list` must print every text of the recording that the archive contains, except the bytes of a build
# ID, which can look like text
complete() {
	python3 -c "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read().replace(bytes.fromhex(sys.argv[2]), b''))" \
		elsewhere/shared/perf.data "$(readelf -n calls | sed -n 's/.*Build ID: //p')" >text || return
	[ "$(stat -c %s text)" -lt "$(stat -c %s elsewhere/shared/perf.data)" ] || { echo "no build ID was left out"; return 1; }
	strings -a -n 5 text | grep -v "^PERFILE2\|^NTRACE1\|^riscv64" | while read -r word; do
		grep -qF -e "$word" list || { echo "$word is in the archive, and not in the list"; return 1; }
	done
}
# Use --symfs to find a program without a build ID
by_path() {
	riscv64-linux-gnu-objcopy -R .note.gnu.build-id calls bare && mkdir -p there && mv bare there/calls &&
		python3 "$top/tests/perf/mkcalls.py" "$tap_tmp/there/calls" there/perf.data good >/dev/null &&
		"$ntrace" script -i there/perf.data >wanted && "$ntrace" share -i there/perf.data -o by-path.tar 2>said || { cat said; return 1; }
	grep -- "--symfs shared/symfs" said && rm -rf elsewhere there && mkdir elsewhere && tar -xf by-path.tar -C elsewhere &&
		"$ntrace" script --symfs elsewhere/shared/symfs -i elsewhere/shared/perf.data >got && cmp wanted got
}
# The symbols are only in a separate debug file, in the folder .debug or in a build-id folder
debug_file() {
	id=$(readelf -n calls | sed -n 's/.*Build ID: //p')
	rm -rf there && mkdir -p gone there/.debug && cp calls there/names.debug &&
		riscv64-linux-gnu-strip --strip-all -o there/calls calls && (cd there && riscv64-linux-gnu-objcopy --add-gnu-debuglink=names.debug calls) &&
		python3 "$top/tests/perf/mkcalls.py" "$tap_tmp/there/calls" there/perf.data good >/dev/null || return
	for place in ".debug/names.debug" ".build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-).debug"; do
		mkdir -p "there/$(dirname "$place")" && mv there/*.debug "there/$place" || return
		"$ntrace" script -i there/perf.data >wanted && grep -q "outer" wanted && "$ntrace" share -i there/perf.data -o debug.tar 2>said && ! strings -a -n 4 debug.tar | grep SECRET || { cat said; return 1; }
		rm -rf elsewhere && mkdir elsewhere && tar -xf debug.tar -C elsewhere && mv "there/$place" there/kept.debug && mv there/calls gone || return
		"$ntrace" script -i elsewhere/shared/perf.data >got; mv gone/calls there/
		cmp wanted got || return
	done
	riscv64-linux-gnu-objcopy -R .note.gnu.build-id there/calls && mkdir -p there/.debug && cp calls there/.debug/names.debug &&
		riscv64-linux-gnu-objcopy -R .note.gnu.build-id there/.debug/names.debug && (cd there/.debug && riscv64-linux-gnu-objcopy --remove-section=.gnu_debuglink --add-gnu-debuglink=names.debug ../calls) &&
		python3 "$top/tests/perf/mkcalls.py" "$tap_tmp/there/calls" there/perf.data good >/dev/null && "$ntrace" share -i there/perf.data -o debug.tar 2>said
	cat said
	grep -q "the archive has no function names of .*/there/calls: they are in the debug file .*names.debug, .* because .*/there/calls has no build id" said
}
# The archive contains the kernel's code only with --kernel
kernel() {
	mkdir -p rec/kcore_dir && cp perf.data rec/data && cp calls rec/kcore_dir/kcore && echo "ffffffff80000000 T SECRET25" >rec/kcore_dir/kallsyms
	"$ntrace" share -i rec -o rec.tar 2>said && ! tar -tf rec.tar | grep kcore && ! grep -a SECRET rec.tar || { cat said; return 1; }
	"$ntrace" share -i rec --kernel -o rec.tar 2>said && tar -tf rec.tar | grep -c "perf.data/kcore_dir/\(kcore\|kallsyms\)$" | grep 2 || { cat said; return 1; }
	rm -rf elsewhere && mkdir elsewhere && tar -xf rec.tar -C elsewhere && "$ntrace" script -i rec >wanted && "$ntrace" script -i elsewhere/shared/perf.data >got && cmp wanted got && grep -q SECRET25 got || return
	# this file has more bytes than any disk, and few blocks
	truncate -s 10T rec/kcore_dir/kcore && "$ntrace" share -i rec --kernel -o large.tar 2>said
	[ $? -eq 2 ] && grep -q "large.tar needs room for [0-9]* bytes of trace and code, and its disk has" said && [ ! -e large.tar ] || { cat said; return 1; }
}
# The ELF header of this program claims more code than the file contains
cut_code() {
	mkdir -p there && python3 - calls there/calls <<-'E2' && python3 "$top/tests/perf/mkcalls.py" "$tap_tmp/there/calls" there/perf.data good >/dev/null || return
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		at, = struct.unpack_from("<Q", data, 40)
		for header in range(at, at + 64 * struct.unpack_from("<H", data, 60)[0], 64):
		    if struct.unpack_from("<Q", data, header + 8)[0] & 4:
		        struct.pack_into("<Q", data, header + 32, 1 << 30)
		open(sys.argv[2], "wb").write(data)
	E2
	rm -f cut.tar
	"$ntrace" share -i there/perf.data -o cut.tar 2>said
	[ $? -eq 2 ] && cat said && grep -q "copying the code of .*/there/calls failed: Invalid argument" said && ! grep writing said && [ ! -e cut.tar ] || return
	python3 -c "import sys; data = open('calls', 'rb').read(); sys.stdout.buffer.write(data[:40] + bytes(8) + data[48:58] + bytes(6) + data[64:])" >there/calls
	"$ntrace" script -i there/perf.data >got || return
	"$ntrace" share -i there/perf.data -o cut.tar 2>said
	[ $? -eq 2 ] && cat said && grep -q "/there/calls failed: it has no sections" said && ! grep writing said && [ ! -e cut.tar ]
}

# If the kernel cannot write the name of a mapped file, it writes "//enomem" or "//toolong". The map of this file
# replaces older maps of the same addresses, so the archive needs the record of the map. Names of kernel modules, and of
# processes that the trace does not contain, are secrets
others() {
	python3 - "$top/tests/perf" calls others.data <<-'E2' || return
		import os, struct, sys
		sys.path.insert(0, sys.argv[1])
		import mkcalls, perfdata
		file = perfdata.File()
		for name in b"[kernel.kallsyms]_text\0\0", b"[SECRET30]\0\0\0\0\0\0", b"/lib/modules/SECRET31/a.ko\0\0\0\0\0\0":
		    file.record(1, 1, struct.pack("<iIQQQ", -1, 0, 1 << 63, 4096, 0) + name + file.trailer(0, 0, 0, 0, 2))
		file.comm(1, "SECRET32")
		file.comm(mkcalls.PID, "SECRET33")
		file.comm(mkcalls.PID, "calls", 5)
		file.mmap(mkcalls.PID, mkcalls.BASE, 0x8000, 0x1000, os.path.abspath(sys.argv[2]))
		for n, name in enumerate(("//enomem", "//toolong", "//anon")):
		    file.mmap(mkcalls.PID, 0x20000 + 0x1000 * n, 0x1000, 0, name)
		trace = mkcalls.trace()
		file.aux(0, len(trace), 10 ** 9, mkcalls.PID)
		file.trace(trace)
		file.save(sys.argv[3])
	E2
	"$ntrace" share -i others.data -o others.tar 2>said && "$ntrace" share -i others.data --list | tee list || { cat said; return 1; }
	printf 'file %s\n' //anon //enomem //toolong "$tap_tmp/calls" "[kernel.kallsyms]_text" "process calls" | sed 's/file process/process/' >wanted
	cmp wanted list && ! grep -a -o "SECRET[0-9]*" others.tar && rm -rf elsewhere && mkdir elsewhere && tar -xf others.tar -C elsewhere &&
		"$ntrace" script -i others.data >wanted && "$ntrace" script -i elsewhere/shared/perf.data >got && cmp wanted got
}
# From section 65,280 on, the number of a symbol's section is in a table beside the symbols
many_sections() {
	{ seq 65300 | sed 's/.*/.section s&, "a"; .byte 1/'; echo .text; cat "$top/tests/perf/calls.S"; } >many.S
	{ echo "SECTIONS {"; seq 65300 | sed 's/.*/s& : { *(s&) }/'; echo ". = 0x10000; .text : { *(.text) } .id : { *(.note.gnu.build-id) } }"; } >many.ld
	"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -nostdlib -static -Wl,--build-id -Wl,-T,many.ld -o many many.S &&
		"$ntrace" decode --pcs --elf calls perf.data >pcs && "$ntrace" encode --elf many --pcs pcs -o many.nt >said &&
		python3 "$top/tests/session/mkrecording.py" many many.nt many.data && "$ntrace" script -i many.data >wanted && grep -q outer wanted &&
		"$ntrace" share -i many.data -o many.tar && mv many gone/ && rm -rf elsewhere && mkdir elsewhere && tar -xf many.tar -C elsewhere || return
	"$ntrace" script -i elsewhere/shared/perf.data >got && cmp wanted got
}
# share and split read the records of the recording twice, but must not store them twice. info reads them once, so share
# and split may need at most 8 MiB more memory than info
memory() {
	python3 - "$top/tests/perf" calls long.data <<-'E2' || return
		import os, sys
		sys.path.insert(0, sys.argv[1])
		import mkcalls, perfdata
		file = perfdata.File()
		for n in range(6000):
		    file.mmap(1, 0x1000 * n, 0x1000, 0, "/" + "x" * 4000)
		file.comm(mkcalls.PID, "calls")
		file.mmap(mkcalls.PID, mkcalls.BASE, 0x8000, 0x1000, os.path.abspath(sys.argv[2]))
		trace = mkcalls.trace()
		file.aux(0, len(trace), 10 ** 9, mkcalls.PID)
		file.trace(trace)
		file.save(sys.argv[3])
	E2
	for command in info "share -o long.tar" "split -n 2 -o shards"; do
		set -- $(python3 "$top/tests/session/memory.py" said "$ntrace" $command -i long.data) && echo "$command: status $1, $2 MiB" || return
		most=${most:-$(($2 + 8))}
		[ "$1" -eq 0 ] && [ "$2" -le "$most" ] || return
	done
}

plan 13
ok "the recording and its program have 20 secrets" planted
ok "share writes an archive" shared
ok "the archive has none of the secrets" none
ok "the archive decodes elsewhere to the same branches and calls" elsewhere
ok "--list prints what the archive gives away" listed
ok "all text of the archive is in the list" complete
ok "a program without a build id is found in the archive by its path" by_path
ok "names of functions in a separate debug file are in the archive" debug_file
ok "the kernel's code is in the archive only with --kernel" kernel
ok "a program that is cut short is named, and leaves no archive" cut_code
ok "modules and processes without trace have no names in the archive, and memory without a name is kept" others
ok "a program with over 65,280 sections keeps the names of its functions" many_sections
ok "share and split need at most 8 MiB more than info for 24 MB of records" memory
done_testing
