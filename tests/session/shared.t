#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Several harts share a buffer, and switch between programs with different code at the same addresses. The hart and
# the thread of each printed branch must have executed this branch. If each hart has a separate buffer, the output
# must be the same. An incomplete message must be an error only of the hart that sent it.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/shards.sh"
build_tool
ntrace=$O/bin/ntrace
cd "$tap_tmp" || exit 1
gcc="${CROSS_COMPILE:-riscv64-linux-gnu-}gcc -nostdlib -static -Wl,-Ttext=0x10000"
$gcc -o calls "$top/tests/perf/calls.S" && $gcc -march=rv64g -o calls-uncompressed "$top/tests/perf/calls.S" || exit 1

make_it() { python3 "$top/tests/session/mkshared.py" calls "$@"; }

# judged NAME: print the result of tests/session/shared.py for the branches of NAME.data
judged() {
	"$ntrace" script -F tid,cpu,ip,addr -i "$1.data" 2>said | python3 "$top/tests/session/shared.py" "$1.branches"
}

# seeds FIRST LAST: make a recording for each seed, with another order of the harts and other messages, and check it
seeds() {
	for _n in $(seq "$1" "$2"); do
		make_it seed shared 4 20 "$_n" || return
		_said=$(judged seed) || { echo "seed $_n: $_said"; return 1; }
	done
	echo "$_said"
}

# same NAME COMMAND...: compare the output for NAME.data and alone.data, with one thread and with four threads
same() {
	_name=$1; shift
	for _t in 1 4; do
		"$ntrace" "$@" --threads $_t -i "$_name.data" >got 2>&1
		"$ntrace" "$@" --threads $_t -i alone.data >wanted 2>&1
		[ -s wanted ] && cmp got wanted || return
	done
}

# split_is NAME N SHARDS: check that SHARDS of N shards have counts, and that their sum equals the recording's
split_is() {
	"$ntrace" profile --counts -i "$1.data" -o one.counts && shards_merged "$1.data" "$2" || return
	[ "$(shards_filled)" -eq "$3" ]
}

plan 33
for what in shared alone frames cut damaged split unknown full calls calls-full calls-idle; do make_it $what $what || exit 1; done
for what in shared alone frames; do
	is "$what: branches" "$(judged $what)" "15360 branches, 0 wrong, 0 of a wrong thread, 0 missing, 0 errors"
done
make_it crumbs crumbs 4 5 || exit 1
is "messages in pieces of up to three bytes" "$(judged crumbs)" "1280 branches, 0 wrong, 0 of a wrong thread, 0 missing, 0 errors"
others=$(by_size 20 40)
ok "$others recordings with other random seeds have the right branches" seeds 2 $((others + 1))
for what in shared frames; do
	while read -r command; do
		# shellcheck disable=SC2086
		ok "$what: $command prints the same as for harts with their own buffers" same $what $command
	done <<-E2
		script -F tid,cpu,time,flags,ip,addr
		script --insns -F tid,cpu,time,ip
		script --calls
		report
		report --functions --limit 0
		report --stack
		slow outer
		profile --counts
	E2
done
make_it turns shared 4 15 7
ok "split: each of 4 stretches of a buffer can be a shard" split_is turns 4 4
ok "split: 9 shards of 4 stretches do not divide a stretch" split_is turns 9 4
is "a message that was cut off is an error of its hart" "$(judged cut)" \
	"15360 branches, 0 wrong, 0 of a wrong thread, 0 missing, 4 errors 0 1 3"
is "a message that continues in the next PERF_RECORD_AUX is an error, and harts continue at their next SYNC" "$(judged split)" \
	"15114 branches, 0 wrong, 0 of a wrong thread, 246 missing, 3 errors 0 1 3"
is "a damaged message of an unknown hart is an error of each hart" "$(judged damaged)" \
	"15185 branches, 0 wrong, 0 of a wrong thread, 175 missing, 4 errors 0 1 2 3"
is "a damaged message of an unknown hart is an error of each hart, at a time of this hart" "$("$ntrace" script -F ip,time -i damaged.data | grep -c 'error type 1 time 0[.]10')" 4
is "without the metadata of one hart, the branches of the other harts are right" "$(judged unknown)" \
	"11520 branches, 0 wrong, 0 of a wrong thread, 0 missing, 0 errors"
ok "without the metadata of one hart, a message names the SRC whose messages are skipped" grep -q 'messages of SRC 3 are skipped, because no encoder' said
is "a loss of a full AUX buffer is an error only of the hart of the buffer" "$(judged full)" \
	"15360 branches, 0 wrong, 0 of a wrong thread, 0 missing, 4 errors 0"
# calls_of NAME: print the calls and the losses of the second hart's thread
calls_of() {
	"$ntrace" script --calls --tid 2234 -i "$1.data" 2>said | awk '{ n++ } END { print n + 0 }'
}
is "a call that ends in the next stretch is printed" "$(calls_of calls)" 1
is "a call that ends in the next stretch, after idle bytes, is printed" "$(calls_of calls-idle)" 1
is "a call that a loss of its hart interrupts is not printed" "$(calls_of calls-full)" 0
done_testing
