#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What perf has on top of samples, with N-Trace: report, annotate, traces of instructions
# and calls, on a small recording that was put together by hand (tests/perf/mkcalls.py).
. "$(dirname "$0")/lib/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
data=$top/tests/perf
plan 18
"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -g -nostdlib -static -Wl,-Ttext=0x10000 -o "$tap_tmp/calls" "$data/calls.S" || exit
python3 "$data/mkcalls.py" "$tap_tmp/calls" "$tap_tmp/good.data" good || exit

perf() { "$O/perf/$kver/x86_64/perf" "$@" 2>"$tap_tmp/err" </dev/null; }
has() { # PATTERN COMMAND...: its output has it
	_pattern=$1; shift
	"$@" >"$tap_tmp/has"; head -n 40 "$tap_tmp/has"
	grep -qE -- "$_pattern" "$tap_tmp/has"
}

for kver in 6.12 7.2; do
	"$top/tools/perf/build.sh" $kver x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
	ok "$kver: report: instructions by function" has '[0-9]%.* outer *$' \
		perf report --stdio -i "$tap_tmp/good.data" --itrace=i1i -F overhead,sym
	ok "$kver: report: call chains" has '_start' \
		perf report --stdio -i "$tap_tmp/good.data" --itrace=i1ig -S inner -G
	ok "$kver: report --branch-history" has 'calls.S|outer|_start' \
		perf report --stdio -i "$tap_tmp/good.data" --itrace=i1il --branch-history
	ok "$kver: annotate finds samples in a function" has 'outer' \
		perf annotate --stdio -i "$tap_tmp/good.data" --itrace=i1i --objdump "${CROSS_COMPILE:-riscv64-linux-gnu-}objdump" outer
	ok "$kver: --insn-trace: bytes of each instruction" has 'insn: 02 90|insn: 82 80' \
		perf script -i "$tap_tmp/good.data" --insn-trace=raw
	is "$kver: --call-trace: calls, with depth" \
		"$(perf script -i "$tap_tmp/good.data" --call-trace | grep -cE '^.* (outer|inner) *$')" 6
	is "$kver: --call-ret-trace: and returns" \
		"$(perf script -i "$tap_tmp/good.data" --call-ret-trace | grep -cE ' (call|return) ')" 12
	ok "$kver: insn and insnlen of a branch" has 'ilen: [24] insn: ' \
		perf script -i "$tap_tmp/good.data" --itrace=b -F ip,insn,insnlen
	ok "$kver: source lines" has 'calls.S:[0-9]+' \
		perf script -i "$tap_tmp/good.data" --itrace=i1i -F ip,sym,srcline
done
done_testing
