# SPDX-License-Identifier: GPL-2.0-only
# truth_record records tests/perf/work.c system-wide on the board. truth_compare compares each recorded branch with
# the truth. Set truth_dir before the first call.
# shellcheck shell=sh

truth_build() { # KERNEL
	[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
	make -C "$top" tool guest-tools plugin modules MVERS="$1" >"$tap_tmp/make" 2>&1 &&
		"$top/tools/perf/build.sh" "$1" riscv64 >>"$tap_tmp/make" 2>&1 &&
		"$top/tools/perf/build.sh" new x86_64 >>"$tap_tmp/make" 2>&1 &&
		gcc -O2 -Wall -Wextra -Wno-sign-compare -I"$top/tools/board/model" -o "$tap_tmp/branches" \
			"$top/tests/perf/branches.c" "$O/board/model/libnbmodel.a" &&
		"$O/root/bin/riscv64-guest-gcc" -O2 -g -o "$tap_tmp/work" "$top/tests/perf/work.c" -lpthread ||
		{ tail -n 30 "$tap_tmp/make"; exit 1; }
}

# truth_record KERNEL HARTS ROUNDS [COMMAND]: record the program work, and COMMAND after it. Several variables change
# the recording. truth_board and truth_topology select the hardware, and truth_append has arguments for the kernel.
# truth_size is the size of a buffer, truth_event is the event, and truth_who is the option that selects harts (-a
# selects all harts). truth_clock has options for the guest's clock. The commands truth_before and truth_after run
# before and after the recording. branches.c gets the options truth_flags. truth_firmware is the file with the
# firmware's code for `ntrace script`. The number of loops in work is divided by truth_part. In make test, the truth
# has only the blocks that a hart retires while its encoder traces.
truth_record() {
	rm -rf "$truth_dir" && mkdir -p "$truth_dir/out" || return
	cp "$tap_tmp/work" "$truth_dir/out/"
	# Without this option, perf 7.2 and later do not put the vDSO into their build-id cache, but another machine
	# needs the vDSO.
	truth_options=
	[ "$1" = 6.12 ] || truth_options=--no-buildid-mmap
	cat >"$truth_dir/out/go" <<-E2
		cp /proc/cpuinfo /out/cpuinfo
		cd /tmp && cp /out/work work
		${truth_before-true}
		export PERF_BUILDID_DIR=/tmp/debug
		# perf reads this file many times. The kernel executes 400 million instructions for each read, so replace
		# the file by a copy of it. The copy has only the symbols from which perf finds code. These are the symbols of
		# modules, and of the kernel's sections, such as _stext.
		grep -e ' _[a-z]*\$' -e ']\$' /proc/kallsyms >/tmp/kallsyms && mount --bind /tmp/kallsyms /proc/kallsyms
		# The copy of kcore must match the executed code. The kernel patches the code of the scheduler when the
		# first event of a task is opened, and after the last event is closed. Keep one event open, so that no
		# patch occurs during the recording.
		perf stat -e dummy -o /tmp/stat.kept -- sh -c 'echo >/tmp/kept; exec sleep 1000' & kept=\$!
		while [ ! -e /tmp/kept ]; do sleep 0.1; done
		perf --buildid-dir /tmp/debug record --no-bpf-event $truth_options --kcore ${truth_who--a} -m,${truth_size:-16M} -e ${truth_event:-ntrace//} -o all.data -- \
			sh -c '/tmp/work $3 /tmp ${truth_part:-$(by_size 10 1)} >/tmp/threads; ${4-true}
				# List the threads of perf itself, such as its thread for BPF events.
				for task in /proc/\$PPID/task/*; do echo thread \${task##*/} of \$PPID; done >>/tmp/threads
			' >/out/record.log 2>&1 || exit 1
		kill \$kept
		perf --buildid-dir /tmp/debug inject -j -i all.data -o jit.data >>/out/record.log 2>&1 || exit 1
		tar -cf /out/files.tar jit.data threads debug jitted*
		${truth_after-true}
	E2
	# shellcheck disable=SC2086
	"$top/tools/board/board" run --kernel "$1" ${truth_board:+--board $truth_board} --harts "$2" --topology "${truth_topology:-direct}" ${truth_clock-} ${truth_append:+--append "$truth_append"} --truth "$truth_dir/truth" \
		--model truth-traced=$(by_size on off) --out "$truth_dir/out" -- sh /out/go && out_files "$truth_dir/out" || return
	truth_symfs "$1"
}

# Make a folder with the guest's files, where perf with --symfs searches for them
truth_symfs() {
	truth_root=$truth_dir/symfs
	mkdir -p "$truth_root/tmp"
	cp -a "$O/root/guest/." "$truth_root/"
	cp "$O/perf/$1/riscv64/perf" "$truth_root/usr/bin/perf"
	rm -rf "$truth_root/.debug" && cp -a "$truth_dir/out/debug" "$truth_root/.debug"
	for truth_file in "$truth_dir"/out/jitted* "$tap_tmp/work"; do
		[ ! -e "$truth_file" ] || cp "$truth_file" "$truth_root/tmp/"
	done
}

# Linux's CPU 0 is the hart that boots first
truth_harts() {
	awk '$1 == "processor" { cpu = $3 } $1 == "hart" && $2 == ":" { printf "-m %d=%d ", cpu, $3 }' \
		"$truth_dir/out/cpuinfo"
}

# truth_check COMMAND...: compare the output of COMMAND with the truth
truth_check() {
	# shellcheck disable=SC2046
	"$@" 2>"$tap_tmp/err" |
		"$tap_tmp/branches" ${truth_board:+-c} ${truth_flags-} -t "$truth_dir/out/threads" $(truth_harts) "$truth_dir"/truth/hart*.truth \
			>"$tap_tmp/compared"
	truth_status=$?
	truth_last=$(tail -n 1 "$tap_tmp/compared")
	compared_with_truth "$(truth_number branches)"
	sed 's/^/# /' "$tap_tmp/compared"
	return $truth_status
}

truth_compare() {
	truth_check "$O/perf/new/x86_64/perf" script --symfs "$truth_root" -i "$truth_dir/out/jit.data" --itrace=be --ns \
		-F pid,tid,cpu,time,flags,ip,addr
}

truth_compare_ntrace() {
	truth_check "$O/bin/ntrace" script ${truth_firmware:+--firmware "$truth_firmware"} --symfs "$truth_root" --buildid-dir "$truth_root/.debug" \
		-i "$truth_dir/out/jit.data" -F pid,tid,cpu,time,flags,ip,addr
}

# truth_number WORD: print the number before WORD in the last line of the comparison
truth_number() {
	echo "$truth_last" | sed -n "s/.*[^0-9]\([0-9]*\) $1.*/\1/p;s/^\([0-9]*\) $1.*/\1/p" | head -n 1
}

# Print how fast perf reads the recording without samples. The time includes perf's start.
truth_speed() {
	truth_insns=$("$O/perf/new/x86_64/perf" script --symfs "$truth_root" -i "$truth_dir/out/jit.data" \
		--itrace=ed+o 2>/dev/null | awk '/^range cpu/ { n += $6 } END { print n }')
	truth_time=$(for _ in 1 2 3; do
		bash -c 'TIMEFORMAT=%U; time "$@" >/dev/null 2>&1' - "$O/perf/new/x86_64/perf" script \
			--symfs "$truth_root" -i "$truth_dir/out/jit.data" --itrace=e 2>&1
	done | sort -n | head -n 1)
	figure "perf script --itrace=e: $truth_insns instructions in $truth_time s of user time," \
		"$(awk -v n="$truth_insns" -v t="$truth_time" 'BEGIN { printf "%.0f", n / t / 1e6 }') million/s"
}

# truth_all KERNEL HARTS ROUNDS: record, and compare perf and `ntrace script` with the truth. This prints 4 results
truth_all() {
	truth_build "$1"
	ok "recorded on $2 harts, Linux $1" truth_record "$@"
	ok "all branches are right" truth_compare
	figure "$truth_last"
	is "no errors" "$(truth_number errors)" 0
	ok "ntrace script: all branches are right" truth_compare_ntrace
	figure "ntrace: $truth_last"
}
