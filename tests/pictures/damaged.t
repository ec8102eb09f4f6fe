#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Convert damaged recordings to each export, profile and page with sanitizers. The result must be a sentence without a crash,
# and no incomplete file may look complete.
. "$(dirname "$0")/../harness/tap.sh"
# Each recording is read for one of the formats in turn, or with EACH=1 for all
count=${DAMAGED:-70}
formats="perfetto chrome speedscope folded jsonl sqlite html lcov llvm bolt callgrind counts split merged"
build_sanitized ||
	skip_all "this host's compiler has no sanitizers: $(grep -m1 error "$tap_tmp/make")"
cd "$tap_tmp" || exit 1
"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -g -nostdlib -static -Wl,-Ttext=0x10000 -o calls "$top/tests/perf/calls.S" || exit 1
for what in good two-sources lost-kept rounds truncated; do
	python3 "$top/tests/perf/mkcalls.py" calls $what.data $what || exit 1
done
mkdir damaged
python3 "$top/tests/perf/damage.py" damaged "$count" good.data two-sources.data lost-kept.data rounds.data truncated.data || exit 1

# Make files of counts with a changed byte, or without their end
"$O/sanitized/bin/ntrace" profile --counts -i good.data -o counts && python3 - counts damaged "$count" <<'E2' || exit 1
import random, sys
with open(sys.argv[1], 'rb') as f:
    counts = f.read()
for seed in range(int(sys.argv[3])):
    rng, damaged = random.Random(seed), bytearray(counts)
    for _ in range(rng.randrange(1, 4)):
        damaged[rng.randrange(len(damaged))] = rng.choice(b'0123456789abcdef -\n\0\xff')
    if seed % 5 == 0:
        del damaged[rng.randrange(len(damaged)):]
    with open(f'{sys.argv[2]}/{seed}.data.counts', 'wb') as f:
        f.write(damaged)
E2

# through FORMAT FILE
through() {
	case $1 in
	html) set -- "$1" html -i "$2" -o written ;;
	split) mkdir -p shards && set -- "$1" split -i "$2" -n 3 -o shards ;;
	merged) set -- "$1" profile --bolt -i "$2.counts" -o written ;;
	lcov | llvm | bolt | callgrind | counts) set -- "$1" profile --"$1" -i "$2" -o written ;;
	*) set -- "$1" export --format "$1" -i "$2" -o written ;;
	esac
	shift
	rm -f written
	UBSAN_OPTIONS=halt_on_error=1:exitcode=99 ASAN_OPTIONS=exitcode=99 timeout 60 "$O/sanitized/bin/ntrace" "$@" >said 2>&1
}

all() {
	bad=0 seed=$2 tried=0
	while [ $seed -lt "$count" ]; do
		tried=$((tried + 1))
		through "$1" damaged/$seed.data
		rc=$?
		if [ $rc -gt 2 ] || grep -qE 'Sanitizer|runtime error' said || { [ $rc -ne 0 ] && ! [ -s said ]; }; then
			echo "seed $seed ($(cat damaged/$seed.how)): exit $rc"
			head -n 20 said
			bad=$((bad + 1))
		fi
		seed=$((seed + step))
	done
	echo "$tried recordings, $bad bad"
	[ $bad -eq 0 ] && [ $tried -gt 0 ]
}

plan 14
step=14 first=0
[ -z "${EACH:-}" ] || step=1
for format in $formats; do
	ok "$format of damaged recordings" all "$format" $first
	[ $step -eq 1 ] || first=$((first + 1))
done
done_testing
