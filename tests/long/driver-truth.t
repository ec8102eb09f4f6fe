#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Nothing is lost, or it is said: system-wide trace of 4 busy harts with 1 MiB for
# each, compared with what ran. First with a reader that keeps up, then with one that
# is away for 5 seconds.
#
# NTRACE_LOAD_SECONDS: 60 if not given. The guest's time is the host's here: a host
# with less than 4 processors to spare lets the harts run slowly, and may make the
# reader late, which is a skip that says by how much.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../driver/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 && make -s -C "$top" tool >&2 || exit 1
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"
seconds=${NTRACE_LOAD_SECONDS:-60}

truth() { # NAME TEST BOARD-OPTIONS...
	_name=$1 _test=$2; shift 2
	_dir=$tap_tmp/$_test
	mkdir -p "$_dir"
	"$top/tools/board/board" run --timeout 3000 --console "$tap_tmp/console" --mem 4G \
		--truth "$_dir/truth" --out "$_dir/out" "$@" -- "
		grep -E '^processor|^hart[^ ]*[[:space:]]*:' /proc/cpuinfo >/out/cpuinfo
		mount -o remount,size=3G /tmp
		NTRACE_LOAD_OUT=/tmp NTRACE_LOAD_SECONDS=$seconds /usr/lib/selftests/ntrace/load_test -t $_test 2>&1
		cp /tmp/*.ntrace /out" >"$tap_tmp/said" 2>&1
	grep '^#' "$tap_tmp/said"
	case $(grep -E '^(not )?ok 1' "$tap_tmp/said") in
	"ok "*SKIP*) skip "$_name: 0 bytes lost" "$(sed -n 's/^ok 1.*SKIP //p' "$tap_tmp/said")" ;;
	"ok "*) pass "$_name" ;;
	*) fail "$_name"; tail -n 20 "$tap_tmp/said" | sed 's/^/# /' ;;
	esac
	# the truth is by hart, the trace by CPU
	: >"$tap_tmp/verified"
	awk '$1 == "processor" { cpu = $3 } $1 == "hart" { print cpu, $3 }' "$_dir/out/cpuinfo" |
	while read -r _cpu _hart; do
		"$O/bin/ntrace" verify --truth "$_dir/truth/hart$_hart.truth" --trace "$_dir/out/cpu$_cpu.ntrace" \
			>>"$tap_tmp/verified" 2>&1
		echo "status $?" >>"$tap_tmp/verified"
	done
	sed 's/^/# /' "$tap_tmp/verified"
	# a stretch that is said to be partial is one loss of the decode, in a gap or at the end
	_partial=$(sed -n 's/^# figure.* \([0-9]*\) partial.*/\1/p' "$tap_tmp/said")
	_lost=$(awk '/^hart .* instructions compared/ { n += $6 + ($10 > 0) } END { print n + 0 }' "$tap_tmp/verified")
	figure "$_name: $(awk '/^[0-9]+ instructions compared/ { n += $1; d += $4 } END {
		printf "%.0f M instructions compared, %d differences", n / 1e6, d }' "$tap_tmp/verified"), $_partial losses flagged, $_lost found"
	is "$_name: what was decoded is what ran" \
		"$(grep -cE '^[1-9][0-9]* instructions compared, 0 differences' "$tap_tmp/verified")" \
		"$(grep -c '^status' "$tap_tmp/verified")"
	is "$_name: what is flagged lost is what is missing" "$_lost" "$_partial"
	rm -rf "$_dir"
}

truth "reader that keeps up, 7.2, 4 harts" reader_that_keeps_up_loses_nothing --kernel 7.2 --harts 4
truth "reader away for 5 s, 7.2, 4 harts" reader_that_was_away_gets_the_rest --kernel 7.2 --harts 4
truth "reader that keeps up, 6.12, 1 hart, --icount" reader_that_keeps_up_loses_nothing --kernel 6.12 --icount
plan $tap_n
done_testing
