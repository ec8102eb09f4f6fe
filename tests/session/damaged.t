#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Recordings that are damaged in their structure: each command ends soon, with an exit status that means
# something, and leaves the recording and no other file.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
mkdir "$tap_tmp/read"
recording good partial samples >/dev/null || exit

plan 1
ok "100 damaged recordings are read by all commands without a crash, a hang or a loss" \
	python3 "$top/tests/session/damaged.py" "$O/bin/ntrace" "$tap_tmp/read" 100 1 \
	"$tap_tmp/good.data" "$tap_tmp/partial.data" "$tap_tmp/samples.data"
done_testing
