#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test each option of --itrace on a recording of the board. The test computes the expected result from the results of
# other options, from the messages, or from the board's truth. The guest's perf and the perfs of both kernels, on this
# host and for riscv64, must print the same. The perf for riscv64 on this host and the perf with sanitizers only run
# in make test-all. make test runs the guest's perf.
#
# KERNELS="lts new" selects the kernels that record; tests/long uses both.
. "$(dirname "$0")/../harness/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
. "$top/tests/perf/damaged.sh"

kernels=$(kernels ${KERNELS:-lts})
guest_lib=$O/root/guest/usr/lib/riscv64-linux-gnu
for kernel in $kernels; do
	make -C "$top" tool guest-tools plugin modules MVERS="$kernel" >"$tap_tmp/make" 2>&1 ||
		{ tail -n 30 "$tap_tmp/make"; exit 1; }
done
{
	for k in lts new; do for a in riscv64 x86_64; do "$top/tools/perf/build.sh" $k $a || exit; done; done &&
		"$O/root/bin/riscv64-guest-gcc" -O2 -g -fexceptions -o "$tap_tmp/chains" "$top/tests/perf/chains.c" \
			"$top/tests/perf/catch.S" "$guest_lib/libstdc++.so.6" -Wl,-rpath-link,"$guest_lib" &&
		gcc -O2 -Wall -Wextra -I"$top/tools/board/model" -o "$tap_tmp/blocks" \
			"$top/tests/perf/blocks.c" "$O/board/model/libnbmodel.a"
} >"$tap_tmp/make" 2>&1 || { tail -n 30 "$tap_tmp/make"; exit 1; }

# Each perf version prints the same for these options. Compare all perfs, and for some of the options also the guest's
# perf
options="be ce re bes100 i0ns i1000i i10us i100t i100usg i100usl iq iqq beq ibeAT"
guest_options=$(by_size "be i100usg" "be i0ns i100usg iq")
plan $(($(by_size 40 42) * $(echo $kernels | wc -w)))

record() { # KERNEL
	rm -rf "$dir" && mkdir -p "$dir/out"
	cp "$tap_tmp/chains" "$top/tools/perf/tests/shell/test_ntrace.sh" "$dir/out/"
	# Without this option, perf 7.2 and later do not put the vDSO into their build-id cache, but another machine
	# needs the vDSO.
	[ "$1" = 6.12 ] && mmap_options= || mmap_options=--no-buildid-mmap
	cat >"$dir/out/lib" <<-E2
		cd /tmp && cp /out/chains chains
		# perf does not read /proc/kallsyms if it has no addresses. These recordings have user mode only
		echo 2 >/proc/sys/kernel/kptr_restrict
		export PERF_BUILDID_DIR=/tmp/debug
		record() { perf --buildid-dir /tmp/debug record --no-bpf-event $mmap_options "\$@" >>/out/record.log 2>&1; }
	E2
	cat >"$dir/out/record" <<-E2
		. /out/lib
		record -m,4M -e ntrace//u -o true.data -- busybox true || exit 1
		record -m,4M -c 1 -e ntrace//u -e page-faults:u -o faults.data -- ./chains || exit 1
		record -m,4M -e ntrace//u --filter 'filter recursion @/tmp/chains' -o filter.data -- ./chains
		echo "filter \$?" >>/out/record.log
		perf record --no-bpf-event --aux-sample -e '{ntrace//u,page-faults:u}' -o no.data -- true >/out/aux-sample 2>&1
		for o in $guest_options; do
			perf --buildid-dir /tmp/debug script -i true.data --itrace=\$o -F tid,cpu,time,ip,addr --ns >/out/guest.\$o 2>/dev/null
		done
		[ -z "$(by_size "" 1)" ] || bash /out/test_ntrace.sh >/out/shell 2>&1; echo "shell \$?" >>/out/record.log
		tar -cf /out/files.tar *.data debug
	E2
	# Make this recording separately, because a recording with a truth takes long. The test compares it with the
	# truth.
	cat >"$dir/out/record-chains" <<-E2
		. /out/lib
		record -m,4M -e ntrace//u -o chains.data -- ./chains && cp chains.data /out || exit 1
		# Copy the build-id cache, which has the executed code.
		tar -cf /out/files.tar debug
	E2
	"$top/tools/board/board" run --kernel "$1" --out "$dir/out" -- sh /out/record && out_files "$dir/out" &&
		"$top/tools/board/board" run --kernel "$1" --truth "$dir/truth" --model truth-traced=$(by_size on off) --out "$dir/out" -- sh /out/record-chains &&
		out_files "$dir/out"
}

# Make a folder with the guest's files, where perf with --symfs searches for them
lay_symfs() { # KERNEL
	symfs=$dir/symfs
	mkdir -p "$symfs/tmp"
	cp -a "$O/root/guest/." "$symfs/"
	cp "$O/perf/$1/riscv64/perf" "$symfs/usr/bin/perf"
	cp "$tap_tmp/chains" "$symfs/tmp/"
	rm -rf "$symfs/.debug" && cp -a "$dir/out/debug" "$symfs/.debug"
}

perf() { "$O/perf/new/x86_64/perf" "$@" 2>"$tap_tmp/err"; }
script() { # WHAT OPTIONS...
	_what=$1; shift
	perf script --symfs "$symfs" -i "$dir/out/$_what.data" --ns "$@"
}
text() { script true --itrace="$1" -F tid,cpu,time,ip,addr; }
count() { wc -l | tr -d ' '; }

all_same() { # OPTION
	cp "$dir/out/guest.$1" "$tap_tmp/wanted" 2>/dev/null || rm -f "$tap_tmp/wanted"
	for who in $readers $(by_size "" new/riscv64); do
		run=
		[ $who != new/riscv64 ] || run="qemu-riscv64-static -L $O/root/sysroot"
		$run "$O/perf/$who/perf" script --symfs "$symfs" -i "$dir/out/true.data" --itrace="$1" \
			-F tid,cpu,time,ip,addr --ns >"$tap_tmp/got" 2>/dev/null
		[ -e "$tap_tmp/wanted" ] || cp "$tap_tmp/got" "$tap_tmp/wanted"
		cmp "$tap_tmp/wanted" "$tap_tmp/got" || { echo "$who differs"; return 1; }
	done
	[ -s "$tap_tmp/wanted" ] && echo "$(count <"$tap_tmp/wanted") lines"
}

q_is_right() { # each address that option q prints must be the target of an executed branch
	script true --itrace=iq -F ip | awk '{ print $1 }' | sort -u >"$tap_tmp/q"
	awk '{ print $NF }' "$tap_tmp/b" | sort -u | comm -23 "$tap_tmp/q" - | grep . && return 1
	[ -s "$tap_tmp/q" ]
}

time_is_right() {
	lines=$(count <"$tap_tmp/b")
	from=$(awk -v n=$((lines / 2)) 'NR == n { sub(":", "", $3); print $3 }' "$tap_tmp/b")
	to=$(awk -v n=$((lines * 3 / 4)) 'NR == n { sub(":", "", $3); print $3 }' "$tap_tmp/b")
	awk -v from="$from" -v to="$to" '{ t = $3; sub(":", "", t) } t >= from && t <= to' "$tap_tmp/b" >"$tap_tmp/wanted"
	script true --itrace=be --time "$from,$to" -F tid,cpu,time,ip,addr >"$tap_tmp/got"
	echo "$(count <"$tap_tmp/got") of $lines from $from to $to"
	[ -s "$tap_tmp/got" ] && cmp "$tap_tmp/wanted" "$tap_tmp/got" || return 1
	script true --itrace=ed+o --time "$from,$to" >"$tap_tmp/log"
	few=$(awk '/^range cpu/ { n += $6 } END { print n }' "$tap_tmp/log")
	echo "$few instructions of $insns were walked"
	[ "$few" -lt $((insns * 3 / 4)) ]
}

chains() {
	awk '!NF { line = ""; next_is_new = 1; if (out != "") print out; out = ""; next }
		{ out = out (out == "" ? "" : " ") $2 } END { if (out != "") print out }' "$tap_tmp/chains.txt" |
		awk '$1 != last { print; last = $1 }' |
		awk '{ out = ""; n = 1
			for (i = 1; i <= NF; i++) {
				if ($i == $(i + 1)) { n++; continue }
				out = out (out == "" ? "" : " ") $i (n > 1 ? "*" n : ""); n = 1
				if ($i == "main") break
			}
			print out }'
}

chains_are_right() {
	# The signal arrives in a function of the C library. perf may not find the name of this function
	chains | sed 's/ [^ ]*\(unknown\|pthread_kill\)[^ ]* raise/ raise/' >"$tap_tmp/got"
	diff "$tap_tmp/expected" "$tap_tmp/got"
}

truth_of_chains() {
	tid=$(script chains --itrace=b -F tid | awk '{ print $1; exit }')
	"$tap_tmp/blocks" "$tid" "$dir/truth/hart0.truth" >"$tap_tmp/blocks.txt" || return
	script chains --itrace=e --show-mmap-events | grep MMAP >"$tap_tmp/maps"
}
chains_py() { python3 "$top/tests/perf/chains.py" "$1" "$tap_tmp/blocks.txt" "$2" "$tap_tmp/maps" "$symfs"; }
g_is_truth() {
	truth_of_chains || return
	script chains --itrace=i${each}ig1000 -F ip --max-stack 1024 | chains_py chains $each
}
c_is_truth() { script chains --itrace=cr -F flags,callindent,ip,addr | chains_py calls -; }

# Another machine has the recording and the files that `perf archive` packed, but no files of the guest. The test
# gives perf the build-id cache of the recording machine with PERF_BUILDID_DIR.
archive_is_enough() {
	rm -rf "$dir/there" && mkdir -p "$dir/there/cache" && cp "$dir/out/true.data" "$dir/there/perf.data" || return
	(cd "$dir/there" && PATH=$O/perf/new/x86_64:$PATH PERF_BUILDID_DIR=$dir/out/debug \
		bash "$O/root/linux-new/tools/perf/perf-archive.sh" perf.data &&
		tar -xf perf.data.tar.bz2 -C cache) || return
	for who in $readers; do
		"$O/perf/$who/perf" --buildid-dir "$dir/there/cache" script -i "$dir/there/perf.data" --itrace=be \
			-F tid,cpu,time,ip,addr --ns 2>"$tap_tmp/err" >"$tap_tmp/got"
		cmp "$tap_tmp/b" "$tap_tmp/got" || { cat "$tap_tmp/err"; return 1; }
	done
}

check() {
	ok "recorded on Linux $kernel" record $kernel
	grep -q ^shell "$dir/out/record.log" || exit
	sed 's/^/# /' "$dir/out/record.log"
	lay_symfs $kernel

	# ---- All perfs must print the same
	for o in $options; do
		ok "--itrace=$o: all versions of perf print the same" all_same "$o"
	done

	# ---- Options of --itrace for samples of branches, and options without effect
	text be >"$tap_tmp/b"
	script true --itrace=be -F ip,addr,flags >"$tap_tmp/flags"
	is "b: no errors" "$(grep -c error "$tap_tmp/b")" 0
	is "c: calls, and the ends of trace" "$(text ce | count)" "$(grep -cE '^ *(call|syscall|int|hw int|tr end)' "$tap_tmp/flags")"
	is "r: returns, and the starts of trace" "$(text re | count)" "$(grep -cE '^ *(return|iret|tr strt)' "$tap_tmp/flags")"
	is "s100: the first 100 branches are left out" "$(text bes100 | cksum)" "$(tail -n +101 "$tap_tmp/b" | cksum)"
	is "x, w, p, I, m, M, t, a, f, o, y: accepted without effect" \
		"$(text bexwpoI | cksum) $(text befmMtay | cksum)" "$(cksum <"$tap_tmp/b") $(cksum <"$tap_tmp/b")"
	is "Z: the same without times" "$(script true --itrace=bZ -F ip,addr | cksum)" "$(script true --itrace=b -F ip,addr | cksum)"

	# ---- instructions
	script true --itrace=ed+o >"$tap_tmp/log"
	insns=$(awk '/^range cpu/ { n += $6 } END { print n }' "$tap_tmp/log")
	figure "$insns instructions, $(count <"$tap_tmp/b") branches"
	is "i0ns: each instruction" "$(text i0ns | count)" "$insns"
	is "i1000i: each 1,000th instruction" "$(text i1000i | count)" $((insns / 1000))
	is "i1000i: each sample is the 1,000th instruction of i0ns" "$(script true --itrace=i1000i -F ip | cksum)" \
		"$(script true --itrace=i0ns -F ip | awk 'NR % 1000 == 0' | cksum)"
	text i10us >"$tap_tmp/i10us"
	is "i10us and i100t: a tick is 100 ns" "$(text i10us | cksum)" "$(text i100t | cksum)"
	ok "i10us: the distance of samples is at least 10 us" sh -c "awk '{ sub(\":\", \"\", \$3); split(\$3, t, \".\"); now = t[1] * 1e9 + t[2]
		if (NR > 1 && now - last < 10000) bad++; last = now } END { exit bad || NR < 5 }' '$tap_tmp/i10us'"
	ok "d: a log of ranges and messages" grep -q '^range cpu 0 0x' "$tap_tmp/log"
	is "l: the newest entry of the branch stack is the previous branch" \
		"$(script true --itrace=i1000il4 -F ip,brstack | awk '{ print NF - 1 }' | sort -n | tail -n 1)" 4

	# ---- With options q and qq of --itrace, perf decodes no code. It prints only the addresses in messages
	perf script -D -i "$dir/out/true.data" >"$tap_tmp/dump"
	is "q: the address of each message that has an address" "$(text iq | count)" \
		"$(grep -E '^\.  [0-9a-f]{8}: ' "$tap_tmp/dump" | grep -cE '(F|U)-ADDR=')"
	is "qq: the address of each message with SYNC" "$(text iqq | count)" \
		"$(grep -E '^\.  [0-9a-f]{8}: ' "$tap_tmp/dump" | grep -c 'F-ADDR=')"
	ok "q: each address is the target of an executed branch" q_is_right

	# ---- Check that --time prints the branches of this time, and decodes little other trace
	ok "--time: the same branches, and only what is needed is walked" time_is_right

	# ---- call chains
	grep -v '^#' "$top/tests/perf/chains.expected" >"$tap_tmp/expected"
	script chains --itrace=i0nsg256 -S "$(sed 's/ .*//' "$tap_tmp/expected" | paste -sd,)" \
		-F ip,sym >"$tap_tmp/chains.txt"
	ok "g: call chains of recursion, tail calls, longjmp, a signal, a C++ exception" chains_are_right
	each=$(by_size 250 50)
	ok "g: the chain of each ${each}th instruction is what the truth makes it" g_is_truth
	ok "c, r: calls and returns, with depth, are those of the truth" c_is_truth
	is "G: each sample of a page fault has a call chain" "$(script faults --itrace=eG64 -F event,ip | grep -A1 page-faults | grep -c '[0-9a-f]\{5\}')" \
		"$(script faults --itrace=e -F event | grep -c page-faults)"
	ok "L: each sample of a page fault has a branch stack" sh -c "[ $(script faults --itrace=eL8 -F event,brstack | grep -c 'page-faults.*0x') -gt 10 ]"

	# ---- Check the recordings with --filter and --aux-sample, the test script of perf, and perf archive
	is "--filter: only the code of one function is traced" \
		"$(grep -c '^filter 0' "$dir/out/record.log") $(script filter --itrace=b -F flags,ip,sym | awk '$1 != "tr" && $3 != "recursion"' | count)" "1 0"
	# These kernels do not export the functions that a module needs for AUX sampling. long/driver-sampling.t tests
	# a kernel that exports these functions
	ok "--aux-sample is refused by a sentence" grep -q 'This kernel does not support AUX area sampling (--aux-sample)' "$dir/out/aux-sample"
	if large; then
		sed 's/^/# /' "$dir/out/shell"
		ok "test_ntrace.sh passes on the board" grep -q '^shell 0' "$dir/out/record.log"
	fi

	ok "perf archive packs all files that another machine needs" archive_is_enough

	# ---- Decode all recordings by a perf that was built with sanitizers
	large_only ok "a perf with sanitizers reports no fault" damaged_finds_nothing "$dir"/out/*.data
}

for kernel in $kernels; do
	dir=$O/tests/perf-itrace-$kernel
	# perf 6.12 refuses a recording of a later perf ("more recent ABI"), even if the recording has no trace
	readers=new/x86_64
	[ $kernel != 6.12 ] || readers="$readers 6.12/x86_64"
	check
done
done_testing
