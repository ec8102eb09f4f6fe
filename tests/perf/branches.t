#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test branches.c -l, which checks branches after losses. branches.c must distinguish wrong branches, losses that no
# error reports, errors at another place than the loss, and errors without a loss.
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top/tools/board/model" O="$O" >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
for program in branches mktruth; do
	gcc -O2 -Wall -Wextra -Wno-sign-compare -I"$top/tools/board/model" -o "$tap_tmp/$program" \
		"$top/tests/perf/$program.c" "$O/board/model/libnbmodel.a" || exit
done
"$tap_tmp/mktruth" "$tap_tmp/truth" && "$tap_tmp/mktruth" "$tap_tmp/twice" 1 &&
	"$tap_tmp/mktruth" "$tap_tmp/often" 100 || exit

# Print WORDs in the form of perf script. A-B is the trace of the blocks A to B, from the start to the stop of trace.
# A-B- lacks the stop. A-B+ has one more branch, to a block that was not executed. E is an error. Thread 1 executes
# the first blocks. At each block in $threads, the next thread begins.
printed() {
	for word; do
		echo "$word"
	done | awk -v threads="$threads" '
		BEGIN { nr = split(threads, first) }
		function thread(block,  i) { for (i = 1; i <= nr && first[i] + 0 <= block; i++); return i "/" i }
		function line(block, flags, from, to) { printf "%s [000] 1.%09d: %s %s => %s\n", thread(block), ++n, flags, from, to }
		function at(block, offset) { if (block == 23) offset = 0; return sprintf("%x", 65536 + 4 * block + offset) }
		/E/ { print " instruction trace error type 1 time 1.0 cpu 0 pid 1 tid 1 ip 0 code 1: lost"; next }
		{
			split($0, ends, /[-+]/)
			line(ends[1], "tr strt", 0, at(ends[1], 0))
			for (i = ends[1]; i < ends[2]; i++)
				line(i, "return", at(i, 2), at(i + 1, 0))
			if (/[+]$/) line(ends[2], "return", at(ends[2], 2), at(4000, 0))
			else if (!/-$/) line(ends[2], "tr end", at(ends[2], 2), 0)
		}'
}
# said WORD...: run branches.c with option $ring on these branches, and print the result and exit status of branches.c
said() {
	printed "$@" | "$tap_tmp/branches" -c -l $ring "$tap_tmp/$truth" >"$tap_tmp/said"
	_status=$?
	sed -n 's/^hart 0: //p' "$tap_tmp/said" | sed "s/\$/; $_status/"
}
# judged WRONG TOLD SILENT MISPLACED NEEDLESS STATUS WORD...: check that branches.c prints these numbers of wrong
# intervals from a start of trace to the next start or error, and of losses, and exits with STATUS
judged() {
	_want="$1 wrong, $2 told, $3 silent, $4 misplaced, $5 needless; $6"
	shift 6
	_got=$(said "$@" | sed 's/^[0-9]* stretches, //;s/losses told with [0-9]* branches/told/;s/silent with [0-9]*/silent/;s/ errors;/;/')
	[ "$_got" = "$_want" ] || { echo "got: $_got"; echo "wanted: $_want"; return 1; }
}

# wrong_threads BLOCKS: set $threads to BLOCKS, and print how many branches have a wrong thread
wrong_threads() {
	threads=$1
	printed 0-5 6-11 12-17 18-23 | "$tap_tmp/branches" "$tap_tmp/truth" >"$tap_tmp/said"
	sed -n 's/.* \([0-9]*\) of a wrong thread.*/\1/p' "$tap_tmp/said"
	threads=
}

ring= truth=truth threads=
plan 24
is "a block that writes scontext belongs to the old thread, unless a message with SYNC reports it" "$(wrong_threads "6 9 15")" 0
is "the stop of the trace after that block belongs to the old thread" "$(wrong_threads "5 9 15")" 1
is "the branch of that block belongs to the old thread" "$(wrong_threads "6 8 15")" 1
is "the code after a message with SYNC belongs to the new thread" "$(wrong_threads "6 9 16")" 1
ok "all stretches, and nothing is missing" judged 0 0 0 0 0 0 0-5 6-11 12-17 18-23
ok "an error reports that the end of a stretch is missing" judged 0 1 0 0 0 0 0-5 6-8- E 12-17 18-23
ok "an error reports that whole stretches are missing" judged 0 1 0 0 0 0 0-5 E 18-23
ok "an error reports that the end of the recording is missing" judged 0 1 0 0 0 0 0-5 6-11 E
ok "an error reports that the start of the recording is missing" judged 0 1 0 0 0 0 E 6-11 12-17 18-23
ok "no error reports what is missing" judged 0 0 1 0 0 1 0-5 6-8- 12-17 18-23
ok "no error reports that the last stretch is missing" judged 0 0 1 0 0 1 0-5 6-11 12-17
ok "the error is before the stretch whose end is missing" judged 0 0 0 1 0 1 0-5 E 6-8- 12-17 18-23
ok "the error is after the stretch that follows the loss" judged 0 0 0 1 0 1 0-5 12-17 E 18-23
ok "an error without a loss is counted as needless" judged 0 0 0 0 1 0 0-5 E 6-11 12-17 18-23
ok "a branch that was not executed is wrong, and the other branches are still compared" judged 1 1 0 0 0 1 0-5 6-8+ E 12-17 18-23
ok "two losses, and an error for one of them" judged 0 1 1 0 0 1 0-5 E 12-14- 18-23
ok "without -r, a stretch must begin at its start" judged 1 1 0 0 0 1 0-5 E 8-11 12-17 18-23
truth=twice
ok "a stretch that was executed before and after a loss follows the loss" judged 0 1 0 0 0 0 0-5 E 6-11 18-23
ok "a stretch that was executed twice, and no error reports a later loss" judged 0 1 1 0 0 1 0-5 E 12-17 18-23
ok "no error reports the loss between two equal stretches" judged 0 0 1 0 0 1 0-5 6-11 18-23
truth=often
# shellcheck disable=SC2046
ok "many equal stretches before and after a loss" judged 0 1 0 0 0 0 0-5 E $(printf '6-11 %.0s' $(seq 100)) 18-23
truth=truth
ring=-r
ok "with -r, the start of a stretch may be missing" judged 0 1 0 0 0 0 0-5 E 8-11 12-17 18-23
ok "with -r, the start of a stretch is missing, and no error reports it" judged 1 0 1 0 0 1 0-5 8-11 12-17 18-23
ok "with -r, a branch that was not executed is wrong, even after a loss" judged 1 1 0 0 0 1 0-5 E 8-10+ 12-17 18-23
done_testing
