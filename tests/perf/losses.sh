# SPDX-License-Identifier: GPL-2.0-only
# These functions test which losses a tool reports for a sink that harts share. Set $tool to the name of the tool, and
# define losses_script, which runs the tool. Then call losses_build and losses_all.
# shellcheck shell=sh

losses_build() {
	losses_gcc="${CROSS_COMPILE:-riscv64-linux-gnu-}gcc -nostdlib -static -Wl,-Ttext=0x10000,--build-id=none"
	$losses_gcc -o "$tap_tmp/calls" "$top/tests/perf/calls.S" && $losses_gcc -o "$tap_tmp/slots" "$top/tests/perf/slots.S"
}

# losses_windows WINDOWS [ratified] [late]: write a recording with these windows; mkwindows.py describes WINDOWS
losses_windows() {
	python3 "$top/tests/perf/mkwindows.py" "$tap_tmp/calls" "$tap_tmp/windows.data" "$@"
}

# losses_letters CPU: print the starts (s), stops (e) and losses (L) of CPU in the order of the output. Omit starts
# before a loss, if no other event is between them, because a tool need not print such starts.
losses_letters() {
	losses_script | awk -v cpu="$1" '{ own = index($0, "[00" cpu "]") }
		/error type/ { if (index($0, " cpu " cpu " ")) printf / code 1:/ ? "L" : "?" }
		own && /tr strt/ { printf "s" } own && /tr end/ { printf "e" }' | sed 's/sL/L/g'
}

# losses_order WINDOWS CPU WANTED NAME [late]: check that losses_letters prints WANTED for CPU in these windows
losses_order() {
	for losses_dialect in "" ratified; do
		# shellcheck disable=SC2086
		losses_windows "$1" $losses_dialect ${5-}
		is "$tool, ${losses_dialect:-sifive}: $4" "$(losses_letters "$2")" "$3"
	done
}

# Print 24 test results for the tool
losses_all() {
	losses_order "1:01 0:01 1!:01 0:0r1" 0 seseseLse "a window of another CPU is full and has messages of this CPU"
	losses_order "1:01 0:01 1!:0u1 0:0r1" 0 seseLse "a full window has only the start of this CPU's trace"
	losses_order "1:01 0:01 1!:1 0:0r1" 0 seseLse "a full window has no message of this CPU"
	losses_order "1:01 0:01 0:01 1!:1 0:0r1" 0 seseseLse "a full window follows two windows of another buffer"
	losses_order "0:01 1!:1 0:0r1" 0 seLse "a full window belongs to a buffer without any message of this CPU"
	losses_order "1:01 0:01 1!:0 0:01" 1 seseLse "a full window of this CPU's buffer has no message of this CPU"
	losses_order "1:01 0:01 1!: 0:0r1" 1 seseLse "a record without trace follows a window of another buffer"
	losses_order "0:01 1!:0u1 0:0r1 1:01" 0 seLsese "a start in a full window is not printed again later"
	losses_order "1!:1 1:01 0:0r1" 1 Lsese "the record of a full window is later than trace of the next one" late
	losses_order "1!:01 0:0r1 1:01" 1 Lsese "the record of another buffer is later than trace of the next window" late
	losses_order "1:01 0:01 1!:01 0:0r1" 0 seseseLse "perf record has saved each record twice: another CPU" twice
	losses_order "1:01 0:01 1!:01 0:0r1" 1 seseLse "perf record has saved each record twice: the CPU of the full window" twice
}

# losses_schedules FIRST LAST: test random schedules with the seeds FIRST to LAST
losses_schedules() {
	python3 "$top/tests/perf/schedules.py" "$1" "$tap_tmp/slots" "$tap_tmp" "$2" "$3"
}
