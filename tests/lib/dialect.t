#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Decode SiFive's pre-ratified messages. A separately written encoder (tests/dialect) encodes random
# programs, and every instruction, time and event is compared. Also flip single bits.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-dialect
mkdir -p "$dir"
build_tool
rt=$tap_tmp/roundtrip
flips=$tap_tmp/flips
# build PROGRAM SOURCE...: compile a program of this test with the library
build() {
	_out=$1; shift
	# shellcheck disable=SC2086
	gcc -g -O2 -Wall -Wextra ${SANITIZE:-} -I"$top/include" -o "$_out" "$@" \
		"$top/tests/dialect/encoder.c" "$O/lib/libntrace-elf.a" "$O/lib/libntrace.a" \
		-lelf -lpthread
}
build "$rt" "$top/tests/dialect/roundtrip.c" "$top/tests/dialect/program.c" || exit 1
build "$flips" "$top/tests/dialect/flips.c" || exit 1
unit_workload 60 || exit 1
plan 7
programs=$(by_size 80 400) millions=$(by_size 1 10)
ok "$programs programs, 25,000 instructions each" "$rt" run $programs 25000
# Seed 2 selects HTM, timestamps of 40 bits that are sent as XOR, and messages that report several equal branches as a
# run.
ok "one program, $millions million instructions" "$rt" run 1 ${millions}000000 2
ok "one program, implicit return, $millions million instructions" "$rt" run 1 ${millions}000000 4

# Count flips that change the decoded execution without an error. A decoder cannot notice a flip if the
# program could have executed what the damaged trace reports, see tests/dialect/judge.h. judge.h calls these flips
# legal.
silent='{ for (i = 1; i <= NF; i++) {
		if ($i == "flips:") flips += $(i - 1)
		if ($i == "silently") silent += $(i - 1)
		if ($i == "legal") legal += $(i - 4) } }
	END { printf "%d of %d flips silently wrong, %d of which are legal\n", silent, flips, legal
		exit flips < 500 || silent - legal * other > flips / 100 }'

# real NAME OTHER OPTION...: flip bits in the trace of a real program. If OTHER is 1, do not count flips that no
# decoder can notice
real() {
	name=$1 other=$2; shift 2
	for more in "" implicit-return times; do
		# shellcheck disable=SC2086
		"$flips" "$dir/prog.elf" "$dir/prog.pcs" 250 11 "$@" $more || return
	done >"$tap_tmp/flipped"
	ok "$name" awk -v other="$other" "$silent" "$tap_tmp/flipped"
}
real "a real program, HTM: silently wrong at most 1 %" 0 htm
real "a real program, BTM, no messages of software: silently wrong at most 1 %" 0 btm flow-only
real "a real program, BTM, messages of software: silently wrong at most 1 %, without legal flips" 1 btm

# In the trace of this random program, a flipped bit often reports another path that the program could also have
# taken, so that no decoder can notice the flip. The reason is that blocks are short, and both paths of a branch
# often have the same length and lead to the same address.
seed=20
while [ $seed -lt "$(by_size 30 50)" ]; do
	"$rt" flips $seed 60 || exit 1
	seed=$((seed + 1))
done >"$tap_tmp/flipped"
ok "a random program: silently wrong at most 1 %, without legal flips" awk -v other=1 "$silent" "$tap_tmp/flipped"
done_testing
