#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run `ntrace script` on recordings that tests/perf/mkcalls.py made. A recording must give the same output as a file,
# through a pipe, and with compressed records. Damaged recordings must not crash a build with sanitizers.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/says.sh"
damaged=${DAMAGED:-$(by_size 36 80)}

build_tool
recording good no-context no-time guest mapped-again two-sources-blind || exit 1
recording_as pipe good pipe || exit 1
recording_as z good compressed || exit 1

ntrace=$O/bin/ntrace
script() { "$ntrace" script -F comm,tid,cpu,time,flags,ip,addr "$@"; }

# Print the branches in the form that perf prints, with times in microseconds.
branches() {
	script "$@" | sed -E 's/ +/ /g;s/^ //;s/(\.[0-9]{6})[0-9]{3}:/\1:/'
}
same() { branches "$@" >"$tap_tmp/got" && diff "$top/tests/perf/calls.branches" "$tap_tmp/got"; }
pipe_is_same() { branches -i - <"$tap_tmp/pipe.data" >"$tap_tmp/got" && diff "$top/tests/perf/calls.branches" "$tap_tmp/got"; }

# Check the calls of calls.S in the text and in the JSON of `ntrace script --calls`
calls_are() {
	"$ntrace" script --calls -i "$tap_tmp/good.data" | awk '{ print $4, $6, $8 }' | sort | uniq -c | sed -E 's/^ +//' >"$tap_tmp/got"
	printf '3 200 1 inner\n3 400 7 outer\n' | diff - "$tap_tmp/got"
}
# Check the calls of a round in which inner jumps to missing code, and this code returns to outer
missing_is() {
	recording "$1" || return
	"$ntrace" script --calls -i "$tap_tmp/$1.data" 2>/dev/null | awk '{ print $3 * 1e7 % 100, $4, $6, $8 }' | tee "$tap_tmp/got"
	{ printf '0 400 7 outer\n0 200 1 inner\n'; cat; printf '%s 400 7 outer\n%s 200 1 inner\n' "$2" "$2"; } | diff - "$tap_tmp/got" || return
	# The self time of a call must not exceed its total time
	"$ntrace" report -i "$tap_tmp/$1.data" 2>/dev/null | awk '/inner/ { found = $2 + 0 >= $4 + 0 || $3 != $5 } END { exit !found }'
}
# tree OPTION FUNCTION: print the tree of ntrace report OPTION FUNCTION without its header
tree() { "$ntrace" report "$1" "$2" -i "$tap_tmp/good.data" | sed '1,3d; s/^ *//; s/  */ /g'; }
json_is() { # OPTION: check that script OPTION --json prints one JSON object for each line of the text
	"$ntrace" script "$1" --json -i "$tap_tmp/good.data" >"$tap_tmp/json" || return
	"$ntrace" script "$1" -i "$tap_tmp/good.data" >"$tap_tmp/text"
	python3 -c 'import json, sys
for line in sys.stdin: json.loads(line)["time"]' <"$tap_tmp/json" || return
	[ "$(wc -l <"$tap_tmp/json")" -eq "$(wc -l <"$tap_tmp/text")" ]
}
# The number of executed instructions must equal the sum of the instructions of all branches
insns_are() {
	"$ntrace" script --insns -F ip -i "$tap_tmp/good.data" | awk '{ print $1, $2 }' >"$tap_tmp/insns"
	n=$("$ntrace" script --json -i "$tap_tmp/good.data" | sed -n 's/.*"insns": \([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n }')
	echo "$n instructions"
	[ "$(wc -l <"$tap_tmp/insns")" -eq "$n" ] || return
	riscv64-linux-gnu-objdump -d "$tap_tmp/calls" | sed -nE 's/^ *([0-9a-f]+):\t([0-9a-f]+) .*/\1 \2/p' | sort >"$tap_tmp/objdump"
	sort -u "$tap_tmp/insns" | comm -23 - "$tap_tmp/objdump" >"$tap_tmp/other"
	[ ! -s "$tap_tmp/other" ]
}
# Test filters. Two threads, each on its own CPU, execute the same code. The second call of outer lasts from 400 ns to
# 800 ns after the start.
count() { "$ntrace" script "$@" | wc -l; }
filters() {
	two=$tap_tmp/two.data
	python3 "$top/tests/perf/mkcalls.py" "$tap_tmp/calls" "$two" two-sources || return
	for what in --calls --branches --insns; do
		all=$(count $what -i "$two")
		for filter in "--tid 1234" "--tid 2234" "--cpu 0" "--cpu 1" "--pid 1234" "--pid 2234" "--comm c*s --pid 1234"; do
			# shellcheck disable=SC2086
			n=$(count $what $filter -i "$two")
			echo "$what $filter: $n of $all"
			[ $((2 * n)) -eq "$all" ] || return
		done
	done
	[ "$(count --comm 'cal?' -i "$two")" -eq 0 ] && [ "$(count --comm 'cal*' -i "$two")" -eq "$(count -i "$two")" ] || return
	for filter in "--pid 1234" "--tid 1234" "--cpu 0"; do
		# shellcheck disable=SC2086
		"$ntrace" profile --callgrind $filter -i "$two" | tee "$tap_tmp/got" | grep -qx "summary: 99" || return
		# shellcheck disable=SC2086
		"$ntrace" profile --bolt $filter -i "$two" | grep -q "^B 10002 1000c 9 " || return
	done
	[ "$("$ntrace" report --cpu 1 -i "$two" | head -n 1)" = "$("$ntrace" report --tid 2234 -i "$two" | head -n 1)" ]
}
by_time() {
	"$ntrace" script --calls --time 0.1000004,0.1000008 -i "$tap_tmp/good.data" >"$tap_tmp/got"
	cat "$tap_tmp/got"
	[ "$(grep -c 0.100000400 "$tap_tmp/got")" -eq 2 ] && [ "$(wc -l <"$tap_tmp/got")" -eq 2 ] &&
		[ "$(count --calls --time ,0.1000008 -i "$tap_tmp/good.data")" -eq 4 ] &&
		[ "$(count --calls --time 0.1000004, -i "$tap_tmp/good.data")" -eq 4 ] &&
		[ "$(count --calls --time 5, -i "$tap_tmp/good.data")" -eq 0 ]
}

# Test filters by function. outer calls inner once, and returns. inner does not call outer, so a filter for calls
# inside inner selects no call of outer.
inside() {
	for what in "--branches inner 6" "--branches outer 12" "--calls inner 3" "--calls outer 6" "--insns inner 3" \
		"--insns outer 21" "--insns done 0" "--calls none 0"; do
		# shellcheck disable=SC2086
		set -- $what
		n=$(count "$1" --function "$2" -i "$tap_tmp/good.data")
		echo "$1 --function $2: $n of $3"
		# in two.data, each of two threads that share a buffer makes three times as many calls as good.data has
		[ "$n" -eq "$3" ] && [ "$(count "$1" --function "$2" --tid 1234 -i "$tap_tmp/two.data")" -eq $((3 * $3)) ] || return
	done
}
# In a larger program, --function must select as many instructions as all calls of the function have in total.
inside_all() {
	command -v qemu-riscv64-static >/dev/null || { echo "there is no qemu-riscv64-static"; return 0; }
	riscv64-linux-gnu-gcc -O2 -g -static -o "$tap_tmp/lines" "$top/tests/session/lines.c" &&
		"$top/tests/harness/pcs" "$tap_tmp/lines.pcs" "$tap_tmp/lines" &&
		"$ntrace" encode --elf "$tap_tmp/lines" --pcs "$tap_tmp/lines.pcs" -o "$tap_tmp/lines.nt" &&
		python3 "$top/tests/session/mkrecording.py" "$tap_tmp/lines" "$tap_tmp/lines.nt" "$tap_tmp/lines.data" 3 || return
	found=0
	for function in $("$ntrace" script --calls -F sym -i "$tap_tmp/lines.data" | awk '{ print $5 }' | sort -u | awk "NR % $(by_size 5 1) == 0"); do
		wanted=$("$ntrace" script --calls --json --function "$function" -i "$tap_tmp/lines.data" | python3 -c 'import json, sys
all = [json.loads(line) for line in sys.stdin]
print(sum(c["insns"] for c in all if c["function"] == sys.argv[1]), len(all))' "$function")
		n=$(count --insns --function "$function" -i "$tap_tmp/lines.data")
		echo "$function: $n instructions, calls have ${wanted% *}, ${wanted#* } calls"
		[ "$n" -eq "${wanted% *}" ] || return
		found=$((found + 1))
	done
	[ $found -gt $(by_size 2 10) ]
}

# Disassembly needs a capstone library that supports RISC-V. Without this library, ntrace prints a sentence that names
# it. The hart executes 6 return instructions of the functions inner and outer
disasm_is() {
	_rc=0
	"$@" script --disasm --threads 1 -i "$tap_tmp/good.data" >"$tap_tmp/got" 2>&1 || _rc=$?
	[ $_rc -ne 2 ] || { grep 'needs a build with capstone' "$tap_tmp/got"; return; }
	[ "$(grep -c 'c.jr ra$' "$tap_tmp/got")" -eq 6 ]
}

# Decoding 100,000 maps, half of which overlap others, must take at most 100 times as long as 6,250 maps
maps() {
	gcc -D_GNU_SOURCE -O2 -I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" -o "$tap_tmp/maps" \
		"$top/tests/session/maps.c" "$O/lib/libntrace-session.a" "$O/lib/libntrace.a" -ldw -lelf -lzstd -lpthread &&
		"$tap_tmp/maps" 1
}

# `ntrace info` must print a row for each thread and CPU. The sums of these rows must equal those of `ntrace report`.
# info escapes text of the recording, so that this text cannot control the terminal.
info_is() {
	id=$(readelf -n "$tap_tmp/calls" | sed -n 's/.*Build ID: //p')
	"$ntrace" info -i "$tap_tmp/two.data" >"$tap_tmp/got" || return
	cat "$tap_tmp/got"
	grep -qxF "Command: perf record 'it'\\''s a b'" "$tap_tmp/got" && grep -qx "Recorded on board with Linux board" "$tap_tmp/got" &&
		grep -qx "Trace: branch history (HTM), timestamps, thread ids" "$tap_tmp/got" || return
	for thread in "0 1234" "1 2234"; do
		self=$("$ntrace" report -i "$tap_tmp/two.data" | awk "/^CPU ${thread% *}: 300 us = 4.20 us user \\+ 600 ns system calls \\+ 197 us not traced \\+ .* us not running\$/ "'{ printf "%.0f us", $3 - $(NF - 3) }')
		[ "$(grep "(${thread#* })" "$tap_tmp/got" | xargs)" = "$self 99 ${thread% *} calls (${thread#* }) $tap_tmp/calls, build id $id" ] || return
	done
	# Both CPUs together wrote 440 bytes in 600 us, which is 0.73 MB a second
	grep -qx "An instruction takes 17.78 bits of trace, and a CPU writes 0.73 MB a second, so -m 1M holds 1.43 s" "$tap_tmp/got" || return
	sed "s/it's a b/it\x1b\x9b a b/" "$tap_tmp/two.data" >"$tap_tmp/rude.data"
	! "$ntrace" info -i "$tap_tmp/rude.data" | grep "$(printf '\033')"
}
plan 50
ok "script --disasm" disasm_is "$ntrace"
if command -v qemu-riscv64-static >/dev/null && [ -x "$O/riscv64/bin/ntrace" ]; then
	ok "script --disasm of ntrace for riscv64" disasm_is qemu-riscv64-static -L "$O/root/guest" "$O/riscv64/bin/ntrace"
else
	skip "script --disasm of ntrace for riscv64" "there is none, or no qemu-riscv64-static"
fi
ok "--tid, --pid, --comm and --cpu select branches" filters
ok "info prints the command, the settings, the size of a buffer, and each thread with its time and program" info_is
ok "--time selects branches" by_time
ok "--function selects the code inside calls of a function" inside
ok "--function selects the code inside calls, in a larger program" inside_all
ok "a wrong value of --time" says 2 "FROM,TO in seconds" "$ntrace" report --time 3 -i "$tap_tmp/good.data"
ok "script --calls" calls_are
is "report --callers prints the calls of a function and its callers" "$(tree --callers inner)" "600 ns 600 ns 3 3 inner > outer > _start"
is "report --callees prints the calls of a function and its callees" "$(tree --callees outer | tr '\n' ';')" \
	"1.20 us 600 ns 3 18 outer;600 ns 600 ns 3 3 inner;"
printf '4 800 7 outer\n4 600 1 inner\n' >"$tap_tmp/expected"
ok "missing code does not end the calls of the functions around it" missing_is missing 12 <"$tap_tmp/expected"
printf '4 1200 9 outer\n4 800 2 inner\n8 200 1 inner\n12 200 1 inner\n' >"$tap_tmp/expected"
ok "missing code that calls a function and ends with a tail call" missing_is missing-calls 16 <"$tap_tmp/expected"
for option in --branches --calls --insns; do ok "script $option --json is JSON" json_is $option; done
ok "script --insns: all instructions, with their code" insns_are
ok "many maps that overlap are read in a time that grows with their number" maps
ok "script with an argument is refused" says 2 "script does not take the argument 'x'" "$ntrace" script x
ok "script prints the branches of a file" same -i "$tap_tmp/good.data"
ok "script prints the same for a recording from a pipe that was saved to a file" same -i "$tap_tmp/pipe.data"
ok "script prints the same for a pipe" pipe_is_same
ok "script prints the same for compressed records" same -i "$tap_tmp/z.data"
ok "without Ownership messages, PERF_RECORD_SWITCH determines the thread" same -i "$tap_tmp/no-context.data"
ok "several maps over each other between two messages" same -i "$tap_tmp/mapped-again.data"
ok "--threads 1 prints the same" same --threads 1 -i "$tap_tmp/good.data"

# calls.S calls outer three times, and outer calls inner. The counts must be the numbers of executed instructions.
report_is() {
	"$ntrace" report "$@" | awk '/^ *[0-9]+ .*\[calls\]/ && $8 == "-" { print $1, $11, $12 }' | sort >"$tap_tmp/got"
	printf '3 18 outer\n3 3 inner\n' | sort | diff - "$tap_tmp/got"
}
ok "report: calls and instructions of each function" report_is -i "$tap_tmp/good.data"
ok "report: the same for a recording from a pipe" report_is -i "$tap_tmp/pipe.data"
# A function that calls itself 5,000 times must not take longer than main(), which calls this function.
recursion() {
	cat >"$tap_tmp/deep.c" <<-'E2'
		__attribute__((noinline)) int deep(int n) { int r = n ? deep(n - 1) + 1 : 0; __asm__ volatile("" : "+r"(r)); return r; }
		int main(void) { return deep(5000) != 5000; }
	E2
	riscv64-linux-gnu-gcc -O1 -static -fno-optimize-sibling-calls -o "$tap_tmp/deep" "$tap_tmp/deep.c" &&
		"$top/tests/harness/pcs" "$tap_tmp/deep.pcs" "$tap_tmp/deep" &&
		"$ntrace" encode --elf "$tap_tmp/deep" --pcs "$tap_tmp/deep.pcs" --timestamp -o "$tap_tmp/deep.nt" &&
		python3 "$top/tests/session/mkrecording.py" --timestamp "$tap_tmp/deep" "$tap_tmp/deep.nt" "$tap_tmp/deep.data" &&
		"$ntrace" report --limit 0 -i "$tap_tmp/deep.data" >"$tap_tmp/got" || return
	grep -E ' (deep|main) \[' "$tap_tmp/got"
	awk 'BEGIN { unit["us"] = 1; unit["ms"] = 1000 } / (deep|main) \[/ { name = $8 == "-" ? $12 : $13; calls[name] = $1; total[name] = $2 * unit[$3] }
		END { exit !(calls["deep"] == 5001 && total["deep"] > 0 && total["deep"] <= total["main"]) }' "$tap_tmp/got"
}
if command -v qemu-riscv64-static >/dev/null; then
	ok "report: a recursion takes no longer than its caller" recursion
else
	skip "report: a recursion takes no longer than its caller" "no qemu-riscv64-static"
fi
ok "report: an unknown column" says 2 "no column 'foo'" "$ntrace" report --sort foo -i "$tap_tmp/good.data"

# A call of outer takes 400 ns, and spends half of this time in inner
slow_is() {
	"$ntrace" slow -i "$tap_tmp/good.data" outer | awk '/ x /' | sed -E 's/ +/ /g;s/^ //' >"$tap_tmp/got"
	printf '%s\n' '400 ns 1 x 400 ns 1 x outer' '200 ns 1 x 200 ns 1 x inner' | diff - "$tap_tmp/got"
}
ok "slow: the tree of the slowest call, beside the tree of the median call" slow_is
ok "slow: a function that was not called" says 1 "no call of foo was recorded" "$ntrace" slow -i "$tap_tmp/good.data" foo
ok "slow without a function is refused" says 2 "takes the name of one function" "$ntrace" slow -i "$tap_tmp/good.data"

# dump and decode read the encoder's settings from a recording.
decode_is() {
	"$ntrace" decode --pcs --elf "$tap_tmp/calls" "$@" | sed 's/^0x//' >"$tap_tmp/pcs" || return
	"$ntrace" script --insns -F ip -i "$tap_tmp/good.data" | awk '{ print $1 }' | sed 's/^0*//' | diff - "$tap_tmp/pcs" &&
		"$ntrace" dump "$@" | grep -q 'ProgTraceSync.*TSTAMP'
}
ok "dump and decode of a recording" decode_is "$tap_tmp/good.data"
recording_as sources lost-elsewhere
is "dump and decode of one of two CPUs of a recording" "$("$ntrace" dump --cpu 1 "$tap_tmp/sources.data" | grep -c 'F-ADDR=0x8000 ')" 2
# The trace of CPU 1 ends inside a message, so that the rest of the message is missing.
ok "dump and decode of a recording: a message that was cut off is an error" says 1 "error NT_E_MSEO" "$ntrace" dump --cpu 1 "$tap_tmp/sources.data"
is "dump and decode skip the zeros with which perf pads trace" \
	"$(script -F cpu,flags -i "$tap_tmp/sources.data" 2>/dev/null | grep -c '001.* tr strt')" 2
ok "dump of a recording with several CPUs needs --cpu" says 2 "has trace of several CPUs. Choose one by --cpu: 0 1" "$ntrace" dump "$tap_tmp/sources.data"
ok "dump --cpu with a CPU without trace" says 1 "no trace of CPU 7. --cpu can be one of these: 0 1" "$ntrace" dump --cpu 7 "$tap_tmp/sources.data"

ok "a file that does not exist" says 2 "No such file" script -i "$tap_tmp/none.data"
: >"$tap_tmp/empty"
ok "an empty file" says 2 "is not a recording of perf" script -i "$tap_tmp/empty"
ok "a program instead of a recording" says 2 "does not begin with PERFILE2" script -i "$ntrace"
recording_as magic other-magic
ok "metadata of another kind of trace" says 2 "is not that of N-Trace" script -i "$tap_tmp/magic.data"
ok "an unknown field" says 2 "no field 'foo'" "$ntrace" script -F ip,foo -i "$tap_tmp/good.data"
mv "$tap_tmp/calls" "$tap_tmp/calls.away"
ok "a program whose file is missing is named, with the cure" \
	says 0 "cannot read the code of $tap_tmp/calls: No such file or directory" script -i "$tap_tmp/good.data"
mkdir -p "$tap_tmp/symfs$tap_tmp" && echo text >"$tap_tmp/symfs$tap_tmp/calls"
ok "a program whose file cannot be used is named with its path and the reason, not with the last place that was searched" \
	says 0 "/calls: not an ELF file" script --symfs "$tap_tmp/symfs" -i "$tap_tmp/good.data"
mv "$tap_tmp/calls.away" "$tap_tmp/calls"
full() { "$ntrace" script -i "$tap_tmp/good.data" >/dev/full; }
ok "a full disk is reported" says 2 "writing the standard output failed: No space left on device" full
# If the reader of a pipe exits, ntrace must end after a whole line, like other commands
closed_pipe() {
	for what in "script --insns" report "report --stack" "slow outer" "script --calls --json"; do
		# shellcheck disable=SC2086
		{ "$ntrace" $what -i "$tap_tmp/good.data" 2>"$tap_tmp/said"; echo $? >"$tap_tmp/status"; } | :
		echo "$what: status $(cat "$tap_tmp/status"), $(cat "$tap_tmp/said")"
		case $(cat "$tap_tmp/status") in 0 | 1 | 141) ;; *) return 1 ;; esac
	done
	[ "$("$ntrace" script --insns -i "$tap_tmp/good.data" | head -n 3)" = "$("$ntrace" script --insns -i "$tap_tmp/good.data" | sed 3q)" ]
}
ok "a pipe whose reader has ended" closed_pipe

# If a recording is damaged, the command must end with a documented exit status and without a report of a sanitizer
one() {
	case $(($1 % 18)) in
	16) set -- "$1" script --insns --function outer ;;
	17) set -- "$1" script --function inner --json ;;
	7) set -- "$1" report --lines --inline ;;
	8) set -- "$1" report --insns --tid 1234 ;;
	0) set -- "$1" script ;;
	1) set -- "$1" report ;;
	2) set -- "$1" slow outer ;;
	3) set -- "$1" inject --period 3 -o "$tap_tmp/bad/out" ;;
	4) set -- "$1" script --calls ;;
	5) set -- "$1" script --insns --json ;;
	6) set -- "$1" inject --all-branches --last-branches 4 -o "$tap_tmp/bad/out" ;;
	9) set -- "$1" dump --cpu 0 "$tap_tmp/bad/$1.data" ;;
	10) set -- "$1" report --stack ;;
	11) set -- "$1" report --functions ;;
	12) set -- "$1" decode --pcs --cpu 0 --elf "$tap_tmp/calls" "$tap_tmp/bad/$1.data" ;;
	13) set -- "$1" slow --nth 2 --tid 1234 inner ;;
	14) set -- "$1" stat --json "$tap_tmp/bad/$1.data" ;;
	15) set -- "$1" stat --cpu 0 "$tap_tmp/bad/$1.data" ;;
	esac
	_seed=$1; shift
	[ "$1" = dump ] || [ "$1" = decode ] || [ "$1" = stat ] || set -- "$@" -i "$tap_tmp/bad/$_seed.data"
	timeout 60 "$O/sanitized/bin/ntrace" "$@" >"$tap_tmp/said" 2>&1
	rc=$?
	[ $rc -le 2 ] && ! grep -qE 'ERROR: |runtime error:|leak of' "$tap_tmp/said" && return
	echo "seed $_seed, $*: status $rc, $(cat "$tap_tmp/bad/$_seed.how")"
	grep -E 'ERROR: |runtime error:|#[0-9] ' "$tap_tmp/said" | head -n 8
	return 1
}
damaged() {
	build_sanitized ||
		{ cat "$tap_tmp/make"; return 1; }
	mkdir -p "$tap_tmp/bad" && python3 "$top/tests/perf/damage.py" "$tap_tmp/bad" "$damaged" \
		"$tap_tmp/good.data" "$tap_tmp/no-context.data" "$tap_tmp/z.data" "$tap_tmp/no-time.data" \
		"$tap_tmp/guest.data" "$tap_tmp/two-sources-blind.data" || return
	seed=0 bad=0
	while [ $seed -lt "$damaged" ]; do
		one $seed || bad=$((bad + 1))
		seed=$((seed + 1))
	done
	[ $bad -eq 0 ]
}
# Run commands with the leak sanitizer, which fails if a command does not free its memory. Only make test-all tests
# `ntrace bench`, because make test does not build it with this sanitizer.
closes() {
	"$ntrace" script --insns -F ip -i "$tap_tmp/good.data" | awk '{ print "0x" $1 }' >"$tap_tmp/closes.pcs"
	"$ntrace" encode --elf "$tap_tmp/calls" --pcs "$tap_tmp/closes.pcs" -o "$tap_tmp/calls.nt" &&
		"$O/sanitized/bin/ntrace" decode --stats --elf "$tap_tmp/calls" "$tap_tmp/calls.nt" || return
	! large || { build_sanitized tools/board/dev && "$O/sanitized/bin/ntrace" bench --runs 1 --elf "$tap_tmp/calls" "$tap_tmp/calls.nt"; }
}
ok "$damaged damaged recordings, with sanitizers" damaged
ok "$(by_size "decode frees" "decode and bench free") all memory" closes
done_testing
