# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# tests/session/memory.t and tests/long/session-memory.t use these functions. The functions measure the memory of
# commands that read a recording, in which a program runs repeatedly.

memory_dir=$O/tests/session-memory

# memory_setup MIB [KIB]: make a recording with MIB MiB of trace, divided into AUX records of 1 MiB or of KIB KiB
memory_setup() {
	make -C "$top" tool >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; return 1; }
	mkdir -p "$memory_dir" &&
		riscv64-linux-gnu-gcc -O2 -g -static -o "$memory_dir/lines" "$top/tests/session/lines.c" &&
		"$top/tests/harness/pcs" "$tap_tmp/pcs" "$memory_dir/lines" &&
		"$O/bin/ntrace" encode --elf "$memory_dir/lines" --pcs "$tap_tmp/pcs" -o "$tap_tmp/nt" &&
		python3 "$top/tests/session/repeat.py" "$memory_dir/lines" "$tap_tmp/nt" "$memory_dir/perf.data" "$@"
}

# memory_of MIB COMMAND...: check that COMMAND succeeds with at most MIB MiB of memory, and set $said and $took. The
# standard error of COMMAND is a terminal, whose output is appended to $tap_tmp/progress.
memory_of() {
	_most=$1; shift
	said=$(python3 "$top/tests/session/memory.py" "$tap_tmp/progress" "$O/bin/ntrace" "$@" -i "$memory_dir/perf.data")
	echo "status, MiB, seconds, seconds of the processors: $said"
	# shellcheck disable=SC2086
	set -- $said
	_status=$1 said=$2 took="$3 s, $4 s of the processors"
	[ "$_status" -eq 0 ] && [ "$said" -le "$_most" ]
}

# progress_is - check that the command run by memory_of printed a line with the remaining time, and erased it at the end
progress_is() {
	tr '\r' '\n' <"$tap_tmp/progress" | tail -n 4
	echo
	tr '\r' '\n' <"$tap_tmp/progress" | grep -qE '^ntrace: [0-9]+ % of [0-9]+ MB, [0-9]+ s left' &&
		[ "$(tail -c 4 "$tap_tmp/progress" | od -An -tx1 | tr -d ' ')" = 0d1b5b4b ]
}
