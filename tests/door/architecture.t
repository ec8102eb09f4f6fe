#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ARCHITECTURE.md must name every folder of the tools, and may name only files, folders and functions that exist.
. "$(dirname "$0")/../harness/tap.sh"
cd "$top" || exit
plan 6
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
# checked SED: edit a copy of ARCHITECTURE.md with the sed script SED, and check this copy
checked() { sed "$1" ARCHITECTURE.md >"$tap_tmp/page.md"; python3 "$tap_tmp/check.py" "$tap_tmp/page.md"; }
ok "every file, folder and function on the page exists" python3 "$tap_tmp/check.py" ARCHITECTURE.md
is "a function that moved to another file is found" "$(checked 's,engine.c:engine_begin_repeat,walk.c:engine_begin_repeat,')" \
	"tools/lib/ntrace/walk.c does not define engine_begin_repeat()"
is "a function without its file is found" "$(checked 's,`tools/lib/ntrace/flow.h:nt_flow_dest,`nt_flow_dest,')" \
	"nt_flow_dest() does not name its file"
is "a folder that does not exist is found" "$(checked 's,`tools/ntrace/page/`,`tools/ntrace/pages/`,g' | sort -u)" \
	"tools/ntrace/pages/ does not exist, or a folder has no / at its end"
missing=$(find tools drivers tools/ntrace tools/lib/session tools/lib/ntrace tools/lib -mindepth 1 -maxdepth 1 -type d ! -empty |
	sort -u | while read -r d; do grep -qF "$d/" ARCHITECTURE.md || echo "$d"; done)
is "the page names every folder of the tools and of the driver" "$missing" ""
ok "the page answers at least 20 questions" [ "$(sed -n '/^## Where is it/,/^## Decisions/p' ARCHITECTURE.md | grep -c '? |')" -ge 20 ]
done_testing
