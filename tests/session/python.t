#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The arrays of the Python module must equal the output of `ntrace script` and `ntrace profile`, with NumPy and
# without it.
. "$(dirname "$0")/../harness/tap.sh"
for python in python3 /usr/bin/python3; do
	$python -c 'import cffi, setuptools, numpy' 2>/dev/null && break
done
$python -c 'import cffi, setuptools' 2>/dev/null || python=none
[ $python != none ] || skip_all "no Python here has cffi and setuptools (python3-cffi)"
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
make -C "$top" python PYTHON=$python >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
cd "$tap_tmp" || exit 1
riscv64-linux-gnu-gcc -O1 -g -static -o program "$top/tests/pictures/coverage.c" && "$top/tests/harness/pcs" pcs ./program &&
	"$O/bin/ntrace" encode --elf program --pcs pcs -o nt &&
	python3 "$top/tests/session/repeat.py" program nt perf.data $(by_size 0.2 2) 64 || exit 1
PYTHONPATH=$O/python
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1

cat >read.py <<'E2'
import sys
if sys.argv[1] == 'plain':
    sys.modules['numpy'] = None
from ntrace_session import BRANCH, CALL_RECORD, INSN, Recording
with Recording('perf.data') as recording:
    branches, names = recording.branches(), [name for name, _ in BRANCH]
    with open('branches', 'w') as out:
        for one in branches:
            b = dict(zip(names, one))
            if not b['flags']:
                print(b['cpu'], b['tid'], format(int(b['from']), 'x'), format(int(b['to']), 'x'), file=out)
    print(type(branches).__name__, sum(int(b[names.index('insns')]) for b in branches), *recording.totals())
    insns = recording.instructions()
    at = {name: n for n, (name, _) in enumerate(INSN)}
    print(sum(int(i[at['count']]) for i in insns), len({recording.name(int(i[at['symbol']])) for i in insns}) > 20,
          {recording.name(int(i[at['object']])).rsplit('/')[-1] for i in insns})
    at = {name: n for n, (name, *_) in enumerate(CALL_RECORD)}
    with open('calls', 'w') as out:
        for call in recording.calls():
            if not call[at['open']]:
                print(*(int(call[at[name]]) for name in ('time', 'ns', 'insns', 'pid', 'tid')),
                      recording.name(int(call[at['symbol']])), file=out)
    print('calls:', *recording.totals())
for use in recording.branches, recording.instructions, recording.calls, recording.totals, lambda: recording.name(0):
    try:
        use()
    except Exception as error:
        print(error)
recording.close()
try:
    Recording('bad\udcff')
except Exception as error:
    print(type(error).__name__, 'No such file' in str(error))
try:
    Recording('read.py')
except Exception as error:
    print(type(error).__name__, error)
E2
copies=$("$O/bin/ntrace" profile --counts | awk '$1 == "b" { n += $6 } END { print n }')
"$O/bin/ntrace" script -F cpu,tid,ip,addr 2>/dev/null | tr '[]=>' '    ' | awk '{ print $2 + 0, $1, $3, $4 }' >wanted

# read_by WHICH TYPE: read the recording by the Python module, with NumPy or without it, and compare the arrays
read_by() {
	$python read.py "$1" >said 2>&1
	cat >said.wanted <<-E2
	$2 $copies 0 0 0
	$copies True {'program'}
	calls: 0 0 0
	the recording is closed
	the recording is closed
	the recording is closed
	the recording is closed
	the recording is closed
	Error True
	Error this is not a recording of perf: it does not begin with PERFILE2
	E2
	diff said said.wanted
}
branches_are() { [ "$(wc -l <branches)" -gt 100000 ] && awk '{ print $3, $4 }' branches | sort | uniq -c >a && awk '$4 != 0 && $3 != 0 { print $3, $4 }' wanted | sort | uniq -c >b && head -n 3 a b && cmp a b; }

"$O/bin/ntrace" script --calls --json 2>/dev/null | $python -c 'import json, sys
for call in map(json.loads, sys.stdin):
    print(*(call[name] for name in ("time", "ns", "insns", "pid", "tid", "function")))' >calls.wanted
calls_are() { wc -l calls && [ "$(wc -l <calls)" -gt 1000 ] && cut -d' ' -f1 calls | sort -cn && sort calls >a && sort calls.wanted >b && cmp a b; }

# Another process shortens the recording after the module has mapped it
cat >shorter.py <<'E2'
import os
import shutil
from ntrace_session import Recording
for call in Recording.branches, Recording.instructions, Recording.calls:
    shutil.copy('perf.data', 'cut.data')
    with Recording('cut.data') as recording:
        os.truncate('cut.data', 4096)
        for _ in range(2):
            try:
                print(len(call(recording)))
            except Exception as error:
                print(type(error).__name__, error)
with Recording('perf.data') as recording:
    print(len(recording.branches()) > 100000)
E2
shorter() {
	$python shorter.py >said 2>&1
	printf '%s\n' $(yes Error | head -n 6) True | sed 's/Error/& the recording or a file of its code was shortened while it was read/' | diff said -
}

plan 8
ok "a recording that gets shorter while it is read is an exception" shorter
ok "without NumPy, the module returns lists" read_by plain list
ok "without NumPy, the branches are those of ntrace script" branches_are
ok "without NumPy, the calls are those of ntrace script --calls, sorted by time" calls_are
if $python -c 'import numpy' 2>/dev/null; then
	ok "with NumPy, the module returns arrays" read_by numpy ndarray
	ok "with NumPy, the branches are the same" branches_are
	ok "with NumPy, the calls are the same" calls_are
	$python "$top/examples/hot.py" perf.data >said 2>&1
	ok "the example prints functions, branches and losses" sh -c "cat said; grep -q 'instructions of main$' said && grep -q 'of them calls$' said && grep -qx '0 losses, 0 errors, 0 places without code' said"
else
	for n in 1 2 3 4; do skip "NumPy, $n" "no python3-numpy"; done
fi
done_testing
