#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Use a trace to make faster programs. clang builds Debian's bzip2, and the board records bzip2 with four kinds of
# training input. clang builds bzip2 again with the profile, and BOLT optimises its layout. Count the instructions and
# taken branches for other input in traces of the board. The compressed output must remain the same, byte for byte.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"
for tool in clang-19 llvm-bolt-19 apt-get python3; do
	command -v $tool >/dev/null || skip_all "there is no $tool"
done
truth_dir=$O/tests/pictures-pgo
rm -rf "$truth_dir" && mkdir -p "$truth_dir/out" "$truth_dir/root/out" "$truth_dir/apt/lists/partial"
truth_build 6.12
ntrace=$O/bin/ntrace
cd "$truth_dir" || exit 1

# Download the source from the archive that the host's apt uses
apt_source() {
	for word in sourcelist=$PWD/apt/sources.list sourceparts=-; do set -- -o "Dir::Etc::$word" "$@"; done
	apt-get -q -o "Dir::State::lists=$PWD/apt/lists" "$@"
}
source_of() {
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(ORIGIN) $(LABEL)' 'Created-By: Packages' |
		awk '$3 == "Debian" && $4 == "Debian" { print $1, $2; exit }' >apt/archive &&
		read -r uri suite <apt/archive &&
		echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" >apt/sources.list &&
		apt_source update >apt/log 2>&1 && apt_source source --download-only "$1" >>apt/log 2>&1 &&
		tar xf "$1"_*.orig.tar.* && mv "$1"-*/ source
}
source_of bzip2 || skip_all "no source of bzip2: $(tail -n 1 apt/log)"

# build NAME OPTION...: build bzip2 as out/NAME with these options of clang
build() {
	_name=$1; shift
	mkdir -p "$_name" || return
	for file in blocksort huffman crctable randtable compress decompress bzlib bzip2; do
		clang-19 --target=riscv64-linux-gnu -march=rv64gc -O2 -gdwarf-4 -fdebug-info-for-profiling -D_FILE_OFFSET_BITS=64 -Wno-everything \
			-Wprofile-instr-missing -Werror=backend-plugin "$@" -c -o "$_name/$file.o" "source/$file.c" || return
	done
	riscv64-linux-gnu-gcc -static -Wl,--emit-relocs -o "out/$_name" "$_name"/*.o && cp "out/$_name" root/out/
}

# The training input has text, code, noise and repetition. The other input has the same four kinds with different
# contents.
inputs() {
	python3 - "$top" "$O/root/guest/bin/busybox" <<-'E2'
	import glob, random, sys
	read = lambda paths: b''.join(open(path, 'rb').read() for path in sorted(paths))
	text, code, noise = read(glob.glob(sys.argv[1] + '/tools/lib/**/*.c', recursive=True)), read([sys.argv[2]]), random.Random(1)
	parts = {'text': text[:60000], 'code': code[100000:160000], 'noise': noise.randbytes(20000),
	         'repeat': b'one line of many that are the same %d\n' * 1500}
	for name, data in parts.items():
	    open('out/train.' + name, 'wb').write(data)
	other = text[300000:360000] + code[500000:560000] + noise.randbytes(10000) + b'another line\n' * 3000
	open('out/other', 'wb').write(other)
	E2
}

# run_board - run the commands in out/go in the guest
run_board() {
	"$top/tools/board/board" run --kernel 6.12 --out "$PWD/out" --timeout 1500 -- sh /out/go >board.log 2>&1 || { tail -n 20 board.log; return 1; }
}

# train NAME and measure NAME print commands for the guest. train runs the program NAME with the training input, and
# measure runs it with the other input. The trace buffer has 64 MiB, and never becomes full.
train() {
	cat <<-E2
	perf record -m,64M -e ntrace//u -o /tmp/data -- sh -c 'for f in text code noise repeat; do
		/out/$1 -c /out/train.\$f >/tmp/packed; /out/$1 -dc /tmp/packed >/tmp/unpacked; done' >>/out/log 2>&1 || exit 1
	cp /tmp/data /out/$1.train && rm /tmp/data
	E2
}
measure() {
	cat <<-E2
	perf record -m,64M -e ntrace//u -o /tmp/data -- sh -c '/out/$1 -c /out/other >/out/$1.bz2 && /out/$1 -dc /out/$1.bz2 >/out/$1.plain' >>/out/log 2>&1 || exit 1
	cp /tmp/data /out/$1.data && rm /tmp/data
	E2
}

# numbers NAME: print the numbers of losses, instructions and taken branches
numbers() {
	"$ntrace" profile --counts --symfs root -i "out/$1.data" -o "$1.counts" 2>"$1.log"
	"$ntrace" profile --bolt --object "out/$1" --symfs root -i "out/$1.data" -o "$1.taken" 2>>"$1.log"
	awk -v name="/out/$1" '
		$1 == "lost" { lost = $2 + $3 } $1 == "file" { if ($3 == name) mine = n; n++ } $1 == "b" && $2 == mine { insns += $6 }
		FILENAME ~ /taken/ && $1 == "B" { taken += $4 }
		END { printf "%d %d %d", lost, insns, taken }' "$1.counts" "$1.taken"
}

# change NAME: print how many percent the numbers of NAME differ from those of base
change() {
	echo "$(cat "base.numbers") $(cat "$1.numbers")" | awk '{ printf "%+.2f %% instructions (%d to %d), %+.2f %% taken branches (%d to %d)",
		100 * ($5 / $2 - 1), $2, $5, 100 * ($6 / $3 - 1), $3, $6 }'
}
# profile OPTION...: run ntrace profile. Its exit status may be 1, because the recording lacks code of the shell that
# starts the program
profile() { "$ntrace" profile --symfs root "$@" || [ $? -eq 1 ]; }
layout() { # NAME PROFILE NEW
	profile --bolt --object "out/$1" -i "$2" -o "$1.bolt" &&
		/usr/lib/llvm-19/bin/perf2bolt -pa -p "$1.bolt" -o "$1.fdata" "out/$1" >"$1.log" 2>&1 &&
		grep 'mismatching disassembled function contents: 0 ' "$1.log" &&
		llvm-bolt-19 "out/$1" -o "out/$3" -data "$1.fdata" -reorder-blocks=ext-tsp >>"$1.log" 2>&1 && cp "out/$3" root/out/
}

plan 16
ok "bzip2 is built by clang" build base
ok "inputs" inputs
train base >out/go
ok "training on the board" run_board
ok "a profile for clang" profile --llvm --object out/base -i out/base.train -o base.prof
ok "clang accepts the profile" build pgo -fprofile-sample-use="$PWD/base.prof"
ok "BOLT accepts its profile without a mismatch" layout base out/base.train bolt
{ measure base; measure pgo; measure bolt; train pgo; } >out/go
ok "the board traces the other input, and the training of the new program" run_board
ok "BOLT accepts a profile of the program that clang has optimised" layout pgo out/pgo.train both
measure both >out/go
ok "the board traces both programs with the other input" run_board
for name in base pgo bolt both; do
	numbers $name >$name.numbers
	is "$name: nothing was lost" "$(cut -d' ' -f1 $name.numbers)" 0
done
for name in pgo bolt both; do
	figure "$name: $(change $name)"
done
ok "the compressed and the decompressed output is the same" sh -c \
	'for n in base pgo bolt both; do cmp out/base.bz2 out/$n.bz2 && cmp out/$n.plain out/other || exit; done'
# The purpose of a code layout is to save taken branches
ok "BOLT saves taken branches" [ "$(cut -d' ' -f3 bolt.numbers)" -lt "$(cut -d' ' -f3 base.numbers)" ]
ok "both save taken branches" [ "$(cut -d' ' -f3 both.numbers)" -lt "$(cut -d' ' -f3 base.numbers)" ]
done_testing
