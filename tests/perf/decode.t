#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Decode small good and bad recordings, which tests/perf/mkcalls.py made. Use perf of both kernels, on this host and
# for riscv64.
. "$(dirname "$0")/../harness/tap.sh"

data=$top/tests/perf
fields=comm,tid,cpu,time,ip,addr,flags

# Run the perf for the kernel $kver and the architecture $arch.
perf() {
	case $arch in
	riscv64) qemu-riscv64-static -L "$O/root/sysroot" "$O/perf/$kver/$arch/perf" "$@" ;;
	*) "$O/perf/$kver/$arch/perf" "$@" ;;
	esac
}

# branches WHAT: print the branches of recording WHAT, one per line, with single blanks
branches() {
	perf script -i "$tap_tmp/$1.data" --itrace=be -F $fields 2>"$tap_tmp/err" |
		sed 's/  */ /g;s/^ //;s/ $//'
}

# says WHAT STATUS SENTENCE...: check that perf prints all of these sentences for recording WHAT, and exits with
# STATUS. STATUS "refused" means one of perf's negative error numbers
says() { says_with be "$@"; }
says_with() { # OPTIONS WHAT ...
	options=$1 what=$2 status=$3; shift 3
	# shellcheck disable=SC2086
	perf script -i "$tap_tmp/$what.data" --itrace=$options >"$tap_tmp/said" 2>&1 </dev/null
	rc=$?
	cat "$tap_tmp/said"
	[ $status != refused ] || [ $rc -lt 192 ] || status=$rc
	[ $rc = "$status" ] || { echo "exit status $rc, not $status"; return 1; }
	for sentence; do grep -qF -- "$sentence" "$tap_tmp/said" || { echo "no: $sentence"; return 1; }; done
}

without_times() { sed 's/ 0\.10[0-9]*:/ t:/' "$@"; }

# same_branches WHAT [nearly]: compare the branches with those of the good recording. With "nearly", ignore times
same_branches() {
	branches "$1" >"$tap_tmp/got"
	cp "$data/calls.branches" "$tap_tmp/wanted"
	# perf 6.12 prints the start and the end of trace only as "tr strt" and "tr end"
	[ "$kver" != 6.12 ] || sed -i 's/\(tr strt\|tr end\) jmp/\1/' "$tap_tmp/wanted"
	[ -z "${2-}" ] || without_times -i "$tap_tmp/wanted" "$tap_tmp/got"
	diff "$tap_tmp/wanted" "$tap_tmp/got"
}

# last_time WHAT: print the time from the first branch to the last branch in ns
last_time() {
	perf script -i "$tap_tmp/$1.data" --itrace=b --ns -F time 2>/dev/null |
		awk '{ sub(":", ""); t = $1 * 1e9; if (NR == 1) first = t } END { printf "%d", t - first + 0.5 }'
}

# Check that perf prints three runs of each of two threads, each on its own CPU
sources() {
	branches "$1" | sed 's/ 0\.10[0-9]*: / /' | LC_ALL=C sort | uniq -c | sed 's/^ *//'
}
sources_wanted() {
	for task in "1234 \[000\]" "2234 \[001\]"; do
		branches good | sed "s/ 0\.10[0-9]*: / /;s/1234 \[000\]/$task/"
	done | LC_ALL=C sort | uniq -c | awk '{ $1 *= 3; print }'
}

# perf must print the branches of a good recording, and a line about the loss.
partial_is_right() {
	says partial 0 "code 1: sink full: trace was lost" &&
		branches partial | sed '/code 1: sink full/d' >"$tap_tmp/got" && branches good | diff - "$tap_tmp/got"
}

# perf must print the branches of a good recording, and a line about trace that is missing because another program used
# the sink. This line must not suggest a larger buffer.
collision_is_right() {
	says collision 0 "code 5: another program used the sink: trace is missing" \
		"       1  code 5: another program used the sink: trace is missing" "AUX data detected collision" &&
		! grep -E "full|SIZE" "$tap_tmp/said" && says_with be-l collision 0 && ! grep "code 5" "$tap_tmp/said" &&
		branches collision | sed '/code 5/d' >"$tap_tmp/got" && branches good | diff - "$tap_tmp/got"
}

# The recording has three AUX samples. Each sample has the trace of one run of the program.
samples_are_right() {
	branches good | without_times >"$tap_tmp/wanted"
	branches samples | sed '/\[-01\]/d' | without_times >"$tap_tmp/got"
	says samples 0 && cat "$tap_tmp/wanted" "$tap_tmp/wanted" "$tap_tmp/wanted" | diff - "$tap_tmp/got"
}

check_good() {
	ok "$me: branches, with flags, thread and time" same_branches good
	ok "$me: exit status of a good trace" says good 0
	ok "$me: without PERF_RECORD_AUX" same_branches no-aux-record
	ok "$me: without Ownership, PERF_RECORD_SWITCH determines the thread" same_branches no-context
	is "$me: without Ownership, PERF_RECORD_SWITCH determines which of two threads runs" \
		"$(branches switches | awk '/=> / { print $2 }' | uniq -c | xargs)" "17 1234 16 2234 16 1234 17 2234"
	ok "$me: without Ownership, there are no errors even if only errors are requested" says_with e switches 0
	ok "$me: several maps over each other between two messages" same_branches mapped-again
	is "$me: a process whose id is 4" "$(branches pid-4)" "$(branches good | sed 's/^calls 1234/calls 4/')"
	is "$me: two encoders in a buffer" "$(sources two-sources)" "$(sources_wanted)"
	is "$me: two encoders in a buffer, without Ownership" "$(sources two-sources-blind)" "$(sources_wanted)"
	ok "$me: without timestamps, branches have the time of PERF_RECORD_AUX" same_branches no-time nearly
	ok "$me: a snapshot that begins inside a message" same_branches snapshot
	ok "$me: a window that the sink overwrote" partial_is_right
	ok "$me: another program used the sink" collision_is_right
	ok "$me: trace in samples" samples_are_right
	ok "$me: metadata of a later minor version" same_branches later-minor
	is "$me: metadata with more words for each CPU" "$(branches later-words | cksum)" \
		"$(branches good | sed 's/\[000\]/[001]/' | cksum)"
	ok "$me: a timestamp of 12 bits" same_branches narrow
	ok "$me: zeros with which perf pads trace do not change the branches" same_branches padded
	ok "$me: zeros with which perf pads trace cause no error" says padded 0
	is "$me: a timestamp that advances every fourth tick" "$(last_time prescaled)" "$(($(last_time good) * 4))"
	ok "$me: code of a later map is not used for earlier trace" says late-mapping 1 \
		"there is no code at this address" "10002 _start+0x2"
	is "$me: code of a later map is used for later trace" "$(branches late-mapping | grep -vc 'tr strt\|error')" 17
	is "$me: a sample for each instruction" \
		"$(perf script -i "$tap_tmp/good.data" --itrace=i0ns -F ip 2>/dev/null | grep -c .)" 33
	is "$me: the third execution of inner has its call chain" \
		"$(perf script -i "$tap_tmp/good.data" --itrace=i1ig -F ip,sym 2>/dev/null |
			awk '/inner/ { n++; next } n == 3 && /outer|_start/ { printf "%s ", $2 } n > 3 || (n == 3 && !NF) { exit }')" \
		"outer _start "
	is "$me: samples contain their period" \
		"$(perf script -i "$tap_tmp/good.data" --itrace=i10i -F period 2>/dev/null | xargs)" "10 10 10"
	# 3 of 24 instructions of turns.S belong to _start, so about 12 % of the samples must be in _start. This share
	# would be different if perf only took samples where messages end, which is at the return to _start
	ok "$me: samples by time are not always taken where messages end" between 10 15 \
		"$(perf report -i "$tap_tmp/turns.data" --itrace=i7us --stdio -q -F overhead,sym 2>/dev/null |
			sed -n 's/^ *\([0-9]*\)\.[0-9]*% .* _start *$/\1/p')"
	is "$me: q prints the addresses in messages" \
		"$(perf script -i "$tap_tmp/good.data" --itrace=iq -F ip 2>/dev/null | xargs)" \
		"10000 10014 10006 10014 10006 10014 10006 ffffffff80000000"
	is "$me: calls only" "$(perf script -i "$tap_tmp/good.data" --itrace=c -F ip,flags 2>/dev/null | grep -c call)" 7
	ok "$me: messages with offset, bytes and text" dump_is_right
	ok "$me: perf script prints the branches that inject wrote" inject_is_right
	ok "$me: report prints the same for the output of inject as for the trace" report_is_right
	ok "$me: diff compares two outputs of inject" diff_is_right
	ok "$me: perf test N-Trace: tables of messages and metadata" tables_are_right
	ok "$me: code of a guest is not taken from the host" says guest 1 "code of a guest is missing"
}

uncompressed="00 04 08 0c 10 14 1c 20 28 2c 30 34"

# executed COMM ADDR TIME [TO]: print the branches of calls.S in the task COMM. Each address begins with ADDR and ends
# with two more digits. TO has these two digits of each address for a build without compressed instructions.
executed() {
	awk -v comm="$1" -v addr="$2" -v time="$3" -v to="${4-}" '
		BEGIN {
			n = split("00 02 06 08 0a 0c 10 14 18 1a 1c 1e", from)
			split(to, as)
			for (i = 1; i <= n; i++) there["100" from[i]] = addr (to ? as[i] : from[i])
			pid = comm; gsub(/[^0-9]/, "", pid)
		}
		{
			$1 = comm; $2 = pid; sub(/0[.]10000/, time, $4)
			for (i = 5; i <= NF; i++) if ($i in there) $i = there[$i]
			print
		}' "$data/calls.branches"
}

# unknown WHAT: print the errors that perf must print if it lacks the code of WHAT, one for each of the 7 messages that
# report code
unknown() {
	for i in 1 2 3 4 5 6 7; do echo "code of $1 is missing"; done
}

# guest_is WHAT OPTION...: check that the branches and errors of the recording WHAT are exactly the lines of the
# standard input
guest_is() {
	what=$1; shift
	cat >"$tap_tmp/wanted"
	[ "$kver" != 6.12 ] || sed -i 's/\(tr strt\|tr end\) jmp/\1/' "$tap_tmp/wanted"
	perf script -i "$tap_tmp/$what.data" --itrace=be -F $fields "$@" 2>"$tap_tmp/err" |
		sed 's/  */ /g;s/^ //;s/ $//;s/^instruction trace error.* code 30: \(.*\), at.*/\1/' >"$tap_tmp/got"
	diff "$tap_tmp/wanted" "$tap_tmp/got"
}

vmlinux_is_right() { executed :1234 $guest 0.10000 | guest_is guest-kernel --guestvmlinux "$tap_tmp/vmlinux"; }

kcore_is_right() {
	executed :1234 $module 0.10000 |
		guest_is guest-module --guestkallsyms "$tap_tmp/vm/1234/proc/kallsyms" \
			--guestmodules "$tap_tmp/vm/1234/proc/modules"
}

# `perf kvm --guest record` writes this kind of recording.
kaslr_is_right() { executed :1234 ffffffff802000 0.10000 | guest_is guest-moved --guestvmlinux "$tap_tmp/vmlinux"; }

no_kcore_is_right() {
	cp "$tap_tmp/vm/1234/proc/kallsyms" "$tap_tmp/kallsyms"
	{ echo ":1234 1234 [000] 0.100000: tr strt jmp 0 => ${guest}00"; unknown "a guest"; } |
		guest_is guest-kernel --guestkallsyms "$tap_tmp/kallsyms"
}

program_is_right() {
	{ echo ":1234 1234 [000] 0.100000: tr strt jmp 0 => 10000"; echo "code of a guest is missing"
	  executed :1234 $guest 0.10000; } | guest_is guest-user --guestvmlinux "$tap_tmp/vmlinux"
}

two_are_right() {
	{ executed "[guest/1234]" $guest 0.10000; executed "[guest/2234]" $guest 0.10001 "$uncompressed"
	  executed "[guest/1234]" $guest 0.10002; } | guest_is guest-two --guestmount "$tap_tmp/vm"
}

one_of_two_is_right() {
	{ executed "[guest/1234]" $guest 0.10000
	  echo ":2234 2234 [000] 0.100010: tr strt jmp 0 => ${guest}00"; unknown "a guest"
	  executed "[guest/1234]" $guest 0.10002; } | guest_is guest-two --guestmount "$tap_tmp/one"
}

default_of_two_is_right() {
	{ executed "[guest/1234]" $guest 0.10000; executed :2234 $guest 0.10001 "$uncompressed"
	  executed "[guest/1234]" $guest 0.10002; } |
		guest_is guest-two --guestmount "$tap_tmp/one" --guestvmlinux "$tap_tmp/vmlinux2"
}

hcontext_is_right() {
	{ executed :1234 $guest 0.10000; unknown "another guest"; executed :1234 $guest 0.10002; } |
		guest_is guest-hcontext --guestvmlinux "$tap_tmp/vmlinux"
}

guest_code_is_right() { executed "[guest/1234]" 100 0.10000 | guest_is guest-code --guest-code; }

unknown_thread_is_right() {
	unknown "a guest" |
		guest_is guest-no-thread --guestmount "$tap_tmp/vm" --guestvmlinux "$tap_tmp/vmlinux"
}

nobody_is_right() { unknown "a guest" | guest_is guest-kernel; }

# names WHAT OPTION...: print how many calls and returns of inner perf prints
names() {
	what=$1; shift
	perf script -i "$tap_tmp/$what.data" --itrace=cr -F comm,ip,sym,addr,flags "$@" 2>/dev/null |
		awk '$4 $7 == "outerinner" || $4 $7 == "innerouter" { n[$1 " " $2] += 1 }
			END { for (i in n) print n[i], i }' | LC_ALL=C sort | tr '\n' ,
}

guest=ffffffff800000 module=ffffffff020000

guest_sideband_is_right() {
	{ executed "calls 50" 100 0.10000; executed "calls 60" 100 0.10010; } | sed 's/^\(calls [56]0\) [56]0/\1/' |
		guest_is guest-sideband
}

# The guest's counter is 500,000 ticks ahead of the host's counter, and the guest's clock started later.
guest_data_is_right() {
	for _what in host guest; do
		python3 "$data/mkcalls.py" "$tap_tmp/calls" "$tap_tmp/guest-data-$_what.data" guest-data-$_what || return
	done
	perf inject -i "$tap_tmp/guest-data-host.data" --guest-data="$tap_tmp/guest-data-guest.data,1234,500000" -o "$tap_tmp/guest-data.data" || return
	{ executed "calls 50" 100 0.10000; executed "calls 60" 100 0.10010; } | sed 's/^\(calls [56]0\) [56]0/\1/' |
		guest_is guest-data
}

check_guests() {
	ok "$me: events of the guest identify the programs of a guest" guest_sideband_is_right
	ok "$me: perf inject --guest-data merges the events of a guest, which identify its programs" guest_data_is_right
	ok "$me: --guestvmlinux has the code of a guest's kernel" vmlinux_is_right
	ok "$me: --guestkallsyms, --guestmodules and kcore have the code of a guest's module" kcore_is_right
	ok "$me: an event of perf kvm has the address of a guest's kernel that KASLR has moved" kaslr_is_right
	ok "$me: without an option for a guest, code of the guest is missing" nobody_is_right
	ok "$me: with --guestkallsyms but without kcore, code of the guest is missing" no_kcore_is_right
	ok "$me: a guest's program is missing, and the code of its kernel is known" program_is_right
	ok "$me: two guests on a CPU have their own kernels (--guestmount)" two_are_right
	ok "$me: two guests on a CPU, one of which has its kernel in --guestmount" one_of_two_is_right
	ok "$me: two guests on a CPU, one of which is the default guest" default_of_two_is_right
	ok "$me: with several guests, an unknown thread has no guest's code" unknown_thread_is_right
	ok "$me: a change of hcontext is a change of the guest" hcontext_is_right
	ok "$me: --guest-code uses the code of the process that runs the guest" guest_code_is_right
	is "$me: functions of a guest have the names of its kernel" "$(names guest-two --guestmount "$tap_tmp/vm")" \
		"3 [guest/2234] call,3 [guest/2234] return,6 [guest/1234] call,6 [guest/1234] return,"
	is "$me: instructions of a guest, each without a caller" \
		"$(perf script -i "$tap_tmp/guest-kernel.data" --itrace=i1ig -F ip --guestvmlinux "$tap_tmp/vmlinux" 2>/dev/null |
			awk 'NF { n++; d++ } !NF { if (d > 1) long++; d = 0 } END { print n, long + 0 }')" "33 0"
}

dump_is_right() {
	perf script -D -i "$tap_tmp/good.data" 2>/dev/null >"$tap_tmp/dump"
	grep -q '^\.  00000000:  24 15 00 00 21 00 24 d0 0f *ProgTraceSync SYNC=5 .*I-CNT=0 .*TSTAMP=1000000' "$tap_tmp/dump" &&
	grep -q 'Ownership .*PRV=U scontext=0x4d2' "$tap_tmp/dump" &&
	[ "$(grep -c ' IndirectBranchHist ' "$tap_tmp/dump")" -eq 7 ] &&
	[ "$(grep -c ' ProgTraceCorrelation ' "$tap_tmp/dump")" -eq 1 ]
}

json_is_right() {
	rm -f "$tap_tmp/json"
	perf data convert --force --to-json "$tap_tmp/json" -i "$tap_tmp/good.data" || return
	# The perf of kernel 6.12 does not accept events that a decoder adds.
	[ "$kver" = 6.12 ] || grep -q '"symbol": "_start"' "$tap_tmp/json"
}

tables_are_right() {
	perf test -v ntrace >"$tap_tmp/said" 2>&1
	cat "$tap_tmp/said"
	! grep -q FAILED "$tap_tmp/said" && [ "$(grep -cE ': N-Trace .ntrace.: (messages|metadata|encoder parameters) *: Ok' "$tap_tmp/said")" -eq 3 ]
}

inject_is_right() {
	perf inject --itrace=be -i "$tap_tmp/good.data" -o "$tap_tmp/injected.data" &&
	[ "$(perf script -i "$tap_tmp/injected.data" 2>/dev/null | grep -c 'branches.*=>')" -eq 18 ]
}

overheads() { sed -n 's/^ *\([0-9.]*%\) .*\[\.\] \(.*[^ ]\) *$/\1 \2/p'; }
report_is_right() {
	perf inject --itrace=i1i -i "$tap_tmp/good.data" -o "$tap_tmp/injected.data" &&
	perf report -i "$tap_tmp/injected.data" --stdio 2>/dev/null | overheads >"$tap_tmp/got" &&
	perf report -i "$tap_tmp/good.data" --itrace=i1i --stdio 2>/dev/null | overheads >"$tap_tmp/wanted"
	cat "$tap_tmp/wanted"
	[ "$(wc -l <"$tap_tmp/wanted")" -eq 4 ] && diff "$tap_tmp/wanted" "$tap_tmp/got"
}

# perf diff compares a recording with itself, and must find no difference.
diff_is_right() {
	perf diff "$tap_tmp/injected.data" "$tap_tmp/injected.data" >"$tap_tmp/got" 2>&1
	cat "$tap_tmp/got"
	[ "$(grep -c '[0-9]% .*\[\.\] ' "$tap_tmp/got")" -ge 4 ] && ! grep -q '[+-][0-9.]*[1-9][0-9.]*%' "$tap_tmp/got"
}

# If the firmware is known, perf must not treat an unknown program as the firmware
program_is_not_firmware() {
	printf '[ntrace]\n\tfirmware = %s@0x70000000\n' "$tap_tmp/calls" >"$tap_tmp/config"
	PERF_CONFIG=$tap_tmp/config says no-maps 1 "there is no code at this address" && ! grep "\[firmware\]" "$tap_tmp/said"
}

check_bad() {
	ok "$me: code of machine mode is missing" says no-maps 0 "code 4: no [firmware] code: perf config ntrace.firmware=FILE"
	ok "$me: a program without maps" program_is_not_firmware
	ok "$me: an unknown thread" says unknown-thread 1 "scontext 0x4d is an unknown thread"
	ok "$me: truncated trace is reported" says truncated 0 "AUX buffer full: trace was lost" "AUX data lost 1 times" \
		"       1  code 1: AUX buffer or sink full: trace was lost"
	ok "$me: wrong I-CNT" says wrong-icnt 1 "I-CNT continues after a jump to an unknown address"
	ok "$me: CPU without metadata" says no-metadata-for-cpu 1 "no metadata for this CPU"
	ok "$me: metadata of another kind of trace" says other-magic refused "the metadata in this file is not that of N-Trace"
	ok "$me: metadata of a later version" says later-version refused "version 2.0, but this perf reads version 1"
	ok "$me: metadata with more CPUs than words" says too-many-cpus refused "the metadata is damaged"
	ok "$me: metadata cut short" says short-metadata refused "the metadata is damaged"
	ok "$me: a recording without trace" says no-trace 0 "there is no trace in this recording. The selected code was not executed"
	ok "$me: a snapshot that was never taken" says no-snapshot 0 "there is no trace in this recording. perf record writes a snapshot"
	ok "$me: errors that are not requested are counted, and the exit status is 0" says_with b wrong-icnt 0 "       1  code 33: I-CNT"
	ok "$me: code of the kernel that differs from the executed code" says_with "be -k $tap_tmp/vmlinux" kernel-icnt 1 \
		"1  of these are in the kernel, which patches its code while it runs: record with --kcore"
	ok "$me: perf data convert --to-json" json_is_right
	ok "$me: a missing object is reported once, with a cure" says missing-object 1 \
		"cannot read the code of /nowhere/calls: copy it to this machine (perf archive), or use --symfs" \
		"there is no code at this address"
	# perf 7.2 and later refuse this recording before they call the decoder.
	[ $kver = 6.12 ] && sentence="a record has no size. Was it cut short?" || sentence="incompatible file format"
	ok "$me: a file that was cut short" says cut-file refused "$sentence"
	ok "$me: a size of trace that leads backwards in the file" says trace-size refused \
		"the file is damaged: a record claims 0xffffffff00000040 bytes"
	ok "$me: an index with impossible offsets" says bad-index refused \
		"the file is damaged: its index of trace has impossible offsets"
	ok "$me: metadata with an impossible width of SRC" says bad-src-bits refused "has impossible values"
	ok "$me: metadata with an impossible SRC" says bad-src refused "has impossible values"
	# perf 7.2 and later refuse these files themselves, but perf 6.12 passes these files to the decoder
	[ $kver = 6.12 ] && sentence="which is not a multiple of 8" || sentence="one of its records is followed by invalid data"
	ok "$me: a size that does not lead to a record" says no-size refused "$sentence"
	ok "$me: trace at an offset far after the end of its buffer" says far-offset refused "a record claims trace at 0xfffffffffffffff8 of its buffer"
	ok "$me: frames with an ID that is not in the metadata" says other-id 0 "skipping the trace of ID 17, which no encoder of this recording has"
	ok "$me: metadata of another event" says other-type 0 "the metadata names an event of type 43, but this recording has no such event"
	ok "$me: trace without a message with SYNC" says no-sync 0 "no instruction was decoded from the trace in this recording"
	ok "$me: a trace buffer with an absurd number" says buffer-number refused "a record claims trace buffer 1000000000"
}

# KINDS="new/x86_64" tests only the newest perf on this host
kinds=$(for k in $(perfs $(by_size new "new lts")); do echo "$k/x86_64"; done)
[ "$(uname -m)" = x86_64 ] || kinds=
# The perf of kernel 6.12 needs the cpuinfo of a RISC-V machine, which qemu-user does not provide
if { large || [ -z "$kinds" ]; } && command -v qemu-riscv64-static >/dev/null; then kinds="$kinds $(kernels new | grep -vx 6.12 | sed s,$,/riscv64,)"; fi
kinds=${KINDS:-$kinds}
[ -n "$kinds" ] || skip_all "neither an x86-64 host nor qemu-riscv64-static"
between() { echo "$3"; [ "${3:-0}" -ge "$1" ] && [ "${3:-0}" -le "$2" ]; }
plan $(($(echo $kinds | wc -w) * 78))

calls_program &&
	"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -march=rv64g -mabi=lp64d -nostdlib -static -Wl,-Ttext=0x10000 \
		-o "$tap_tmp/calls-uncompressed" "$data/calls.S" || exit
recording good mapped-again no-trace no-snapshot kernel-icnt pid-4 two-sources two-sources-blind guest guest-kernel guest-module guest-moved guest-user guest-two guest-hcontext guest-no-thread guest-sideband \
	guest-code no-aux-record no-context switches no-time snapshot partial collision samples later-minor later-words narrow padded prescaled late-mapping unknown-thread no-maps truncated wrong-icnt \
	no-metadata-for-cpu missing-object other-magic later-version too-many-cpus short-metadata bad-src-bits bad-src no-size buffer-number far-offset other-id other-type no-sync trace-size bad-index || exit

"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -nostdlib -static -Wl,-Ttext=0x10000 -o "$tap_tmp/turns" "$data/turns.S" &&
	awk 'BEGIN { print "0x10000"; for (; n < 2000; n++) { print "0x10004"; for (i = 24; i < 108; i += 4) printf "%#x\n", 65536 + i; print "0x10008\n0x1000c" } }' >"$tap_tmp/pcs" &&
	"$O/bin/ntrace" encode --elf "$tap_tmp/turns" --pcs "$tap_tmp/pcs" -o "$tap_tmp/nt" --timestamp &&
	python3 "$data/../session/mkrecording.py" --timestamp "$tap_tmp/turns" "$tap_tmp/nt" "$tap_tmp/turns.data" || exit

# These folders have the files of guests, as in the guests' file systems. calls.S is the kernel of each guest, and
# also a module in the first guest. The second guest has no compressed instructions.
cross=${CROSS_COMPILE:-riscv64-linux-gnu-}
mkdir -p "$tap_tmp/vm/1234/proc" "$tap_tmp/vm/2234/proc" "$tap_tmp/one"
"${cross}gcc" -c -o "$tap_tmp/kernel.o" "$data/calls.S" &&
"${cross}objcopy" --rename-section .text=.module --prefix-symbols=module_ "$tap_tmp/kernel.o" "$tap_tmp/module.o" &&
"${cross}gcc" -nostdlib -static -Wl,-Ttext=0x${guest}00,--section-start=.module=0x${module}00,--defsym=_stext=_start \
	-o "$tap_tmp/vmlinux" "$tap_tmp/kernel.o" "$tap_tmp/module.o" &&
"${cross}gcc" -march=rv64g -mabi=lp64d -nostdlib -static -Wl,-Ttext=0x${guest}00,--defsym=_stext=_start \
	-o "$tap_tmp/vmlinux2" "$data/calls.S" || exit
for vm in "vmlinux 1234" "vmlinux2 2234"; do
	proc=$tap_tmp/vm/${vm#* }/proc
	cp "$tap_tmp/${vm% *}" "$proc/kcore"
	"${cross}nm" "$proc/kcore" | sed -n '/ [tT] /{/[.$]/d;/ module_/s/$/\t[calls]/;p;}' >"$proc/kallsyms"
	: >"$proc/modules"
done
echo "calls 4096 0 - Live 0x${module}00" >"$tap_tmp/vm/1234/proc/modules"
ln -s "$tap_tmp/vm/1234" "$tap_tmp/one/1234"

head -c $(($(wc -c <"$tap_tmp/good.data") - 680)) "$tap_tmp/good.data" >"$tap_tmp/cut-file.data"

for kind in $kinds; do
	kver=${kind%/*} arch=${kind#*/} me="perf $kind"
	"$top/tools/perf/build.sh" "$kver" "$arch" >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
	check_good
	check_bad
	check_guests
done
done_testing
