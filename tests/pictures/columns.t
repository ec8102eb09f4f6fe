#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test `ntrace export --format parquet`. Two independent readers of Parquet must find the same rows as in the export
# to SQLite, and must refuse damaged files.
. "$(dirname "$0")/../harness/tap.sh"
packages=$O/root/columns
[ -d "$packages/node_modules" ] && node --version >/dev/null 2>&1 || skip_all "no readers of Parquet; run make setup with npm and node"
build_tool
ntrace=$O/bin/ntrace
"$ntrace" export --format sqlite 2>&1 | grep -q 'in a build with' && skip_all "this build has no libsqlite3"
gcc=${CROSS_COMPILE:-riscv64-linux-gnu-}gcc
readers() { node "$top/tests/pictures/columns/readers.mjs" "$packages" "$@"; }

calls_program -g -Wl,--build-id && recording good two-sources guest partial missing-calls no-time && cd "$tap_tmp" &&
	cp calls evil &&
	"${gcc%gcc}objcopy" --redefine-sym "inner=$(printf 'A%.0s' $(seq 64))" --redefine-sym "outer=$(printf 'B%.0s' $(seq 64))" evil &&
	python3 "$top/tests/pictures/checks.py" evil evil "$(printf 'a<b>;"&\001\377\n.elf')" evil.data &&
	python3 "$top/tests/pictures/checks.py" many calls many.data 300000 &&
	python3 "$top/tests/session/mkevents.py" calls events.data || exit 1

cat >same.py <<'EOT2'
import json, sqlite3, sys
table, database, rows = sys.argv[1:]
SQL = {
    'calls': 'SELECT s.id, s.time, s.ns, s.on_cpu_ns, s.insns, s.depth, s.caller, s.open, t.pid, t.tid, t.comm, f.function, f.object'
             ' FROM spans s JOIN threads t ON t.id = s.thread JOIN functions f ON f.id = s.function ORDER BY s.id',
    'threads': 'SELECT pid, tid, comm FROM threads ORDER BY id',
    'functions': 'SELECT function, object, address FROM functions ORDER BY id',
}
wanted = sqlite3.connect(database).execute(SQL[table])
n = 0
with open(rows) as f:
    for line, want in zip(f, wanted):
        got = json.loads(line)
        if table == 'functions':
            got = got[0], got[1], got[3]
            # The reader in JavaScript has no integers above 2^53
            want = want[0], want[1], int(float(want[2] % 2**64))
            got = got[0], got[1], int(float(got[2]))
        elif table == 'calls':
            got = got[:13]
        assert list(got) == list(want), (n, got, want)
        n += 1
    assert not f.readline() and not wanted.fetchone() and n, n
print(n, table)
EOT2
# same NAME: export NAME.data to Parquet and to SQLite. Both readers must find the calls, threads and functions of the
# database
same() {
	"$ntrace" export --format parquet -i "$1.data" -o "$1.tables" && "$ntrace" export --format sqlite -i "$1.data" -o "$1.db" || return
	for table in calls threads functions; do
		# make test reads the large recording with only one reader
		for reader in duckdb $([ "$1" = many ] && by_size "" hyparquet || echo hyparquet); do
			readers rows $reader "$1.tables/$table.parquet" >rows && python3 same.py $table "$1.db" rows || return
		done
	done
}
sql() { readers query "$@"; }
says() {
	_rc=$1 _text=$2; shift 2
	"$@" >said 2>&1
	rc=$?
	cat said
	[ $rc -eq "$_rc" ] && grep -qF -- "$_text" said
}
# damage FILE: check that both readers refuse a file without its end, or with changed bytes. hyparquet does not verify
# the checksum of zstd, so print how often it reads wrong rows. The footer of the file has no checksum, so DuckDB may
# fail to detect a few of a thousand changes of the footer.
damage() {
	readers damage "$1" 200 >damage.json || return
	cat damage.json
	grep -v '^[dh]' damage.json | python3 -c "
import json, sys
d = json.load(sys.stdin)
for reader in 'duckdb', 'hyparquet':
    assert d[reader + ' cut'] == {'refused': 200, 'same': 0, 'other': 0}
assert d['duckdb changed']['refused'] > 100 and d['duckdb changed']['other'] <= 3"
}
build_id=$("${gcc%gcc}readelf" -n calls | sed -n 's/.*Build ID: //p')
few_bytes() {
	bytes=$(sql "SELECT sum(total_compressed_size) / count(DISTINCT row_group_id) / 262144 FROM
		parquet_metadata('many.tables/calls.parquet') WHERE row_group_num_rows = 262144")
	echo "$bytes bytes a call"
	python3 -c "import sys; sys.exit(not 0 < float(sys.argv[1]) <= 8)" "$bytes"
}
# The file has two row groups of calls. Together, they must span the times of all calls
groups() {
	sql "SELECT row_group_id, stats_min_value, stats_max_value FROM parquet_metadata('many.tables/calls.parquet')
		WHERE path_in_schema = 'time'" | tee groups
	[ "$(wc -l <groups)" -eq 2 ] && [ "$(sql "SELECT min(time), max(time) FROM 'many.tables/calls.parquet'")" = \
		"$(python3 -c "
rows = [list(map(int, line.split('|')[1:])) for line in open('groups')]
print(min(a for a, _ in rows), max(b for _, b in rows), sep='|')")" ]
}
# The table losses must have a row for the trace that the sink lost
losses() {
	sql "SELECT reason, sum(times) FROM 'partial.tables/losses.parquet' GROUP BY 1" | tee losses
	grep -q '^the .*|[1-9]' losses
}
no_folder() { says 1 "" "$ntrace" export --format parquet -i good.data --tid 99 -o none && [ ! -e none ]; }
into_file() { echo mine >file && says 2 "Not a directory" "$ntrace" export --format parquet -i good.data -o file && [ "$(cat file)" = mine ]; }
again() {
	cp good.tables/calls.parquet first && echo mine >good.tables/mine &&
		"$ntrace" export --format parquet -i good.data -o good.tables && cmp first good.tables/calls.parquet &&
		[ "$(ls good.tables | xargs)" = "calls.parquet functions.parquet losses.parquet mine threads.parquet" ]
}
# The export of 300,000 calls must need hardly more memory than the export of 44 calls, except for sorting
memory() {
	(ulimit -v 2000000 && "$ntrace" export --threads 1 --format parquet -i many.data -o again) && cmp again/calls.parquet many.tables/calls.parquet
}

# Run the queries of the how-to on the calls of 100 machines. The machines run two builds of a program, whose calls
# take different times. fleet.py compares the results with the output of `ntrace script`.
cat >fleet.py <<'EOT2'
import collections, json, re, sqlite3, subprocess, sys
page, *reader = sys.argv[1:]
queries = re.findall(r'\.\. code-block:: sql\n\n((?:\t.*\n)+)', open(page).read())
got = []
for query in queries:
    query = query.replace("'request'", "'outer'").replace('ns > 1000', 'ns > 400')
    out = subprocess.run([*reader, query], check=True, stdout=subprocess.PIPE, text=True).stdout
    print(out)
    got.append([line.split('|') for line in out.splitlines()])
calls, inside = collections.defaultdict(list), [0, 0]
for host in range(100):
    with open(f'script.{host % 4}') as f:
        for c in map(json.loads, f):
            if c['function'] == 'outer':
                calls[open(f'id.{host % 2}').read().strip()].append(c['ns'])
    db = sqlite3.connect(f'fleet{host % 4}.db')
    for ns, in db.execute("""SELECT o.ns FROM spans i JOIN spans o ON i.caller = o.id JOIN functions f ON f.id = o.function
                             WHERE f.function = 'outer'"""):
        inside[ns <= 400] += 1
want = sorted(([i, str(len(ns)), str(sorted(ns)[-(-len(ns) * 99 // 100) - 1])] for i, ns in calls.items()), key=lambda r: (-int(r[2]), r[0]))
assert len(queries) == 4 and got[0] == want, (got[0], want)
most = max(n for ns in calls.values() for n in ns)
assert len(got[1]) == 5 and got[1][0][4] == str(most) and got[1][0][0].startswith('host'), got[1]
assert got[2] == [['inner', *map(str, inside)]] and all(inside), (got[2], inside)
assert sum(row[1:3] == ['the sink was full', '1'] for row in got[3]) == 25, got[3]
EOT2
fleet() {
	for n in 0 1; do
		"$gcc" -g -nostdlib -static -Wl,-Ttext=0x10000 -Wl,--build-id=0x0$n$n$n$n$n$n$n -o calls$n "$top/tests/perf/calls.S" &&
			"${gcc%gcc}readelf" -n calls$n | sed -n 's/.*Build ID: //p' >id.$n || return
	done
	for n in 0:0:good 1:1:two-sources 2:0:partial 3:1:missing-calls; do
		what=${n##*:} build=${n#*:} build=${build%:*} n=${n%%:*}
		python3 "$top/tests/perf/mkcalls.py" calls$build fleet$n.data "$what" &&
			"$ntrace" export --format parquet -i fleet$n.data -o table$n 2>/dev/null &&
			"$ntrace" export --format sqlite -i fleet$n.data -o fleet$n.db 2>/dev/null && "$ntrace" script --calls --json -i fleet$n.data >script.$n 2>/dev/null || return
	done
	mkdir fleet && for n in $(seq 0 99); do cp -r table$((n % 4)) fleet/host$n || return; done
	python3 fleet.py "$top/Documentation/howto/fleet.rst" node "$top/tests/pictures/columns/readers.mjs" "$packages" query
}

plan 20
for name in good two-sources guest partial missing-calls no-time evil events many; do ok "$name" same $name; done
is "each call has the build ID of its program" "$(sql "SELECT DISTINCT build_id FROM 'good.tables/calls.parquet' WHERE function = 'inner'")" "$build_id"
ok "a call takes at most 8 bytes" few_bytes
ok "the times of row groups do not overlap" groups
ok "the table losses has the lost trace" losses
ok "readers refuse cut or changed files of calls" damage good.tables/calls.parquet
ok "readers refuse cut or changed files of functions" damage good.tables/functions.parquet
ok "options that select nothing create no folder" no_folder
ok "a file as output is refused" into_file
ok "a second export replaces the first" again
ok "one thread writes the same" memory
ok "the queries of the how-to over 100 folders" fleet
done_testing
