#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Decode the stream of a board like SpacemiT's K3, which has 16 harts. Their encoders use
# BTM, copies of the sign in F-ADDR, a timestamp in each message, and two Ownership messages after each
# sync. All traces are in CoreSight frames. `ntrace decode --dialect sifive` must detect these
# properties.
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top" lib tool >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
ntrace=$O/bin/ntrace
gcc -g -O2 -I"$top/include" -o "$tap_tmp/roundtrip" "$top/tests/dialect/roundtrip.c" \
	"$top/tests/dialect/encoder.c" "$top/tests/dialect/program.c" "$O/lib/libntrace.a" \
	-lpthread || exit 1
cd "$tap_tmp" || exit 1
plan 7

mkdir k3 sifive
"$tap_tmp/roundtrip" write 3 12000 k3 k3 16
ids=
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
	ids="$ids $((16 + i))=k3/$i.nt"
done
# shellcheck disable=SC2086
python3 "$top/tests/dialect/formatter.py" k3/frames $ids
k3="--src-bits 12 --timestamp --elf k3/prog.elf"

# Decode the trace of each hart alone.
rc=0
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
	# shellcheck disable=SC2086
	"$ntrace" decode $k3 --pcs --frames=$((16 + i)) k3/frames >pcs && cmp pcs k3/$i.pcs || rc=1
done
is "K3: each of 16 harts, decoded alone, has the executed PCs" $rc 0

# shellcheck disable=SC2086
"$ntrace" decode $k3 --stats --frames k3/frames >stats
is "K3: all harts are decoded at once without an error" $? 0
is "K3: all harts at once have all instructions" "$(awk '$1 == "instructions" { print $2 }' stats)" "$(cat k3/*.pcs | wc -l)"

# shellcheck disable=SC2086
"$ntrace" dump --src-bits 12 --timestamp --frames k3/frames >messages
ok "K3: messages contain addresses of the kernel" grep -m 1 'F-ADDR=0x7fffffffc.* (0xffffffff80' messages

# Lose whole frames. The remaining frames do not show this loss.
for i in 0 1; do
	head -n 8000 k3/$i.pcs >k3/$i.short
done
ok "K3: if frames are lost, no decoded code is wrong without an error" \
	python3 "$top/tests/dialect/lost.py" "$ntrace" k3/prog.elf 20 k3/0.short k3/1.short

"$tap_tmp/roundtrip" write 4 50000 sifive sifive 2
# No option describes the sizes of I-CNT and HIST or the return stack of this encoder, so the decoder must detect them
"$ntrace" decode --elf sifive/prog.elf --dialect sifive --src-bits 2 --pcs sifive/1.nt >pcs
is "SiFive: exit status" $? 0
ok "SiFive: all executed PCs are decoded" cmp pcs sifive/1.pcs
done_testing
