#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Encode PCs with `ntrace encode --dialect sifive`, and decode the same PCs with `ntrace decode
# --dialect sifive`. The decoder was written independently of the board's encoder.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/model/roundtrip.sh"

roundtrip_setup
plan 6
head -c $(by_size 200 4000) "$ntrace" >"$tmp/input"
"$top/tests/harness/pcs" "$tmp/whole.list" "$program" bzip2 -k "$tmp/input" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
head -n 1000000 "$tmp/whole.list" >"$tmp/real.list"
flat "$tmp/real.list"
python3 "$top/tests/model/walk.py" "$program" $(by_size 15000 60000) 1 >"$tmp/walk.list"
flat "$tmp/walk.list"

# each LIST RETURNS PART PARTS: encode and decode LIST with all settings of the P550's control register. RETURNS is the
# encoder's option for implicit returns. It is empty for a random path through the program (walk.py). The returns
# of this path do not go to their callers, and an encoder that only counts calls cannot detect this. roundtrip.sh
# explains PART and PARTS.
each() {
	share "$3" "$4"
	for src in "" "--src-bits 2 --src 3"; do
	for time in "" --timestamp; do
	for sync in "" "--sync-mode 1 --sync-max 1" "--sync-mode 1 --sync-max 4"; do
	for icnt in "" "--icnt-bits 5" "--icnt-bits 10"; do
	for full in "" "--runs" "--runs $2"; do
		set -- "$1" "$2" "$time ${src%% --src 3}"
		case $full in *--return*) set -- "$1" "$2" "$3 --implicit-return" ;; esac
		! is_mine || roundtrip "$1" "$program" "--dialect sifive $src $time $sync $icnt $full" "--dialect sifive $3" ||
			bad=$((bad + 1))
	done; done; done; done; done
	all_right " of $(wc -l <"$1") instructions"
}
head -n $(by_size 15000 60000) "$tmp/real.list" >"$tmp/short.list"
flat "$tmp/short.list"
ok "each setting, a real program" each "$tmp/short.list" "--return-mode 1" 0 2
ok "each setting, random walk with traps and gaps" each "$tmp/walk.list" "" 1 2
ok "a million instructions, all optimisations of mode 7" roundtrip "$tmp/real.list" "$program" \
	"--dialect sifive --runs --return-mode 1 --timestamp --sync-mode 1 --sync-max 8" \
	"--dialect sifive --implicit-return --timestamp"

# Check that the encoder sends the messages that exist only in this dialect.
"$ntrace" dump --dialect sifive --timestamp "$tmp/nt" >"$tmp/messages"
ok "runs of branches that are taken, and that are not" \
	sh -c "grep -q 'RCODE=8' $tmp/messages && grep -q 'RCODE=9' $tmp/messages"
"$ntrace" encode --elf "$program" --pcs "$tmp/real.list" -o "$tmp/nt" --dialect sifive \
	--sync-mode 1 --sync-max 0 >"$tmp/encode" || exit 1
"$ntrace" dump --dialect sifive "$tmp/nt" >"$tmp/messages"
is "HIST is never empty" "$(grep -c 'HIST=0x1\b' "$tmp/messages")" 0
ok "a sync at the branch that filled HIST" grep -q 'HIST=0x[4-7][0-9a-f]\{7\}\b' "$tmp/messages"
done_testing
