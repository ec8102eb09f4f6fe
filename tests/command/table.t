#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test all commands with all faults of an output, and with all signals that end a command in the middle of its work.
# Inputs and old outputs must not change, and the exit status must be the one that ntrace(1) documents.
# tests/command/output.t tests the moment before an output gets its name.
[ -n "${SIGNALS_ARE_DEFAULT:-}" ] || SIGNALS_ARE_DEFAULT=1 exec env --default-signal "$0"
. "$(dirname "$0")/../harness/tap.sh"
build_tool
calls_program -g && recording_as own good && mkdir "$tap_tmp/in" && cd "$tap_tmp" || exit
ntrace=$O/bin/ntrace
cp calls in && cp own.data in/own && cp own.data in/second-own && "$ntrace" profile --counts -i own.data -o in/counts-own &&
	"$ntrace" decode --pcs --elf calls own.data >in/pcs-own && python3 "$top/tests/session/mkevents.py" calls in/events-own &&
	gcc -Wall -shared -fPIC -O1 -o middle.so "$top/tests/command/middle.c" && chmod 755 . || exit

# Print each command with its options, one per line. The line "left out" lists commands that need other inputs, and
# record, which table-record.t tests
all_commands() {
	for form in report "report --functions" "report --insns" "report --stack" "report --lines" "report --inline" script "script --calls" \
		"script --insns" info "slow outer" "annotate outer" "query outer" "query --count outer" audit "gdb --stdio" "html -o file" \
		"inject --period 3 -o file" "split -n 2 -o folder" "share --list" "share -o file" "flight calls"; do
		echo "$form -i own"
	done
	for format in jsonl chrome perfetto speedscope folded pprof sqlite; do echo "export --format $format -o file -i own"; done
	for format in counts lcov gcov bolt callgrind; do echo "profile --$format -o file -i own"; done
	for form in dump stat "decode --elf calls" "decode --pcs --elf calls" "decode --stats --elf calls"; do echo "$form own"; done
	printf '%s\n' "export --format parquet -o folder -i own" "script --events -i events-own" "diff own second-own" "merge counts-own counts-own" \
		"merge -o file counts-own" "encode --elf calls -o file --pcs pcs-own" doctor probe \
		"left out: record bench verify setup"
}
all_commands >all
# Do not run the commands of the line "left out", and formats of export for which this build has no library
grep -v "^left out" all | while read -r form; do
	case $form in export*) "$ntrace" $(echo "$form" | sed 's/-i own/-i own.data/; s/-o [a-z]*/-o try/') 2>&1 | grep -q "needs a build with" && continue ;; esac
	echo "$form"
done >commands
has_all() {
	{ sed 's/^left out: //' all | grep -v "[-]" | tr ' ' '\n'; sed 's/ .*//' all; } | sort -u >known
	"$ntrace" help | sed -n 's/^  \([a-z]\+\) .*/\1/p' | sort | comm -23 - known | grep . && return 1
	return 0
}
column() { python3 "$top/tests/command/table.py" "$ntrace" "$tap_tmp/middle.so" "$tap_tmp/in" "$1" <commands; }

plan 10
ok "the table has every command" has_all
ok "a full disk: every command reports it" column full
ok "no room for temporary files: every command answers or reports it" column nothing-temporary
ok "a closed pipe ends every command" column closed-pipe
ok "no command writes over its input, even by the standard output" column over-input
ok "no command replaces a folder" column directory
ok "a folder that can only be read: outputs are refused" column read-only
for name in SIGINT SIGTERM SIGKILL; do ok "$name in the middle leaves inputs and old outputs, and no new file" column $name; done
done_testing
