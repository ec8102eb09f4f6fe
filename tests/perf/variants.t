#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The specification lets an encoder choose between several behaviours. Each choice is a variant of `ntrace encode`.
# For each variant, perf and `ntrace script` must print the executed branches. The test compares each variant with the
# list of executed PCs, in both modes.
. "$(dirname "$0")/../harness/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
make -C "$top" O="$O" tool >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
"$top/tools/perf/build.sh" new x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
data=$top/tests/perf
ntrace=$O/bin/ntrace program=$tap_tmp/program
riscv64-linux-gnu-gcc -O2 -fno-builtin -nostdlib -static -no-pie -o "$program" \
	"$top/tests/lib/unpredictable.c" "$top/tests/lib/tiny-runtime.c" || exit 1
"$top/tests/harness/pcs" "$tap_tmp/all" "$program" 20 >/dev/null || exit 1
head -n 3000 "$tap_tmp/all" >"$tap_tmp/list"

# List the executed branches, which are the steps that do not continue at the next instruction
riscv64-linux-gnu-objdump -d "$program" | awk '/^ *[0-9a-f]+:/ { sub(":", "", $1); print $1, length($2) / 2 }' >"$tap_tmp/sizes"
python3 - "$tap_tmp/list" "$tap_tmp/sizes" >"$tap_tmp/wanted" <<'EOP'
import sys
sizes = {int(a, 16): int(n) for a, n in (line.split() for line in open(sys.argv[2]))}
pcs = [int(line, 16) for line in open(sys.argv[1])]
for a, b in zip(pcs, pcs[1:]):
    if b != a + sizes[a]:
        print(f'{a:x} {b:x}')
EOP

perf_branches() {
	"$O/perf/new/x86_64/perf" script -i "$1" --itrace=be -F event,ip,addr 2>"$tap_tmp/err" </dev/null
}
ntrace_branches() {
	"$ntrace" script -i "$1" --threads 1 -F ip,addr 2>"$tap_tmp/err" </dev/null
}
# Print FROM and TO of lines such as "[branches:] FROM => TO". Omit starts and stops of trace, which have 0 in place
# of one address. Also omit branches to the next instruction, because it is unknown whether these branches were taken
pairs() {
	python3 -c '
import re, sys
sizes = {int(a, 16): int(n) for a, n in (line.split() for line in open(sys.argv[1]))}
for line in sys.stdin:
    if "rror" in line:
        print("error", line.strip())
        continue
    a = [int(w, 16) for w in re.findall(r"\b[0-9a-f]+\b", line.replace("branches", ""))]
    if len(a) == 2 and 0 not in a and a[1] != a[0] + sizes.get(a[0], 0):
        print(f"{a[0]:x} {a[1]:x}")
' "$tap_tmp/sizes"
}
# If trace was lost, at least a third of all branches must be present, in order
in_order() {
	python3 - "$1" "$2" <<'EOP'
import sys
got, wanted = (open(p).read().split('\n') for p in sys.argv[1:])
got = [line for line in got if line and not line.startswith('error')]
at = iter(wanted)
ok = all(line in at for line in got)
print(f'{len(got)} of {len(wanted) - 1} branches, {"" if ok else "not "}in order')
sys.exit(not ok or 3 * len(got) < len(wanted))
EOP
}
# variant TOOL ENCODE-OPTIONS...: encode the list of PCs with these options, and compare the branches that TOOL prints
# with those of the list
variant() {
	_tool=$1; shift
	"$ntrace" encode --elf "$program" --pcs "$tap_tmp/list" -o "$tap_tmp/trace" --timestamp --context 1234 "$@" &&
		python3 "$data/mkvariant.py" "$tap_tmp/trace" "$program" "$tap_tmp/perf.data" || return
	${_tool}_branches "$tap_tmp/perf.data" | pairs >"$tap_tmp/got"
	case $* in
	*fifo*) in_order "$tap_tmp/got" "$tap_tmp/wanted" ;;
	*) diff "$tap_tmp/wanted" "$tap_tmp/got" | head -n 10; cmp "$tap_tmp/wanted" "$tap_tmp/got" ;;
	esac
}
# each TOOL MODE VARIANT...: test each variant alone. Some variants differ only after a loss
each() {
	_with=$1 _mode=$2 _bad=0
	shift 2
	[ $# -gt 0 ] || return
	for v; do
		case $v in
		overrun-branch|ecode-zero|etype-vendor)
			_more="--fifo-depth 120 --fifo-rate 60"
			[ "$_mode" = btm ] || _more="--fifo-depth 100 --fifo-rate 30" ;;
		*) _more="--sync-mode 3 --sync-max 4 --icnt-bits 6 --hist-bits 4" ;;
		esac
		# shellcheck disable=SC2086
		variant "$_with" --mode "$_mode" $_more --variant "$v" --seed 7 || { echo "variant $v"; _bad=1; }
	done
	return $_bad
}

plan 6
ok "the list has over 300 branches" [ "$(wc -l <"$tap_tmp/wanted")" -gt 300 ]
# shellcheck disable=SC2046
ok "perf: each variant, HTM" each perf htm $(variant_names)
ok "perf: each variant that has an effect in BTM" each perf btm linear-direct full-before tstamp-some debug overrun-branch
form="--variant tstamp-some --variant idle --variant pad --variant split --variant hist-any --variant vendor
	--variant vendor-codes --variant linear-indirect --variant ownership --variant trigger --variant debug"
# shellcheck disable=SC2086
for tool in perf ntrace; do
	ok "$tool: many variants at once" variant $tool --mode htm --sync-mode 1 --sync-max 1 $form
done
sed -i '100d' "$tap_tmp/wanted"
not_same() { ! variant perf --mode htm >/dev/null; }
ok "the comparison detects a branch that was not executed" not_same
done_testing
