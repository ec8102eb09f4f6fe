#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test `ntrace record` on the board with the faults of an output and the signals of tests/command/table.t. The old
# output must remain, either in its place or, like those of perf record, with the name .old. The trace that was recorded
# before the fault must be readable.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
make -C "$top" guest-static plugin modules MVERS=6.12 >"$tap_tmp/make" 2>&1 || { tail -n 30 "$tap_tmp/make"; exit 1; }
out=$O/tests/command-table-record
rm -rf "$out" && mkdir -p "$out" && cp "$O/riscv64/bin/ntrace-static" "$out/" || exit 1

cat >"$out/go" <<'E2'
	cd /tmp && cp /out/ntrace-static . && mkdir ends && cp /usr/bin/sleep program
	# A recorder of root reads /proc/kallsyms up to its end, which takes the guest 400 million instructions. These
	# recordings of user mode need no symbol of the kernel, so replace the file by an empty one.
	mount --bind /dev/null /proc/kallsyms
	record() { ../ntrace-static record --no-kcore -e ntrace//u "$@"; }
	work() { record -o file -- sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done; '"${1-}"; }
	killed() { # SIGNAL: send it while a program is recorded
		work 'echo >ready; sleep 60' &
		pid=$!
		while [ ! -e ready ]; do sleep 0.1; done
		rm ready; kill -$1 $(pgrep -x ntrace-static); wait $pid
	}
	over_input() { record -o program -- ./program 0; }
	# case_ NAME COMMAND...: run COMMAND in a folder with an old output. Write its messages, its exit status, and the names
	# of all files to ends/NAME, and a line with the name of each file that has the old contents
	case_() {
		name=$1; shift
		mkdir -p case && cd case && ls -A | grep -q . || { echo "old contents" >file; cp ../program .; }
		"$@" >>../ends/$name 2>&1
		echo "status $?" >>../ends/$name
		ls -A | sed 's/^/has /' >>../ends/$name
		grep -l "old contents" file* | sed 's/^/old /' >>../ends/$name
		cmp -s program ../program && echo "kept program" >>../ends/$name
		[ ! -f file ] || cp file ../$name.data
		cd .. && rm -rf case
	}
	case_ nothing work
	mkdir case && mount -t tmpfs -o size=${small:-300k} none case && echo "old contents" >case/file && cp program case/
	case_ full work 'seq 9999 >/dev/null'; umount case
	closed_pipe() { { record -o - -- true; echo $? >../status; } | :; return $(cat ../status); }
	case_ closed-pipe closed_pipe
	case_ over-input over_input
	mkdir -p case/file case/program
	case_ directory work
	mkdir case && mount -t tmpfs none case && echo "old contents" >case/file && cp program case/ && mount -o remount,ro case
	case_ read-only work; umount case
	for s in INT TERM KILL; do case_ $s killed $s; pkill sleep; done
	tar -cf /out/files.tar ends *.data
E2
board() { "$top/tools/board/board" run --kernel 6.12 --out "$out" -- sh /out/go && out_files "$out"; }

# ended NAME STATUS FILE...: check the exit status of a case, and the names of all files after it. "old FILE" also means
# that FILE has the old contents
ended() {
	_case=$1 _wanted=$2; shift 2
	cat "$out/ends/$_case"
	# the shell of the guest prints "Terminated" for the program that it was running
	sed -n '/^status /,$p' "$out/ends/$_case" | grep -v "^Terminated" >"$tap_tmp/got"
	{ echo "status $_wanted"; printf '%s\n' "$@"; } | cmp - "$tap_tmp/got"
}
reads() { "$O/bin/ntrace" info -i "$out/$1.data" 2>&1 | tee "$tap_tmp/info" | grep "bytes of trace in" || { cat "$tap_tmp/info"; return 1; }; }
# The files that must exist after a test case. After $replaced, the new recording has the name of the old output file,
# which was renamed to file.old. After $kept, a new recording does not exist
replaced="has file|has file.old|has program|old file.old|kept program"
kept="has file|has program|old file|kept program"
split() { echo "$1" | tr '|' '\n'; }

plan 15
ok "the guest has run all cases" board
IFS="
"
ok "without a fault: the old output gets the name .old" ended nothing 0 $(split "$replaced")
ok "a full disk is reported" ended full 2 $(split "$replaced")
ok "a full disk: the recording can be read" reads full
ok "a pipe is refused" ended closed-pipe 2 $(split "$kept")
ok "the recorded program as output is refused" ended over-input 2 $(split "$kept")
ok "a folder is not replaced" ended directory 2 "has file" "has program"
ok "a folder that can only be read is reported" ended read-only 2 $(split "$kept")
ok "SIGINT ends the recording" ended INT 0 $(split "$replaced")
ok "SIGTERM ends the recording" ended TERM 0 $(split "$replaced")
ok "SIGKILL leaves no other file" ended KILL 137 $(split "$replaced")
unset IFS
for name in nothing INT TERM KILL; do ok "$name: the recording can be read" reads $name; done
done_testing
