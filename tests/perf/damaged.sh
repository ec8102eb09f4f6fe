# SPDX-License-Identifier: GPL-2.0-only
# Decode damaged recordings with a perf that has sanitizers: damaged_run COUNT
# shellcheck shell=sh

# A report of a sanitizer that has our functions in it; perf's own are not ours to fix here
damaged_is_ours() {
	grep -qE 'ERROR: AddressSanitizer|runtime error:' "$1" && grep -qE 'ntrace|in nt_|ntrace-decoder' "$1"
}

damaged_run() {
	"$top/tools/perf/build.sh" 7.2 x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; return 1; }
	SANITIZE=1 "$top/tools/perf/build.sh" 7.2 x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; return 1; }
	"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -nostdlib -static -Wl,-Ttext=0x10000 -o "$tap_tmp/calls" \
		"$top/tests/perf/calls.S" || return 1
	python3 "$top/tests/perf/mkcalls.py" "$tap_tmp/calls" "$tap_tmp/good.data" || return 1
	export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
	seed=0 bad=0 errors=0 clean=0
	while [ $seed -lt "$1" ]; do
		python3 "$top/tests/perf/damage.py" "$tap_tmp/good.data" "$tap_tmp/bad.data" $seed >"$tap_tmp/how"
		for args in "script --itrace=ibeg" "script -D"; do
			rc=0
			# shellcheck disable=SC2086
			timeout 60 "$O/perf/7.2/x86_64-sanitized/perf" $args -i "$tap_tmp/bad.data" >"$tap_tmp/said" 2>&1 </dev/null || rc=$?
			if [ $rc -eq 124 ] || damaged_is_ours "$tap_tmp/said"; then
				bad=$((bad + 1))
				echo "# seed $seed, perf $args: $rc, $(cat "$tap_tmp/how")"
				grep -aE 'ERROR: Addr|runtime error|#[0-9]+ ' "$tap_tmp/said" | head -n 12 | sed 's/^/# /'
			fi
			if [ $rc -ne 0 ] || grep -qa 'instruction trace error' "$tap_tmp/said"; then
				errors=$((errors + 1))
			else
				clean=$((clean + 1))
			fi
		done
		seed=$((seed + 1))
	done
	figure "$1 damaged recordings, listed and decoded: $errors times with errors, $clean without, $bad crashes or hangs in N-Trace code"
	[ $bad -eq 0 ]
}
