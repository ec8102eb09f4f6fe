#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Apply each single change in tests/mutations to the libraries, the board, the driver or the perf part. A test must
# fail for at least 95 % of the changes. MUTATIONS=lib- selects the changes whose names begin with lib-. Results
# remain in build/mutations/results, and changes that already have a result are not tested again.
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
