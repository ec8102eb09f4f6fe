#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the files that commands write with -o. An output gets its name only when it is complete. After a full disk or a
# signal, only the previous file of this name remains. Pipes, devices, links and access rights do not change.

# If nohup has started this test, all child processes ignore SIGHUP. A shell cannot change that, but env can.
[ -n "${SIGNALS_ARE_DEFAULT:-}" ] || SIGNALS_ARE_DEFAULT=1 exec env --default-signal "$0"
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/flight.sh"
build_tool
flight_build >"$tap_tmp/make" 2>&1 && "$flight" record "$tap_tmp/record" || { cat "$tap_tmp/make"; exit 1; }
cat >"$tap_tmp/end.c" <<-'E2'
	/* A signal ends the command when its file is complete, right before the file gets its name. Without END_BY, no room is left. */
	#include <signal.h>
	#include <stdlib.h>
	#include <sys/statvfs.h>
	#include <sys/sysinfo.h>
	int sysinfo(struct sysinfo *memory)
	{
		*memory = (struct sysinfo){ .totalram = getenv("END_BY") ? 1 << 30 : 1 << 24, .mem_unit = 1 };
		return 0;
	}
	int statvfs(const char *path, struct statvfs *disk)
	{
		*disk = (struct statvfs){ .f_blocks = 1 << 30, .f_bavail = getenv("END_BY") ? 1 << 30 : 1, .f_frsize = 1 };
		return 0;
	}
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
commands="inject html export-perfetto export-chrome export-speedscope export-folded export-jsonl export-pprof export-sqlite \
	profile-lcov profile-gcov profile-bolt profile-callgrind profile-counts merge share split encode flight"
"$ntrace" profile --counts -i ../perf.data -o ../counts && "$ntrace" decode --pcs --elf ../calls ../perf.data >../pcs || exit
"$ntrace" export --format sqlite -i ../perf.data -o ../try >/dev/null 2>&1 ||
	commands=$(echo "$commands" | sed 's/export-sqlite//')

# into COMMAND FILE [SAID]: run COMMAND on $input. The command writes its output to FILE, and its messages to SAID.
# Command split writes a folder of parts of the recording (shards), and FILE is one of these
into() {
	_said=${3:-../said} _input=${input:-../perf.data}
	case $1 in
	export-*) set -- "$1" "$2" export --format "${1#*-}" ;;
	profile-bolt) set -- "$1" "$2" profile --bolt --object calls ;;
	profile-*) set -- "$1" "$2" profile "--${1#*-}" ;;
	inject) set -- "$1" "$2" inject --period 3 ;;
	merge) "$ntrace" merge ${input-../counts} -o "$2" 2>"$_said"; return ;;
	encode) "$ntrace" encode --elf ../calls --pcs ${input-../pcs} -o "$2" 2>"$_said"; return ;;
	flight) "$ntrace" flight save --no-kcore -i ${input-../record} -o "$2" 2>"$_said"; return ;;
	split) shard "$2"; return ;;
	*) set -- "$1" "$2" "$1" ;;
	esac
	_file=$2; shift 2
	"$ntrace" "$@" -i "$_input" -o "$_file" 2>"$_said"
}
# Run split, which always gives the name 1.data to its first output file. Name FILE 1.data while split runs
shard() {
	[ ! -e "$1" ] && [ ! -L "$1" ] || mv "$1" 1.data
	"$ntrace" split -n 1 -i "$_input" -o . 2>"$_said"
	_rc=$?
	[ ! -e 1.data ] && [ ! -L 1.data ] || mv 1.data "$1"
	return $_rc
}
# kept COMMAND: check that the folder has only the old output
kept() {
	[ "$(cat file)" = "old contents" ] && [ "$(ls -A)" = file ] && return
	echo "$1, $2: $(head -n 1 ../said)"; ls -lA
	return 1
}
begin() { rm -rf ./* && echo "old contents" >file; }

whole() {
	begin && chmod 640 file
	into "$1" file
	rc=$?
	# `ntrace flight save` does not overwrite the record of another crash, but adds the time of that crash to its
	# name
	[ "$1" != flight ] || { grep -q "old contents" file.* && rm file.*; }
	[ $rc -eq 0 ] && [ "$(ls -A)" = file ] && [ "$(stat -c %a file)" = 640 ] && ! grep -q "old contents" file && return
	echo "$1: status $rc"; cat ../said; ls -lA
	return 1
}
# If SIGXFSZ is ignored, the limit on the file size acts like a full disk. Otherwise SIGXFSZ ends the command while it
# writes
full() {
	begin
	# Skip a command that has no data to write
	into "$1" plain && [ -s plain ] || return 0
	rm plain
	said=$(trap '' XFSZ; ulimit -f 0; into "$1" file /dev/stdout; echo "status $?")
	# sqlite reports all write errors with the same text
	case $said in *"writing "*" failed: File too large"*"status 2" | *"writing file failed: Input/output error"*"status 2") ;; *) echo "$1: $said"; return 1 ;; esac
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
		# Without an old output, no file may remain
		rm file
		(END_BY=$signal LD_PRELOAD=$tap_tmp/end.so; export END_BY LD_PRELOAD; into "$1" file)
		[ -z "$(ls -A)" ] || { ls -A; return 1; }
	done
}
# A signal that is ignored, such as under nohup, has no effect
ignored() {
	begin
	(trap '' INT; END_BY=2 LD_PRELOAD=$tap_tmp/end.so; export END_BY LD_PRELOAD; into "$1" file)
}

all() {
	for command in $commands; do "$1" "$command" || return; done
}
device() {
	# Leave out the export to sqlite, because sqlite could delete the device if root runs it. Also leave out split,
	# which chooses the names of its output files itself
	for command in $(echo "$commands" | sed 's/export-sqlite//; s/split//'); do
		into "$command" plain && [ -s plain ] || continue
		into "$command" /dev/full && { echo "$command: no error"; return 1; }
		grep -q "writing /dev/full failed" ../said && [ -c /dev/full ] || { echo "$command: $(cat ../said)"; return 1; }
	done
}
pipe() {
	for command in $commands; do
		case $command in inject | split | flight | *sqlite) continue ;; esac
		begin
		into "$command" plain && mkfifo named || return
		cat named >got &
		into "$command" named || return
		wait
		[ -p named ] && cmp got plain || { echo "$command"; return 1; }
	done
}
# sqlite and commands that write recordings seek backwards in their output, so they refuse a pipe, and do not remove
# the pipe
no_pipe() {
	begin && mkfifo named
	for command in inject flight $(echo "$commands" | tr ' ' '\n' | grep sqlite); do
		cat named >got &
		into "$command" named
		rc=$?
		kill $! 2>/dev/null; wait
		cat ../said
		[ $rc -eq 2 ] && [ -p named ] || return
	done
	for command in "inject -i ../perf.data" "flight save -i ../record" "record"; do
		"$ntrace" $command -o - >got 2>../said
		rc=$?
		! grep -q "built without libperf" ../said || continue
		[ $rc -eq 2 ] && [ ! -s got ] && grep -q "needs a file and not a pipe" ../said && [ ! -e ./- ] || { cat ../said; return 1; }
	done
}
link() {
	begin && mkdir sub && mv file sub && ln -s sub/file link
	into export-jsonl link && [ -L link ] && grep -q outer sub/file && [ "$(ls -A sub)" = file ]
}
# Let each command write its output over its input, by the name of the input and by two links to this name
over() {
	for command in $commands; do
		for name in own symbolic hard; do
			begin && rm file
			case $command in merge) cp ../counts own ;; encode) cp ../pcs own ;; flight) cp ../record own ;; *) cp ../perf.data own ;; esac
			cp own ../before && ln -s own symbolic && ln own hard
			input=own
			[ $command,$name != split,own ] || input=1.data
			into "$command" $name
			rc=$?
			unset input
			[ $rc -eq 2 ] && cmp own ../before && [ "$(ls -A | tr '\n' ' ')" = "hard own symbolic " ] &&
				grep -q "the command also reads this file" ../said && continue
			echo "$command, $name: status $rc, $(cat ../said)"; ls -lA
			return 1
		done
	done
}
# Test that four other inputs are not overwritten: the second input of merge, the code of encode, the standard input,
# and the file of the standard output
over_others() {
	begin && cp ../counts one && cp ../counts two && cp ../calls calls && cp ../perf.data own
	"$ntrace" merge one two -o two 2>/dev/null
	[ $? -eq 2 ] && cmp two ../counts || return
	"$ntrace" encode --elf calls --pcs ../pcs -o calls 2>/dev/null
	[ $? -eq 2 ] && cmp calls ../calls || return
	for truth in pcs calls; do
		cp ../pcs pcs
		"$ntrace" encode --elf calls --pcs pcs -o new --truth $truth 2>../said
		[ $? -eq 2 ] && cmp pcs ../pcs && cmp calls ../calls && [ ! -e new ] && grep -q "the command also reads this file" ../said || return
	done
	"$ntrace" export --format jsonl -i - -o own <own 2>/dev/null
	[ $? -eq 2 ] && cmp own ../perf.data || return
	"$ntrace" profile --counts -i own >>own 2>/dev/null
	[ $? -eq 2 ] && cmp own ../perf.data
}
# If the standard output is the recording or its program, commands must report this before they overwrite the file
over_stdout() {
	for command in report "report --functions" script "script --calls" "script --insns" "annotate outer" "query outer" info "share --list"; do
		begin && cp ../calls program && python3 "$top/tests/perf/mkcalls.py" program own good >../said && cp own ../before || return
		"$ntrace" $command -i own >>program 2>../said
		[ $? -eq 2 ] && cmp program ../calls && grep -q "the command also reads this file" ../said || { echo "$command >> program:"; cat ../said; return 1; }
		"$ntrace" $command -i own >>own 2>../said
		[ $? -eq 2 ] && cmp own ../before && grep -q "the command also reads this file" ../said || { echo "$command >> recording:"; cat ../said; return 1; }
		# The shell empties the recording before the command reads it
		"$ntrace" $command -i own >own 2>../said
		[ $? -eq 2 ] && [ ! -s own ] && [ "$(cat ../said)" = "ntrace: writing the standard output failed: the command also reads this file, so it does not write to it" ] || { echo "$command > recording:"; cat ../said; return 1; }
	done
}
directory() {
	for command in $commands; do
		# A folder has the name of a file that split must write
		[ $command != split ] || continue
		begin && rm file && mkdir folder && echo mine >folder/data && echo mine >folder/file
		into "$command" folder
		rc=$?
		[ $rc -eq 2 ] && [ "$(cat folder/data folder/file)" = "mine
mine" ] && [ "$(ls -A)" = folder ] && continue
		echo "$command: status $rc, $(cat ../said)"
		return 1
	done
}
# A recording with the kernel's code is a folder. This folder may replace a recording, but not a folder with other
# files
folders() {
	begin && rm file && mkdir -p ../rec/kcore_dir && cp ../perf.data ../rec/data && cp ../calls ../rec/kcore_dir/kcore
	for command in inject split; do
		for n in 1 2; do input=../rec into $command new || { cat ../said; return 1; }; done
		[ "$(find . -type f | sort | tr '\n' ' ')" = "./new/data ./new/kcore_dir/kcore " ] || { find .; return 1; }
		[ "$(stat -c %a new/data)" = 600 ] || return
		echo mine >new/mine; cp new/data ../before
		input=../rec into $command new
		[ $? -eq 2 ] && cmp new/data ../before && [ "$(cat new/mine)" = mine ] && grep -q "not empty" ../said || { cat ../said; return 1; }
		input=../rec into $command ../rec && return 1
		cmp ../rec/data ../perf.data || return
		rm -r new
	done
}
killed() {
	for command in $commands; do
		begin
		(END_BY=9 LD_PRELOAD=$tap_tmp/end.so; export END_BY LD_PRELOAD; into "$command" file)
		rc=$?
		[ $rc -eq 137 ] && [ "$(cat file)" = "old contents" ] || { echo "$command: status $rc"; ls -lA; return 1; }
	done
}
# Send two signals at nearly the same time, many times
two_signals() {
	for n in $(seq 20); do
		begin
		"$ntrace" export --format jsonl -i ../perf.data -o named 2>/dev/null &
		kill -TERM $!; kill -INT $!; kill -TERM $!
		wait $!
		rm -f named
		[ "$(ls -A)" = file ] || { ls -lA; return 1; }
	done
}
# closed COMMAND...: check that COMMAND reports an error if its standard output is closed, and if each write to it fails
closed() {
	"$ntrace" "$@" >&- 2>../said
	[ $? -eq 2 ] && [ "$(grep -c "writing the standard output failed" ../said)" = 1 ] || { echo "$*, closed:"; cat ../said; return 1; }
	"$ntrace" "$@" >/dev/full 2>../said
	[ $? -eq 2 ] && [ "$(grep -c "writing the standard output failed: No space" ../said)" = 1 ] && return
	echo "$*, full:"; cat ../said
	return 1
}
all_closed() {
	r="-i ../perf.data"
	for what in "report $r" "report --functions $r" "report --insns $r" "report --stack $r" "slow $r outer" "script $r" \
		"script --calls $r" "script --insns $r" "html $r -o -" "export --format jsonl $r -o -" "export --format folded $r -o -" \
		"export --format perfetto $r -o -" "profile --counts $r" "profile --lcov $r" "merge ../counts" "stat ../perf.data" \
		"annotate $r outer" "query $r outer" "query --count $r outer" "audit $r" "info $r" "diff ../perf.data ../perf.data" "share --list $r" "flight calls $r" \
		"dump ../perf.data" "decode --elf ../calls ../perf.data" "decode --pcs --elf ../calls ../perf.data" \
		"doctor" "probe" "help" "version" "help report"; do
		closed $what || return
	done
	# The output of these commands does not fit into one buffer
	"$ntrace" encode --elf ../calls --pcs ../pcs -o ../short.nt >../said && python3 "$top/tests/session/mkrecording.py" ../calls ../short.nt ../more.data 300 || return
	for what in script "script --calls" "script --insns" "script --json" "query outer" "report --json --functions" "export --format jsonl -o -"; do
		closed $what -i ../more.data && ! grep "^ntrace: No space\|Input/output" ../said || return
	done
}
read_only() {
	into export-jsonl file && return 1
	kept export-jsonl "a file that may only be read"
}
# If the disk has too little room for the trace, a command must report this before it changes the output file
no_room() {
	for command in share split; do
		begin
		(LD_PRELOAD=$tap_tmp/end.so; export LD_PRELOAD; into "$command" file)
		[ $? -eq 2 ] && grep -q "needs room for [0-9]* bytes of trace, and its disk has 1: use another disk" ../said || { cat ../said; return 1; }
		kept "$command" "a disk without room" || return
	done
}
# Calls that do not fit into memory are stored in a temporary file. A command warns first if the disk may lack room
# for this file
no_room_for_calls() {
	begin
	"$ntrace" encode --elf ../calls --pcs ../pcs -o short.nt >../said && python3 "$top/tests/session/mkrecording.py" ../calls short.nt large.data 155000 || return
	for command in "export --format jsonl -o -" "query --count *" "script --calls"; do
		set -f
		(LD_PRELOAD=$tap_tmp/end.so; export LD_PRELOAD; exec "$ntrace" $command -i large.data) 2>../said >got &
		set +f
		while [ ! -s ../said ] && kill -0 $! 2>/dev/null; do sleep 0.1; done
		# The command warns before it decodes any trace, so it can be killed now
		kill $! 2>/dev/null; wait
		head -n 1 ../said | grep "calls of [0-9]* bytes of trace can need up to [0-9]* MB in /tmp, which has room for 0 MB: --time FROM,TO" || { echo "$command"; return 1; }
		(LD_PRELOAD=$tap_tmp/end.so; export LD_PRELOAD; exec "$ntrace" $command -i ../perf.data) 2>&1 >got | grep "can need" && return 1
	done
	! (LD_PRELOAD=$tap_tmp/end.so END_BY=1; export LD_PRELOAD END_BY; exec timeout 1 "$ntrace" query --count '*' -i large.data) 2>&1 | grep "can need"
}
# A command that stores all branches of a thread in memory warns before it decodes the branches, and ends before the
# kernel kills it
no_memory() {
	(LD_PRELOAD=$tap_tmp/end.so; export LD_PRELOAD; exec "$ntrace" diff large.data large.data) >got 2>../said
	rc=$?
	head -n 1 ../said | grep "bytes of trace can need up to [0-9]* MB of memory, and 16 MB are available: " && grep "out of memory: [a-z-]" ../said && [ $rc -eq 2 ] && [ ! -s got ] &&
		! (LD_PRELOAD=$tap_tmp/end.so; export LD_PRELOAD; exec "$ntrace" diff ../perf.data ../perf.data) 2>&1 >got | grep "can need"
}
# A command must not replace the file to which its standard output is redirected
stdout() {
	begin
	before=$(stat -c %i file)
	into export-jsonl /dev/stdout >file && into export-jsonl plain && cmp plain file && [ "$(stat -c %i file)" = "$before" ]
}

# The disk is full when the second of several files is written. The command must not replace any file
several() {
	cat >../full.c <<-'E2'
		#include <errno.h>
		int fsync(int fd)
		{
			static int calls;

			errno = ENOSPC;
			return ++calls == 2 ? -1 : 0;
		}
	E2
	gcc -shared -fPIC -O1 -o ../full.so ../full.c || return
	for command in "split -n 2" "export --format parquet"; do
		begin && rm file && mkdir new || return
		for name in calls.parquet functions.parquet threads.parquet losses.parquet 1.data 2.data; do echo "old contents" >new/$name; done
		for folder in new other; do
			(LD_PRELOAD=$tap_tmp/full.so; export LD_PRELOAD; exec "$ntrace" $command -i ../perf.data -o $folder) 2>../said
			rc=$?
			! grep "needs a build with" ../said || continue
			[ $rc -eq 2 ] && grep -q "writing $folder failed: No space" ../said && [ "$(ls)" = new ] && [ -z "$(grep -L "old contents" new/*)" ] && continue
			cat ../said; ls -l . *; return 1
		done
	done
}

plan 22
ok "a complete file replaces the old file and keeps its access rights" all whole
ok "a full disk leaves only the old file" all full
ok "a signal leaves only the old file" all ended
ok "a killed command leaves the old file" killed
ok "two signals at once leave only the old file" two_signals
ok "a signal that is ignored changes nothing" ignored export-jsonl
ok "a full device as output stays a device, and its error is reported" device
ok "a named pipe gets the same bytes as a file" pipe
ok "formats that seek in their file refuse a named pipe" no_pipe
ok "a symbolic link still points to its file" link
ok "no command overwrites its input, even under another name of the input" over
ok "merge, encode and commands with redirected streams do not overwrite an input" over_others
ok "no command writes to a standard output that is its program or its recording" over_stdout
ok "a directory is not replaced" directory
ok "the folder of a recording replaces only the folder of a recording" folders
ok "every command reports a standard output that is closed or full once, and exits with 2" all_closed
begin && chmod 444 file
if [ -w file ]; then skip "a read-only file is kept" "this user may write all files"; else
	ok "a read-only file is kept" read_only
fi
ok "a full disk replaces none of several files" several
ok "a disk without room for the trace is reported before the start" no_room
ok "a disk without room for calls is reported before the start" no_room_for_calls
ok "a trace that does not fit into memory is reported before the start, and ends the command with a sentence" no_memory
ok "-o /dev/stdout writes to the redirected file without replacing it" stdout
done_testing
