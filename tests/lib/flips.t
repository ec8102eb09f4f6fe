#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Flip 2,000 single bits in real traces, or 10,000 in make test-all. At most 1 % of the flips may give a
# wrong result without an error, and no result may be wrong after the next SYNC.
# shellcheck disable=SC2086
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-flips
mkdir -p "$dir"
unit_build flips >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
unit_workload 60 || exit 1
plan 9
flips=$(by_size 500 2500)
for kind in htm btm ir ts; do
	case $kind in
	htm) options= ;;
	btm) options="--mode btm" ;;
	ir) options=--implicit-return ;;
	ts) options=--timestamp ;;
	esac
	"$O/bin/ntrace" encode --elf "$dir/prog.elf" --pcs "$dir/prog.pcs" -o "$dir/$kind" \
		--sync-mode 1 --sync-max 4 $options || exit 1
	if "$dir/flips" "$dir/prog.elf" "$dir/$kind" $flips 20241121 $kind >"$tap_tmp/$kind"; then
		pass "$kind: after a flipped bit, the trace from the next SYNC on is right"
	else
		fail "$kind: after a flipped bit, the trace from the next SYNC on is right"
	fi
	figure "$(cat "$tap_tmp/$kind")"
done
# If the decoder accepts the deviations of the encoder "accemic", more messages are valid, so that the decoder detects
# fewer flips. Each number is the largest allowed share of undetected flips in hundredths of a percent.
for kind in htm:32 btm:56 ir:80; do
	limit=${kind#*:} kind=${kind%:*}
	"$dir/flips" "$dir/prog.elf" "$dir/$kind" $flips 20241121 $kind accemic >"$tap_tmp/accemic"
	figure "accemic, $(cat "$tap_tmp/accemic")"
	wrong=$(sed 's/.*harmless, \([0-9]*\) silently.*/\1/' "$tap_tmp/accemic")
	ok "$kind trace of an encoder with deviations: $wrong of $flips flips are silently wrong" test $((10000 * wrong)) -le $((limit * flips + 20000))
done
"$dir/flips" "$dir/prog.elf" "$dir/htm" 100 1 htm no-such-encoder >"$tap_tmp/none" 2>&1
is "an unknown encoder is refused" $? 2
silent=$(cat "$tap_tmp/htm" "$tap_tmp/btm" "$tap_tmp/ir" "$tap_tmp/ts" |
	sed 's/.*harmless, \([0-9]*\) silently.*/\1/' | awk '{ n += $1 } END { print n }')
if [ "$silent" -le $((4 * flips / 100)) ]; then
	pass "silently wrong: $silent of $((4 * flips))"
else
	fail "silently wrong: $silent of $((4 * flips))"
fi
done_testing
