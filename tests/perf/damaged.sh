# SPDX-License-Identifier: GPL-2.0-only
# These functions decode damaged recordings with a perf that is built with sanitizers. Tests call damaged_run.
# shellcheck shell=sh

# Succeed if a sanitizer has reported a fault or a memory leak whose stack trace contains a function of N-Trace. perf's
# own faults cannot be fixed here, and are only counted.
damaged_reports='ERROR: AddressSanitizer|runtime error:|leak of'
damaged_is_bad() {
	awk -v report="$damaged_reports" '$0 ~ report { on = 1 } !NF { on = 0 }
		on && (/ in (ntrace|nt)_/ || /ntrace.*runtime error:/) { bad = 1 } END { exit !bad }' "$1"
}

# This assertion belongs to perf itself, and exists only in a debug build.
damaged_is_assertion() {
	grep -aoE 'perf: [^ ]*: .*Assertion .* failed' "$1" | grep -qv ntrace
}

damaged_perf() {
	timeout "${damaged_timeout:-60}" "$O/perf/new/x86_64-sanitized/perf" "$@"
}

damaged_build() {
	"$top/tools/perf/build.sh" new x86_64 >"$tap_tmp/build" 2>&1 &&
		SANITIZE=1 "$top/tools/perf/build.sh" new x86_64 >"$tap_tmp/build" 2>&1 ||
		{ cat "$tap_tmp/build"; return 1; }
	export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
}

# Check that the perf with sanitizers reports a leak that this function adds.
damaged_sees_leaks() {
	echo '#include <stdlib.h>
		void *volatile p;
		__attribute__((constructor)) static void ntrace_leak(void) { p = malloc(77); p = NULL; }' >"$tap_tmp/leak.c"
	gcc -g -shared -fPIC -o "$tap_tmp/leak.so" "$tap_tmp/leak.c" || return
	ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 LD_PRELOAD=$tap_tmp/leak.so \
		"$O/perf/new/x86_64-sanitized/perf" script -i "$tap_tmp/good.data" >"$tap_tmp/said" 2>&1
	damaged_is_bad "$tap_tmp/said"
}

# damaged_look SEED: print the perf command that decodes the recording of SEED in addition to the command "script
# --itrace=ibeg", which decodes each recording
damaged_look() {
	case $(($1 % 6)) in
	0) echo "script -D" ;;
	1) echo "report --stdio --itrace=i10iglL" ;;
	2) echo "inject --itrace=be -o /dev/null" ;;
	3) echo "script --itrace=iqe" ;;
	4) echo "script --itrace=bed+o --time 0.1000002,0.1000003" ;;
	5) echo "script --itrace=ibeZ -F +brstackinsn,+insn --call-ret-trace" ;;
	esac
}

# Run perf on the damaged recording of SEED, and print the result
damaged_one() { # SEED ARG...
	_seed=$1; shift
	_rc=0
	damaged_perf "$@" -i "$tap_tmp/bad/$_seed.data" >"$_dir/said" 2>&1 </dev/null || _rc=$?
	# perf's exit statuses are negative error numbers, which are larger than the statuses of signals
	if [ $_rc -eq 124 ] || { [ $_rc -ge 132 ] && [ $_rc -le 159 ] && ! damaged_is_assertion "$_dir/said"; } ||
		damaged_is_bad "$_dir/said"; then
		echo "bad seed $_seed, perf $*: $_rc, $(cat "$tap_tmp/bad/$_seed.how")"
		grep -aE "$damaged_reports|#[0-9]+ " "$_dir/said" | head -n 16 | sed 's/^/# /'
	fi
	if grep -aqE "$damaged_reports" "$_dir/said" || damaged_is_assertion "$_dir/said"; then echo "own, seed $_seed, perf $*"; fi
	if [ $_rc -ne 0 ] || grep -aq 'instruction trace error' "$_dir/said"; then echo error; else echo clean; fi
}

damaged_share() { # FIRST COUNT: decode the recordings of the seeds FIRST, FIRST + 2 and so on, which are below COUNT
	_dir=$tap_tmp/$1
	mkdir -p "$_dir"
	_at=$1
	while [ "$_at" -lt "$2" ]; do
		damaged_one "$_at" script --itrace=ibeg
		# shellcheck disable=SC2046
		damaged_one "$_at" $(damaged_look "$_at")
		_at=$((_at + 2))
	done >"$_dir/log"
}

# damaged_run COUNT|words: damage recordings, and decode the damaged recordings
damaged_run() {
	_count=$1
	damaged_build || return
	calls_program || return
	recording good no-context no-time guest frames unlike guest-sideband samples || return
	set -- good no-context good no-time guest frames unlike guest-sideband
	# To damage each word of a recording takes long, so do this only for the recordings whose contents differ most
	[ "$_count" != words ] || set -- good frames unlike
	# shellcheck disable=SC2046
	mkdir "$tap_tmp/bad" && python3 "$top/tests/perf/damage.py" "$tap_tmp/bad" "$_count" \
		$(printf "$tap_tmp/%s.data " "$@") || return
	set -- "$(find "$tap_tmp/bad" -name '*.data' | wc -l)"
	damaged_sees_leaks || { echo "# a leak is not seen"; return 1; }
	damaged_share 0 "$1" & damaged_share 1 "$1"
	wait
	cat "$tap_tmp/0/log" "$tap_tmp/1/log" >"$tap_tmp/log"
	grep -A 17 '^bad' "$tap_tmp/log" | grep -E '^(bad|#)' | sed 's/^# //;s/^/# /' | head -n 100
	_bad=$(grep -c '^bad' "$tap_tmp/log")
	figure "$1 damaged recordings, looked at twice: $(grep -c '^error' "$tap_tmp/log") times with errors," \
		"$(grep -c '^clean' "$tap_tmp/log") without, $_bad crashes, hangs or leaks," \
		"$(grep -c '^own' "$tap_tmp/log") reports of perf's own"
	grep '^own' "$tap_tmp/log" | sed 's/^/# /'
	[ "$_bad" -eq 0 ] && [ "$(grep -cE '^(error|clean)' "$tap_tmp/log")" -eq $((2 * $1)) ]
}

# damaged_finds_nothing FILE...: check that perf with sanitizers reports no fault for undamaged recordings
damaged_finds_nothing() {
	damaged_build || return
	damaged_timeout=1800
	for _file; do
		for _itrace in ibeg i1000iGL; do
			damaged_perf script --symfs "$symfs" -i "$_file" --itrace=$_itrace >"$tap_tmp/said" 2>&1 </dev/null ||
				{ echo "$_file: $?"; return 1; }
			damaged_is_bad "$tap_tmp/said" || continue
			grep -aE "$damaged_reports|#[0-9]+ " "$tap_tmp/said" | head -n 16
			return 1
		done
	done
}
