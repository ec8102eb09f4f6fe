#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Read recordings with a damaged structure, and damaged files of counts, with sanitizers. Each command must end soon,
# exit with one of its documented statuses, and not change the recording or create another file.
#
# tests/long/session-damaged.t reads 100,000 of them, which takes about an hour. It can continue an interrupted run.
. "$(dirname "$0")/../harness/tap.sh"
number=${DAMAGED:-$(by_size 400 4000)}
build_sanitized || skip_all "this host's compiler has no sanitizers: $(grep -m1 error "$tap_tmp/make")"
mkdir "$tap_tmp/read"
recording good partial samples rounds two-sources frames lost-kept late-mapping switches clock-anew >/dev/null &&
	recording_as compressed rounds compressed && recording_as pipe rounds pipe && recording_as both rounds pipe compressed &&
	cp "$tap_tmp/calls" "$tap_tmp/read" && "$O/sanitized/bin/ntrace" profile --counts -i "$tap_tmp/good.data" -o "$tap_tmp/counts.data" &&
	gcc -D_GNU_SOURCE -Wall -Werror -shared -fPIC -o "$tap_tmp/serve.so" "$top/tests/session/serve.c" || exit

# A thread's stack of 8 MB takes the sanitizer longer to clear than a command takes
ulimit -s 512
plan 1
ok "$number damaged recordings are read by all commands without a crash, a hang or a loss" \
	python3 "$top/tests/session/damaged.py" "$O/sanitized/bin/ntrace" "$tap_tmp/serve.so" "$tap_tmp/read" \
	"${DAMAGED_NEXT:-0}" "$number" "$tap_tmp"/*.data
# After a complete run without a failure, the next run starts from the beginning
[ "$tap_failed" -ne 0 ] || rm -f "${DAMAGED_NEXT:-$tap_tmp/read/none}"
done_testing
