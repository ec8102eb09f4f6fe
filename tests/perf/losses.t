#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Harts share sinks that get full. perf must report each loss for each hart, after the branches before the loss, and
# before the branches after the loss. SCHEDULES is the number of random schedules.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/losses.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
kver=${KVERS:-7.2}
"$top/tools/perf/build.sh" "$kver" x86_64 >"$tap_tmp/build" 2>&1 && losses_build || { cat "$tap_tmp/build"; exit 1; }
tool=perf
perf=$O/perf/$kver/x86_64/perf

losses_script() {
	"$perf" script -i "$tap_tmp/windows.data" --itrace=be --ns -F pid,tid,cpu,time,flags,ip,addr 2>/dev/null
}

# Print the call chain of the last instruction of hart 0's thread
last_chain() {
	"$perf" script -i "$tap_tmp/windows.data" --itrace=i1ig --tid 1234 -F ip,sym 2>/dev/null |
		awk '!NF { last = out; out = ""; next } { out = out (out == "" ? "" : " ") $NF } END { print out == "" ? last : out }'
}

plan 28
losses_all
for dialect in "" ratified; do
	# shellcheck disable=SC2086
	losses_windows "1:01 0:01 1!:1 0:0r1" $dialect
	is "perf, ${dialect:-sifive}: a loss drops the calls before it" "$(last_chain)" "done"
done
ok "perf reports each loss of ${SCHEDULES:-20} random schedules in its place" \
	losses_schedules "$perf" 1 "${SCHEDULES:-20}"
# In schedule 9565, the only sink writes a window for harts 1 and 2, and the next window for harts 0 and 3. perf must
# not assume that these are two sinks.
ok "perf: two buffers without a common hart may belong to one sink" losses_schedules "$perf" 9565 9565
done_testing
