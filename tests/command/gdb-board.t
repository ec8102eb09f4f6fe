#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compare `ntrace gdb` with the truth of the board, for up to three versions of gdb. The recorded program has two
# threads that call functions of a library through the PLT. In the first recording both run on one CPU, and in the
# second they move between two CPUs. The stack pointers in the truth show which calls are open.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/gdb.sh"
truth_dir=$O/tests/command-gdb-board
out=$truth_dir/out
sources=$top/tests/command/gdb-board
files="--symfs $truth_dir/root --buildid-dir $out/debug"

record() {
	make -C "$top" tool guest-static plugin modules MVERS=6.12 && rm -rf "$truth_dir" && mkdir -p "$out" "$truth_dir/root/tmp" || return
	set -- "$O/root/bin/riscv64-guest-gcc" -g -O0 -fno-stack-protector
	"$@" -shared -fPIC -Wl,-soname,library.so -o "$out/library.so" "$sources/library.c" &&
		"$@" -no-pie -o "$out/program" "$sources/program.c" "$out/library.so" -pthread -Wl,-rpath,/tmp &&
		gcc -O2 -Wno-unused-function -I"$top/tools/board/model" -o "$truth_dir/calls" "$top/tests/command/gdb-truth.c" \
			"$O/board/model/libnbmodel.a" -lelf &&
		cp "$O/riscv64/bin/ntrace-static" "$out/" && cp "$out/program" "$out/library.so" "$truth_dir/root/tmp/" || return
	cat >"$out/go" <<-'E2'
		cd /tmp && cp /out/ntrace-static /out/program /out/library.so . || exit
		./ntrace-static record --buildid-dir /tmp/debug -m 16M -e ntrace//u -o data -- ./program >/out/log 2>&1 &&
			./ntrace-static record --buildid-dir /tmp/debug -m 16M -e ntrace//u -o moves -- ./program moves >>/out/log 2>&1 || exit
		tar -cf /out/files.tar data moves debug
	E2
	"$top/tools/board/board" run --kernel 6.12 --harts 2 --truth "$truth_dir/truth" --model truth-stacks=on --out "$out" \
		--timeout 900 -- sh /out/go && out_files "$out" || { cat "$out/log"; return 1; }
}

# truth_of NAME: write the truth of a recording, and the times of its messages
truth_of() {
	# shellcheck disable=SC2046,SC2086
	"$truth_dir/calls" "$out/program" \
		$("$ntrace" script $files -i "$out/$1" --insns -F tid 2>/dev/null | awk '{ print $1 }' | sort -u) \
		"$truth_dir"/truth/hart*.truth >truth && python3 "$top/tests/command/messages.py" "$ntrace" "$out/$1" >times || exit 1
	compared_with_truth "$(wc -l <truth)"
}
# shown NAME SCRIPT N GDB STEPS PLACES: compare the gdb program GDB with the truth of recording NAME. SCRIPT prints N
# results, and uses STEPS steps and PLACES random instructions
shown() {
	export NAME="gdb $("$4" --version | sed -n '1s/.* //p')" STEPS="$5" PLACES="$6"
	# shellcheck disable=SC2086
	in_gdb "$2" "$3" --gdb "$4" $files -i "$out/$1"
}

record >log 2>&1 || { cat log; exit 1; }
truth_of data
n=0
: >lacking
versions=
for gdb in "$O/root/bin/gdb-multiarch" "$O/root/bin/gdb-multiarch-new" /usr/bin/gdb-multiarch; do
	if ! [ -x "$gdb" ]; then
		case $gdb in /usr/*) why="on Debian: apt-get install gdb-multiarch" ;; *) why="tools/setup/setup prepares it" ;; esac
		echo "$gdb $why" >>lacking
		continue
	fi
	version=$("$gdb" --version | sed -n '1s/.* //p')
	case " $versions " in *" $version "*) echo "$gdb another gdb has the same version" >>lacking; continue ;; esac
	versions="$versions $version" n=$((n + 1))
	# shellcheck disable=SC2046
	shown data gdb-board.py 21 "$gdb" $([ $n = 1 ] && by_size "400 200" "10000 10000" || by_size "100 50" "400 200")
done
truth_of moves
# shellcheck disable=SC2046
shown moves gdb-moves.py 9 gdb-multiarch $(by_size "100 100" "400 200")
plan $(($(wc -l <results) + 4 - n))
results $((n * 21 + 9))
while read -r gdb why; do skip "$gdb" "$why"; done <lacking
done_testing
