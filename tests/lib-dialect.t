#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# SiFive's pre-ratified messages: random programs through an encoder that is written apart
# (tests/dialect), every instruction, time and event compared; and single bits flipped.
. "$(dirname "$0")/lib/tap.sh"
make -C "$top" lib >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
rt=$tap_tmp/roundtrip
# shellcheck disable=SC2086
gcc -g -O2 -Wall -Wextra ${SANITIZE:-} -I"$top/include" -o "$rt" "$top/tests/dialect/roundtrip.c" \
	"$top/tests/dialect/encoder.c" "$top/tests/dialect/program.c" "$O/lib/libntrace.a" \
	-lpthread || exit 1
plan 4
ok "400 programs, 25,000 instructions each" "$rt" run 400 25000
# seed 2: HTM, timestamps by XOR, 40 bits, runs of branches
ok "one program, 10 million instructions" "$rt" run 1 10000000 2
ok "one program, implicit return, 10 million instructions" "$rt" run 1 10000000 4

# A program of short blocks, whose ways often are equally long and meet again, hides more flips
# than an ordinary one.
seed=20
while [ $seed -lt 50 ]; do
	"$rt" flips $seed 100 || exit 1
	seed=$((seed + 1))
done >"$tap_tmp/flips"
awk '/^HTM/ { flips += 100; for (i = 1; i <= NF; i++) if ($i == "silently") silent += $(i - 1) }
	END { printf "%d of %d\n", silent, flips; exit flips < 1000 || silent > flips / 25 }' \
	"$tap_tmp/flips" >"$tap_tmp/said"
rc=$?
is "flips in HTM: silently wrong at most 4 %, though programs are random" $rc 0
figure "silently wrong: $(cat "$tap_tmp/said") flips"
done_testing
