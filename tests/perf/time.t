#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test perf script --time. For any number and position of time ranges, perf must print the branches that a run without
# --time prints in these ranges. All call chains must be possible.
. "$(dirname "$0")/../harness/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
data=$top/tests/perf
# KVERS=new tests only the newest perf
kvers=${KVERS:-$(perfs $(by_size new "lts new"))}
plan $(($(echo "$kvers" | wc -w) * 7))

recording rounds good two-sources || exit
for what in right waited anew anew-soon stopped stopped-long zero; do recording clock-$what || exit; done

script() { # WHAT OPTION...
	_what=$1; shift
	"$O/perf/$kver/x86_64/perf" script -i "$tap_tmp/$_what.data" --ns "$@" 2>/dev/null
}

# ranges_are_right WHAT FROM,TO...: check `perf script --time` with these ranges. The ranges are in nanoseconds, and
# relative to the time 0.1 s of the recording
ranges_are_right() {
	_of=$1; shift
	script "$_of" --itrace=b -F tid,cpu,time,ip,addr | awk -v ranges="$*" '
		{ t = $3; sub(":", "", t); ns = (t - 0.1) * 1e9 + 0.5 }
		{ for (i = split(ranges, r, " "); i; i--) { split(r[i], at, ","); if (int(ns) >= at[1] && int(ns) <= at[2]) { print; next } } }' \
		>"$tap_tmp/wanted"
	_time=$(for r; do printf '0.1%08d,0.1%08d ' "${r%,*}" "${r#*,}"; done)
	script "$_of" --itrace=b --time "${_time% }" -F tid,cpu,time,ip,addr >"$tap_tmp/got"
	echo "$(wc -l <"$tap_tmp/got") branches of $(wc -l <"$tap_tmp/wanted")"
	[ -s "$tap_tmp/wanted" ] && diff "$tap_tmp/wanted" "$tap_tmp/got"
}

# Each chain must be possible in calls.S
chains_are_right() {
	script rounds --itrace=i1ig --time "$many" -F ip,sym | awk '
		!NF && c != "" { n++; if (c !~ /^ ((_start|done)|outer( _start)?|inner( outer( _start)?)?|\[unknown\])?$/) { print "cannot be:" c; bad++ } c = "" }
		NF { c = c " " $NF } END { print n + 0, "chains"; exit bad || !n }'
}

# clock WHAT: print the first time after each start of trace, and the last time, in ticks of 100 ns. Also print how
# often perf warns that timestamps did not advance
clock() {
	"$O/perf/$kver/x86_64/perf" script -i "$tap_tmp/clock-$1.data" --itrace=b --ns -F time,ip >"$tap_tmp/lines" 2>"$tap_tmp/said" &&
		awk -v half=$(($(wc -l <"$tap_tmp/lines") / 2)) '{ sub(":", "", $1); t = sprintf("%.0f", $1 * 10000000) + 0 }
			NR == 1 || NR == half + 1 { printf "%d ", t } END { print t }' "$tap_tmp/lines"
	grep -c "timestamps of CPU 0 did not advance or went back" "$tap_tmp/said"
}

for kver in $kvers; do
	"$top/tools/perf/build.sh" $kver x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
	ok "perf $kver: one range" ranges_are_right good 400,600
	ok "perf $kver: ranges without a message with SYNC between them" ranges_are_right good 200,200 600,600 1000,1000
	set -- $(for i in 0 100000 200000 300000 400000 500000 600000 700000; do
		echo "$((i + 200)),$((i + 400)) $((i + 800)),$((i + 1000))"
	done)
	ok "perf $kver: 16 ranges, with and without a message with SYNC between them" ranges_are_right rounds "$@"
	many=$(for r; do printf '0.1%08d,0.1%08d ' "${r%,*}" "${r#*,}"; done); many=${many% }
	ok "perf $kver: the call chains in these 16 ranges are possible" chains_are_right
	is "perf $kver: times of a right counter, and of a message that waited in a queue, do not change" "$(clock right; clock waited)" "1000000 1002000 1002016
0
1000000 1000900 1000916
0"
	is "perf $kver: with a counter that restarted, stopped or is 0, perf uses the times of the kernel, and warns" \
		"$(for what in anew anew-soon stopped stopped-long zero; do clock $what; done)" "1000000 1001000 1001016
1
1000000 1001000 1001016
1
800000 1001000 1001000
1
1001000 1003000 1003000
1
1001000 1003000 1003000
1"
	ok "perf $kver: ranges of two sources in a buffer" ranges_are_right two-sources 400,600 1000,1200 200400,200600
done
done_testing
