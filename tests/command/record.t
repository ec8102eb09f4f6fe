#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test `ntrace record` on the board. `ntrace` and perf must decode the recordings to the branches in the truth.
# Options, signals, a full disk and wrong usage must have the effects that the manual describes.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"
. "$top/tests/command/recorder.sh"

plan 59
recorder_build command-record
"$O/root/bin/riscv64-guest-gcc" -O2 -Wall -o "$tap_tmp/terminal" "$top/tests/command/terminal.c" || exit 1
# A process whose first thread has ended, and whose second thread works
cat >"$tap_tmp/headless.c" <<-'E2'
	#include <pthread.h>
	#include <stddef.h>
	static void *work(void *p) { for (volatile int i = 0;; i++) ; return p; }
	int main(void) { pthread_t t; return pthread_create(&t, NULL, work, NULL) || (pthread_exit(NULL), 0); }
E2
"$O/root/bin/riscv64-guest-gcc" -O2 -pthread -o "$tap_tmp/headless" "$tap_tmp/headless.c" || exit 1

# Record on a board that writes the truth, and copy the program files that contain the executed code.
record() {
	recorder_files || return
	by_size 10 1 >"$out/part"
	cat >"$out/go" <<-'E2'
		cp /proc/cpuinfo /out/cpuinfo
		cd /tmp && cp /out/work /out/ntrace-static .
		record() { ./ntrace-static record --buildid-dir /tmp/debug "$@" >>/out/record.log 2>&1; }
		record -a -m 16M -o all.data -- sh -c '/tmp/work 1 /tmp $(cat /out/part) >/tmp/threads
			for task in /proc/$PPID/task/*; do echo thread ${task##*/} of $PPID; done >>/tmp/threads' || exit 1
		perf --buildid-dir /tmp/debug inject -j -i all.data -o jit.data >>/out/record.log 2>&1 || exit 1
		tar -cf /out/files.tar jit.data threads debug jitted*
	E2
	"$top/tools/board/board" run --kernel 6.12 --harts 2 --truth "$truth_dir/truth" --model truth-traced=$(by_size on off) --out "$out" -- sh /out/go
	rc=$?
	cat "$out/record.log"
	[ $rc -eq 0 ] && out_files "$out" && truth_symfs 6.12 && cp "$out/ntrace-static" "$truth_root/tmp/"
}

# case_ NAME COMMAND...: run COMMAND in the guest, and write its output and exit status to said/NAME
cases() {
	cp "$tap_tmp/terminal" "$tap_tmp/headless" "$out/"
	cat >"$out/go" <<-'E2'
		cd /tmp && cp /out/work /out/ntrace-static /out/terminal /out/headless . && mkdir said debug small
		# A recorder of root reads /proc/kallsyms up to its end, which takes the guest 400 million instructions. These
		# recordings of user mode need no symbol of the kernel, so replace the file by an empty one.
		mount --bind /dev/null /proc/kallsyms
		case_() { name=$1; shift; "$@" >said/$name 2>&1; echo "status $?" >>said/$name; }
		record() { ./ntrace-static record --buildid-dir /tmp/debug "$@"; }
		# later SIGNAL...: wait for each SIGNAL until an encoder is enabled and some work is done, and send
		# SIGNAL to the recorder
		later() {
			for s; do
				until cat /sys/kernel/debug/ntrace/*/registers | grep -q '[2367abef] trTeControl'; do sleep 0.1; done
				head -c 300000 /usr/bin/perf | sha256sum >/dev/null
				kill -$s $(pgrep -x ntrace-static)
			done
		}
		sh -c 'while :; do :; done' & busy=$!
		case_ user record -e ntrace//u -o user.data -- sh -c './work 1 "" 10; exit 7'
		case_ clock record -q -e ntrace/ts_mode=3/u -o clock.data -- ./work 1 "" 10
		case_ perf perf record -q -B --no-bpf-event -e ntrace/ts_mode=3/u -o clock-perf.data -- ./work 1 "" 10
		case_ thread record --per-thread --no-kcore -o thread.data -e ntrace//u -- ./work 1 "" 10
		later INT & case_ pid record -p $busy -e ntrace//u -o pid.data
		later INT & case_ cpu record -C 0,1 -e ntrace//u -o cpu.data
		./headless & headless=$!
		until grep -q zombie /proc/$headless/status; do sleep 0.1; done
		later INT & case_ headless record -p $headless -e ntrace//u -o headless.data
		kill -9 $headless
		later USR2 INT & case_ usr2 record -C 0,1 -e ntrace//u -o usr2.data
		later USR2 INT & case_ snapshot record -S -m 64K -a -e ntrace//u -o snapshot.data
		case_ always record -q -C 0,1 -e ntrace//u -o always.data -- sleep 1.5
		case_ strobe record -C 0,1 --strobe 50/500 -e ntrace//u -o strobe.data -- sleep 1.5
		kill $busy
		case_ again record -q -e ntrace//u -o user2.data -- true
		case_ old record -q -e ntrace//u -o user2.data -- true
		mount -t tmpfs -o size=1536k none small
		case_ full record -a --no-kcore -e ntrace//u -o small/full.data -- sh -c './work 1; exit 0'
		cp small/full.data . && umount small
		case_ device record -e ntrace//u -o /dev/full -- true
		case_ none record -e ntrace//u -o x.data -- /no/such/program
		case_ killed record -e ntrace//u -o x.data -- sh -c 'kill -9 $$'
		case_ nopid record -p 99999 -o x.data
		case_ nocpu record -C 5 -o x.data
		case_ badstrobe record --strobe 5/5 -o x.data
		case_ badcpu record -C x -o x.data
		case_ term record -e ntrace/foo=1/ -o x.data -- true
		case_ value record -e ntrace/mode=9/ -o x.data -- true
		case_ refused record -e ntrace/mode=1/ -o x.data -- true
		case_ modifier record -e ntrace//x -o x.data -- true
		case_ event record -e foo -o x.data -- true
		case_ onlycycles record -e cpu-clock -o x.data -- true
		case_ two record -e ntrace// -e ntrace//u -o x.data -- true
		case_ size record -m 7Q -o x.data -- true
		case_ huge record -m 8G -o x.data -- true
		case_ both record -a -p 1 -o x.data
		case_ folder record -o /tmp/said -- true
		case_ nofolder record -o /no/such/x.data -- true
		case_ beside record -e ntrace//u -e cpu-clock -o beside.data -- ./work 1 "" 10
		case_ terminal ./terminal ./ntrace-static record --buildid-dir /tmp/debug -m 16M -e ntrace//u -o shown.data -- sh -c './work 1; sleep 2'
		case_ losing ./terminal ./ntrace-static record --buildid-dir /tmp/debug -m 8K -e ntrace//u -o shown.data -- sh -c './work 1; sleep 2'
		case_ priority record -q -e ntrace//u -o prio.data -- sh -c 'cut -d" " -f19 /proc/$PPID/stat /proc/self/stat'
		case_ doctor ./ntrace-static doctor
		mv debug cases-debug
		tar -cf /out/files.tar *.data *.data.old said cases-debug
	E2
	"$top/tools/board/board" run --kernel 6.12 --harts 2 --out "$out" -- sh /out/go && out_files "$out" &&
		cp -a "$out/cases-debug/." "$truth_root/.debug/"
}

# Two harts share a sink. A first recorder uses this sink, a second recorder requests it with other settings, and a
# third recorder requests the CPU of the first recorder.
shared() {
	cat >"$out/go" <<-'E2'
		cd /tmp && cp /out/work /out/ntrace-static . && mkdir said
		mount --bind /dev/null /proc/kallsyms
		case_() { name=$1; shift; "$@" >said/$name 2>&1; echo "status $?" >>said/$name; }
		record() { ./ntrace-static record --no-kcore "$@"; }
		mkfifo ready
		./ntrace-static record --no-kcore -C 0 -e ntrace/timestamp=0/u -o x.data -- sh -c 'echo >ready; exec sleep 10000' &
		first=$!
		read -r line <ready
		case_ waits record -C 1 -e ntrace/timestamp=1/u -o y.data -- sleep 1
		case_ taken record -C 0 -e ntrace//u -o y.data -- true
		kill -INT $first; wait
		case_ free record -C 1 -e ntrace/timestamp=1/u -o z.data -- taskset 2 ./work 1 "" 10
		tar -cf /out/files.tar said
	E2
	"$top/tools/board/board" run --kernel 6.12 --harts 2 --topology funnel --out "$out" -- sh /out/go &&
		out_files "$out"
}

# says NAME STATUS SENTENCE: check the exit status and the output of the case NAME in cases()
says() {
	cat "$out/said/$1"
	grep -qxF "status $2" "$out/said/$1" && grep -qF -- "$3" "$out/said/$1"
}

ntrace() { _what=$1; shift; "$O/bin/ntrace" "$_what" --symfs "$truth_root" --buildid-dir "$truth_root/.debug" "$@"; }
fields=pid,tid,cpu,time,flags,ip,addr
by_ntrace() { truth_check ntrace script -i "$out/$1" -F $fields; }
by_perf() {
	truth_check "$O/perf/new/x86_64/perf" --buildid-dir "$truth_root/.debug" script --symfs "$truth_root" \
		-i "$out/$1" --itrace=be --ns -F $fields
}
clean() { echo "$truth_last" | grep -q ' 0 errors' && [ "$(truth_number branches)" -gt "$1" ]; }
reads() { # FILE BRANCHES: check that FILE has at least BRANCHES branches, and no error
	n=$(ntrace script -F ip,addr -i "$out/$1" 2>"$tap_tmp/err" | head -n 5000 | grep -vc error)
	echo "$n branches"
	cat "$tap_tmp/err"
	[ "$n" -ge "$2" ]
}

ok "recorded" record
ok "the kernel and all programs: all branches are right" by_ntrace jit.data
figure "$truth_last"
ok "the kernel and all programs: there are over 100,000 branches, and no error" clean 100000
ok "the kernel and all programs: all branches are right in perf" by_perf jit.data
ok "the kernel and all programs: perf also finds over 100,000 branches, and no error" clean 100000

ok "the guest has run all cases of options, signals and mistakes" cases
ok "one program" reads user.data 1000
ok "ntrace record exits with the status of the recorded command" says user 7 "wrote user.data"
# Print the number of distinct times of branches. If the frequency of timestamps is unknown, branches have the times
# of the kernel's records. In this case, perf also prints the message that untimed() checks
nr_times() {
	ntrace script -F time,ip,addr -i "$out/$1" 2>/dev/null | head -n 300000 | sed -n 's/^ *\([0-9.]*\): .*/\1/p' | sort -u | wc -l
}
untimed() { "$O/perf/new/x86_64/perf" script --itrace=e -F comm -i "$out/$1" 2>&1 >/dev/null | grep -m 1 'the frequency of the timestamps is unknown'; }
ok "timestamps of unknown frequency: branches without an error" reads clock.data 1000
ok "timestamps of unknown frequency: branches of perf's recording without an error" reads clock-perf.data 1000
unknown=$(nr_times clock.data) perfs=$(nr_times clock-perf.data) known=$(nr_times user.data)
ok "timestamps of unknown frequency: branches have only the times of the kernel's records ($unknown, $perfs, with a known frequency $known)" \
	[ "$((unknown + perfs))" -lt "$((known / 10))" ]
ok "timestamps of unknown frequency: perf reports this for the recording of ntrace record" untimed clock.data
ok "timestamps of unknown frequency: perf reports this for its own recording" untimed clock-perf.data
ok "--per-thread" reads thread.data 1000
ok "-p with a running process" reads pid.data 1000
ok "-p with a running process: SIGINT ends the recording" says pid 0 "wrote pid.data"
ok "-C with two CPUs" reads cpu.data 1000
ok "-p skips a thread that has ended" reads headless.data 1000
ok "-p skips a thread that has ended: the recording is written" says headless 0 "wrote headless.data"
ok "SIGUSR2 does not end a recording without snapshots" reads usr2.data 100
ok "snapshots" reads snapshot.data 1000
ok "strobing" reads strobe.data 1000
ok "strobing loses nothing" test "$(grep -c 'was lost' "$out/said/strobe")" = 0
ok "strobing for a tenth of the time leaves most of the trace out" \
	test "$(($(stat -c %s "$out/strobe.data") * 2))" -lt "$(stat -c %s "$out/always.data")"
ok "the older recording gets the name .old" test -s "$out/user2.data.old"
ok "--quiet" test "$(cat "$out/said/again")" = "status 0"
ok "a recording with another event" reads beside.data 1000
samples() { "$O/perf/new/x86_64/perf" script -i "$out/beside.data" --itrace=e -F event,ip 2>/dev/null | grep -c cpu-clock; }
ok "the other event has samples" test "$(samples)" -gt 0
ok "a full disk is reported" says full 2 "No space left on device. The file can be read, and has the recording up to then"
ok "the recording up to the full disk can be read" reads full.data 1000
ok "a device that is full" says device 2 "No space left on device"
ok "a program that does not exist" says none 2 "/no/such/program cannot be executed: No such file or directory"
ok "a program that is killed" says killed 137 "wrote x.data"
ok "-p with a process that does not exist" says nopid 2 "there is no process 99999"
ok "-C with a CPU that does not exist" says nocpu 2 "CPU 5 is offline, or has no trace encoder"
ok "strobing for longer than the period" says badstrobe 2 "--strobe expects ON/PERIOD"
ok "-C with a word instead of a list" says badcpu 2 "-C expects a list of CPUs"
ok "an unknown term of the event" says term 2 "ntrace has no term 'foo'"
ok "a value that is too large for its term" says value 2 "9 does not fit in the term 'mode' of ntrace"
ok "a mode that the hardware lacks" says refused 2 "Leave mode out"
ok "an unknown modifier of the event" says modifier 2 "'x' is not a modifier"
ok "an unknown event" says event 2 "there is no event 'foo'"
ok "no trace event" says onlycycles 2 "one of the events must be the trace event, ntrace//"
ok "two trace events" says two 2 "only one event ntrace//"
ok "-m with a wrong unit" says size 2 "-m expects a number of bytes"
ok "-m with a size larger than the memory" says huge 2 "do not fit into memory"
ok "-a and -p" says both 2 "exclude each other"
ok "-o with a folder that is not a recording" says folder 2 "is a folder, and not a recording"
ok "-o in a folder that does not exist" says nofolder 2 "No such file or directory"
# shown NAME PATTERN: check that a line of the progress display matches, and is erased before the final sentence
shown() {
	tr '\r' '\n' <"$out/said/$1" >"$tap_tmp/shown"
	cat "$tap_tmp/shown"
	grep -qE "^ntrace: [0-9]+ s, [0-9.]+ MB, [0-9.]+ MB/s, $2" "$tap_tmp/shown" && grep -q '^.\[Kntrace: wrote' "$tap_tmp/shown"
}
ok "a terminal shows progress, size and rate" shown terminal "nothing lost"
ok "a terminal shows how often trace was lost" shown losing "trace was lost [0-9]+ times?"
ok "the last line advises a larger buffer if trace was lost" says losing 0 "try a larger buffer (-m)"
ok "the recorder has nice value -20" says priority 0 -20
ok "the recorded command has nice value 0" says priority 0 0
ok "doctor finds the trace event on the board" says doctor 0 "The kernel offers the event ntrace//."
ok "the guest has run all cases of recorders that share a sink" shared
ok "a recorder reports that another program used its sink" says waits 0 "another program had the trace sink 1 time,"
ok "a CPU that another program traces is refused" says taken 2 "in use by another program"
is "a sink that another program has released is used" "$(grep -c 'had the trace sink' "$out/said/free") $(tail -n 1 "$out/said/free")" "0 status 0"
done_testing
