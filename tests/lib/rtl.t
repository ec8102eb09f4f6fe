#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Decode traces of an encoder that others wrote (tests/dialect/rtl). The decoder must accept and
# name its deviations from the specification.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
ntrace=$O/bin/ntrace
cd "$top/tests/dialect/rtl" || exit 1
plan 49

# files NAME: find the program, and its executed PCs
files() {
	elf=$1.elf pcs=$1.pcs
	[ -f "$elf" ] || elf=$top/samples/primes
	[ -f "$pcs" ] || pcs=primes.pcs
}
# decode NAME OPTION...: print PCs, and write errors to $tap_tmp/err
decode() {
	_name=$1; shift
	files "$_name"
	"$ntrace" decode --pcs "$@" --elf "$elf" "$_name.nt" 2>"$tap_tmp/err"
}
# right NAME DEVIATION OPTION...: expect all PCs, exit status 0, and the name of the deviation. DEVIATION is "" if the
# decoder must not name a deviation, or "any" to accept every name
right() {
	_case=$1 _deviation=$2; shift 2
	decode "$_case" --encoder accemic "$@" >"$tap_tmp/pcs"
	is "$_case: exit status" $? 0
	ok "$_case: all executed PCs are decoded" cmp "$tap_tmp/pcs" "$pcs"
	named=$(sed -n 's/.*deviation \([^:]*\):.*/\1/p' "$tap_tmp/err" | paste -sd' ')
	[ "$_deviation" = any ] || is "$_case: how the encoder deviates" "$named" "$_deviation"
}
right btm-stop-cdf1 any
right btm-stop-hist hist-in-btm
right htm-start-11 any
right htm-sync-11 any
right htm-sync-29-branch any
right sync-xret-btype3 trap-return-as-interrupt
right return-over-sync stack-over-sync --implicit-return
right return-over-debug any --implicit-return
right repeat-instruction repeat-instruction
right good-htm "" --implicit-return
right good-block ""
right primes-htm ""
right primes-btm hist-in-btm
right primes-htm-ir "" --implicit-return
right primes-htm-sync-noibhs ""
right primes-htm-all "" --implicit-return --timestamp

# A deviation that the decoder does not know is an error. With --strict, each deviation is an error
decode htm-sync-29-branch >/dev/null
is "an unknown encoder that leaves out a bit of HIST is an error" $? 1
decode sync-xret-btype3 --encoder accemic --strict >/dev/null
is "a deviation is an error with --strict" $? 1
for name in 7014 7020; do
	decode jtc-$name --encoder accemic >"$tap_tmp/pcs"
	is "jtc-$name: the flow ends where a skipped message moves the PC" \
		"$? $(head -n "$(wc -l <"$tap_tmp/pcs")" "$pcs" | cmp - "$tap_tmp/pcs" && grep -c NT_E_SKIPPED "$tap_tmp/err")" "1 1"
done
is "overflow-timestamps: an Error message has 8 bits of ECODE, and then TSTAMP" \
	"$("$ntrace" dump --timestamp overflow-timestamps.nt | grep -o 'ECODE=.*')" \
	"ECODE=0xc (Program Trace, Ownership Trace) TSTAMP=195"
decode srcbits0 >"$tap_tmp/pcs"
is "srcbits0: nothing can be decoded" "$? $(wc -l <"$tap_tmp/pcs")" "1 0"
done_testing
