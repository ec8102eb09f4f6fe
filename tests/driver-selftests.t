#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The kselftests of selftests/ntrace, in the guest of the emulated board: on
# both kernels, on the largest and on the minimal hardware.
. "$(dirname "$0")/lib/tap.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
# load_test's other half, which depends on how often the host lets the guest's timers
# come, is in tests/long/driver-load.t
tests="pmu_test attr_test record_test snapshot_test security_test life_test load_test"
load="-t reader_that_stops_is_told"

# run NAME BOARD-OPTIONS...: all programs in one guest; results with NAME before
run() {
	_what=$1; shift
	"$top/tools/board/board" run --timeout 400 --console "$tap_tmp/console" "$@" -- "
		for t in $tests; do
			echo \"# program \$t\"
			[ \$t = load_test ] && set -- $load || set --
			/usr/lib/selftests/ntrace/\$t \"\$@\"
			echo \"# exit \$?\"
		done" >"$tap_tmp/out" 2>"$tap_tmp/err"
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
		"0 $(echo "$tests" | wc -w)"
	[ "$_status" = 0 ] || sed 's/^/# /' "$tap_tmp/err" | head -n 20
	if grep -E 'WARNING:|BUG:|Oops|Call Trace|Unable to handle' "$tap_tmp/console" >"$tap_tmp/bad"; then
		fail "$_what: the kernel has nothing to complain about"
		grep -A 30 -m 1 -E 'WARNING:|BUG:|Oops|Unable to handle' "$tap_tmp/console" | sed 's/^/# /'
	else
		pass "$_what: the kernel has nothing to complain about"
	fi
}

[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"
for kernel in 6.12 7.2; do
	run "$kernel, 2 harts" --kernel $kernel --harts 2
done
run "6.12, minimal hardware" --kernel 6.12 --harts 1 --model caps=minimal
run "7.2, funnel" --kernel 7.2 --harts 2 --topology funnel
run "6.12, SRAM" --kernel 6.12 --harts 2 --topology sram
plan $tap_n
done_testing
