#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Other commands of perf must work with N-Trace. Examples are report, annotate, and script with instruction and call
# traces. The commands read a small recording, which tests/perf/mkcalls.py makes.
. "$(dirname "$0")/../harness/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
. "$top/tests/perf/database.sh"
data=$top/tests/perf
kvers=$(perfs $(by_size new "lts new")) || exit
plan $((11 * $(echo "$kvers" | wc -w) + $(by_size 0 8)))
calls_program -g || exit
recording good truncated wrong-icnt || exit

perf() { "$O/perf/$kver/x86_64/perf" "$@" 2>"$tap_tmp/err" </dev/null; }
has() { # PATTERN COMMAND...: check that the output of COMMAND contains PATTERN
	_pattern=$1; shift
	"$@" >"$tap_tmp/has"; head -n 40 "$tap_tmp/has"
	grep -qE -- "$_pattern" "$tap_tmp/has"
}

report_tells() { # WHAT LINE...: check that perf report prints these lines at its end
	perf report --stdio -i "$tap_tmp/$1.data"
	shift
	cat "$tap_tmp/err"
	for line; do grep -qxE -- "$line" "$tap_tmp/err" || { echo "no: $line"; return 1; }; done
}

for kver in $kvers; do
	"$top/tools/perf/build.sh" $kver x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
	ok "$kver: report: instructions by function" has '[0-9]%.* outer *$' \
		perf report --stdio -i "$tap_tmp/good.data" --itrace=i1i -F overhead,sym
	ok "$kver: report: call chains" has '_start' \
		perf report --stdio -i "$tap_tmp/good.data" --itrace=i1ig -S inner -G
	ok "$kver: report --branch-history" has 'calls.S|outer|_start' \
		perf report --stdio -i "$tap_tmp/good.data" --itrace=i1il --branch-history
	ok "$kver: report prints the lost trace at its end" report_tells truncated \
		' +1  code 1: AUX buffer or sink full: trace was lost' 'AUX data lost 1 times out of [0-9]+!'
	ok "$kver: report prints the errors at its end" report_tells wrong-icnt \
		' +1  code 33: I-CNT continues after a jump to an unknown address' '1 instruction trace errors'
	ok "$kver: annotate finds samples in a function" has 'outer' \
		perf annotate --stdio -i "$tap_tmp/good.data" --itrace=i1i --objdump "${CROSS_COMPILE:-riscv64-linux-gnu-}objdump" outer
	ok "$kver: --insn-trace: bytes of each instruction" has 'insn: 02 90|insn: 82 80' \
		perf script -i "$tap_tmp/good.data" --insn-trace=raw
	is "$kver: --call-trace: calls, with depth" \
		"$(perf script -i "$tap_tmp/good.data" --call-trace | grep -cE '^.* (outer|inner) *$')" 6
	is "$kver: --call-ret-trace: calls and returns, with depth" \
		"$(perf script -i "$tap_tmp/good.data" --call-ret-trace | grep -cE ' (call|return) ')" 12
	ok "$kver: insn and insnlen of a branch" has 'ilen: [24] insn: ' \
		perf script -i "$tap_tmp/good.data" --itrace=b -F ip,insn,insnlen
	ok "$kver: source lines" has 'calls.S:[0-9]+' \
		perf script -i "$tap_tmp/good.data" --itrace=i1i -F ip,sym,srcline
done

large || done_testing

# ---- Make a database with the kernel's own script, and read it with the kernel's viewer
kver=new
rows() { db_rows "$tap_tmp/db" "$1"; }
if db_build >"$tap_tmp/build" 2>&1; then
	ok "export-to-sqlite.py" db_export "$tap_tmp/db" -i "$tap_tmp/good.data"
	is "the database has as many branches as perf script prints" "$(rows 'SELECT count(*) FROM samples WHERE id > 0')" \
		"$(perf script -i "$tap_tmp/good.data" --itrace=b -F ip | grep -c .)"
	is "the exported branches are those that perf script prints" "$(rows 'SELECT ip_hex, to_ip_hex FROM samples_view WHERE id > 0' | awk '{ print $1, $2 }')" \
		"$(perf script -i "$tap_tmp/good.data" --itrace=b -F ip,addr | awk '{ print $1, $3 }')"
	is "the exported calls are counted by function" \
		"$(rows "SELECT symbol, count(*) FROM calls_view WHERE flags = '' AND id > 0 GROUP BY symbol" | paste -sd' ')" \
		"inner 3 outer 3"
else
	tail -n 3 "$tap_tmp/build"
	for name in "export-to-sqlite.py" "the database has as many branches as perf script prints" "the exported branches are those that perf script prints" \
		"the exported calls are counted by function"; do skip "$name" "no python3-dev"; done
fi
python=$(db_qt_python)
if [ -e "$tap_tmp/db" ] && [ -n "$python" ]; then
	ok "exported-sql-viewer.py opens the database" db_view "$python" "$tap_tmp/db" "$tap_tmp/picture.png"
	cp "$tap_tmp/out" "$tap_tmp/view"
	is "the viewer shows the branches that perf script prints" "$(db_view_branches <"$tap_tmp/view")" \
		"$(perf script -i "$tap_tmp/good.data" --itrace=b -F ip,addr | awk '{ print $1, $3 }')"
	is "the viewer shows the call graph" "$(awk -F '\t' '$1 == "graph" && $4 == "calls" { print $2, $3, $5 }' "$tap_tmp/view" | paste -sd,)" \
		"2 _start 1,3 outer 3,4 inner 3,3 done 1"
	is "the viewer shows the call tree" "$(awk -F '\t' '$1 == "tree" && $4 == "calls" { print $2, $3 }' "$tap_tmp/view" | paste -sd,)" \
		"2 _start,3 outer,4 inner,3 outer,4 inner,3 outer,4 inner,3 done"
else
	for name in "exported-sql-viewer.py opens the database" "the viewer shows the branches that perf script prints" "the viewer shows the call graph" "the viewer shows the call tree"; do
		skip "$name" "no python3-dev, or no PySide2 (python3-pyside2.qtsql and .qtwidgets, libqt5sql5-sqlite)"
	done
fi
done_testing
