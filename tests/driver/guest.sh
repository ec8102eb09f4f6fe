# SPDX-License-Identifier: GPL-2.0-only
# These functions run programs in the guest of the board, for tests of the driver. Source this file after tap.sh.
# shellcheck shell=sh

# A kernel with a fault prints one of these words.
complaints='WARNING:|BUG:|Oops|Call Trace|Unable to handle|KASAN|INFO: |possible circular|DMA-API:|ODEBUG|kmemleak:|rcu:.*stall|soft lockup'

# A host may stop the guest for half a minute, or may run only one of its harts. The guest must not treat such a hart
# as a hung CPU, so these commands make the guest's watchdogs wait longer. The test still detects a CPU that hangs for
# ever.
# shellcheck disable=SC2034
patient_watchdogs='echo 60 >/proc/sys/kernel/watchdog_thresh
	echo 300 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
	echo 300 >/sys/module/workqueue/parameters/watchdog_thresh'

# perf reads /proc/kallsyms several times for a recording, which takes the guest 400 million instructions. perf does not
# read the file while it has no addresses. Run this command in a guest whose test needs no symbol of the kernel.
# shellcheck disable=SC2034
hide_symbols='echo 2 >/proc/sys/kernel/kptr_restrict'

# need_perf_and_work KERNEL: build perf, driver/work.c and driver/modules for the guest. $tap_tmp/guest contains files
# that tests copy to the guest's /out
need_perf_and_work() {
	make -s -C "$top/tests/driver" O="$O" KVER="$1" guest >&2 || exit 1
	[ -x "$O/perf/$1/riscv64/perf" ] || [ -x "$O/perf/lts/riscv64/perf" ] || skip_all "perf is not built; make perf"
	mkdir -p "$tap_tmp/guest"
}

# quiet NAME: check that the kernel of the last run printed none of the words in $complaints
quiet() {
	if grep -E "$complaints" "$tap_tmp/console" >"$tap_tmp/bad"; then
		fail "$1: the kernel reports no fault"
		grep -A 30 -m 1 -E "$complaints" "$tap_tmp/console" | sed 's/^/# /'
	else
		pass "$1: the kernel reports no fault"
	fi
}

# selftests NAME "PROGRAM [ARGUMENTS];..." BOARD-OPTIONS...: run all programs in one guest, and put NAME before their
# results. $guest_env has environment variables for the programs, and $guest_timeout is the time limit for all
# programs in seconds. The commands $guest_first and $guest_last run before and after all programs, and $tap_tmp/out
# also has the output of these commands. If ONLY is set, run only the calls of selftests() whose NAME contains the
# pattern ONLY.
guest_env= guest_timeout=1500 guest_first=: guest_last=:
selftests() {
	_what=$1 _programs=$2; shift 2
	# shellcheck disable=SC2254
	case $_what in *${ONLY:-}*) ;; *) return ;; esac
	: >"$tap_tmp/console"
	# A 9p file system does not survive a system suspend, so the guest must not mount one.
	"$top/tools/board/board" run --timeout "$guest_timeout" --console "$tap_tmp/console" "$@" -- "
		detach
		$patient_watchdogs
		$guest_first
		paranoid=/proc/sys/kernel/perf_event_paranoid
		echo '$_programs' | tr ';' '\n' | while read -r t; do
			echo \"# program \${t%% *}\"
			was=\$(cat \$paranoid)
			env $guest_env /usr/lib/selftests/ntrace/\$t </dev/null 2>&1
			[ \"\$(cat \$paranoid)\" = \"\$was\" ] || echo \"not ok 0 perf_event_paranoid stays \$was\"
			echo \"# exit \$?, \$(cut -d. -f1 /proc/uptime) s of the guest\"
		done
		$guest_last
		# kmemleak reports memory that two scans found unreferenced. Disable lockdep, which has checked
		# all operations, because it slows down the scans.
		[ ! -e /sys/kernel/debug/kmemleak ] || { echo 0 >/proc/sys/kernel/prove_locking
			echo scan >/sys/kernel/debug/kmemleak; echo scan >/sys/kernel/debug/kmemleak
			cat /sys/kernel/debug/kmemleak; } >/dev/console" \
		>"$tap_tmp/out" 2>"$tap_tmp/err"
	_status=$?
	grep -E '^(#|ok |not ok )' "$tap_tmp/out" >"$tap_tmp/lines"
	while read -r line; do
		case $line in
		"# program "*) program=${line#\# program } ;;
		"ok "*SKIP*) _t=${line#ok * }; skip "$_what: $program: ${_t%% *}" "${line##*SKIP }" ;;
		"ok "*) pass "$_what: $program: ${line#ok * }" ;;
		"not ok "*) fail "$_what: $program: ${line#not ok * }" ;;
		*) echo "$line" ;;
		esac
	done <"$tap_tmp/lines"
	is "$_what: all programs have ended" "$_status $(grep -c '^# exit' "$tap_tmp/out")" \
		"0 $(echo "$_programs" | tr ';' '\n' | wc -l)"
	quiet "$_what"
}

# truth NAME TEST SECONDS ROOM BOARD-OPTIONS...: run TEST of load_test, and compare its trace with the truth. ROOM is
# the size of the trace of each hart in MiB, and guest_env has more variables for the test. If ONLY is set, run only
# the calls of truth() whose NAME contains the pattern ONLY.
truth() {
	_name=$1 _test=$2 _seconds=$3 _room=$4; shift 4
	# shellcheck disable=SC2254
	case $_name in *${ONLY:-}*) ;; *) return ;; esac
	_dir=$tap_tmp/$_test
	mkdir -p "$_dir"
	# shellcheck disable=SC2016
	_sources='for c in /sys/bus/event_source/devices/ntrace/cpu[0-9]*; do
			echo ${c##*/cpu} $(cat $c/src_bits $c/src_id) $(cat $c/trace_id 2>/dev/null || echo 0) \
				$(cat $c/dialect $c/addr_bits) $(sed "s/.* //" $c/path); done >/out/sources'
	"$top/tools/board/board" run --timeout 3000 --console "$tap_tmp/console" \
		--truth "$_dir/truth" --out "$_dir/out" "$@" -- "
		$patient_watchdogs
		grep -E '^processor|^hart[^ ]*[[:space:]]*:' /proc/cpuinfo >/out/cpuinfo
		$_sources
		NTRACE_LOAD_OUT=/out NTRACE_LOAD_SECONDS=$_seconds NTRACE_LOAD_ROOM=$_room $guest_env \
			/usr/lib/selftests/ntrace/load_test -t $_test 2>&1" >"$tap_tmp/said" 2>"$tap_tmp/err"
	grep '^#' "$tap_tmp/said"
	case $(grep -E '^(not )?ok 1' "$tap_tmp/said") in
	"ok "*SKIP*) skip "$_name: 0 bytes lost" "$(sed -n 's/^ok 1.*SKIP //p' "$tap_tmp/said")" ;;
	"ok "*) pass "$_name" ;;
	*) fail "$_name" ;;
	esac
	# The truth has one file for each hart. The trace has one file for each sink, whose name contains the first
	# CPU of the sink. Write a line for each CPU, with the CPU, its hart, the first CPU of its sink, and decoder
	# options
	: >"$tap_tmp/verified"
	awk 'FNR == NR { if ($1 == "processor") cpu = $3; if ($1 == "hart") hart[cpu] = $3; next }
		!($7 in first) { first[$7] = $1 }
		{
			options = $2 ? "--src-bits " $2 " --src " $3 : ""
			if ($4) options = options " --frames=" $4
			if ($5) options = options " --dialect sifive"
			if ($6) options = options " --addr-bits " $6
			print $1, hart[$1], first[$7], options
		}' "$_dir/out/cpuinfo" "$_dir/out/sources" >"$tap_tmp/sources"
	while read -r _cpu _hart _first _options; do
		# Offsets of losses count bytes of the sink, so they are not valid in trace that was extracted from
		# frames
		case $_options in *--frames*) ;; *) _options="--lost $_dir/out/cpu$_first.lost $_options" ;; esac
		# shellcheck disable=SC2086
		"$O/bin/ntrace" verify --truth "$_dir/truth/hart$_hart.truth" --trace "$_dir/out/cpu$_first.ntrace" \
			$_options >>"$tap_tmp/verified" 2>&1
		echo "status $?" >>"$tap_tmp/verified"
	done <"$tap_tmp/sources"
	sed 's/^/# /' "$tap_tmp/verified"
	# For each AUX record with the flag PARTIAL, the decoder must find one loss, in a gap or at the end of the
	# record's trace. The flag may be set without a loss if the last message exactly filled the window, so subtract
	# such records
	_partial=$(sed -n 's/^# figure.* \([0-9]*\) partial (\([0-9]*\) of.*/\1 \2/p' "$tap_tmp/said" |
		awk '{ print $1 - $2 }')
	_lost=$(awk '/^hart .* instructions compared/ { n += $6 + ($11 > 0) } END { print n + 0 }' "$tap_tmp/verified")
	compared_with_truth "$(awk '/^[0-9]+ instructions compared/ { n += $1 } END { printf "%.0f", n }' "$tap_tmp/verified")"
	figure "$_name: $(awk '/^[0-9]+ instructions compared/ { n += $1; d += $4 } END {
		printf "%.0f M instructions compared, %d differences", n / 1e6, d }' "$tap_tmp/verified"), $_partial losses flagged, $_lost found"
	is "$_name: the decoded trace equals the truth" \
		"$(grep -cE '^[1-9][0-9]* instructions compared, 0 differences' "$tap_tmp/verified")" \
		"$(grep -c '^status' "$tap_tmp/verified")"
	if [ "$(awk '$1 != $3' "$tap_tmp/sources" | wc -l)" = 0 ]; then
		is "$_name: the decoder finds a loss for each stretch with the flag PARTIAL" "$_lost" "$_partial"
	else
		# One loss of a shared sink may be a loss of each hart. If no hart wrote trace at that time, it is not
		# a loss of any hart.
		ok "$_name: each loss that the decoder finds has the flag PARTIAL" \
			[ "$_lost" -le $((_partial * $(wc -l <"$tap_tmp/sources"))) ]
	fi
	rm -rf "$_dir"
}

# powered NAME: check a board that ran with --deep-idle and --stats "$tap_tmp/stats". The test fails if an access
# reached a component without power, or if a component without power was left enabled
powered() {
	is "$1: no component is accessed, or left enabled, without power" \
		"$(grep -c 'not active\|lost its power' "$tap_tmp/err")" 0
	grep 'not active\|lost its power' "$tap_tmp/err" | sort | uniq -c | sed 's/^/# /' | head
	_least=$(awk -F'power_losses=' '/power_losses/ { print $2 + 0 }' "$tap_tmp/stats" | sort -n | head -n 1)
	ok "$1: each hart lost its power at least $_least times" [ "$_least" -ge 100 ]
}
