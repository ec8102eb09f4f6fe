#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Recordings that are damaged in their structure: each command ends soon, with an exit status that means
# something, and leaves the recording and no other file.
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top" tool >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -nostdlib -static -Wl,-Ttext=0x10000 -o "$tap_tmp/calls" "$top/tests/perf/calls.S" || exit
mkdir "$tap_tmp/read"
for what in good partial samples; do
	python3 "$top/tests/perf/mkcalls.py" "$tap_tmp/calls" "$tap_tmp/$what.data" $what >/dev/null || exit
done

plan 1
ok "100 damaged recordings are read by all commands without a crash, a hang or a loss" \
	python3 "$top/tests/session/damaged.py" "$O/bin/ntrace" "$tap_tmp/read" 100 1 \
	"$tap_tmp/good.data" "$tap_tmp/partial.data" "$tap_tmp/samples.data"
done_testing
