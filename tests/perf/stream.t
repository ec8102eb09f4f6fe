#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# perf must print the same for a recording in a file, from a pipe, and compressed (perf record -z).
. "$(dirname "$0")/../harness/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
data=$top/tests/perf
fields=comm,tid,cpu,time,ip,addr,flags
# KVERS=new tests only the newest perf
kvers=${KVERS:-$(perfs $(by_size new "lts new"))}
plan $(($(echo "$kvers" | wc -w) * 11 + 12))

calls_program || exit
make_data() { # NAME WHAT [HOW...]
	_data=$1; shift
	recording_as "$_data" "$@" || exit
}
for what in rounds no-aux-record samples no-time unlike frames two-sources; do
	make_data $what $what
	make_data $what-pipe $what pipe
	make_data $what-z $what compressed
	make_data $what-z-pipe $what pipe compressed
done

make_data good good
make_data trace-size-pipe trace-size pipe

perf() { "$O/perf/$kver/x86_64/perf" "$@" 2>"$tap_tmp/err" </dev/null; }
script() { # NAME OPTION...
	_script=$1; shift
	perf script -i "$tap_tmp/$_script.data" --itrace=be -F $fields "$@"
}
same() { # NAME FILE OPTION...: check that perf prints what FILE contains
	_same=$1 _file=$2; shift 2
	script "$_file" "$@" >"$tap_tmp/wanted"
	script "$_same" "$@" >"$tap_tmp/got"
	cat "$tap_tmp/err"
	[ -s "$tap_tmp/wanted" ] && diff "$tap_tmp/wanted" "$tap_tmp/got" | head -n 20
	cmp "$tap_tmp/wanted" "$tap_tmp/got"
}
injected() { # NAME
	perf inject --itrace=b -i "$tap_tmp/$1.data" -o "$tap_tmp/injected.data" &&
		perf script -i "$tap_tmp/injected.data" -F ip,addr
}

# The thread ran on CPU 1, so perf must use the metadata of CPU 1 for the trace
unlike_is_right() {
	script good | sed 's/\[000\]/[001]/' >"$tap_tmp/wanted"
	script unlike >"$tap_tmp/got"
	[ -s "$tap_tmp/wanted" ] && diff "$tap_tmp/wanted" "$tap_tmp/got"
}
refused_size() {
	script trace-size-pipe
	_rc=$?
	cat "$tap_tmp/err"
	[ $_rc -ge 192 ] && grep -q 'the file is damaged: a record claims 0xffffffff00000040 bytes' "$tap_tmp/err"
}

for kver in $kvers; do
	"$top/tools/perf/build.sh" $kver x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
	# The recording has 8 runs of the first program, with 18 branches each, and 4 runs of the second program.
	# These 4 runs are before the second program is mapped. Each of them has 7 messages with an address, and code is
	# missing at each of these messages.
	is "$kver: branches and errors of a file that was written in rounds" \
		"$(script rounds | grep -c '=>') $(script rounds | grep -c 'code 30')" "220 28"
	ok "$kver: a pipe with many reads of each buffer" same rounds-pipe rounds
	ok "$kver: a pipe without PERF_RECORD_AUX" same no-aux-record-pipe no-aux-record
	ok "$kver: a pipe whose only times are those of PERF_RECORD_AUX" same no-time-pipe no-time
	ok "$kver: trace in samples, from a pipe" same samples-pipe samples
	ok "$kver: the metadata of CPUs differ, and the buffer belongs to a thread" unlike_is_right
	ok "$kver: the metadata of CPUs differ, from a pipe" same unlike-pipe unlike
	ok "$kver: two encoders in frames have the same branches as without frames" same frames two-sources
	ok "$kver: frames of two encoders, from a pipe" same frames-pipe frames
	ok "$kver: an impossible size of trace, in a pipe" refused_size
	is "$kver: inject from a pipe" "$(injected rounds-pipe | cksum)" "$(injected rounds | cksum)"
done
# Skip the perf of kernel 6.12, which is built without zstd
zstd() {
	_name=$1
	shift
	if [ "$kver" = 6.12 ]; then skip "newest perf: $_name" "only the perf of 6.12 is built"; else ok "$kver: $_name" "$@"; fi
}
zstd "compressed" same rounds-z rounds
zstd "compressed, in a pipe" same rounds-z-pipe rounds
zstd "compressed, one CPU of it" same rounds-z rounds -C 0
zstd "compressed, without PERF_RECORD_AUX" same no-aux-record-z no-aux-record
zstd "compressed, in a pipe, without PERF_RECORD_AUX" same no-aux-record-z-pipe no-aux-record
zstd "trace in samples, compressed" same samples-z samples
zstd "trace in samples, compressed, in a pipe" same samples-z-pipe samples
zstd "compressed, the metadata of CPUs differ" same unlike-z unlike
zstd "compressed, the metadata of CPUs differ, in a pipe" same unlike-z-pipe unlike
zstd "compressed, frames of two encoders" same frames-z frames
zstd "compressed, frames of two encoders, in a pipe" same frames-z-pipe frames
perf inject --itrace=b -i "$tap_tmp/rounds-z.data" -o "$tap_tmp/injected.data"
zstd "inject reports that it does not decompress" grep -q 'Record without -z' "$tap_tmp/err"
done_testing
