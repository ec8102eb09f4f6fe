#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ntrace decode --detect` and `ntrace stat --elf` find out how a trace was encoded.
# shellcheck disable=SC2086
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/unit.sh"
build_tool
ntrace=$O/bin/ntrace dir=$O/tests/lib-detect
mkdir -p "$dir"
unit_workload 20 || exit 1
head -n 8000 "$dir/prog.pcs" >"$dir/part" && mv "$dir/part" "$tap_tmp/pcs"
gcc -g -O2 -I"$top/include" -o "$dir/roundtrip" "$top/tests/dialect/roundtrip.c" "$top/tests/dialect/encoder.c" \
	"$top/tests/dialect/program.c" "$O/lib/libntrace.a" -lpthread && make -s -C "$top/tests/random" O="$O" || exit 1
cd "$tap_tmp" || exit 1
plan 57

# found NAME ELF PCS TRACE: check that `ntrace decode --detect` decodes the trace to the executed PCs without
# options for the encoder
found() {
	"$ntrace" decode --detect --pcs --elf "$2" "$4" >got 2>err
	is "$1 is decoded without an option" "$? $(cmp got "$3" 2>&1)" "0 "
}
while read -r options; do
	"$O/bin/ntrace-dev" encode --elf "$dir/prog.elf" --pcs pcs -o t.nt $options || exit 1
	found "the encoder's trace with ${options:-no option}" "$dir/prog.elf" pcs t.nt
done <<'L'

--mode btm --sync-mode 1 --sync-max 4
--timestamp
--implicit-return
--mode btm --implicit-return
--timestamp --src-bits 4 --src 7 --sync-mode 1 --sync-max 6
--src-bits 2 --src 1
--src-bits 12 --src 99 --mode btm
--src-bits 7 --src 99 --implicit-return --timestamp
--all-jumps
--all-jumps --mode btm
--extend-addr
--extend-addr --all-jumps --timestamp
--sequential-jump
--sequential-jump --implicit-return
--repeated-history
--repeat-branch --mode btm
--implicit-return --sequential-jump --all-jumps --extend-addr --timestamp --repeated-history --context 12 --sync-mode 1 --sync-max 6
--dialect sifive --src-bits 2
--dialect sifive --mode btm
--hist-bits 9
--context 12
L
rtl=$top/tests/dialect/rtl
for name in btm-stop-cdf1 btm-stop-hist htm-start-11 htm-sync-11 htm-sync-29-branch sync-xret-btype3 \
	return-over-sync return-over-debug repeat-instruction good-htm good-block; do
	found "$name" "$rtl/$name.elf" "$rtl/$name.pcs" "$rtl/$name.nt"
done
for name in primes-htm primes-btm primes-htm-ir primes-htm-sync-noibhs primes-htm-all; do
	found $name "$top/samples/primes" "$rtl/primes.pcs" "$rtl/$name.nt"
done

# Make a ring buffer of 8,000 bytes that has wrapped, so that its oldest byte is in the middle of the file
"$O/bin/ntrace-dev" encode --elf "$dir/prog.elf" --pcs "$dir/prog.pcs" -o long.nt --mode btm --sync-mode 1 --sync-max 4
ring=8000 size=$(wc -c <long.nt) && at=$((size % ring))
tail -c $at long.nt >ring.nt && tail -c $ring long.nt | head -c $((ring - at)) >>ring.nt
"$ntrace" decode --pcs --middle --elf "$dir/prog.elf" ring.nt >got 2>err
is "a wrapped ring that is decoded in file order has an error at its seam" $? 1
"$ntrace" decode --pcs --detect --elf "$dir/prog.elf" ring.nt >got 2>err
is "--detect finds the seam of a ring" "$? $(tail -n "$(wc -l <got)" "$dir/prog.pcs" | cmp - got 2>&1)" "0 "
"$ntrace" decode --pcs --wrapped-at $at --elf "$dir/prog.elf" ring.nt >got 2>err
is "a ring is decoded from its oldest byte" "$? $(tail -n "$(wc -l <got)" "$dir/prog.pcs" | cmp - got 2>&1)" "0 "
# Damage one byte of a complete trace. In a ring buffer, a decoding error also occurs at the oldest byte if it follows
# the newest byte. --detect must not report a ring because of the damaged byte.
{ head -c 3000 long.nt; printf '\377'; tail -c +3002 long.nt; } >damaged.nt
"$ntrace" decode --stats --detect --elf "$dir/prog.elf" damaged.nt >got 2>err
is "--detect does not treat damage as the seam of a ring" "$? $(grep -c wrapped-at err)" "1 0"
"$ntrace" decode --pcs --elf "$top/samples/primes" "$top/samples/primes.nt" >primes.pcs
"$O/bin/ntrace-dev" encode --elf "$top/samples/primes" --pcs primes.pcs --sequential-jump -o t.nt
found "a trace with sequential jumps and a single message with SYNC" "$top/samples/primes" primes.pcs t.nt

# exact HOW FIRST COUNT LEAST: detect the settings of COUNT random streams, whose first seed is FIRST. detected.py
# describes HOW. At least LEAST streams must be decoded exactly
exact() {
	timeout 3000 python3 "$top/tests/lib/detected.py" "$dir" "$2" "$3" "$1" >exact
	figure "$1: $(tail -n 1 exact)"
	sed -n '/^# /p' exact
	ok "of $3 random streams ($1), at least $4 are decoded exactly" test "$(sed -n 's/ of.* exact.*//p' exact)" -ge "$4"
	! grep -q 'without a name' exact || ok "a deviation that no option names causes no instruction that was not executed" grep -q ' 0 runs' exact
}
exact plain 90 $(by_size 20 400) $(by_size 20 396)
exact cut 1000 $(by_size 10 100) $(by_size 9 96)
exact ring 2010 $(by_size 10 100) $(by_size 9 96)
# Let the board's encoder deviate from the specification in each way that needs no trap. The decoder must name the
# deviation.
while read -r name options; do
	"$O/bin/ntrace-dev" encode --elf "$dir/prog.elf" --pcs pcs -o t.nt --sync-mode 2 --sync-max 1 --sync-delayed --variant $name $options
	case $options in --mode*|--hist*) options= ;; esac
	"$ntrace" decode --pcs --accept $name $options --elf "$dir/prog.elf" t.nt >got 2>err
	is "the decoder names the deviation $name, and decodes all PCs" "$? $(cmp got pcs 2>&1) $(grep -c "deviation $name:" err)" "0  1"
done <<'L'
sync-lacks-bit
hist-in-btm --mode btm
sync-lacks-bit --all-jumps
direct-sync-in-htm
direct-sync-in-htm --all-jumps
no-hist-in-htm --hist-bits 2
stack-over-sync --implicit-return
L
exact deviating 1 $(by_size 20 1000) $(by_size 20 999)
is "ntrace stat prints the options that decode the trace" "$("$ntrace" stat --elf "$rtl/htm-sync-29-branch.elf" "$rtl/htm-sync-29-branch.nt" |
	head -n 1 | cut -d' ' -f1-4)" "ntrace decode --encoder accemic"
"$ntrace" stat --elf "$dir/prog.elf" "$top/samples/primes.nt" >got 2>&1
is "ntrace stat asks whether this is the program if most messages do not fit it" "$? $(grep -o 'is this the program.*executed?' got)" \
	"1 is this the program that was executed?"
done_testing
