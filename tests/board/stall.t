#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test trTeInstStallEna: "If TE cannot send a message, the hart is stalled until it can". The hart must
# stop while its sink is full, and continue without loss when another hart has emptied the sink. If
# no hart empties it, real hardware hangs, but the board must end the run with a message.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/bare.sh"
bare_setup
printf 'encoder te%d hart=%d to=ram%d\n' 0 0 0 1 1 1 >"$tap_tmp/list"
printf 'ramsink ram%d mode=smem\n' 0 1 >>"$tap_tmp/list"
bare_topology "$tap_tmp/topology" <"$tap_tmp/list"
plan 6

bare_build "$tap_tmp/two" -DALONE=0 "$top/tests/board/stall.c"
ok "the program with a traced hart ends" bare_run "$tap_tmp/two" "stats=$tap_tmp/stats" -smp 2
is "a hart stalls each time that the sink is full, and finishes its work" "$(tr -d '\r' <"$tap_tmp/out" | xargs)" \
	"full, it stalls full, it stalls full, it stalls empty"
count() { sed -n "s/^$1 \(.* \)\{0,1\}$2=\([0-9]*\).*/\2/p" "$tap_tmp/stats"; }
ok "the hart with trTeInstStallEna stalled ($(count hart1 stalls) times), the other hart did not stall ($(count hart0 stalls))" \
	[ "$(count hart1 stalls)0" -ge 10 -a "$(count hart0 stalls)" = 0 ]
is "nothing was lost" "$(count te1 overflows) $(count te1 blocks_lost)" "0 0"

bare_build "$tap_tmp/alone" -DALONE=1 "$top/tests/board/stall.c"
bare_timeout=20 bare_run "$tap_tmp/alone" "stall-limit=1000" -smp 2 >"$tap_tmp/said" 2>&1
is "a hart that stalls forever ends the run" $? 1
ok "a message reports which hart stalls forever, and why" grep "hart 1 stalls forever, because trTeInstStallEna is 1 and its sink accepts no messages" "$tap_tmp/said"
done_testing
