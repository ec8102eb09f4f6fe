#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check that the commands in the documents print the documented output, and that files, tests and
# options named in documents exist.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
cd "$top" || exit

# In literal blocks with "$ command" lines, the text up to the next command is the expected output. The test runs a
# block if each command in the block begins with a name of this list, because other commands need a board.
here=" build/bin/ntrace samples/make "
cat >"$tap_tmp/blocks.py" <<'EOT'
import re, subprocess, sys
here, bad, ran = sys.argv[1].split(), 0, 0
for path in sys.argv[2:]:
    block = []
    def check(block):
        global bad, ran
        command, wanted = None, []
        for line in block + ['$ end']:
            if line.startswith('$ '):
                if command and command.split()[0] in here and any(wanted):
                    got = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, timeout=60, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, text=True).stdout
                    ran += 1
                    if [said for said in got.split('\n') if said] != wanted:
                        bad += 1
                        print(f'{path}: {command}\n-- says\n' + '\n'.join(wanted) + '\n-- is\n' + got)
                command, wanted = line[2:], []
            else:
                wanted.append(line)
    for line in open(path).read().split('\n') + ['end']:
        if line.startswith(('\t', '    ')):
            block.append(line[1:] if line[0] == '\t' else line[4:])
        elif line.strip():
            check(block)
            block = []
print(f'{ran} commands ran')
sys.exit(1 if bad or not ran else 0)
EOT
documents=$(git ls-files --cached --others --exclude-standard '*.rst' '*.md' 2>/dev/null || find . -name '*.rst' -o -name '*.md')
plan 12
# shellcheck disable=SC2086
ok "commands in documents print the documented output" python3 "$tap_tmp/blocks.py" "$here" $documents

# Check that each `file` and ``file`` of this tree exists, and that each link between documents has a target
cat >"$tap_tmp/files.py" <<'EOT'
import os, re, sys
bad = n = 0
for path in sys.argv[1:]:
    text = open(path).read()
    names = set(re.findall(r'``?((?:tools|tests|drivers|include|samples|examples|Documentation|selftests|debian|packaging)/[\w./,-]+)``?', text))
    base = os.path.dirname(path)
    links = {os.path.normpath(os.path.join(base, l)) for l in re.findall(r'\]\(([\w./-]+)\)', text)}
    links |= {os.path.normpath(os.path.join(base, l)) for l in re.findall(r'`[^`<]+<([\w./-]+\.rst)>`__?', text)}
    for name in {n for n in names | links if not re.search('NAME|VERSION|mine', n)}:
        n += 1
        if not os.path.exists(name.rstrip('.')):
            bad += 1
            print(f'{path}: {name} is not there')
print(f'{n} names looked up')
sys.exit(1 if bad or not n else 0)
EOT
# shellcheck disable=SC2086
ok "files that documents name exist" python3 "$tap_tmp/files.py" $documents

# Each test, variant and mutation that the table in board-tests.rst names must exist
table=Documentation/developer/board-tests.rst
tests/mutations/mutate list | sed 's/ .*//' >"$tap_tmp/there"
variant_names | sed 's/.*/``&``/' >>"$tap_tmp/there"
(cd tests/ntt && ls) | sed 's/.*/``&``/' >>"$tap_tmp/there"
sed -n 's/^static void test_\([a-z_]*\)(.*/``\1``/p' tools/board/model/test/*.c >>"$tap_tmp/there"
grep -oE '\b(board|driver|lib)-[a-z][a-z-]*[a-z]|``[a-z-]+\.ntt``|``[a-z]+_[a-z_]+``|variants? ``[a-z-]+``' $table |
	sed 's/^variants* //; /^board-tests$/d; /^board-verify-boot$/d; /^board-reset$/d' | sort -u >"$tap_tmp/named"
ok "names in the table of the board's tests exist ($(wc -l <"$tap_tmp/named") names)" sh -c "
	[ $(wc -l <"$tap_tmp/named") -ge 50 ] && ! grep -vxFf '$tap_tmp/there' '$tap_tmp/named'"

# The documents explain messages. Each message in double backquotes at the left margin must exist in the tree
grep -hE '^``.*``$' Documentation/troubleshooting.rst Documentation/howto/add-your-soc.rst | sed 's/^``//; s/``$//' >"$tap_tmp/messages"
: >"$tap_tmp/unknown"
while read -r message; do
	escaped=$(printf %s "$message" | sed 's/"/\\"/g')
	grep -rqF -e "$message" -e "$escaped" --include='*.[ch]' --include=setup --include=board --include='*.sh' \
		--include=Makefile Makefile tools drivers include || echo "$message" >>"$tap_tmp/unknown"
done <"$tap_tmp/messages"
ok "over 30 messages are explained" [ "$(wc -l <"$tap_tmp/messages")" -gt 30 ]
is "each explained message is in the sources" "$(cat "$tap_tmp/unknown")" ""

# The options of each command must equal the options in its manual page
bad=
for command in "tools/board/board help:board.1" "build/bin/ntrace help dump:ntrace-dump.1 ntrace.1" \
	"build/bin/ntrace help decode:ntrace-decode.1 ntrace.1" "build/bin/ntrace help stat:ntrace-stat.1 ntrace.1" "build/bin/ntrace help encode:ntrace-encode.1" \
	"build/bin/ntrace help bench:ntrace-bench.1 ntrace.1" "build/bin/ntrace help verify:ntrace-verify.1 ntrace.1" \
	"build/bin/ntrace help script:ntrace-script.1" "build/bin/ntrace help report:ntrace-report.1 ntrace-script.1" \
	"build/bin/ntrace help info:ntrace-info.1 ntrace-script.1" "build/bin/ntrace help slow:ntrace-slow.1 ntrace-script.1" "build/bin/ntrace help doctor:ntrace-doctor.1" \
	"build/bin/ntrace help query:ntrace-query.1 ntrace-script.1" \
	"build/bin/ntrace help diff:ntrace-diff.1 ntrace-script.1" \
	"build/bin/ntrace help annotate:ntrace-annotate.1 ntrace-script.1" \
	"build/bin/ntrace help audit:ntrace-audit.1 ntrace-script.1" \
	"build/bin/ntrace help gdb:ntrace-gdb.1 ntrace-script.1" \
	"build/bin/ntrace help probe:ntrace-probe.1" "build/bin/ntrace help setup:ntrace-setup.1" "build/bin/ntrace help record:ntrace-record.1" \
	"build/bin/ntrace help html:ntrace-html.1 ntrace-script.1" \
	"build/bin/ntrace help profile:ntrace-profile.1 ntrace-script.1" \
	"build/bin/ntrace help share:ntrace-share.1 ntrace-script.1" "build/bin/ntrace help split:ntrace-split.1" "build/bin/ntrace help merge:ntrace-merge.1" \
	"build/bin/ntrace help export:ntrace-export.1 ntrace-script.1" \
	"build/bin/ntrace help inject:ntrace-inject.1 ntrace-script.1"; do
	${command%%:*} 2>&1 | grep -oE -- '--[a-z][a-z-]+' | sort -u >"$tap_tmp/options"
	# shellcheck disable=SC2086
	(cd Documentation/man && cat ${command#*:}) | sed 's/\\-/-/g' >"$tap_tmp/page"
	while read -r option; do
		[ "$option" = --help ] || grep -qF -- "$option" "$tap_tmp/page" || bad="$bad ${command#*:}:$option"
	done <"$tap_tmp/options"
done
is "each option has a line in the manual page of its command" "$bad" ""

is "board run --help is board help" "$(tools/board/board run --help 2>&1)" "$(tools/board/board help)"
is "ntrace help names the commands for the board that is traced" \
	"$(build/bin/ntrace help | tr '\n' ' ' | grep -c ' record, flight, doctor, probe and setup are for the board')" 1

# Compile the device tree overlays as the documents describe
overlays() {
	for page in spacemit-k3 sifive-p550; do
		sed -n '/^\tcpp /,/dtc /{s/-o [^ ]*dtbo/-o overlay.dtbo/; s|samples|'"$top"'/samples|; s/^\t//p}' "Documentation/howto/$page.rst" >"$tap_tmp/compile"
		(cd "$tap_tmp" && rm -f overlay.dtbo && sh ./compile && [ -s overlay.dtbo ]) || return
	done
}
is "the commands of the documents compile the overlays without a warning" "$(overlays 2>&1; echo $?)" 0

# Extract the test that tests/README.rst shows to new developers. This test must pass, and must fail if the library
# behaves differently
tree=$tap_tmp/tree
mkdir -p "$tree/tests/lib"
for f in "$top"/*; do [ "${f##*/}" = tests ] || ln -s "$f" "$tree/"; done
for f in "$top"/tests/*; do [ "${f##*/}" = lib ] || ln -s "$f" "$tree/tests/"; done
ln -s "$top"/tests/lib/* "$tree/tests/lib/"
awk '/^Save this as/ { block = 1; next } block && /^[^\t]/ { exit } block { sub(/^\t/, ""); print }' tests/README.rst |
	sed '/./,$!d' >"$tree/tests/lib/mine.t"
chmod +x "$tree/tests/lib/mine.t"
ok "the example test of tests/README.rst passes" "$tree/tests/run" lib/mine
sed -i 's/\<102\>/103/' "$tree/tests/lib/mine.t"
ok "the example test of tests/README.rst fails if the library behaves differently" sh -c "! '$tree/tests/run' lib-mine"

if command -v sphinx-build >/dev/null; then
	ok "Sphinx builds the documents without a warning" sphinx-build -q -W --keep-going -d "$tap_tmp/doctrees" \
		-b html Documentation "$tap_tmp/html"
else
	skip "Sphinx builds the documents without a warning" "there is no sphinx-build"
fi
done_testing
