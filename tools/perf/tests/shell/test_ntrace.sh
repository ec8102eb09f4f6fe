#!/bin/bash
# RISC-V N-Trace recording and decoding
# SPDX-License-Identifier: GPL-2.0

# Exit with 2 (skip) if there is no trace encoder.
set -e

perf list pmu 2>/dev/null | grep -q 'ntrace//' || exit 2

tmp=$(mktemp -d /tmp/perf-ntrace-test-XXXXX)
trap 'rm -rf "$tmp"' EXIT TERM INT
data=$tmp/perf.data
errors=0

check() { # NAME MIN OPTIONS...: record, and find at least MIN branches, and no error
	local name=$1 min=$2 count bad
	shift 2
	if ! perf record -o "$data" "$@" >"$tmp/record" 2>&1; then
		echo "$name: recording failed"
		cat "$tmp/record"
		errors=$((errors + 1))
		return
	fi
	perf script -i "$data" --itrace=be >"$tmp/script" 2>/dev/null
	count=$(grep -c 'branches' "$tmp/script" || true)
	bad=$(grep -c 'instruction trace error' "$tmp/script" || true)
	rm -rf "$data"
	if [ "$count" -lt "$min" ] || [ "$bad" -ne 0 ]; then
		echo "$name: $count branches, $bad errors"
		errors=$((errors + 1))
		return
	fi
	echo "$name: ok, $count branches"
}

check "user code of a program" 100 -e ntrace//u -- true
check "per thread" 100 --per-thread -e ntrace//u -- true
check "without thread ids in the trace" 100 -e ntrace/context=0/u -- true
check "without timestamps" 100 -e ntrace/timestamp=0/u -- true
check "branch trace messages" 100 -e ntrace/mode=3/u -- true
check "one CPU, kernel too" 100 --kcore -C 0 -e ntrace// -- true

[ $errors -eq 0 ]
