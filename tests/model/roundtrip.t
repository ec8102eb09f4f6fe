#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Encode PCs with `ntrace encode`, and decode the same PCs with `ntrace decode --pcs`. The longest list is that
# of a real program. It has over a million PCs, or over 10 million in make test-all. Shorter lists with traps and gaps,
# for RV64 and RV32, test each option of the encoder. Encoder and decoder share no code.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/model/roundtrip.sh"
set -f

roundtrip_setup
# tests/mutations sets QUICK, because the following five results are enough to detect its changes.
if [ -n "${QUICK:-}" ]; then
	plan 5
	python3 "$top/tests/model/walk.py" "$program" 5000 1 >"$tmp/walk.list"
	flat "$tmp/walk.list"
	ok "each option, random walk with traps and gaps" combinations "$tmp/walk.list" "$program" "" walk
	ok "each variant, random walk with traps and gaps" variants "$tmp/walk.list" "$program"
	ok "each variant changes the trace, and the trace decodes" changed
	ok "losses beside stops without a message" losses "$tmp/walk.list" "$program"
	ok "a full sink that lacks the end of sessions" full_sink "$tmp/walk.list" "$program"
	done_testing
fi
plan 27

# Trace busybox, which was not written for this test, while it compresses a part of its file.
head -c $(by_size 600 16000) "$program" >"$tmp/input"
ok "PCs of busybox bzip2" "$top/tests/harness/pcs" "$tmp/real.list" "$program" bzip2 -k "$tmp/input"
flat "$tmp/real.list"
count=$(wc -l <"$tmp/real.list")
millions=$(by_size 1 10)
is "busybox bzip2 executes over $millions million PCs" "$([ "$count" -gt ${millions}000000 ] && echo yes)" yes
for mode in btm htm; do
	start=$(date +%s%N)
	ok "$mode: $count encoded PCs are decoded" roundtrip "$tmp/real.list" "$program" "--mode $mode --stats" ""
	figure "$mode round trip: $count instructions compared, 0 differences" \
		"($(($(date +%s%N) / 1000000 - start / 1000000)) ms): $(head -n 1 "$tmp/encode")"
done
ok "$count PCs, encoded with all optimisations, are decoded" roundtrip "$tmp/real.list" "$program" \
	"--implicit-return --sequential-jump --extend-addr --repeated-history --sync-mode 3 --sync-max 12" \
	"--implicit-return --sequential-jump --extend-addr"

head -n $(by_size 15000 120000) "$tmp/real.list" >"$tmp/short.list"
flat "$tmp/short.list"
ok "each option, a real program" combinations "$tmp/short.list" "$program" "" real 0 3

python3 "$top/tests/model/walk.py" "$program" $(by_size 8000 60000) 1 >"$tmp/walk.list"
flat "$tmp/walk.list"
ok "each option, random walk with traps and gaps" combinations "$tmp/walk.list" "$program" "" walk 1 3

riscv64-linux-gnu-gcc -march=rv32imac -mabi=ilp32 -ffreestanding -nostdlib -static -O2 \
	-Wl,-m,elf32lriscv,-Ttext=0x80000000,-e,0 -o "$tmp/rv32" "$top/tools/board/model/insn.c"
python3 "$top/tests/model/walk.py" "$tmp/rv32" $(by_size 8000 60000) 2 >"$tmp/walk32.list"
flat "$tmp/walk32.list"
ok "each option, RV32" combinations "$tmp/walk32.list" "$tmp/rv32" --rv32 walk 2 3

# Test a real program on RV32. tests/long repeats these tests with over 10 million instructions.
ok "a program for RV32" rv32_program "$tmp/real32"
QEMU_RISCV64=qemu-riscv32-static "$top/tests/harness/pcs" "$tmp/real32.list" "$tmp/real32" 60 >/dev/null
flat "$tmp/real32.list"
ok "each combination of optimisations, RV32, a real program" cross "$tmp/real32.list" "$tmp/real32" 0 2
ok "each combination of optimisations, RV64" cross "$tmp/short.list" "$program" 1 2

# Test the variants of encoders that the specification allows.
head -n $(by_size 6000 20000) "$tmp/real.list" >"$tmp/variant.list"
head -n $(by_size 5000 10000) "$tmp/walk.list" >"$tmp/variant-walk.list"
ok "each variant, a real program" variants "$tmp/variant.list" "$program" 0 2
ok "each variant, random walk with traps and gaps" variants "$tmp/variant-walk.list" "$program" 1 2
ok "each variant changes the trace, and the trace decodes" changed
ok "losses beside stops without a message" losses "$tmp/variant-walk.list" "$program"
ok "a full sink that lacks the end of sessions" full_sink "$tmp/variant-walk.list" "$program"

# Try each width of SRC, with the highest source ID of that width.
widths() {
	for n in $(by_size "0 1 5 6 7 12" "0 1 2 3 4 5 6 7 8 9 10 11 12"); do
		roundtrip "$tmp/walk.list" "$program" "--src-bits $n --src $(((1 << n) - 1))" \
			"--src-bits $n --src $(((1 << n) - 1))" || return 1
	done
}
ok "SRC of 0 to 12 bits" widths

# Load a program at an address other than the one to which it is linked.
moved() {
	riscv64-linux-gnu-gcc -O2 -fPIE -static-pie -fno-builtin -nostdlib -Wl,--no-dynamic-linker -o "$tmp/pie" \
		"$top/tests/lib/unpredictable.c" "$top/tests/lib/tiny-runtime.c" &&
	"$top/tests/harness/pcs" "$tmp/pie.list" "$tmp/pie" 60 || return 1
	flat "$tmp/pie.list"
	entry=$(riscv64-linux-gnu-readelf -h "$tmp/pie" | sed -n 's/.*Entry point.*: *//p')
	base=$(python3 -c "print(hex($(head -n 1 "$tmp/pie.list") - $entry))")
	echo "loaded at $base"
	[ "$base" != 0x0 ] && "$ntrace" encode --elf "$tmp/pie@$base" --pcs "$tmp/pie.list" -o "$tmp/nt" &&
	"$ntrace" decode --elf "$tmp/pie@$base" --pcs "$tmp/nt" | cmp - "$tmp/pie.pcs"
}
ok "a position-independent program" moved

# Stalling loses no trace, because "If TE cannot send a message, the hart is stalled until it can"
ok "a FIFO that stalls loses nothing" roundtrip "$tmp/short.list" "$program" \
	"--fifo-depth 100 --fifo-rate 4 --stall" ""

# overflow MODE: let a FIFO overflow. The trace must report the loss, and must lack only the lost code.
overflow() {
	for opts in "--fifo-depth 128 --fifo-rate 8" "--fifo-depth 300 --fifo-rate 24 --sync-mode 3 --sync-max 6" \
		"--fifo-depth 100 --fifo-rate 24 --context 5" \
		"--fifo-depth 300 --fifo-rate 24 --repeat-branch --repeated-history"; do
		# shellcheck disable=SC2086
		"$ntrace" encode --elf "$program" --pcs "$tmp/short.list" -o "$tmp/nt" --truth "$tmp/truth" \
			--stats --mode "$1" $opts >"$tmp/encode" || return 1
		grep -q ' 0 overflows' "$tmp/encode" && { echo "no overflow with $opts"; return 1; }
		"$ntrace" decode "$tmp/nt" --elf "$program" --ranges >"$tmp/ranges" 2>/dev/null
		"$ntrace" verify --truth "$tmp/truth" --decoded "$tmp/ranges" || return 1
		"$ntrace" verify --truth "$tmp/truth" --trace "$tmp/nt" --quiet || return 1
	done
}
ok "overflow, BTM: the trace reports each loss" overflow btm
ok "overflow, HTM: the trace reports each loss" overflow htm
roundtrip "$tmp/short.list" "$program" "--truth $tmp/truth" ""
sed -n '1,500p;502,1000p' "$tmp/short.pcs" >"$tmp/wrong"
"$ntrace" verify --truth "$tmp/truth" --decoded "$tmp/wrong" >"$tmp/verify"
is "verify finds one PC that is missing" "$? $(grep -c 'first difference.*after 500 instructions' "$tmp/verify")" "1 1"

# Decode a list with traps and gaps. The decoder gets the code from the truth file.
roundtrip "$tmp/walk.list" "$program" "--truth $tmp/truth --mode btm --context 9" ""
ok "verify decodes, with the code of the truth" "$ntrace" verify --truth "$tmp/truth" --trace "$tmp/nt"
# sees NAME TEXT "OPTIONS OF THE TRUTH" "OPTIONS OF THE TRACE": encode truth and trace with different options, which
# do not change the PCs. `ntrace verify` must report the difference TEXT
sees() {
	# shellcheck disable=SC2086
	"$ntrace" encode --elf "$program" --pcs "$tmp/walk.list" -o "$tmp/other" --truth "$tmp/truth" $3 >"$tmp/encode"
	# shellcheck disable=SC2086
	"$ntrace" encode --elf "$program" --pcs "$tmp/walk.list" -o "$tmp/nt" $4 >"$tmp/encode"
	"$ntrace" verify --truth "$tmp/truth" --trace "$tmp/nt" >"$tmp/verify" 2>&1
	is "verify detects a different $1" "$? $(grep -c "$2" "$tmp/verify")" "1 1"
}
sees privilege "but its privilege mode was different" "--context 5 --priv u" "--context 5 --priv s"
sees context "but its context was different" "--context 5" "--context 6"
sees "kind of trap" "but it ended with another type" "--trap interrupt --btype-extended" "--trap exception --btype-extended"
"$ntrace" encode --elf "$program" --pcs "$tmp/short.list" -o "$tmp/nt" >"$tmp/encode"
"$ntrace" verify --truth "$tmp/truth" --trace "$tmp/nt" >"$tmp/verify" 2>&1
is "verify detects the trace of another execution" "$? $(grep -c 'first difference' "$tmp/verify")" "1 1"
done_testing
