#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# If an allocation of the decoder fails, the call must report an error, and the next call must
# continue without a loss. The traces are those of a real program, for which the decoder allocates
# memory many times. lib/ntt.t tests the same with small cases.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-nomem
mkdir -p "$dir"
unit_build_same >"$tap_tmp/make" 2>&1 ||
	{ cat "$tap_tmp/make"; exit 1; }
unit_workload 2 || exit 1
plan 3
# sweep NAME "ENCODE OPTIONS" "DECODE OPTIONS": decode, and let each allocation fail in turn
sweep() {
	# shellcheck disable=SC2086
	"$O/bin/ntrace" encode --elf "$dir/prog.elf" --pcs "$dir/prog.pcs" -o "$dir/nt" $2 || exit 1
	# shellcheck disable=SC2086
	ok "$1" "$dir/same" --elf "$dir/prog.elf" $3 "$dir/nt"
}
sweep HTM "" ""
sweep "BTM, implicit return" "--mode btm --implicit-return" --implicit-return
sweep "HTM, one source of many" "--src-bits 4 --src 7 --timestamp" "--src-bits 4 --timestamp"
done_testing
