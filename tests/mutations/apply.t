#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check that each change of tests/mutations applies to the sources. tests/long/mutations.t checks that tests fail with
# these changes.
. "$(dirname "$0")/../harness/tap.sh"

plan 4
list=$("$top/tests/mutations/mutate" list | wc -l)
ok "there are 100 changes and more ($list)" [ "$list" -ge 100 ]
ok "each change applies at one place" "$top/tests/mutations/mutate" check
ok "nine of ten changes that were drawn at random apply" "$top/tests/mutations/drawn" check
# Run mutate in a folder without the sources and tests that the changes name. mutate must fail.
cp -r "$top/tests/mutations" "$tap_tmp/tests" && mkdir -p "$tap_tmp/other/tests/mutations" &&
	cp "$top"/tests/mutations/* "$tap_tmp/other/tests/mutations/"
"$tap_tmp/other/tests/mutations/mutate" check lib- >"$tap_tmp/said" 2>&1
is "mutate check fails if sources and tests are missing" "$? $(grep -c 'stand 0 times\|no test' "$tap_tmp/said" | sed 's/[1-9][0-9]*/some/')" "1 some"
done_testing
