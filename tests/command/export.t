#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test `ntrace export`. Each exported file, read by an ordinary reader of its format, must have the calls that
# `ntrace script --calls` prints.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
data=$tap_tmp/perf.data
calls_program &&
	python3 "$top/tests/perf/mkcalls.py" "$tap_tmp/calls" "$data" two-sources &&
	"$ntrace" script --calls --json -i "$data" >"$tap_tmp/wanted" || exit 1

# Print the calls of a file as `ntrace script` prints them
cat >"$tap_tmp/read.py" <<'EOT'
import json, sqlite3, sys
what, path, wanted = sys.argv[1:]
names = 'time', 'ns', 'on_cpu_ns', 'insns', 'pid', 'tid', 'function', 'object'
with open(wanted) as f:
    wanted = sorted(tuple(json.loads(line)[n] for n in names) for line in f)
if what == 'sqlite':
    got = sqlite3.connect(path).execute('SELECT ' + ', '.join(names) + ' FROM calls').fetchall()
elif what == 'jsonl':
    with open(path) as f:
        got = [tuple(json.loads(line)[n] for n in names) for line in f]
else:
    with open(path) as f:
        events = json.load(f)['traceEvents']
    assert all(e['ph'] == 'X' for e in events)
    got = [(round(e['ts'] * 1000), round(e['dur'] * 1000), e['args']['on_cpu_ns'], e['args']['insns'], e['pid'], e['tid'],
            e['name'], e['cat']) for e in events]
print(f'{len(got)} calls of {len(wanted)}')
sys.exit(not got or sorted(got) != wanted)
EOT
export_is() {
	"$ntrace" export --format "$1" -o "$tap_tmp/out.$1" -i "$data" && python3 "$tap_tmp/read.py" "$1" "$tap_tmp/out.$1" "$tap_tmp/wanted"
}
says() {
	_rc=$1 _text=$2; shift 2
	"$@" >"$tap_tmp/said" 2>&1
	rc=$?
	cat "$tap_tmp/said"
	[ $rc -eq "$_rc" ] && grep -qF -- "$_text" "$tap_tmp/said"
}

plan 10
ok "chrome" export_is chrome
ok "jsonl" export_is jsonl
if "$ntrace" export --format sqlite 2>&1 | grep -q 'in a build with'; then
	for n in 1 2 3; do skip "sqlite $n" "this build has no libsqlite3"; done
else
	ok "sqlite" export_is sqlite
	ok "sqlite replaces an older database" export_is sqlite
	ok "sqlite to a pipe" says 2 "writing the standard output failed: Illegal seek" "$ntrace" export --format sqlite -o - -i "$data"
fi
ok "jsonl to the standard output" sh -c "'$ntrace' export --format jsonl -o - -i '$data' | cmp - '$tap_tmp/wanted'"
ok "a full disk" says 2 "No space left on device" "$ntrace" export --format chrome -o /dev/full -i "$data"
ok "an output in a folder that does not exist" says 2 "No such file or directory" "$ntrace" export --format chrome -o "$tap_tmp/none/x" -i "$data"
ok "an unknown format" says 2 "--format is perfetto, chrome" "$ntrace" export --format xml -o x -i "$data"
ok "no --format and no -o" says 2 "export needs --format and -o" "$ntrace" export -i "$data"
done_testing
