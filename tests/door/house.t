#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# tests/run itself, with small programs: names and areas, the order, results that are missing, the line of
# progress on a terminal.
. "$(dirname "$0")/../harness/tap.sh"
house=$tap_tmp/house
mkdir -p "$house/tests/lib" "$house/tests/perf" "$house/tests/long"
cp "$top/tests/run" "$house/tests/"
# put NAME LINES: a program
put() { printf '#!/bin/sh\n%b\n' "$2" >"$house/tests/$1.t" && chmod +x "$house/tests/$1.t"; }
put lib/one '\necho 1..1; echo ok 1 - one'
put lib/two '\necho 1..2; echo ok 1 - a; echo "ok 2 - b # SKIP no hardware"'
put perf/decode '\necho 1..1; echo ok 1 - decode'
put long/lib-one '\necho 1..1; echo not ok 1 - long'
run() { (cd "$house" && O=$house/build JOBS=1 tests/run "$@" 2>&1 </dev/null); }
ran() { run "$@" | sed -n 's/^== //p' | sort | paste -sd' '; }

plan 14
is "an area" "$(ran lib)" "lib-one lib-two"
is "an area, and one program of another" "$(ran lib perf/decode)" "lib-one lib-two perf-decode"
is "a program, by either name" "$(ran lib/one) $(ran lib-one) $(ran tests/lib/one.t)" "lib-one lib-one lib-one"
is "all, but for long ones" "$(ran)" "lib-one lib-two perf-decode"
is "the sum is the last line" "$(run lib | tail -n 1)" "2 passed, 0 failed, 1 skipped"
is "no such test" "$(run nosuch; echo $?)" "tests/run: there is no test or area nosuch; areas are lib long perf
2"
is "a long one that fails" "$(run long/lib-one | tail -n 1)" "0 passed, 1 failed, 0 skipped"

# what took longest the last time begins first; what never ran counts as long
echo 3 >"$house/build/tests/lib-one.seconds"
echo 1 >"$house/build/tests/lib-two.seconds"
echo 2 >"$house/build/tests/perf-decode.seconds"
is "the longest first" "$(run | sed -n 's/^== //p' | paste -sd' ')" "lib-one perf-decode lib-two"

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
	is "a terminal shows how far it is" "$(tr '\r' '\n' <"$tap_tmp/terminal" | sed 's/^.\[K//' | grep -c '^\[[012] of 2\] ')" 4
else
	skip "a terminal shows how far it is" "there is no script(1)"
fi
is "... and a file does not" "$(run lib | grep -c ' of 2\]')" 0
done_testing
