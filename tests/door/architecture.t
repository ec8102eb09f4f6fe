#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ARCHITECTURE.md must name every folder of the tools, and may name only files, folders and functions that exist. Its index
# must have one line for each source file.
. "$(dirname "$0")/../harness/tap.sh"
cd "$top" || exit
plan 11
cat >"$tap_tmp/check.py" <<'EOT'
import os, re, sys
text, bad, functions = open(sys.argv[1], encoding='utf-8').read(), [], 0
for span in re.findall(r'`([^`\n]+)`', text):
    m = re.fullmatch(r'([\w.-]+(?:/[\w.-]+)*/?)(?::(\w+)\(\))?', span)
    if not m or '/' not in span and not re.search(r'\.(c|h|sh|t|py|md)$', span):
        if re.search(r'\w\(\)', span):
            bad.append(f'{span} does not name its file')
        continue
    path, function = m.groups()
    if not os.path.exists(path) or path.endswith('/') != os.path.isdir(path):
        bad.append(f'{path} does not exist, or a folder has no / at its end')
        continue
    if not function:
        continue
    functions += 1
    # A definition begins in the first column and contains the name. A declaration ends with a semicolon.
    code = open(path, encoding='utf-8').read()
    if not re.search(r'^[a-z][^;{}()=\n]*\b' + function + r'\([^;{}]*\)\n\{', code, re.M):
        bad.append(f'{path} does not define {function}()')
print('\n'.join(bad) or functions)
sys.exit(bool(bad))
EOT
# Read the names of source files from standard input, and compare them with the rows of the index. A row is
# "| `FILE` | sentence |", and FILE is in the folder of the last heading. A folder of tests/ needs a row, and may have rows
# for its main programs.
cat >"$tap_tmp/index.py" <<'EOT'
import collections, os, re, sys
rows, bad, folder = collections.Counter(), [], '?'
for line in open(sys.argv[1], encoding='utf-8').read().partition('\n## Index of files\n')[2].split('\n'):
    heading, row = re.match(r'### `(.+/)`$', line), re.match(r'\| `([^`]+)` \| [A-Z].*\. \|$', line)
    if heading:
        folder = heading.group(1)
    elif row:
        path = row.group(1)
        rows[path] += 1
        if not os.path.exists(path) or path.endswith('/') and not path.startswith('tests/'):
            bad.append(f'{path} has a line, and is not a file')
        elif not path.startswith(folder):
            bad.append(f'{path} has a line below the heading of {folder}')
    elif line.startswith('|') and not re.match(r'\| file \||\|---', line):
        bad.append(f'not a line of a file: {line}')

def is_source(path):
    return path.endswith(('.c', '.js', '.py', '.sh')) or os.path.isfile(path) and open(path, 'rb').read(2) == b'#!'

names = sys.stdin.read().split()
wanted = {n for n in names if not n.startswith('tests/') and is_source(n)}
wanted |= {'/'.join(n.split('/')[:2]) + '/' for n in names if re.match('tests/.+/', n)}
bad += [f'{path} has {rows[path]} lines' for path in sorted(wanted | set(rows)) if rows[path] != 1]
print('\n'.join(bad) or f'{len(wanted)} files and folders')
sys.exit(bool(bad))
EOT
{ git ls-files --cached --others --exclude-standard drivers/ntrace tools selftests tests 2>/dev/null ||
	find drivers/ntrace tools selftests tests -type f; } >"$tap_tmp/names"
# checked SED: edit a copy of ARCHITECTURE.md with the sed script SED, and check this copy
checked() { sed "$1" ARCHITECTURE.md >"$tap_tmp/page.md"; python3 "$tap_tmp/check.py" "$tap_tmp/page.md"; }
ok "every file, folder and function on the page exists" python3 "$tap_tmp/check.py" ARCHITECTURE.md
is "a function that moved to another file is found" "$(checked 's,engine.c:engine_begin_repeat,walk.c:engine_begin_repeat,')" \
	"tools/lib/ntrace/walk.c does not define engine_begin_repeat()"
is "a function without its file is found" "$(checked 's,`tools/lib/ntrace/flow.h:nt_flow_dest,`nt_flow_dest,')" \
	"nt_flow_dest() does not name its file"
is "a folder that does not exist is found" "$(checked 's,`tools/ntrace/page/`,`tools/ntrace/pages/`,g' | sort -u)" \
	"tools/ntrace/pages/ does not exist, or a folder has no / at its end"
# indexed SED: edit a copy of ARCHITECTURE.md with the sed script SED, and check the index of this copy
indexed() { sed "$1" ARCHITECTURE.md >"$tap_tmp/page.md"; python3 "$tap_tmp/index.py" "$tap_tmp/page.md" <"$tap_tmp/names"; }
ok "the index has one line for each source file, and no line without a file" indexed ""
row='^| `drivers\/ntrace\/buf.c` |'
is "a file without a line is found" "$(indexed "/$row/d")" "drivers/ntrace/buf.c has 0 lines"
is "a file with two lines is found" "$(indexed "/$row/p")" "drivers/ntrace/buf.c has 2 lines"
is "a line whose file does not exist is found" "$(indexed "/$row/{p;s/buf/gone/}")" \
	"drivers/ntrace/gone.c has a line, and is not a file"
is "a folder of tests without a line is found" "$(indexed '/^| `tests\/fuzz\/` |/d')" "tests/fuzz/ has 0 lines"
missing=$(find tools drivers tools/ntrace tools/lib/session tools/lib/ntrace tools/lib -mindepth 1 -maxdepth 1 -type d ! -empty |
	sort -u | while read -r d; do grep -qF "$d/" ARCHITECTURE.md || echo "$d"; done)
is "the page names every folder of the tools and of the driver" "$missing" ""
ok "the page answers at least 20 questions" [ "$(sed -n '/^## Where is it/,/^## Decisions/p' ARCHITECTURE.md | grep -c '? |')" -ge 20 ]
done_testing
