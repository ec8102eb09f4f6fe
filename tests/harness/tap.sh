# SPDX-License-Identifier: GPL-2.0-only
# Functions for shell tests that print TAP. A test contains:
#   . "$(dirname "$0")/../harness/tap.sh"; plan N; ok "name" command...
# shellcheck shell=sh
top=$(cd "$(dirname "$0")/.." && pwd)
[ -f "$top/Kbuild" ] || top=$(cd "$top/.." && pwd)
O=${O:-$top/build}
export O
tap_n=0 tap_failed=0
tap_tmp=$(mktemp -d)
trap 'rm -rf "$tap_tmp"' EXIT

# tests/run runs two test programs at a time, and both build in the same folder. Lock this folder, so that only one make
# runs at a time. Many test programs build the same parts. Build each of these parts once in a run, and remember this in
# the folder TEST_MADE, because make takes seconds even if nothing has changed.
make() {
	mkdir -p "$O/tests"
	_key=
	case "${TEST_MADE:+$*}" in
	*clean* | *install* | *KDIR=* | *KSRC=*) ;;
	*"-C $top/selftests/ntrace "* | *"-C $top/tests/driver O="*guest | *"-C $top/tools/board"*) _key=$O.$* ;;
	*"-C $top/tools/ntrace "* | *"-C $top "*tool* | *"-C $top "*plugin* | *"-C $top lib"*) _key=$O.$* ;;
	esac
	[ -z "$_key" ] || _key=$TEST_MADE/$(echo "$_key" | cksum | tr ' ' -)
	[ -z "$_key" ] || ! [ -e "$_key" ] || return 0
	flock "$O/tests" make "$@" && { [ -z "$_key" ] || : >"$_key"; }
}

plan() { echo "1..$1"; }
skip_all() { echo "1..0 # SKIP $*"; exit 0; }
pass() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $*"; say_times; }
fail() { not_ok "$@"; say_guest; }
not_ok() { tap_n=$((tap_n + 1)); tap_failed=1; echo "not ok $tap_n - $*"; say_times; }
# say_guest - print the ends of the files in $tap_tmp that the last guest or command has written. These files have its
# output, its errors with those of the board, and its console. Print each file only once, after the first result that
# fails.
say_guest() {
	for _file in said err console; do
		[ -s "$tap_tmp/$_file" ] || continue
		! cmp -s "$tap_tmp/$_file" "$tap_tmp/printed-$_file" || continue
		cp "$tap_tmp/$_file" "$tap_tmp/printed-$_file"
		tail -n 15 "$tap_tmp/$_file" | sed "s/^/# $_file: /"
	done
}
# With TEST_TIMES=1, print the processor time that all commands of this program have used so far.
say_times() { [ -z "${TEST_TIMES:-}" ] || { times >"$tap_tmp/times"; sed -n '2s/^/# until now /p' "$tap_tmp/times"; }; }
skip() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1 # SKIP $2"; }
# ok NAME COMMAND...: pass if COMMAND exits with 0, and print its output as comments
ok() {
	_name=$1; shift
	if "$@" >"$tap_tmp/out" 2>&1; then
		pass "$_name"
		sed 's/^/# /' "$tap_tmp/out"
		return
	fi
	not_ok "$_name"
	sed 's/^/# /' "$tap_tmp/out"
	say_guest
}
# is NAME GOT WANTED: pass if both texts are equal, otherwise print a unified diff
is() {
	if [ "$2" = "$3" ]; then pass "$1"; return; fi
	not_ok "$1"
	printf '%s\n' "$2" >"$tap_tmp/is.got"
	printf '%s\n' "$3" >"$tap_tmp/is.wanted"
	diff -u --label wanted --label got "$tap_tmp/is.wanted" "$tap_tmp/is.got" | sed 's/^/# /'
	say_guest
}

# need_tool COMMAND PACKAGE: skip the whole program on a host that lacks the command
need_tool() {
	command -v "$1" >/dev/null || skip_all "this host has no $1; on Debian: apt-get install $2"
}

# Print each line of this program that is not a comment, first after "text:", and then after "code:" without the strings
# that contain spaces, which are names of tests and other sentences
program_lines() {
	sed -E "/^[[:space:]]*#/d; s/[[:space:]]# .*//; s/^/text: /; p; s/^text/code/; s/\"[^\"]* [^\"]*\"//g; s/'[^']* [^']*'//g" "$0"
}
# skip_without COMMAND PACKAGE PATTERN: skip the whole program if the host lacks the command, and if PATTERN matches a
# line of program_lines
skip_without() { command -v "$1" >/dev/null || ! program_lines | grep -qE -e "$3" || need_tool "$1" "$2"; }
skip_without "${CROSS_COMPILE-riscv64-linux-gnu-}gcc" gcc-riscv64-linux-gnu \
	'^code:.*(riscv64-linux-gnu-|calls_program|recording |recording_as|unit_(traces|workload))|CROSS_COMPILE|riscv64-guest-gcc|guest-(tools|static) |plugin modules|tests/lib/walk|harness/pcs|^text:[[:space:]]*\. .*/(bare|boot|guest|losses|memory|truth)\.sh'
skip_without dtc device-tree-compiler \
	'^code:.*dtc |(top|run )/?tools/board/board|^text:[[:space:]]*\. .*/(bare|boot|guest|truth)\.sh'
skip_without qemu-riscv64-static qemu-user-static '^code:.*unit_(traces|workload)|harness/pcs'

# calls_program [GCC-OPTION...]: build $tap_tmp/calls from tests/perf/calls.S
calls_program() {
	"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -nostdlib -static -Wl,-Ttext=0x10000 "$@" -o "$tap_tmp/calls" "$top/tests/perf/calls.S"
}
# recording WHAT...: let tests/perf/mkcalls.py write $tap_tmp/WHAT.data, a recording of $tap_tmp/calls
recording() {
	[ -e "$tap_tmp/calls" ] || calls_program || return
	for _recording; do
		python3 "$top/tests/perf/mkcalls.py" "$tap_tmp/calls" "$tap_tmp/$_recording.data" "$_recording" || return
	done
}
# recording_as NAME WHAT [HOW]: write the recording WHAT to $tap_tmp/NAME.data in the format HOW
recording_as() {
	_recording=$1; shift
	[ -e "$tap_tmp/calls" ] || calls_program || return
	python3 "$top/tests/perf/mkcalls.py" "$tap_tmp/calls" "$tap_tmp/$_recording.data" "$@"
}
# Build the command for this host. If that fails, print the output of make and end the program.
build_tool() {
	make -C "$top" tool >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
}

# Print the names of the board encoder's variants that the specification allows.
variant_names() {
	"$O/bin/ntrace" encode --variant '?' 2>&1 | sed -n '/^and these deviate/q; s/^  \([a-z-]*\): .*/\1/p'
}

# cached_build NAME "INPUT..." COMMAND...: run COMMAND in the source tree. It must build in the new folder $cached from
# the files and folders INPUT of the tree. If an earlier call had the same COMMAND, compilers and contents of INPUT, set
# $cached to the folder of that call, and do not run COMMAND.
cached_build() {
	_of=$1 _inputs=$2; shift 2
	# shellcheck disable=SC2086
	_key=$(cd "$top" && { echo "$*"; cc --version; "${CROSS_COMPILE-riscv64-linux-gnu-}gcc" --version
		find $_inputs -type f -exec cksum {} + | sort; } | sha256sum | cut -c 1-16)
	_all=${XDG_CACHE_HOME:-$HOME/.cache}/ntrace/built cached=$_all/$_of-$_key
	mkdir -p "$_all"
	(
		flock 9
		[ ! -e "$cached/whole" ] || exec touch "$cached"
		rm -rf "$cached" && mkdir "$cached" && cd "$top" && "$@" && : >"$cached/whole" || exit
		# Keep only the eight folders of this NAME that were used last
		ls -dt "$_all/$_of"-* | tail -n +9 | xargs rm -rf
	) 9>"$_all/lock-$_of"
}

# build_sanitized [FOLDER]: build library and command with sanitizers in $O/sanitized, once for all test programs. The
# command does not contain ntrace record. With the FOLDER tools/board/dev, build the commands for developers instead.
# Without optimisation, the compiler does not inline the decoder's fast path, and the build takes less than half of the
# time. The tables of the fast path are small, so that small recordings fill them, and clearing them takes less time. A
# test that checks the exit status of a command of this build must set UBSAN_OPTIONS.
build_sanitized() {
	make -C "$top/${1:-tools/ntrace}" O="$O/sanitized" LINUX= CFLAGS="-O0 -g1 -fsanitize=address,undefined -DPATHS_SHIFT=6 -DGROUPS_SHIFT=5 -DNR_WORDS=4096" \
		>"$tap_tmp/make" 2>&1
}

# Succeed if the test must use its large form. tests/run --all sets TEST_SIZE=all for this.
large() { [ "${TEST_SIZE:-test}" = all ]; }
# large_only COMMAND...: run COMMAND only in make test-all
large_only() { ! large || "$@"; }
# by_size SMALL LARGE: print LARGE in make test-all, otherwise SMALL
by_size() { if large; then echo "$2"; else echo "$1"; fi; }
# compared_with_truth N: record that this test program has compared N instructions or branches with a truth.
# tests/ledger limits the sum of these numbers in each area.
compared_with_truth() { [ -z "${TEST_LEDGER:-}" ] || echo "compared ${1:-0}" >>"$TEST_LEDGER"; }
# out_files DIR: unpack files.tar, which the board's guest wrote to /out. The guest packs its files,
# because creating a file in /out takes as long as writing a megabyte.
out_files() { tar -xf "$1/files.tar" -C "$1" && rm "$1/files.tar"; }
# kernels WORD...: print the versions of the board's kernels that the WORDs name, each version once. If the archive of
# kernels has no newer version, "new" is 6.12
kernels() { "$top/tools/setup/kernel" "$@"; }
# perfs WORD...: build perf of these kernels for the host, and print its versions. If the perf of "new" cannot be built,
# use that of "lts"
perfs() {
	for _k; do "$top/tools/perf/build.sh" "$_k" x86_64 >&2 || return; done
	for _k; do readlink "$O/perf/$_k"; done | uniq
}
figure() { echo "# figure: $*"; }
done_testing() { [ "$tap_failed" -eq 0 ]; exit $?; }
