# SPDX-License-Identifier: GPL-2.0-only
# Programs in the guest of the board, for tests of the driver. After lib/tap.sh.
# shellcheck shell=sh

# What a kernel says when something is wrong with it
complaints='WARNING:|BUG:|Oops|Call Trace|Unable to handle|KASAN|INFO: |possible circular|DMA-API:|ODEBUG|kmemleak:|rcu:.*stall|soft lockup'

# need_perf_and_work KERNEL: the guest is to have perf, and driver/work.c; $tap_tmp/guest is for its /out
need_perf_and_work() {
	make -s -C "$top/tests/driver" O="$O" KVER="$1" work >&2 || exit 1
	[ -x "$O/perf/$1/riscv64/perf" ] || skip_all "perf is not built; make perf"
	mkdir -p "$tap_tmp/guest"
}

# quiet NAME: the kernel of the last run had nothing to complain about
quiet() {
	if grep -E "$complaints" "$tap_tmp/console" >"$tap_tmp/bad"; then
		fail "$1: the kernel has nothing to complain about"
		grep -A 30 -m 1 -E "$complaints" "$tap_tmp/console" | sed 's/^/# /'
	else
		pass "$1: the kernel has nothing to complain about"
	fi
}

# selftests NAME "PROGRAM [ARGUMENTS];..." BOARD-OPTIONS...: all in one guest;
# their results with NAME before them. guest_env: variables for
# them; guest_timeout: seconds for all; guest_first: a command before all, whose
# output is in $tap_tmp/out too
guest_env= guest_timeout=500 guest_first=:
selftests() {
	_what=$1 _programs=$2; shift 2
	: >"$tap_tmp/console"
	# a 9p file system does not survive a system suspend
	"$top/tools/board/board" run --timeout "$guest_timeout" --console "$tap_tmp/console" "$@" -- "
		umount /out 2>/dev/null
		$guest_first
		echo '$_programs' | tr ';' '\n' | while read -r t; do
			echo \"# program \${t%% *}\"
			env $guest_env /usr/lib/selftests/ntrace/\$t </dev/null 2>&1
			echo \"# exit \$?, \$(cut -d. -f1 /proc/uptime) s of the guest\"
		done
		[ ! -e /sys/kernel/debug/kmemleak ] || { echo scan >/sys/kernel/debug/kmemleak; sleep 6
			echo scan >/sys/kernel/debug/kmemleak; cat /sys/kernel/debug/kmemleak; } >/dev/console" \
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
	is "$_what: all programs came to their end" "$_status $(grep -c '^# exit' "$tap_tmp/out")" \
		"0 $(echo "$_programs" | tr ';' '\n' | wc -l)"
	[ "$_status" = 0 ] || sed 's/^/# /' "$tap_tmp/err" | head -n 20
	quiet "$_what"
}
