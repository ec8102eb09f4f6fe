#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Harts share sinks, and sinks are full: `ntrace script` reports each loss for each hart, between the branches
# before and behind it. SCHEDULES is the number of random schedules.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/losses.sh"
make -C "$top" tool >"$tap_tmp/make" 2>&1 && losses_build || { cat "$tap_tmp/make"; exit 1; }
tool=ntrace

losses_script() {
	"$O/bin/ntrace" script -F pid,tid,cpu,time,flags,ip,addr -i "$tap_tmp/windows.data" 2>/dev/null
}

# Calls of inner by the thread of hart 0
inner_calls() {
	"$O/bin/ntrace" script --calls --tid 1234 -i "$tap_tmp/windows.data" 2>/dev/null | grep -c inner
}

plan 19
losses_all
for dialect in "" ratified; do
	# shellcheck disable=SC2086
	losses_windows "0:01 1!:1 0:0i1" $dialect
	is "ntrace, ${dialect:-sifive}: a call does not last over a loss" "$(inner_calls)" 0
	# shellcheck disable=SC2086
	losses_windows "1:01 1!:1 0:01 0:0i1" $dialect
	is "ntrace, ${dialect:-sifive}: a call that begins behind a loss is printed" "$(inner_calls)" 1
done
ok "ntrace reports each loss of ${SCHEDULES:-60} random schedules in its place" \
	losses_schedules "$O/bin/ntrace" 1 "${SCHEDULES:-60}"
done_testing
