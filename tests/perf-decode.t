#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# perf decodes small recordings that were put together by hand, good and bad
# ones (tests/perf/mkcalls.py), on this host and as riscv64, from both kernels.
. "$(dirname "$0")/lib/tap.sh"

data=$top/tests/perf
fields=comm,tid,cpu,time,ip,addr,flags

# perf of the kernel at hand; kver and arch name it
perf() {
	case $arch in
	riscv64) qemu-riscv64-static -L "$O/root/sysroot" "$O/perf/$kver/$arch/perf" "$@" ;;
	*) "$O/perf/$kver/$arch/perf" "$@" ;;
	esac
}

# branches WHAT: of that recording, one a line, single blanks
branches() {
	perf script -i "$tap_tmp/$1.data" --itrace=be -F $fields 2>"$tap_tmp/err" |
		sed 's/  */ /g;s/^ //;s/ $//'
}

# says WHAT STATUS SENTENCE...: decoding it prints all of these, and exits so;
# refused: with one of perf's negative errors
says() {
	what=$1 status=$2; shift 2
	perf script -i "$tap_tmp/$what.data" --itrace=be >"$tap_tmp/said" 2>&1 </dev/null
	rc=$?
	cat "$tap_tmp/said"
	[ $status != refused ] || [ $rc -lt 192 ] || status=$rc
	[ $rc = "$status" ] || { echo "exit status $rc, not $status"; return 1; }
	for sentence; do grep -qF -- "$sentence" "$tap_tmp/said" || { echo "no: $sentence"; return 1; }; done
}

# same_branches WHAT [nearly]: nearly is but for the times
same_branches() {
	branches "$1" >"$tap_tmp/got"
	cp "$data/calls.branches" "$tap_tmp/wanted"
	# perf 6.12 says only "tr strt" and "tr end"
	[ "$kver" != 6.12 ] || sed -i 's/\(tr strt\|tr end\) jmp/\1/' "$tap_tmp/wanted"
	[ -z "${2-}" ] || sed -i 's/ 0\.10[0-9]*:/ t:/' "$tap_tmp/wanted" "$tap_tmp/got"
	diff "$tap_tmp/wanted" "$tap_tmp/got"
}

check_good() {
	ok "$me: branches, with flags, thread and time" same_branches good
	ok "$me: exit status of a good trace" says good 0
	ok "$me: without PERF_RECORD_AUX" same_branches no-aux-record
	ok "$me: without Ownership, the thread by PERF_RECORD_SWITCH" same_branches no-context
	ok "$me: without timestamps, the time of PERF_RECORD_AUX" same_branches no-time nearly
	ok "$me: metadata of a later minor version" same_branches later-minor
	ok "$me: nothing is read from a map that came later" says late-mapping 1 \
		"there is no code at this address" "10002 _start+0x2"
	is "$me: and all of it is after it came" "$(branches late-mapping | grep -vc 'tr strt\|error')" 17
	is "$me: a sample for each instruction" \
		"$(perf script -i "$tap_tmp/good.data" --itrace=i0ns -F ip 2>/dev/null | grep -c .)" 33
	is "$me: call chain of the third in inner" \
		"$(perf script -i "$tap_tmp/good.data" --itrace=i1ig -F ip,sym 2>/dev/null |
			awk '/inner/ { n++; next } n == 3 && /outer|_start/ { printf "%s ", $2 } n > 3 || (n == 3 && !NF) { exit }')" \
		"outer _start "
	is "$me: calls only" "$(perf script -i "$tap_tmp/good.data" --itrace=c -F ip,flags 2>/dev/null | grep -c call)" 7
	ok "$me: messages with offset, bytes and text" dump_is_right
	ok "$me: inject, then a perf without itrace" inject_is_right
	ok "$me: perf test N-Trace: tables of messages and metadata" tables_are_right
	ok "$me: code of a guest is not taken from the host" says guest 1 "code of a guest is not known"
}

dump_is_right() {
	perf script -D -i "$tap_tmp/good.data" 2>/dev/null >"$tap_tmp/dump"
	grep -q '^\.  00000000:  24 15 00 00 21 00 24 d0 0f *ProgTraceSync SYNC=5 .*I-CNT=0 .*TSTAMP=1000000' "$tap_tmp/dump" &&
	grep -q 'Ownership .*PRV=U scontext=0x4d2' "$tap_tmp/dump" &&
	[ "$(grep -c ' IndirectBranchHist ' "$tap_tmp/dump")" -eq 7 ] &&
	[ "$(grep -c ' ProgTraceCorrelation ' "$tap_tmp/dump")" -eq 1 ]
}

tables_are_right() {
	# 6.12 looks for names among the parts too: by number
	perf test -v "$(perf test list 2>&1 | sed -n 's/^ *\([0-9]*\): N-Trace *$/\1/p')" >"$tap_tmp/said" 2>&1
	cat "$tap_tmp/said"
	! grep -q FAILED "$tap_tmp/said" && [ "$(grep -cE ': (Messages|Metadata|Encoder parameters) *: Ok' "$tap_tmp/said")" -eq 3 ]
}

inject_is_right() {
	perf inject --itrace=be -i "$tap_tmp/good.data" -o "$tap_tmp/injected.data" &&
	[ "$(perf script -i "$tap_tmp/injected.data" 2>/dev/null | grep -c 'branches.*=>')" -eq 18 ]
}

check_bad() {
	ok "$me: thread that is not known" says unknown-thread 1 "scontext 0x4d is no known thread"
	ok "$me: truncated" says truncated 0 "AUX buffer full: trace was lost" "AUX data lost 1 times" \
		"       1  code 1: AUX buffer or sink full: trace was lost"
	ok "$me: wrong I-CNT" says wrong-icnt 1 "I-CNT goes on past a jump that needs an address"
	ok "$me: CPU without metadata" says no-metadata-for-cpu 1 "no metadata for this CPU"
	ok "$me: metadata of something else" says other-magic refused "the metadata in this file is not N-Trace's"
	ok "$me: metadata of a later version" says later-version refused "version 2.0, this perf reads version 1"
	ok "$me: metadata with more CPUs than words" says too-many-cpus refused "the metadata is damaged"
	ok "$me: metadata cut short" says short-metadata refused "the metadata is damaged"
	ok "$me: an object that is missing: once, with what to do" says missing-object 1 \
		"cannot read the code of /nowhere/calls: copy it to this machine (perf archive), or use --symfs" \
		"there is no code at this address"
	# 7.2 itself refuses it
	[ $kver = 6.12 ] && sentence="a record has no size. Was it cut short?" || sentence="incompatible file format"
	ok "$me: a file that was cut short" says cut-file refused "$sentence"
	ok "$me: a size of trace that goes back in the file" says trace-size refused \
		"the file is damaged: a record tells of 0xffffffff00000040 bytes"
	ok "$me: an index that names other places" says bad-index refused \
		"the file is damaged: its index of trace names places that cannot be"
	ok "$me: metadata that no encoder can have" says bad-src-bits refused "has values that no encoder can have"
}

kinds="7.2/x86_64 6.12/x86_64"
[ "$(uname -m)" = x86_64 ] || kinds=
# 6.12's perf needs the cpuinfo of a RISC-V machine, which qemu-user does not show
if command -v qemu-riscv64-static >/dev/null; then kinds="$kinds 7.2/riscv64"; fi
[ -n "$kinds" ] || skip_all "neither an x86-64 host nor qemu-riscv64-static"
plan $(($(echo $kinds | wc -w) * 28))

"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -nostdlib -static -Wl,-Ttext=0x10000 -o "$tap_tmp/calls" "$data/calls.S" || exit
for what in good guest no-aux-record no-context no-time later-minor late-mapping unknown-thread truncated wrong-icnt \
	no-metadata-for-cpu missing-object other-magic later-version too-many-cpus short-metadata bad-src-bits trace-size bad-index; do
	python3 "$data/mkcalls.py" "$tap_tmp/calls" "$tap_tmp/$what.data" $what || exit
done

head -c $(($(wc -c <"$tap_tmp/good.data") - 260)) "$tap_tmp/good.data" >"$tap_tmp/cut-file.data"

for kind in $kinds; do
	kver=${kind%/*} arch=${kind#*/} me="perf $kind"
	"$top/tools/perf/build.sh" "$kver" "$arch" >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
	check_good
	check_bad
done
done_testing
