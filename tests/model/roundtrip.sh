# SPDX-License-Identifier: GPL-2.0-only
# Functions of tests/model/roundtrip.t and its long form in tests/long. They encode lists of PCs,
# decode the traces, and compare the PCs. $ntrace is the command, $program is a real
# program, and $tmp is the folder for files.
# shellcheck shell=sh

roundtrip_setup() {
	build_tool
	program=$O/root/guest/bin/busybox
	[ -e "$program" ] || "$top/tools/setup/setup" guest >"$tap_tmp/setup" 2>&1 ||
		{ cat "$tap_tmp/setup"; exit 1; }
	tmp=$tap_tmp
	ntrace=$tmp/ntrace	# use a copy, because another test may build the command
	cp "$O/bin/ntrace" "$O/bin/ntrace-dev" "$tmp"
}

# roundtrip LIST ELF "ENCODE OPTIONS" "DECODE OPTIONS": encode and decode LIST. Fail if the PCs differ
roundtrip() {
	# shellcheck disable=SC2086
	"$ntrace" encode --elf "$2" --pcs "$1" -o "$tmp/nt" $3 >"$tmp/encode" 2>&1 || {
		echo "encode $3: $(cat "$tmp/encode")"; return 1; }
	# shellcheck disable=SC2086
	"$ntrace" decode "$tmp/nt" --elf "$2" --pcs $4 >"$tmp/pcs" 2>"$tmp/err" || {
		echo "encode $3, decode $4: $(head -n 3 "$tmp/err")"; return 1; }
	cmp "$tmp/pcs" "${1%.list}.pcs" || { echo "encode $3, decode $4"; return 1; }
}

# share PART PARTS: start to count combinations of options. To save time, a test with one list of PCs tries only
# one combination in each group of PARTS. The tests with PART 0 to PARTS - 1 together try all of them. In make
# test-all, each test tries all.
share() { PART=$1 PARTS=$(by_size "$2" 1); n=0 bad=0 tried=0; }
# Add 1 to $n, the number of the combination. Succeed if the current test must try this combination.
is_mine() {
	n=$((n + 1))
	[ $(((n + n / PARTS) % PARTS)) -eq $((PART % PARTS)) ] && tried=$((tried + 1))
}
# all_right [TEXT]: print how many of all combinations, which TEXT describes, were tried. Succeed if none failed.
all_right() {
	echo "$tried combinations of $n$1, $bad failed"
	[ $bad -eq 0 ] && [ $tried -gt 0 ]
}

# Write the list $1 without its gaps
flat() { grep -v '^-' "$1" >"${1%.list}.pcs"; }

# combinations LIST ELF "DECODE OPTIONS" NAME PART PARTS: try every option of the encoder, alone and with others, in
# both modes, with each kind of periodic sync. Decoding always needs the DECODE OPTIONS. share() explains PART and PARTS
combinations() {
	share "${5:-0}" "${6:-1}"
	for mode in btm htm; do
		for sync in "" "--sync-mode 1 --sync-max 2" "--sync-mode 2 --sync-max 6 --timestamp" \
			"--sync-mode 3 --sync-max 4 --sync-delayed"; do
			ts=; case $sync in *timestamp*) ts=--timestamp ;; esac
			for own in "--src-bits 5 --src 17" "--context 4711 --timestamp" "--btype-extended" \
				"--icnt-bits 4" "--icnt-bits 6 --icnt-sync" "--hist-bits 2" "--hist-bits 9" \
				"--hist-always" "--repeat-branch" "--repeated-history" \
				"--repeated-history --hist-bits 5" "--return-mode 1 --return-depth 5" \
				"--return-mode 2" "--trap exception" "--priv m"; do
				# Return mode 1 needs returns that go to the instruction after the call. Only the
				# list of a real program has these.
				case "$own $4" in
				*return-mode\ 1*real) tried=$((tried + 1)) ;;
				*return-mode\ 1*) continue ;;
				*) is_mine || continue ;;
				esac
				need=$ts
				case $own in
				*src*) need="$need --src-bits 5" ;;
				*--timestamp) need=--timestamp ;;
				*return*) need="$need --implicit-return" ;;
				esac
				roundtrip "$1" "$2" "--mode $mode $sync $own" "$need $3" || bad=$((bad + 1))
			done
			for both in "--implicit-return" "--sequential-jump" "--all-jumps" "--extend-addr" \
				"--implicit-return --sequential-jump --all-jumps --extend-addr"; do
				for own in "" "--repeated-history --repeat-branch"; do
					! is_mine || roundtrip "$1" "$2" "--mode $mode $sync $both $own" "$ts $both $3" ||
						bad=$((bad + 1))
				done
			done
		done
	done
	all_right
}

# cross LIST ELF PART PARTS: try every combination of the encoder's optimisations, such as implicit returns, in HTM and
# BTM. share() explains PART and PARTS
cross() {
	share "${3:-0}" "${4:-1}"
	for mode in btm htm; do
	for ret in "" "--return-mode 1 --return-depth 5" "--return-mode 2" "--return-mode 3"; do
	for jump in "" --sequential-jump; do
	for all in "" --all-jumps; do
	for ext in "" --extend-addr; do
	for rep in "" "--repeated-history --repeat-branch"; do
		need="$jump $all $ext"
		[ -z "$ret" ] || need="$need --implicit-return"
		# Every second combination has timestamps. The kind of periodic sync changes with each combination.
		case $((n % 4)) in
		0) sync= ;;
		1) sync="--timestamp --sync-mode 1 --sync-max 6" need="$need --timestamp" ;;
		2) sync="--sync-mode 3 --sync-max 10" ;;
		3) sync="--timestamp --src-bits 3 --src 5" need="$need --timestamp --src-bits 3" ;;
		esac
		! is_mine || roundtrip "$1" "$2" "--mode $mode $ret $jump $all $ext $rep $sync" "$need" ||
			bad=$((bad + 1))
	done; done; done; done; done; done
	all_right " of $(wc -l <"$1") instructions"
}

# rv32_program FILE: build a program for RV32, which qemu-riscv32 can run
rv32_program() {
	mkdir -p "$tmp/include/gnu"
	: >"$tmp/include/gnu/stubs-ilp32.h"	# the C library's headers are for RV64 only
	riscv64-linux-gnu-gcc -march=rv32imac -mabi=ilp32 -O2 -fno-builtin -nostdlib -static -no-pie \
		-I"$tmp/include" -Wl,-m,elf32lriscv -o "$1" "$top/tests/lib/unpredictable.c" \
		"$top/tests/lib/tiny-runtime.c"
}

# verified LIST ELF "ENCODE OPTIONS" "DECODE OPTIONS": encode and decode LIST, and compare the result with a
# truth file, which is possible even if the trace has losses and gaps
verified() {
	# shellcheck disable=SC2086
	"$ntrace" encode --elf "$2" --pcs "$1" -o "$tmp/nt" --truth "$tmp/truth" $3 >"$tmp/encode" 2>&1 || {
		echo "encode $3: $(cat "$tmp/encode")"; return 1; }
	# shellcheck disable=SC2086
	"$ntrace" verify $4 --truth "$tmp/truth" --trace "$tmp/nt" --elf "$2" >"$tmp/verify" 2>&1 || {
		echo "encode $3, decode $4: $(head -n 3 "$tmp/verify")"; return 1; }
}

# stack_need VARIANT: if a full return stack ignores calls in this variant, print the option for the depth of
# the stack, which the decoder needs
stack_need() {
	case "$1 $options" in
	stack-stops*return-depth\ 3*) need="$need --implicit-return=3 --return-drop-newest" ;;
	stack-stops*implicit-return*) need="$need --return-drop-newest" ;;
	esac
}

# Check each variant with the program variants.S. The variant must change the trace of this program, and the changed
# trace must decode correctly.
changed() {
	riscv64-linux-gnu-gcc -march=rv64imac -mabi=lp64 -nostdlib -static -no-pie \
		-Wl,--build-id=none,-Ttext=0xffffffff80200000 -o "$tmp/variants" "$top/tests/model/variants.S" &&
		python3 "$top/tests/model/walk.py" "$tmp/variants" 12000 1 >"$tmp/variants.list" || return
	f3=0x$(riscv64-linux-gnu-nm "$tmp/variants" | sed -n 's/ t f3$//p')
	n=0 bad=0
	for v in $(variant_names); do
		same=yes plain=0
		for mode in btm htm; do
			for options in "--sync-mode 2 --sync-max 2 --timestamp" \
				"--implicit-return --return-depth 3 --repeated-history --hist-bits 4 --context 5" \
				"--icnt-bits 4 --hist-bits 2" "--fifo-depth 100 --fifo-rate 20" \
				"--only 0xffffffff80200000-$f3"; do
				# make test stops at the first combination in which the variant changes the trace
				[ "$same" ] || large || [ "${QUICK:-}" ] || continue
				need=
				for o in --timestamp --implicit-return; do
					case $options in *$o*) need="$need $o" ;; esac
				done
				stack_need $v
				n=$((n + 1))
				plain=$((plain + 1))
				# shellcheck disable=SC2086
				[ -e "$tmp/plain$plain" ] || "$ntrace" encode --elf "$tmp/variants" --pcs "$tmp/variants.list" \
					-o "$tmp/plain$plain" --mode $mode $options || return
				# shellcheck disable=SC2086
				verified "$tmp/variants.list" "$tmp/variants" "--mode $mode $options --variant $v" "$need" ||
					bad=$((bad + 1))
				[ -z "$same" ] || cmp -s "$tmp/nt" "$tmp/plain$plain" || same=
			done
		done
		[ -z "$same" ] || { echo "$v changes nothing"; bad=$((bad + 1)); }
	done
	echo "$n combinations, $bad failed"
	[ $bad -eq 0 ]
}

# Lose messages at two positions. One is before or after a stop that no message reports. The
# other is right after the message that reports a full HIST.
losses() {
	n=0 bad=0
	for mode in btm htm; do
		for options in "--fifo-depth 80 --fifo-rate 20 --variant vendor" "--fifo-depth 80 --fifo-rate 24 --variant vendor" \
			"--fifo-depth 100 --fifo-rate 30 --variant vendor" \
			"--all-jumps --hist-bits 6 --icnt-bits 9 --fifo-depth 120 --fifo-rate 20 --variant hist-any"; do
			need=; case $options in *all-jumps*) need=--all-jumps ;; esac
			for seed in $(seq "$(by_size 4 8)"); do
				n=$((n + 1))
				# shellcheck disable=SC2086
				verified "$1" "$2" "--mode $mode $options --variant no-stop --seed $seed" "$need" || bad=$((bad + 1))
			done
		done
	done
	echo "$n combinations, $bad failed"
	[ $bad -eq 0 ]
}

# full_sink LIST ELF: check the trace of a sink that lost the end of some sessions, because it was full. The trace
# before the loss and the trace of the next session must be correct.
full_sink() {
	n=0 bad=0
	for mode in btm htm; do
		"$ntrace" encode --elf "$2" --pcs "$1" -o "$tmp/nt" --truth "$tmp/truth" --mode $mode >"$tmp/encode" || return 1
		for count in 1 2 5 20; do
			n=$((n + 1))
			cut=$(python3 "$top/tests/model/cut.py" "$tmp/nt" "$tmp/nt.cut" $count)
			"$ntrace" verify --truth "$tmp/truth" --trace "$tmp/nt.cut" --elf "$2" >"$tmp/verify" 2>&1 &&
				[ "$(sed -n 's/.* \([0-9]*\) gaps declared.*/\1/p' "$tmp/verify")" = "$cut" ] && [ "$cut" -ge 1 ] && continue
			bad=$((bad + 1))
			echo "$mode, $cut sessions cut by $count messages: $(tail -n 1 "$tmp/verify")"
		done
	done
	echo "$n combinations, $bad failed"
	[ $bad -eq 0 ]
}

# variants LIST ELF PART PARTS: try each variant alone and with optimisations, in both modes. Then try many variants
# together, with several seeds.
variants() {
	share "${3:-0}" "${4:-1}"
	all=
	for v in $(variant_names); do
		# Do not combine these two variants. The trace would begin with a stop message and end without one, and
		# no decoder can read this trace.
		case $v in early-stop) early="--variant $v" ;; no-stop) late="--variant $v" ;; *) all="$all --variant $v" ;; esac
		for mode in btm htm; do
			for options in "" "--sync-mode 1 --sync-max 0" "--timestamp --context 5 --sync-mode 3 --sync-max 2 --icnt-bits 6 --hist-bits 5" \
				"--implicit-return --extend-addr --sequential-jump --repeated-history --hist-bits 4 --sync-mode 1 --sync-max 4" \
				"--implicit-return --all-jumps --repeated-history --hist-bits 3 --return-depth 3 --sync-mode 1 --sync-max 0" \
				"--fifo-depth 100 --fifo-rate 24 --context 5 --icnt-bits 8"; do
				need=
				for o in --timestamp --implicit-return --extend-addr --sequential-jump --all-jumps; do
					case $options in *$o*) need="$need $o" ;; esac
				done
				stack_need $v
				! is_mine || verified "$1" "$2" "--mode $mode $options --variant $v --seed $n" "$need" || bad=$((bad + 1))
			done
		done
	done
	for seed in $(seq "${SEEDS:-10}"); do
		for mode in btm htm; do
			for options in "" "--timestamp --context 5 --sync-mode 3 --sync-max 2 --icnt-bits 6 --hist-bits 5" \
				"--fifo-depth 100 --fifo-rate 24 --context 5 --icnt-bits 8"; do
				need=; case $options in *timestamp*) need=--timestamp ;; esac
				stop=$early
				[ $((seed % 2)) -eq 0 ] || stop=$late
				# shellcheck disable=SC2086
				! is_mine || verified "$1" "$2" "--mode $mode $options $all $stop --seed $seed" "$need" || bad=$((bad + 1))
			done
		done
	done
	all_right " of $(wc -l <"$1") instructions"
}
