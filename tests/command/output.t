#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What commands write with -o: a file has its name only when it is whole. A full disk or a signal leaves
# the file that was there before, and nothing else; pipes, devices, links and rights stay what they are.

# A signal that nohup ignores stays ignored in all that it starts, and a shell cannot change that.
[ -n "${SIGNALS_ARE_DEFAULT:-}" ] || SIGNALS_ARE_DEFAULT=1 exec env --default-signal "$0"
. "$(dirname "$0")/../harness/tap.sh"
build_tool
cat >"$tap_tmp/end.c" <<-'E2'
	/* Something ends the command when its file is complete, and right before that has its name. */
	#include <signal.h>
	#include <stdlib.h>
	int rename(const char *from, const char *to)
	{
		raise(atoi(getenv("END_BY")));
		return 0;
	}
E2
calls_program -g &&
	recording_as perf good &&
	gcc -shared -fPIC -O1 -o "$tap_tmp/end.so" "$tap_tmp/end.c" || exit 1
ntrace=$O/bin/ntrace
mkdir "$tap_tmp/there" && cd "$tap_tmp/there" || exit
commands="inject html export-perfetto export-chrome export-speedscope export-folded export-jsonl export-sqlite \
	profile-lcov profile-gcov profile-llvm profile-bolt profile-callgrind"
"$ntrace" export --format sqlite -i ../perf.data -o ../try >/dev/null 2>&1 ||
	commands=$(echo "$commands" | sed 's/export-sqlite//')

# into COMMAND FILE [SAID]: what runs it
into() {
	_said=${3:-../said}
	case $1 in
	export-*) set -- "$1" "$2" export --format "${1#*-}" ;;
	profile-bolt) set -- "$1" "$2" profile --bolt --object calls ;;
	profile-*) set -- "$1" "$2" profile "--${1#*-}" ;;
	inject) set -- "$1" "$2" inject --period 3 ;;
	*) set -- "$1" "$2" "$1" ;;
	esac
	_file=$2; shift 2
	"$ntrace" "$@" -i ../perf.data -o "$_file" 2>"$_said"
}
# kept COMMAND: the file of before is all that is there
kept() {
	[ "$(cat file)" = "the file of before" ] && [ "$(ls -A)" = file ] && return
	echo "$1, $2: $(head -n 1 ../said)"; ls -lA
	return 1
}
begin() { rm -rf ./* && echo "the file of before" >file; }

whole() {
	begin && chmod 640 file
	into "$1" file
	rc=$?
	[ $rc -eq 0 ] && [ "$(ls -A)" = file ] && [ "$(stat -c %a file)" = 640 ] && ! grep -q "the file of before" file && return
	echo "$1: status $rc"; cat ../said; ls -lA
	return 1
}
# a limit of bytes is as a full disk, if its signal is ignored; otherwise it ends the command while it writes
full() {
	begin
	# there may be nothing to write
	into "$1" plain && [ -s plain ] || return 0
	rm plain
	said=$(trap '' XFSZ; ulimit -f 0; into "$1" file /dev/stdout; echo "status $?")
	# sqlite has one word for all errors of a write
	case $said in *"writing file failed: File too large"*"status 1" | *"writing file failed: Input/output error"*"status 1") ;; *) echo "$1: $said"; return 1 ;; esac
	kept "$1" "a full disk" || return
	said=$(ulimit -f 0; into "$1" file /dev/stdout; echo "status $?")
	case $said in *"status 153") ;; *) echo "$1: $said"; return 1 ;; esac
	kept "$1" "a signal while it writes"
}
ended() {
	for signal in 1 2 15; do
		begin
		(END_BY=$signal LD_PRELOAD=$tap_tmp/end.so; export END_BY LD_PRELOAD; into "$1" file)
		rc=$?
		[ $rc -eq $((128 + signal)) ] || { echo "$1: status $rc"; return 1; }
		kept "$1" "signal $signal" || return
		# there was no file before
		rm file
		(END_BY=$signal LD_PRELOAD=$tap_tmp/end.so; export END_BY LD_PRELOAD; into "$1" file)
		[ -z "$(ls -A)" ] || { ls -A; return 1; }
	done
}
# a signal that is ignored, as by nohup, changes nothing
ignored() {
	begin
	(trap '' INT; END_BY=2 LD_PRELOAD=$tap_tmp/end.so; export END_BY LD_PRELOAD; into "$1" file)
}

all() {
	for command in $commands; do "$1" "$command" || return; done
}
device() {
	# no_pipe is about sqlite, without a device that root could lose
	for command in $(echo "$commands" | sed 's/export-sqlite//'); do
		into "$command" plain && [ -s plain ] || continue
		into "$command" /dev/full && { echo "$command: no error"; return 1; }
		grep -q "writing /dev/full failed" ../said && [ -c /dev/full ] || { echo "$command: $(cat ../said)"; return 1; }
	done
}
pipe() {
	for command in $commands; do
		case $command in inject | *sqlite) continue ;; esac
		begin
		into "$command" plain && mkfifo named || return
		cat named >got &
		into "$command" named || return
		wait
		[ -p named ] && cmp got plain || { echo "$command"; return 1; }
	done
}
# sqlite and inject go back in the file: a pipe is refused, and is there afterwards
no_pipe() {
	begin && mkfifo named
	for command in inject $(echo "$commands" | tr ' ' '\n' | grep sqlite); do
		cat named >got &
		into "$command" named
		rc=$?
		kill $! 2>/dev/null; wait
		cat ../said
		[ $rc -eq 1 ] && [ -p named ] || return
	done
}
link() {
	begin && mkdir sub && mv file sub && ln -s sub/file link
	into export-jsonl link && [ -L link ] && grep -q outer sub/file && [ "$(ls -A sub)" = file ]
}
# the recording itself may be replaced by what is made of it
itself() {
	begin && cp ../perf.data own && "$ntrace" inject --period 3 -i own -o own && ! cmp -s own ../perf.data &&
		"$ntrace" inject --period 3 -i ../perf.data -o other && cmp own other
}
read_only() {
	into export-jsonl file && return 1
	kept export-jsonl "a file that may only be read"
}
# a file that standard output leads to is not replaced by another
stdout() {
	begin
	before=$(stat -c %i file)
	into export-jsonl /dev/stdout >file && into export-jsonl plain && cmp plain file && [ "$(stat -c %i file)" = "$before" ]
}

plan 11
for what in whole full ended; do ok "$what" all $what; done
ok "a signal that is ignored" ignored export-jsonl
ok "a full device stays one" device
ok "named pipes" pipe
ok "named pipes are refused by what cannot write them" no_pipe
ok "links" link
ok "a recording in its own place" itself
begin && chmod 444 file
if [ -w file ]; then skip "a file that may only be read" "this user may write all files"; else
	ok "a file that may only be read" read_only
fi
ok "standard output by its name" stdout
done_testing
