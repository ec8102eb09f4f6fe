#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check the calls that `ntrace` finds in recordings of tests/session/programs. The board records all programs in one
# boot, on one hart, and writes their stack pointers. judge-calls uses the stack pointers to check each call's start,
# end, thread, self instructions and caller. `ntrace audit` must not report a violation in any of these programs, and
# must report each attack of tests/session/attacks.c.
. "$(dirname "$0")/../harness/tap.sh"

truth_dir=$O/tests/session-judged
out=$truth_dir/out
programs=$top/tests/session/programs
static=$O/riscv64/bin/ntrace-static
export GOARCH=riscv64 CGO_ENABLED=0 GO111MODULE=off GOCACHE="$truth_dir/go"
# make test runs these programs, each of which has a different kind of control flow
some="fault inline-switch setcontext-switch jit-calls nested-function builtin-longjmp coroutine-jr coroutine-ret generators jump-table longjmp millicode recursion
	save-restore signal-pending signal-stack-jump stripped swapcontext tail tail-behind-switch threads"

# judge-calls prints some calls of these programs as "marked" (open, although they ended). Each word is PROGRAM:REASON
limits="cancel:several_calls_wait_at_one_address goroutines:the_stack_of_a_goroutine_that_ended_is_used_again"

# compile FILE FLAGS NAME: build the program with its symbols, and build the file for the board, which may be stripped
compile() {
	flags=$2
	name=$3
	event=$(sed -n 's|^/\* event: \(.*\) \*/$|\1|p' "$1")
	event=${event:-ntrace/$(sed -n 's|^/\* record: \(.*\) \*/$|\1|p' "$1")/u}
	case $1 in
	*.cc) set -- "$1" riscv64-linux-gnu-g++ -B"$O/root/cross/usr/riscv64-linux-gnu/bin" -static -g ;;
	*.go) set -- "$1" go build ;;
	*) set -- "$1" "$O/root/bin/riscv64-guest-gcc" -static -g ;;
	esac
	case $2 in *g++) package=g++-riscv64-linux-gnu ;; *) package=golang-go ;; esac
	command -v "$2" >/dev/null || { echo "$name $package" >>"$truth_dir/lacking"; return 0; }
	echo "$name $event" >>"$out/list"
	file=$1
	shift
	# shellcheck disable=SC2086
	"$@" ${flags% -s} -o "$truth_dir/elf/$name" "$file" &&
		cp "$truth_dir/elf/$name" "$out/bin/$name" || return
	case $flags in *" -s") riscv64-linux-gnu-strip "$out/bin/$name" ;; esac
}

build() {
	rm -rf "$truth_dir" && mkdir -p "$out/bin" "$truth_dir/elf" && cp "$static" "$out/" && : >"$truth_dir/lacking" || return
	for f in "$programs"/*; do
		case " $(echo $some) " in *" $(basename "${f%.*}") "*) ;; *) large || continue ;; esac
		# If a program has several lines "build: OPTIONS", build it once with the options of each line
		sed -n 's|^/\* build: \(.*\) \*/$|\1|p' "$f" >"$truth_dir/flags"
		name=$(basename "${f%.*}")
		while read -r line; do
			compile "$f" "$line" "$name" || return
			name=$name+
		done <"$truth_dir/flags"
	done
	"$O/root/bin/riscv64-guest-gcc" -O1 -fno-omit-frame-pointer -fno-stack-protector -foptimize-sibling-calls -static \
		-o "$out/bin/attacks" "$top/tests/session/attacks.c" || return
	model=$top/tools/board/model
	gcc -O2 -Wall -Wextra -Wno-sign-compare -I"$model" -o "$truth_dir/judge" "$top/tests/session/judge-calls.c" \
		"$O/board/model/libnbmodel.a" -lelf &&
		gcc -D_GNU_SOURCE -O2 -I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" -o "$truth_dir/list" \
			"$top/tests/session/list-calls.c" "$O/lib/libntrace-session.a" "$O/lib/libntrace.a" -ldw -lelf -lzstd -lpthread
}

record() {
	build || return
	by_size ntrace//u "ntrace//u ntrace//" | tr ' ' '\n' >"$out/events"
	cat >"$out/go" <<-'E2'
		cp -r /out/bin /out/ntrace-static /tmp && cd /tmp || exit
		# A recorder of root reads /proc/kallsyms up to its end, which takes the guest 400 million instructions. In
		# make test, all recordings have user mode only and need no symbol of the kernel, so replace the file by an empty one.
		[ $(wc -l </out/events) = 2 ] || mount --bind /dev/null /proc/kallsyms
		while read -r name event; do
			./ntrace-static record --buildid-dir /tmp/debug -m 16M -e $event -o $name.data -- /tmp/bin/$name \
				>>/out/log 2>&1 </dev/null || echo "$name: status $?" >>/out/log
		done </out/list
		while read -r event; do
			./ntrace-static record --buildid-dir /tmp/debug -m 16M -e $event -o attacks-${event#ntrace//}.data -- /tmp/bin/attacks 20 \
				>/out/attacks-${event#ntrace//} 2>>/out/log </dev/null
		done </out/events
		tar -cf /out/files.tar *.data debug
	E2
	"$top/tools/board/board" run --kernel 6.12 --harts 1 --truth "$truth_dir/truth" --model truth-stacks=on \
		--out "$out" --timeout 900 -- sh /out/go && out_files "$out" && mkdir -p "$truth_dir/root/tmp" && cp -r "$out/bin" "$truth_dir/root/tmp/"
}

# Compare the calls of each program with its stack pointers, and write the results to $truth_dir/said.
judge() {
	set --
	for f in "$truth_dir"/elf/*; do
		name=${f##*/}
		# without the modifier u, the event also selects the kernel
		grep -q "^$name ntrace/[^/]*/u" "$out/list" || echo kernel >"$truth_dir/$name"
		"$truth_dir/list" "$out/$name.data" "$truth_dir/root" "$out/debug" >>"$truth_dir/$name" || return
		set -- "$@" "$f" "$truth_dir/$name"
	done
	"$truth_dir/judge" "$truth_dir"/truth/hart0.truth "$@" >"$truth_dir/said"
	[ $? -lt 2 ]
}

verdict() { sed -n "s|^$truth_dir/$1: \([1-9][0-9]* calls, .*\)|\1|p" "$truth_dir/said"; }

# Print how many programs are exact. All must be, except those of $limits. In these, at most 1 % of the calls may be
# marked, and no other call may differ.
exact() {
	awk -v limits="$(echo $limits | wc -w)" -v dir="$truth_dir/" '/ calls, .* wrong$/ { sub(dir, ""); all++; calls += $2; exact += !$4 && !$6; bad += 100 * $4 > $2 || $6 }
		/ calls, .* wrong$/ && ($4 || $6) { printf "%s %d calls, %.2f %% marked, %d wrong\n", $1, $2, 100 * $4 / $2, $6 }
		END { printf "%d of %d programs are exact and without marks, with %d calls in all programs\n", exact, all, calls
			exit !exact || all - exact > limits || bad }' "$truth_dir/said"
}

right() {
	verdict "$1" | grep ', 0 marked, 0 wrong$' && return
	grep -A4 "^$truth_dir/$1:" "$truth_dir/said" | head -n 40
	return 1
}

# Merge slices at each chance, and not only when 16 MiB of them wait, which happens in a long recording. While a thread
# of the library decodes a part of the trace, calls of this part are then merged. The list of calls must not change.
eager() {
	calls=$top/tools/lib/session/calls
	sed 's/^#define LIMIT.*/#define LIMIT 1/; s|= pool->bytes > LIMIT / 2 ? 2 . pool->bytes : LIMIT;|= LIMIT;|' "$calls/calls-threads.c" >"$tap_tmp/calls-threads.c" &&
		sed 's/^\(#define FLUSH_[A-Z]*\).*/\1 2/' "$calls/calls.c" >"$tap_tmp/calls.c" &&
		gcc -D_GNU_SOURCE -O2 -I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" -I"$calls" -o "$tap_tmp/eager" \
			"$top/tests/session/list-calls.c" "$tap_tmp/calls.c" "$tap_tmp/calls-threads.c" "$O/lib/libntrace-session.a" \
			"$O/lib/libntrace.a" -ldw -lelf -lzstd -lpthread || return
	"$truth_dir/list" "$out/threads.data" "$truth_dir/root" "$out/debug" >"$tap_tmp/calls" && grep -q ended "$tap_tmp/calls" || return
	for _try in 1 2 3 4 5 6 7 8 9 10; do
		"$tap_tmp/eager" "$out/threads.data" "$truth_dir/root" "$out/debug" | diff - "$tap_tmp/calls" || return
	done
}

# audit NAME: check that `ntrace audit` has checked returns in the recording, and reports no violation
audit() {
	"$O/bin/ntrace" audit --symfs "$truth_dir/root" --buildid-dir "$out/debug" -i "$out/$1.data" >"$tap_tmp/audit" 2>&1
	rc=$?
	cat "$tap_tmp/audit"
	[ $rc -eq 0 ] && grep -q "^[1-9][0-9]* returns and .* all went to allowed targets" "$tap_tmp/audit"
}
no_alarm() {
	for f in "$truth_dir"/elf/*; do
		# Leave out labels.S, because it calls a label inside a function, which ntrace audit reports as a
		# violation
		[ "${f##*/}" != labels ] || continue
		audit "${f##*/}" || { echo "$f"; return 1; }
	done
}
# found EVENT: check that the reported alarms are exactly the attacks, and that each kind has at least 20 attacks
found() {
	! audit "attacks-$1" >/dev/null || return
	sed -n 's/.*: return from victim.* to \(.*\) (.*), but.*/return \1/p; s/.*: indirect call into.* to \(.*\) (.*/call \1/p; s/.*: indirect jump into.* to \(.*\) (.*/jump \1/p' \
		"$tap_tmp/audit" | sort -u >"$tap_tmp/found"
	[ "$(grep -c ^return "$out/attacks-$1")" -ge 20 ] && [ "$(grep -c "^call\|^jump" "$out/attacks-$1")" -ge 20 ] &&
		sort -u "$out/attacks-$1" | diff - "$tap_tmp/found"
}

make -C "$top" tool guest-static plugin modules MVERS=6.12 >"$tap_tmp/log" 2>&1 && record >>"$tap_tmp/log" 2>&1 ||
	{ cat "$tap_tmp/log"; exit 1; }
judge || exit
plan $(($(ls "$truth_dir/elf" | wc -l) + $(wc -l <"$truth_dir/lacking") + $(by_size 3 5)))
ok "the calls of several threads do not depend on the time at which the library merges them" eager
ok "audit: no alarm in any program" no_alarm
ok "audit: 20 wrong returns and 20 wrong pointers, in the program's trace" found u
if large; then ok "audit: 20 wrong returns and 20 wrong pointers, in the trace of program and kernel" found ""; fi
for f in "$truth_dir"/elf/*; do
	name=${f##*/}
	head=$(sed -n '3s|^/\* \(.*\)\. \*/$|\1|p' "$programs/${name%%+*}".*)
	limit=$(echo $limits | tr ' ' '\n' | sed -n "s/^${f##*/}://p" | tr _ ' ')
	if [ "$limit" ] && ! right "${f##*/}" >"$tap_tmp/wrong"; then
		skip "${f##*/}: $head" "$limit: $(verdict "${f##*/}")"
	else
		ok "${f##*/}: $head" right "${f##*/}"
	fi
done
while read -r name package; do skip "$name" "this host lacks its compiler; on Debian: apt-get install $package"; done <"$truth_dir/lacking"
large_only ok "all programs are exact, except those with known limits, and calls that differ are marked" exact
done_testing
