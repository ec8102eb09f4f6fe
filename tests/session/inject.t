#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test `ntrace inject`. Both a perf with N-Trace support and a perf without it must read the same branches and call
# chains from the injected file. These are the branches and call chains that perf with N-Trace decodes from the trace.
# tests/long/session-truth.t uses a recording of the board.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/says.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
make -C "$top" tool >"$tap_tmp/make" 2>&1 &&
	perfs lts new >>"$tap_tmp/make" 2>&1 &&
	calls_program || exit 1
ntrace=$O/bin/ntrace
decoder=$O/perf/new/x86_64/perf

# branches PERF RECORDING: print all branches
branches() {
	"$ntrace" inject --all-branches --last-branches "$3" -i "$tap_tmp/$2.data" -o "$tap_tmp/out.data" || [ $? -eq 1 ] || return
	"$decoder" script -i "$tap_tmp/$2.data" --itrace=be -F tid,cpu,ip,addr >"$tap_tmp/branches" 2>/dev/null
	"$1" script -i "$tap_tmp/out.data" -F tid,cpu,brstack 2>"$tap_tmp/err" | python3 "$top/tests/session/inject.py" "$tap_tmp/branches"
}

# Print the call chain of each instruction
chains() {
	"$ntrace" inject --period 1 -i "$tap_tmp/$2.data" -o "$tap_tmp/out.data" || return
	"$decoder" script -i "$tap_tmp/$2.data" --itrace=i1ig -F tid,cpu,ip,sym >"$tap_tmp/wanted" 2>/dev/null
	# An older perf prints addresses of programs without a build ID as addresses in the file
	for f in wanted got; do
		[ $f = wanted ] || "$1" script -i "$tap_tmp/out.data" -F tid,cpu,ip,sym >"$tap_tmp/got" 2>/dev/null
		sed -E 's/^\s+[0-9a-f]+ ([^0-9])/\1/;s/^ +//' "$tap_tmp/$f" >"$tap_tmp/$f.names"
	done
	[ "$(wc -l <"$tap_tmp/wanted")" -gt 50 ] && diff "$tap_tmp/wanted.names" "$tap_tmp/got.names"
}

# llvm-profgen calls the host's perf to read the file. The host's perf does not support N-Trace, but can read the
# branches that `ntrace inject` wrote. Check that the profile contains the executed functions
profgen_newest() { for n in $(seq 30 -1 17); do command -v llvm-profgen-$n && return; done; }
profgen_is() {
	riscv64-linux-gnu-gcc -O2 -g -static -o "$tap_tmp/lines" "$top/tests/session/lines.c" &&
		"$top/tests/harness/pcs" "$tap_tmp/pcs" "$tap_tmp/lines" &&
		"$ntrace" encode --elf "$tap_tmp/lines" --pcs "$tap_tmp/pcs" -o "$tap_tmp/nt" &&
		python3 "$top/tests/session/mkrecording.py" "$tap_tmp/lines" "$tap_tmp/nt" "$tap_tmp/lines.data" &&
		"$ntrace" inject --all-branches --last-branches 16 --no-call-chains -i "$tap_tmp/lines.data" -o "$tap_tmp/out.data" &&
		"$O/perf/6.12/x86_64/perf" script --show-mmap-events -F ip,brstack -i "$tap_tmp/out.data" >"$tap_tmp/brstack" &&
		"$profgen" --binary="$tap_tmp/lines" --perfscript="$tap_tmp/brstack" --format=text --output="$tap_tmp/profile" || return
	cat "$tap_tmp/profile"
	grep -qE ': 20 work:20' "$tap_tmp/profile" && grep -qE ': 20 recurse:20' "$tap_tmp/profile" && grep -q ' twice:[1-9]' "$tap_tmp/profile"
}

# The parser of hotspot is a program without windows. The parser must read all samples, with inlined functions and
# lines. The parser of hotspot 1.3 refuses the architecture name "riscv64". If so, the test renames the architecture
# in the file.
hotspot_is() {
	[ -s "$tap_tmp/lines.data" ] || profgen=true profgen_is >/dev/null
	"$ntrace" inject --period 50 -i "$tap_tmp/lines.data" -o "$tap_tmp/hot.data" 2>"$tap_tmp/said" || return
	if ! "$hotspot" --input "$tap_tmp/hot.data" --output "$tap_tmp/hot" 2>"$tap_tmp/hot.said"; then
		cat "$tap_tmp/hot.said"
		grep -q "No information about CPU architecture" "$tap_tmp/hot.said" || return
		python3 -c 'import sys
with open(sys.argv[1], "rb") as f: data = f.read()
assert data.count(b"riscv64\0") == 1
with open(sys.argv[1], "wb") as f: f.write(data.replace(b"riscv64\0", b"x86_64\0\0"))' "$tap_tmp/hot.data"
		"$hotspot" --input "$tap_tmp/hot.data" --output "$tap_tmp/hot" || return
	fi
	"$hotspot" --input "$tap_tmp/hot.data" --print-stats >"$tap_tmp/hot.said" 2>&1
	grep "^samples" "$tap_tmp/hot.said"; cat "$tap_tmp/said"
	n=$(sed -n 's/.*wrote \([0-9]*\) samples.*/\1/p' "$tap_tmp/said")
	[ "$n" -gt 100 ] && grep -qx "samples: $n" "$tap_tmp/hot.said" && grep -q "time violations: 0" "$tap_tmp/hot.said" &&
		grep -qa 'recurse' "$tap_tmp/hot" && grep -qa 'main::helper' "$tap_tmp/hot" && grep -qa 'lines\.c' "$tap_tmp/hot"
}

plan 23
recording good no-context two-sources snapshot || exit 1
for perf in perf "$O/perf/6.12/x86_64/perf" "$decoder"; do
	name=$("$perf" version 2>/dev/null) || name=
	if [ -z "$name" ]; then
		for n in 1 2 3 4 5; do skip "test $n with perf" "there is no perf in PATH"; done
		continue
	fi
	for what in good no-context two-sources snapshot; do ok "$name: all branches of $what" branches "$perf" $what 3; done
	ok "$name: the call chain of each instruction" chains "$perf" good
done
recording_as pipe good pipe || exit 1
ok "inject reads a recording from a pipe that was saved to a file" branches "$decoder" pipe 7
profgen=$(profgen_newest)
if [ -n "$profgen" ] && command -v qemu-riscv64-static >/dev/null; then
	ok "llvm-profgen reads it" profgen_is
else
	skip "llvm-profgen reads it" "there is no llvm-profgen of LLVM 17 or later, or no qemu-riscv64-static"
fi
hotspot=${HOTSPOT_PERFPARSER:-$(ls /usr/lib/*/libexec/hotspot-perfparser 2>/dev/null | head -n 1)}
if [ -n "$hotspot" ] && command -v qemu-riscv64-static >/dev/null; then
	ok "hotspot reads it" hotspot_is
else
	skip "hotspot reads it" "there is no hotspot-perfparser (HOTSPOT_PERFPARSER names it), or no qemu-riscv64-static"
fi
ok "a number of branches that is too small" says 2 "needs room for branches" "$ntrace" inject --all-branches --last-branches 0 -i "$tap_tmp/good.data"
ok "a number of branches that is too large" says 2 "at most 1024" "$ntrace" inject --last-branches 5000 -i "$tap_tmp/good.data"
ok "a pipe as output" says 2 "needs a file and not a pipe" "$ntrace" inject -o - -i "$tap_tmp/good.data"
ok "a full disk" says 2 "No space left on device" "$ntrace" inject -o /dev/full -i "$tap_tmp/good.data"
ok "an output in a folder that does not exist" says 2 "No such file or directory" "$ntrace" inject -o "$tap_tmp/none/x" -i "$tap_tmp/good.data"
done_testing
