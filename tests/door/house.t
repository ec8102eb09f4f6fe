#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test tests/run itself with small programs. This covers names and areas, sizes, the order, missing results,
# the report of a failure, the ledger, busy loops, and the progress line on a terminal.
. "$(dirname "$0")/../harness/tap.sh"
house=$tap_tmp/house
mkdir -p "$house/tests/lib" "$house/tests/perf" "$house/tests/long" "$house/tests/ntt"
cp "$top/tests/run" "$house/tests/"
echo "lib/one quick" >"$house/tests/sizes"
: >"$house/tests/ledger"
# put NAME LINES: write a test program with these lines of shell code
put() { printf '#!/bin/sh\n%b\n' "$2" >"$house/tests/$1.t" && chmod +x "$house/tests/$1.t"; }
put lib/one '\necho 1..1; echo ok 1 - one'
put lib/two '\necho 1..2; echo ok 1 - a; echo "ok 2 - b # SKIP no hardware"'
put perf/decode '\necho 1..1; echo ok 1 - decode'
put long/lib-one '\necho 1..1; echo not ok 1 - long'
run() { (cd "$house" && O=$house/build JOBS=1 tests/run "$@" 2>&1 </dev/null); }
ran() { run "$@" | sed -n 's/^== //p' | sort | paste -sd' '; }

plan 34
run lib >"$tap_tmp/lib"
is "the name of an area runs its programs" "$(sed -n 's/^== //p' "$tap_tmp/lib" | sort | paste -sd' ')" "lib-one lib-two"
is "the names of an area and of a program of another area" "$(ran lib perf/decode)" "lib-one lib-two perf-decode"
is "the three forms of a program's name" "$(ran lib/one lib-one tests/lib/one.t)" "lib-one lib-one lib-one"
is "without a name, all programs but those of tests/long run" "$(ran)" "lib-one lib-two perf-decode"
is "the last line is the sum of the results" "$(tail -n 1 "$tap_tmp/lib")" "2 passed, 0 failed, 1 skipped"
is "an unknown name is refused" "$(run nosuch; echo $?)" "tests/run: there is no test or area nosuch; areas are lib long perf
2"
is "a failure of a program of tests/long is counted" "$(run long/lib-one | tail -n 1)" "0 passed, 1 failed, 0 skipped"

# TEST_SIZE is the size of the run that started this program. Unset it, because tests/run below must use other sizes
unset TEST_SIZE
put perf/large '\necho 1..1; echo "ok 1 - $TEST_SIZE"'
echo "perf/large all" >>"$house/tests/sizes"
is "the quick size runs the programs that tests/sizes calls quick" "$(ran --quick)" "lib-one"
is "the default size leaves out programs that tests/sizes calls all" "$(ran)" "lib-one lib-two perf-decode"
is "the large size runs all programs but those of tests/long" "$(ran --all)" "lib-one lib-two perf-decode perf-large"
is "a program learns that the size is large" "$(cat "$house/build/tests/perf-large.log")" "1..1
ok 1 - all"
is "a program learns the default size" "$(run perf/large >"$tap_tmp/said"; cat "$house/build/tests/perf-large.log")" "1..1
ok 1 - test"
is "the long size runs the programs of tests/long" "$(ran --long)" "long-lib-one"
rm "$house/tests/perf/large.t"
is "tests/sizes names programs that exist" "$(awk 'NF && !/^#/ && $2 != "quick" && $2 != "all" { print "no size", $2 }
	NF && !/^#/ { print $1 }' "$top/tests/sizes" | while read -r name; do [ -f "$top/tests/$name.t" ] || echo "$name"; done)" ""
is "an option that does not exist is refused" "$(run --colour; echo $?)" \
	"tests/run: there is no option --colour; see tests/run --help
2"
# Each name of a test must be complete, so no name may begin with "..." to continue the name of the previous test
is "no name of a test continues another one" "$(cd "$top/tests" && grep -nE '^[^#]*[a-z_] "(\$[a-z]+:? )?\.{3} ' ./*/*.t)" ""
ok "--help says how to run a case" sh -c "'$top/tests/run' --help | grep -q 'tests/run ntt/'"

# Make a program that reads a single test case of the decoder
put lib/ntt '\necho 1..1; echo "ok 1 - $(basename "$1")"'
: >"$house/tests/ntt/case-a.ntt"
is "one case of the decoder runs alone" "$(run ntt/case-a >"$tap_tmp/said"; cat "$house/build/tests/ntt-case-a.log")" "1..1
ok 1 - case-a.ntt"
rm "$house/tests/lib/ntt.t"

# Make a failing program that uses the test harness
mkdir -p "$house/tests/harness" && cp "$top/tests/harness/tap.sh" "$house/tests/harness/" && : >"$house/Kbuild"
put lib/fails '\n. "$(dirname "$0")/../harness/tap.sh"\nplan 1\nis "two lines" "a\nx" "a\nb"\ndone_testing'
run --all lib/fails >"$tap_tmp/said"
is "a failure shows a unified diff" "$(sed -n '/^   | # @@/,/^   | # +x/p' "$tap_tmp/said" | head -n 4)" "   | # @@ -1,2 +1,2 @@
   | #  a
   | # -b
   | # +x"
is "a failure shows the command that repeats it alone" "$(sed -n 's/^   to repeat it alone: //p' "$tap_tmp/said")" "tests/run --all lib/fails"
put lib/fails '\n. "$(dirname "$0")/../harness/tap.sh"\nplan 2\necho no sink >"$tap_tmp/err"; seq 30 >"$tap_tmp/console"
	for n in 1 2; do fail "$n"; done\ndone_testing'
run lib/fails >"$tap_tmp/said"
is "a failure shows the errors and the end of the console of the last guest, once" \
	"$(sed -n '/^not ok 1/,$s/^# err: //p; /^not ok 1/,$s/^# console: //p' "$house/build/tests/lib-fails.log" | xargs)" "no sink $(seq 16 30 | xargs)"
put lib/fails '\n. "$(dirname "$0")/../harness/tap.sh"\nneed_tool no-such-tool a-package\nplan 1'
is "a program skips on a host that lacks its tool, and names the package" "$(run lib/fails >"$tap_tmp/said"; grep '^1\.\.0' "$tap_tmp/said"; tail -n 1 "$tap_tmp/said")" \
	"1..0 # SKIP this host has no no-such-tool; on Debian: apt-get install a-package
0 passed, 0 failed, 1 skipped"
put lib/fails '\n. "$(dirname "$0")/../harness/tap.sh"\nplan 1\nrecording good'
is "a program skips on a host that lacks a tool of the functions that it calls" "$(CROSS_COMPILE=no-such- run lib/fails | tail -n 1; grep -o 'no no-such-.*' "$house/build/tests/lib-fails.log")" \
	"0 passed, 0 failed, 1 skipped
no no-such-gcc; on Debian: apt-get install gcc-riscv64-linux-gnu"
put lib/fails '\n. "$(dirname "$0")/../harness/tap.sh"\n# recording good, $top/tools/board/board, bare.sh\nplan 1
ok "the recording is good, unlike that of unit_traces" true # CROSS_COMPILE'
is "a program does not skip because of a tool that only its comments and names of tests name" \
	"$(CROSS_COMPILE=no-such- run lib/fails | tail -n 1)" "1 passed, 0 failed, 0 skipped"
rm "$house/tests/lib/fails.t"

# The ledger limits the resources that an area may use.
put perf/boots '\necho "boots 2" >>"$TEST_LEDGER"; echo "instructions 3000000" >>"$TEST_LEDGER"; echo "compared 999999" >>"$TEST_LEDGER"
	echo 1..1; echo ok 1 - boots'
echo "perf 2 3 0" >"$house/tests/ledger"
is "an area that uses what tests/ledger allows passes" "$(run | tail -n 1)" "5 passed, 0 failed, 1 skipped"
echo "perf 1 - -" >"$house/tests/ledger"
is "an area that boots more often than tests/ledger allows fails" "$(run | grep 'allows\|passed, .*skipped$' | tail -n 2)" \
	"tests/ledger allows perf 1 boots, not 2
4 passed, 1 failed, 1 skipped"
rm "$house/tests/perf/boots.t"
: >"$house/tests/ledger"

# Busy loops run while a test program runs, and end at the end of the run
put perf/busy '\nps -o args= --ppid "$(ps -o ppid= -p $PPID | xargs ps -o ppid= -p | xargs)" | grep -c "while :; do :; done"
	echo 1..1; echo ok 1 - busy'
run --load 2 perf/busy >"$tap_tmp/said"
is "busy loops run beside a program" "$(head -n 1 "$house/build/tests/perf-busy.log")" 2
rm "$house/tests/perf/busy.t"

# Programs that took longest in the last run start first. A program that has never run is treated as a slow program
echo 3 >"$house/build/tests/lib-one.seconds"
echo 1 >"$house/build/tests/lib-two.seconds"
echo 2 >"$house/build/tests/perf-decode.seconds"
is "programs that took longest in the last run start first" "$(run | sed -n 's/^== //p' | paste -sd' ')" "lib-one perf-decode lib-two"

put lib/short '\necho 1..3; echo ok 1 - a'
is "fewer results than planned" "$(run lib/short | tail -n 1)" "1 passed, 2 failed, 0 skipped"
put lib/short '\necho 1..1; echo ok 1 - a; echo ok 2 - b'
is "more results than planned" "$(run lib/short | tail -n 1)" "2 passed, 1 failed, 0 skipped"
put lib/short '\nkill -9 $$'
is "a program that is killed" "$(run lib/short | tail -n 1)" "0 passed, 1 failed, 0 skipped"
rm "$house/tests/lib/short.t"
put misplaced '\necho 1..0'
is "a program without an area is refused" "$(run; echo $?)" \
	"tests/run: a test belongs to an area, as tests/lib/ntt.t does: $house/tests/misplaced.t
2"
rm "$house/tests/misplaced.t"

if command -v script >/dev/null; then
	(cd "$house" && O=$house/build script -qec "tests/run lib" /dev/null) >"$tap_tmp/terminal" </dev/null
	is "a terminal shows how many programs have ended" "$(tr '\r' '\n' <"$tap_tmp/terminal" | sed 's/^.\[K//' | grep -c '^\[[012] of 2\] ')" 4
else
	skip "a terminal shows how many programs have ended" "there is no script(1)"
fi
is "a file as output does not get the line of progress" "$(grep -c ' of 2\]' "$tap_tmp/lib")" 0
done_testing
