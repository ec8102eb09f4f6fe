#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Read recordings of other drivers, which tests/session/foreign.py makes from recordings of this tree ("ours"). Each
# command must print the same output as for our original recording, and damaged metadata must lead to a message.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/says.sh"
build_tool
ntrace=$O/bin/ntrace
cd "$tap_tmp" || exit 1
gcc="${CROSS_COMPILE:-riscv64-linux-gnu-}gcc -nostdlib -static -Wl,-Ttext=0x10000"
$gcc -o calls "$top/tests/perf/calls.S" && $gcc -march=rv64g -o calls-uncompressed "$top/tests/perf/calls.S" || exit 1
make_it() { python3 "$top/tests/session/mkshared.py" calls "$@"; }
foreign() { python3 "$top/tests/session/foreign.py" "$@"; }

# judged NAME OURS: compare the branches in NAME.data with the executed branches in OURS.branches
judged() {
	"$ntrace" script -F tid,cpu,ip,addr -i "$1.data" 2>said | python3 "$top/tests/session/shared.py" "$2.branches"
}

# said_of NAME COMMAND...: print the output of this command of ntrace for NAME.data
said_of() {
	_of=$1; shift
	if [ "$1" = stat ]; then "$ntrace" stat "$_of.data"; else "$ntrace" "$@" -i "$_of.data"; fi 2>/dev/null
}

# same NAME OURS: check that commands print the same for both recordings
same() {
	for _command in "script -F comm,tid,cpu,time,flags,ip,addr" report stat; do
		# shellcheck disable=SC2086
		said_of "$1" $_command >got
		# shellcheck disable=SC2086
		said_of "$2" $_command >wanted
		[ -s wanted ] && cmp wanted got || { echo "$_command differs"; return 1; }
	done
	"$ntrace" profile --counts -i "$1.data" -o got 2>/dev/null && "$ntrace" profile --counts -i "$2.data" -o wanted 2>/dev/null &&
		[ -s wanted ] && cmp wanted got
}

# read_as KIND OURS [HOW...]: convert our recording OURS.data to the format of recorder KIND, such as gtrace, and print
# how many of its branches are correct. HOW is a change that foreign.py makes, such as no-ids
read_as() {
	foreign "$1" "$2.data" "$1.data" "$3" "$4" && judged "$1" "$2"
}

# sentence STATUS TEXT KIND OURS HOW: convert our recording OURS.data by KIND and HOW (see read_as()) to a damaged one,
# and check that `ntrace script` prints TEXT and exits with STATUS
sentence() {
	foreign "$3" "$4.data" damaged.data "$5" && says "$1" "$2" "$ntrace" script -i damaged.data
}

plan 34
make_it shared shared 4 20 && make_it alone alone 4 20 && make_it frames frames 4 20 && SRC_BITS=2 make_it narrow shared 4 20 &&
	make_it one alone 1 2000 || exit 1
all="5120 branches, 0 wrong, 0 of a wrong thread, 0 missing, 0 errors"

is "gtrace: CPUs with their own buffers" "$(read_as gtrace alone)" "$all"
ok "gtrace: a message names the recorder" says 0 "was made by gtrace" "$ntrace" script -i gtrace.data
ok "gtrace: commands print the same as for the original recording" same gtrace alone
is "gtrace: SRC of two bits in a shared buffer" "$(read_as gtrace narrow)" "$all"
ok "gtrace: commands print the same as for the original recording with a shared buffer" same gtrace narrow
is "gtrace: SRC is wider than the number of CPUs needs" "$(read_as gtrace shared)" "$all"
is "gtrace: the header does not contain the number of CPUs" "$(read_as gtrace narrow no-cpus)" "$all"
is "gtrace: the recording lacks the SRC of each CPU" "$(read_as gtrace narrow no-ids)" "$all"
is "rvtrace: the recording lacks the format of the trace" "$(read_as rvtrace narrow)" "$all"
# Exchange CPUs in the expected branches. CPU 1, which sends SRC 0, executes the branches of CPU 0 in the original.
sed 's/^0 /x /; s/^1 /0 /; s/^x /1 /; s/^2 /x /; s/^3 /2 /; s/^x /3 /' narrow.branches >swapped.branches
foreign gtrace narrow.data swapped.data swap || exit 1
is "gtrace: AUX_OUTPUT_HW_ID assigns SRC to CPUs" "$(judged swapped swapped)" "$all"

for what in frames shared alone; do
	is "k3: $what" "$(read_as k3 $what)" "$all"
	ok "k3: commands print the same as for the original recording: $what" same k3 $what
done
ok "k3: a message names the recorder, and says that this was not tested with the hardware" says 0 "SpacemiT's K3, which is not tested with the hardware" "$ntrace" script -i k3.data
is "k3: the recording lacks the trace ID of each CPU" "$(read_as k3 frames no-ids)" "$all"

# The recording has four records of trace. In the fourth, the ring buffer wraps around, so the driver of gtrace writes
# the whole ring to this record. The first 186,496 bytes of this record were also in earlier records.
is "a ring that wrapped: no branch of an earlier session is printed again" "$(read_as ring one)" \
	"127912 branches, 0 wrong, 0 of a wrong thread, 88 missing, 1 errors 0"
ok "a ring that wrapped: a message reports the bytes of earlier sessions" says 0 "186496 bytes that earlier sessions left in the buffer are not decoded" "$ntrace" script -i ring.data
ok "a ring that wrapped: an error is at the place of the 64 missing bytes" \
	says 0 "error type 1 time 0.169373000 cpu 0 pid 1234 tid 1234 ip 0 code 1" "$ntrace" script -i ring.data

ok "gtrace: E-Trace" sentence 2 "is E-Trace, and not N-Trace" gtrace alone flags=0x100
ok "gtrace: an unknown format of the trace" sentence 2 "has a format that is not known" gtrace alone flags=0x400
ok "k3: E-Trace" sentence 2 "is E-Trace, and not N-Trace" k3 frames word=3:0
ok "k3: an unknown format of the trace" sentence 2 "has a format that is not known" k3 frames flags=0x200
ok "gtrace: metadata without words" sentence 2 "the metadata of its trace is too short" gtrace alone words=0
ok "gtrace: metadata without its type" sentence 2 "the metadata of its trace is too short" gtrace alone short
ok "k3: fewer words than CPUs" sentence 2 "its sizes do not fit" k3 frames words=20
ok "k3: no CPU" sentence 2 "its sizes do not fit" k3 frames word=0:0x2a00000000
ok "k3: an impossible number of CPUs" sentence 2 "its sizes do not fit" k3 frames word=0:0x2affffffff
ok "k3: a CPU with too many words" sentence 2 "the description of a CPU has values out of range" k3 frames word=2:0xffffffffffffffff
ok "k3: a CPU without words" sentence 2 "the description of a CPU has values out of range" k3 frames word=2:0
ok "k3: SRC of 200 bits" sentence 2 "the description of a CPU has values out of range" k3 frames word=6:200
ok "gtrace: an impossible number of CPUs" sentence 2 "it lists over 4096 CPUs" gtrace alone cpus=0xffffffff
done_testing
