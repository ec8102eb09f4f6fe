#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test `ntrace export` in the formats perfetto, speedscope, folded and sqlite. Each format must have the calls that
# `ntrace script` prints, with the right nesting.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
gcc=${CROSS_COMPILE:-riscv64-linux-gnu-}gcc
cd "$tap_tmp" || exit 1
check() { python3 "$top/tests/pictures/formats.py" "$@"; }
export_to() { "$ntrace" export --format "$1" -i "${2:-perf.data}" -o "${3:-out.$1}"; }

"$gcc" -g -Wl,--build-id -nostdlib -static -Wl,-Ttext=0x10000 -o calls "$top/tests/perf/calls.S" &&
	python3 "$top/tests/perf/mkcalls.py" calls perf.data two-sources &&
	python3 "$top/tests/pictures/checks.py" many calls many.data 600000 &&
	"$ntrace" script --calls --json -i perf.data >wanted || exit 1
# perf.data lacks the ends of 8 calls. In one thread, the trace stops 6 times inside a call of the kernel (see
# perf/mkcalls.py). The other two calls are _start() of each thread, which is open until the last instruction
extra=8

# Use names with characters that would break a file if they were not escaped, like html.t
cp calls evil
"${gcc%gcc}objcopy" --redefine-sym "inner=$(printf 'A%.0s' $(seq 64))" --redefine-sym "outer=$(printf 'B%.0s' $(seq 64))" evil &&
	python3 "$top/tests/pictures/checks.py" evil evil "$(printf 'a<b>;"&\001\377\n.elf')" evil.data || exit 1

plan 29
for format in perfetto speedscope; do
	ok "$format" export_to $format
	ok "$format has the calls" check $format out.$format wanted $extra
done
ok "folded" export_to folded
ok "folded has the sums of times" check folded out.folded ns wanted
ok "folded, instructions" "$ntrace" export --format folded --insns -i perf.data -o out.insns
ok "folded has the sums of instructions" check folded out.insns insns wanted
ok "pprof" export_to pprof
"$ntrace" report --limit 0 -i perf.data >report
build_id=$("${gcc%gcc}readelf" -n calls | sed -n 's/.*Build ID: //p')
ok "pprof has the stacks of the report" check pprof out.pprof report "$build_id"
pprof=$(ls "$O/root/pprof/usr/lib/"go-*/pkg/tool/linux_amd64/pprof 2>/dev/null)
if [ -n "$pprof" ]; then
	ok "go tool pprof -top prints what the report has" check pprof_top out.pprof report "$pprof"
else
	skip "go tool pprof -top prints what the report has" "no pprof; run tools/setup/setup pprof"
fi
if "$ntrace" export --format sqlite 2>&1 | grep -q 'in a build with'; then
	for n in 1 2; do skip "sqlite $n" "this build has no libsqlite3"; done
else
	ok "sqlite" export_to sqlite
	ok "sqlite has calls, callers, threads and samples" check sqlite out.sqlite wanted $extra
fi
for format in chrome speedscope folded jsonl; do
	export_to $format evil.data evil.$format >said 2>&1
	ok "$format with evil names is valid" check utf8 evil.$format
done
export_to perfetto evil.data evil.perfetto >said 2>&1
ok "perfetto with evil names is valid" check evil_perfetto evil.perfetto
export_to pprof evil.data evil.pprof >said 2>&1
ok "pprof with evil names is valid" python3 -c "
import gzip, sys
sys.path.insert(0, '$top/tests/pictures')
import formats
assert len(list(formats.parse(gzip.open('evil.pprof').read(), formats.PPROF))) > 9"
if [ -f out.sqlite ]; then
	export_to sqlite evil.data evil.sqlite >said 2>&1
	ok "sqlite with evil names is valid" python3 -c "
import sqlite3
assert len(sqlite3.connect('evil.sqlite').execute('SELECT * FROM calls, functions, threads, samples').fetchall()) > 5"
else
	skip "sqlite with evil names is valid" "this build has no libsqlite3"
fi
# Export 600,000 calls of two threads, because `ntrace export` sorts a smaller number of calls at once
for format in perfetto speedscope jsonl; do
	export_to $format many.data many.$format
	export_to $format many.data - 2>/dev/null | cmp - many.$format >said 2>&1
	is "$format of many calls, by all threads and by one" "$? $(cat said)" "0 "
	"$ntrace" export --threads 1 --format $format -i many.data -o one 2>/dev/null
	ok "$format by one thread is the same" cmp one many.$format
done
ok "600,000 calls are in order" python3 -c "
import json
last = 0
for n, line in enumerate(open('many.jsonl')):
    call = json.loads(line)
    assert call['time'] >= last
    last = call['time']
assert n == 599999, n"
if [ -f "${SPEEDSCOPE_SCHEMA:-}" ]; then
	ok "speedscope is valid by its schema" python3 -c "
import json, jsonschema, sys
jsonschema.validate(json.load(open('out.speedscope')), json.load(open('$SPEEDSCOPE_SCHEMA')))"
else
	skip "speedscope is valid by its schema" "SPEEDSCOPE_SCHEMA names no file-format-schema.json of speedscope"
fi
for program in flamegraph.pl /usr/share/flamegraph/flamegraph.pl; do
	! command -v "$program" >/dev/null || found=$program
done
if [ -n "${found:-}" ]; then
	ok "a flame graph of the stacks" sh -c "'$found' out.folded | grep -q 'inner ('"
else
	skip "a flame graph of the stacks" "no flamegraph.pl"
fi
done_testing
