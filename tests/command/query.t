#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test `ntrace query`. Random questions must select the calls that SQL selects in the exported database, an error
# must point at its column, and other commands must accept the printed times and windows.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
calls_program && cd "$tap_tmp" || exit
python3 "$top/tests/perf/mkcalls.py" calls two-sources.data two-sources && python3 "$top/tests/perf/mkcalls.py" calls missing.data missing-calls || exit
if command -v qemu-riscv64-static >/dev/null; then
	riscv64-linux-gnu-gcc -O1 -g -static -o requests "$top/tests/session/requests.c" && "$top/tests/harness/pcs" pcs requests &&
		"$ntrace" encode --elf requests --pcs pcs -o nt --timestamp && python3 "$top/tests/session/mkrecording.py" --timestamp requests nt requests.data || exit
fi
[ ! -e "$O/demo/perf.data" ] || cp -r "$O/demo/perf.data" demo.data

# same RECORDING COUNT: check that COUNT questions and their SQL select the same calls. The SQL uses the column
# "caller" instead of the column "last"
same() {
	[ -e "$1.data" ] || { echo "no $1"; return 0; }
	rm -f db && "$ntrace" export --format sqlite -o db -i "$1.data" && python3 "$top/tests/command/query.py" "$ntrace" "$1.data" db 5 "$2"
}
# The database view "inside" uses the column "last" to find the calls inside a call. The view must have the calls that
# follow from the column "caller".
inside() {
	rm -f db && "$ntrace" export --format sqlite -o db -i "$1.data" && python3 - <<'E2'
import sqlite3
db = sqlite3.connect("db")
got = db.execute("SELECT outer, id FROM inside ORDER BY 1, 2").fetchall()
wanted = db.execute("WITH RECURSIVE x(o, i) AS (SELECT caller, id FROM spans WHERE caller IS NOT NULL UNION ALL SELECT s.caller, x.i FROM x JOIN spans s "
                    "ON s.id = x.o WHERE s.caller IS NOT NULL) SELECT o, i FROM x ORDER BY 1, 2").fetchall()
print(len(got), "pairs of", len(wanted))
raise SystemExit(got != wanted or not got)
E2
}
# wrong QUERY COLUMN WORD: expect status 2, a caret below COLUMN of the query, and WORD in the message. A character
# of several bytes is one column.
wrong() {
	"$ntrace" query -i two-sources.data "$1" >printed 2>err
	rc=$?
	cat err
	[ $rc -eq 2 ] && [ ! -s printed ] && grep -qF -- "$3" err && [ "$(sed -n 3p err | tr -d '\n' | wc -c)" -eq $(($2 + 2)) ] &&
		[ "$(sed -n 2p err)" = "  $1" ]
}
all_wrong() {
	wrong "" 1 "a function such as main" && wrong "outer ns>1mx" 10 "a duration such as" && wrong "outer ns>" 10 "a duration" &&
		wrong "outer nz>1ms" 7 "can be compared" && wrong "outer (inner" 7 "has no )" && wrong "outer inner)" 12 "has no ( before" &&
		wrong "outer or" 9 "a function" && wrong "or outer" 1 '"or"' && wrong "outer has" 10 "a function" && wrong "insns>5x" 7 "a number" &&
		wrong 'caller="outer' 8 'has no closing' && wrong "comm<x" 5 "= or !=" && wrong "outer !inner" 7 "!=" && wrong "time>1:2" 6 "in seconds" &&
		wrong "ns>-1" 4 "a duration" && wrong "ns>99999999999999999999" 4 "a duration" && wrong "é é ns>x" 8 "a duration" &&
		wrong "$(printf '(%.0s' $(seq 1100))" 1001 "at most 1000"
}
nothing() {
	"$ntrace" query -i two-sources.data "$1" >printed 2>err
	rc=$?
	cat err
	[ $rc -eq 1 ] && [ ! -s printed ] && grep -qF -- "$2" err
}
nothings() { nothing "nosuch*" "nearest names" && nothing "outer has nosuch" "no call of nosuch" && nothing "outer ns>100s" "of the recording matches" && nothing "tid=1" "none of the 44 calls"; }
# Find the longest call of inner(), and give the time of this call to three other commands
feeds() {
	"$ntrace" script --calls --json -i two-sources.data >all && "$ntrace" query -i two-sources.data --json --limit 1 --sort ns inner >one &&
		window=$("$ntrace" query -i two-sources.data --print window --limit 1 --sort ns inner) && at=$("$ntrace" query -i two-sources.data --print time --limit 1 --sort ns inner) || return
	tid=$(sed 's/.*"tid": \([0-9]*\).*/\1/' one)
	cat one; echo "$window $at"
	"$ntrace" slow -i two-sources.data --time "$window" --tid "$tid" inner | grep -q "^inner was called 1 time\." &&
		"$ntrace" script --calls -i two-sources.data --time "$window" --tid "$tid" | grep -q inner &&
		"$ntrace" html -i two-sources.data --time "$window" -o page && [ "$at" = "${window%,*}" ]
}
counts() {
	[ "$("$ntrace" query -i two-sources.data --count "$1")" = "$2" ]
}
sorted() {
	"$ntrace" query -i two-sources.data --json --sort insns '*' | sed 's/.*"insns": \([0-9]*\).*/\1/' >got && sort -rn got | cmp - got &&
		[ "$("$ntrace" query -i two-sources.data '*' | wc -l)" -eq "$("$ntrace" query -i two-sources.data --count '*')" ] &&
		[ "$("$ntrace" query -i two-sources.data --limit 3 '*' | wc -l)" -eq 3 ]
}

plan 11
if "$ntrace" export --format sqlite 2>&1 | grep -q 'in a build with'; then
	for n in 1 2 3 4 5 6; do skip "sqlite $n" "this build has no libsqlite3"; done
else
	ok "two CPUs" same two-sources "$(by_size 30 200)"
	ok "missing code" same missing "$(by_size 30 200)"
	ok "a program with recursion and longjmp()" same requests "$(by_size 24 400)"
	ok "the recording of make demo" same demo "$(by_size 12 200)"
	ok "the view inside has the pairs that follow from the callers" inside two-sources
	ok "the view inside, of a recording with missing code" inside missing
fi
ok "an error points at its column" all_wrong
ok "nothing matches" nothings
ok "other commands accept the printed time of a call" feeds
ok "'not' binds more tightly than two conditions side by side, which bind more tightly than 'or'" counts "not outer inner or not not outer" "$("$ntrace" query -i two-sources.data --count 'inner or outer')"
ok "--sort sorts the calls, and --limit limits their number" sorted
done_testing
