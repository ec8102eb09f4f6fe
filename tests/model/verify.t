#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ntrace verify` must not confuse the code of a host with that of its guest, even at the same addresses.
# After a gap, it must find the position at which decoding continues, even in a loop.
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top" tool >"$tap_tmp/make" 2>&1 && make -C "$top/tools/board/model" O="$O" all >>"$tap_tmp/make" 2>&1 &&
	for program in verify-guest verify-gap; do
		"${CC:-cc}" -O2 -Wall -Wextra -Werror -I"$top/tools/board/model" -o "$tap_tmp/$program" \
			"$top/tests/model/$program.c" "$O/board/model/libnbmodel.a" || exit 1
	done || { cat "$tap_tmp/make"; exit 1; }
plan 15

# verified WHERE: print the result of verify for 100,000 rounds of five instructions. If WHERE is "same", host and guest
# have their code at the same address, and if it is "other", at different addresses
verified() {
	"$tap_tmp/verify-guest" "$1" 100000 "$tap_tmp/truth" "$tap_tmp/nt" &&
		"$O/bin/ntrace" verify --truth "$tap_tmp/truth" --trace "$tap_tmp/nt" 2>&1 | tail -n 1
}
all="500000 instructions compared, 0 differences, 0 gaps declared with 0 instructions, 0 missing outside gaps"
is "host and guest at different addresses" "$(verified other)" "$all"
is "host and guest at the same address" "$(verified same)" "$all"
# `ntrace verify` must report a difference if the truth and the trace are of different programs
"$tap_tmp/verify-guest" other 100 "$tap_tmp/truth" "$tap_tmp/other"
"$O/bin/ntrace" verify --truth "$tap_tmp/truth" --trace "$tap_tmp/nt" >"$tap_tmp/said" 2>&1
is "the trace of the other program differs from the truth" "$? $(grep -c 'first difference' "$tap_tmp/said")" "1 1"

# after_gap HOW [OPTIONS]: print the result of verify, and "all" if the numbers of compared and
# missing instructions add up to all instructions
after_gap() {
	how=$1; shift
	"$tap_tmp/verify-gap" "$how" "$tap_tmp/truth" "$tap_tmp/nt" >"$tap_tmp/made" || return
	read -r insns offset <"$tap_tmp/made"
	echo "$offset" >"$tap_tmp/lost"
	"$O/bin/ntrace" verify --truth "$tap_tmp/truth" --trace "$tap_tmp/nt" "$@" 2>&1 | tail -n 1 |
		awk -v all="$insns" '{ print $4, "differences,", $6, "gaps,", $12, "missing,",
			$1 + $10 == all ? "all" : $1 " + " $10 " of " all }'
}
is "a session without its end, in a loop" "$(after_gap full)" "0 differences, 1 gaps, 0 missing, all"
is "a session without its end, and the next session ends in the loop" "$(after_gap short)" "0 differences, 1 gaps, 0 missing, all"
is "bytes are missing in a loop" "$(after_gap middle)" "0 differences, 1 gaps, 0 missing, all"
is "bytes are missing in a loop, twice" "$(after_gap twice)" "0 differences, 2 gaps, 0 missing, all"
is "a session is missing, and an option gives its offset" "$(after_gap session --lost "$tap_tmp/lost")" \
	"0 differences, 1 gaps, 0 missing, all"
is "a session is missing soon after another loss, and an option gives its offset" "$(after_gap soon --lost "$tap_tmp/lost")" "0 differences, 2 gaps, 0 missing, all"
is "all sessions to the end are missing, and an option gives the offset" "$(after_gap end --lost "$tap_tmp/lost")" \
	"0 differences, 1 gaps, 0 missing, all"
is "all sessions to the end are missing, without an option" "$(after_gap end | sed 's/.* \([0-9]* missing\).*/\1/')" "26617 missing"
is "no session is missing at the offset of the option" "$(after_gap full --lost "$tap_tmp/lost")" \
	"0 differences, 1 gaps, 0 missing, all"
# Without --lost, `ntrace verify` must report a missing trace session as a difference. It must also report a loop
# iteration that is missing after a gap
is "a session is missing, without an option" "$(after_gap session | cut -d, -f1)" "1 differences"
is "one iteration is missing after a gap" "$(after_gap wrong | cut -d, -f1)" "1 differences"
printf '20\n10\n' >"$tap_tmp/lost"
"$O/bin/ntrace" verify --truth "$tap_tmp/truth" --trace "$tap_tmp/nt" --lost "$tap_tmp/lost" >"$tap_tmp/said" 2>&1
is "offsets in the wrong order are refused" "$? $(grep -c 'not a list of ascending offsets' "$tap_tmp/said")" "2 1"
done_testing
