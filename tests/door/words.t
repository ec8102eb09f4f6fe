#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check comments, documents and subjects of commits for writing habits that confuse new readers.
. "$(dirname "$0")/../harness/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$top" || exit
git rev-parse -q --verify HEAD >/dev/null 2>&1 || skip_all "this is not a clone: git lists the files and the commits"
words="$here/words.py" ceilings=tests/door/words.ceilings
plan 8

# Make a tree with one comment for each habit, which words.py must find
tree=$tap_tmp/tree
git init -q "$tree"
cat >"$tree/a.c" <<'END'
/* The caller holds the lock of the list */
/* The list is locked: the caller does so */
// The register says how large it is
int a; /* short */
END
printf 'The reader finds a sentence here.  Nobody learns of who is told.\n\nAs the first word of it.\n' >"$tree/b.rst"
printf '#!/bin/sh\n# The program goes on to the second line\n' >"$tree/c.sh"
git -C "$tree" add .
is "habits are found in C, in documents and in scripts" "$(cd "$tree" && "$words" habits . | sed 's/ (better.*//')" \
	"a.c:2: a colon in place of a verb
a.c:3: a thing that speaks
b.rst:1: what or who as a noun
b.rst:1: a thing that speaks
b.rst:1: nobody
b.rst:3: of or as at the start
c.sh:2: a verb of movement
.: 7 comments and sentences, 5 with a habit"
echo ". 71.5" >"$tree/allowed"
is "a share up to its ceiling is allowed" "$(cd "$tree" && "$words" ceilings allowed; echo $?)" 0
echo ". 71.4" >"$tree/allowed"
is "a share over its ceiling is refused" "$(cd "$tree" && "$words" ceilings allowed; echo $?)" \
	".: 5 of 7 comments and sentences have a habit, 71.4 %; allowed allows 71.4 %
    tests/door/words.py habits . lists them
1"
is "subjects that break a rule are refused" "$(printf '%s\n' 'lib: read the last byte' 'Read the last byte' 'lib: Read it' \
	'lib: reads it' 'lib: reading it' 'tests, lib: address it' 'lib: read it.' "lib: $(printf 'read %066d')" | "$words" subjects)" \
"the subject has no \"area: \" at its start: Read the last byte
the subject has a capital behind its area: lib: Read it
the subject has no verb in the imperative behind its area: lib: reads it
the subject has no verb in the imperative behind its area: lib: reading it
the subject ends with a full stop: lib: read it.
the subject has over 72 columns: lib: read 000000000000000000000000000000000000000000000000000000000000000000"

# Known messages of each folder, with joined pieces of a string, PRIu64, quotes inside of quotes and a macro
"$words" messages >"$tap_tmp/messages"
is "the list of messages has known messages of each folder and no empty message" "$(grep -vcP '^[\w./-]+:\d+\t\S' "$tap_tmp/messages"
	while IFS='|' read -r folder sentence; do
		grep "^$folder" "$tap_tmp/messages" | cut -f 2 | grep -qxF -e "$sentence" || echo "$folder lacks: $sentence"
	done <<'END'
drivers/|%s at %pa: a write to memory caused a bus error (tfSinkError)
include/|has another build-id: it is not the program that was executed
tools/lib/|%s: line %u is damaged
tools/lib/|no CPU with a trace encoder is online (<REC_PMU>/cpumask)
tools/ntrace/|The driver is not loaded: run modprobe ntrace as root.
tools/perf/|N-Trace requires ordered events
tools/board/|--cpu is a model of QEMU's, not '$cpu'
tools/python/|the recording is closed
tools/setup/|the download failed; run it again to continue
END
)" 0

ok "each folder is below its ceiling" "$words" ceilings "$ceilings"
# Only check commits after 612029e, because older commits were written before these rules
is "the subjects of the last 50 commits keep the rules" \
	"$({ git log -50 --format=%s 612029e.. 2>/dev/null || git log -50 --format=%s; } | "$words" subjects)" ""
is "no ceiling has risen" "$(git log --format=%H -- "$ceilings" | while read -r commit; do
	git show "$commit:$ceilings" 2>/dev/null | awk 'NR == FNR { if ($1 !~ /^#/ && NF == 2) now[$1] = $2; next }
		$1 in now && $2 < now[$1] { print $1, "was", $2, "and is", now[$1] }' "$ceilings" -
done)" ""
done_testing
