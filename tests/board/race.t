#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Each hart runs in its own thread, and stops and starts the encoder of another hart while that hart
# writes its scontext. The decoded trace of each hart must equal the truth, including the context,
# and no trace may be lost.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/bare.sh"
bare_setup
harts=4
rounds=${ROUNDS:-400}
[ -z "${LONG:-}" ] || rounds=20000
bare_build "$tap_tmp/race" -DHARTS=$harts -DROUNDS="$rounds" "$top/tests/board/race.c" || exit 1
for h in $(seq 0 $((harts - 1))); do echo "encoder te$h hart=$h to=ram$h"; done >"$tap_tmp/list"
for h in $(seq 0 $((harts - 1))); do echo "ramsink ram$h mode=smem"; done >>"$tap_tmp/list"
bare_topology "$tap_tmp/topology" <"$tap_tmp/list"
plan $((3 + 2 * harts))
ok "the program ends on all harts" env bare_timeout=200 sh -c "
	. '$top/tests/board/bare.sh'; tap_tmp='$tap_tmp'
	bare_run '$tap_tmp/race' 'truth=$tap_tmp,truth-stacks=on,boot-trace=$tap_tmp,stats=$tap_tmp/stats' -smp $harts -accel tcg,thread=multi"
is "the truth has stack pointers, which is version 2 of the file" \
	"$(od -An -tu4 -j8 -N4 "$tap_tmp/hart0.truth" | tr -d ' ')" 2
for h in $(seq 0 $((harts - 1))); do
	ok "hart $h: the decoded trace equals the truth" "$O/bin/ntrace" verify --quiet --truth "$tap_tmp/hart$h.truth" --trace "$tap_tmp/ram$h.ntrace"
	figure "hart $h: $(xargs <"$tap_tmp/out")"
	n=$("$O/bin/ntrace" dump "$tap_tmp/ram$h.ntrace" | grep -c 'SYNC=5')
	ok "hart $h: its trace was restarted ($n times)" [ "$n" -ge $((rounds / 40)) ]
done
is "no trace was lost, and the code allows each step from block to block" "$(awk '{ for (i = 2; i <= NF; i++) { split($i, a, "=")
	if (a[1] == "overflows" || a[1] == "edges" || a[1] == "blocks_lost") n += a[2] } } END { print n + 0 }' "$tap_tmp/stats")" 0
done_testing
