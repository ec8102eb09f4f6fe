#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test a full disk. If the board cannot write the truth, the trace or the counts completely, the command must
# fail with a message.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/bare.sh"
bare_setup
printf 'encoder te hart=0 to=ram\nramsink ram mode=smem\n' | bare_topology "$tap_tmp/topology"
bare_build "$tap_tmp/hostile" -DROUNDS=4 -DRUNNING=1 "$top/tests/board/hostile.c" || exit 1
plan 8

# full NAME SENTENCE FILE OPTIONS: check the message if FILE cannot be written
full() {
	rm -rf "$tap_tmp/d"
	mkdir "$tap_tmp/d"
	ln -s /dev/full "$tap_tmp/d/$3"
	bare_run "$tap_tmp/hostile" "$4" >"$tap_tmp/said" 2>&1
	is "$1" "$? $(grep -c "ntrace-board: $2: not complete: No space left on device" "$tap_tmp/said")" "1 1"
}
full "the truth" "hart 0: the truth" hart0.truth "truth=$tap_tmp/d"
full "the truth, and --limit ends the run" "hart 0: the truth" hart0.truth "truth=$tap_tmp/d,limit=5000"
full "a boot trace" "ram: the trace" ram.ntrace "boot-trace=$tap_tmp/d"
full "a boot trace, and --limit ends the run" "ram: the trace" ram.ntrace "boot-trace=$tap_tmp/d,limit=5000"
full "the counts" "$tap_tmp/d/stats: the counts" stats "stats=$tap_tmp/d/stats"
full "the counts, and --limit ends the run" "$tap_tmp/d/stats: the counts" stats "stats=$tap_tmp/d/stats,limit=5000"
rm -rf "$tap_tmp/d"
mkdir "$tap_tmp/d"
ok "a run that can write all of its files succeeds" bare_run "$tap_tmp/hostile" "truth=$tap_tmp/d,boot-trace=$tap_tmp/d,stats=$tap_tmp/d/stats"
ln -sf /dev/full "$tap_tmp/d/hart0.truth"
"$top/tools/board/board" run --no-driver --limit 1000000 --truth "$tap_tmp/d" -- true >"$tap_tmp/said" 2>&1
is "the command board also reports that the files are incomplete" "$? $(grep -c 'board: a file that this run wrote is not complete' "$tap_tmp/said")" "125 1"
done_testing
