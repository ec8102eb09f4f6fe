#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Single changes of libraries, board, driver and perf part (tests/mutations): a test fails for 95 %
# of them and more. MUTATIONS=lib- for those whose names begin so; what was found stays in
# build/mutations/results, and is not looked for again.
. "$(dirname "$0")/../harness/tap.sh"

plan 1
# shellcheck disable=SC2086
if "$top/tests/mutations/mutate" run ${MUTATIONS:-} >"$tap_tmp/said" 2>&1; then
	pass "95 % of the changes make a test fail"
else
	fail "95 % of the changes make a test fail"
fi
sed 's/^/# /' "$tap_tmp/said"
figure "$(tail -n 1 "$tap_tmp/said")"
done_testing
