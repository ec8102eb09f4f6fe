#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Nothing is lost, or it is said: system-wide trace of 4 busy harts with 1 MiB for
# each, compared with what ran. First with a reader that keeps up, then with one that
# is away for 5 seconds.
#
# NTRACE_LOAD_SECONDS: 60 if not given. The clock of 4 harts is slower than the host's
# (NTRACE_LOAD_SLOW, 4), and a hart does what one of NTRACE_LOAD_MIPS (50) would, as they share
# its processors: what a reader and a driver can do in a second is to be in proportion to what
# 4 harts write in it, and a timer is not to be late because the others are at work. The trace is
# kept in the guest's memory. A host may still be so slow that a reader is late: that is a skip,
# and is to be flagged as any loss.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../driver/guest.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 && make -s -C "$top" tool >&2 || exit 1
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"
seconds=${NTRACE_LOAD_SECONDS:-60}
slow=${NTRACE_LOAD_SLOW:-4}
mips=${NTRACE_LOAD_MIPS:-50}

# truth NAME TEST SECONDS ROOM BOARD-OPTIONS...: ROOM for the trace of each hart, in MiB
truth() {
	_name=$1 _test=$2 _seconds=$3 _room=$4; shift 4
	_dir=$tap_tmp/$_test
	mkdir -p "$_dir"
	"$top/tools/board/board" run --timeout 3000 --console "$tap_tmp/console" \
		--truth "$_dir/truth" --out "$_dir/out" "$@" -- "
		grep -E '^processor|^hart[^ ]*[[:space:]]*:' /proc/cpuinfo >/out/cpuinfo
		NTRACE_LOAD_OUT=/out NTRACE_LOAD_SECONDS=$_seconds NTRACE_LOAD_ROOM=$_room NTRACE_LOAD_SLOW=$slow \
			/usr/lib/selftests/ntrace/load_test -t $_test 2>&1" >"$tap_tmp/said" 2>&1
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
	# a stretch that is said to be partial is one loss of the decode, in a gap or at the end; if
	# its window was full with the last message, a sink cannot tell that nothing is missing
	_partial=$(sed -n 's/^# figure.* \([0-9]*\) partial (\([0-9]*\) of.*/\1 \2/p' "$tap_tmp/said" |
		awk '{ print $1 - $2 }')
	_lost=$(awk '/^hart .* instructions compared/ { n += $6 + ($10 > 0) } END { print n + 0 }' "$tap_tmp/verified")
	figure "$_name: $(awk '/^[0-9]+ instructions compared/ { n += $1; d += $4 } END {
		printf "%.0f M instructions compared, %d differences", n / 1e6, d }' "$tap_tmp/verified"), $_partial losses flagged, $_lost found"
	is "$_name: what was decoded is what ran" \
		"$(grep -cE '^[1-9][0-9]* instructions compared, 0 differences' "$tap_tmp/verified")" \
		"$(grep -c '^status' "$tap_tmp/verified")"
	is "$_name: what is flagged lost is what is missing" "$_lost" "$_partial"
	rm -rf "$_dir"
}

# at 2 bits an instruction and a bit more
room=$((seconds * mips / 3 + 100))
mem=$((4 * room / 1024 + 2))G
truth "reader that keeps up, 7.2, 4 harts" reader_that_keeps_up_loses_nothing "$seconds" $room \
	--kernel 7.2 --harts 4 --slow "$slow" --mips "$mips" --mem $mem
truth "reader away for 5 s, 7.2, 4 harts" reader_that_was_away_gets_the_rest "$seconds" $room \
	--kernel 7.2 --harts 4 --slow "$slow" --mips "$mips" --mem $mem
# one hart alone writes more, and there no timer is late
slow=1
truth "reader that keeps up, 6.12, 1 hart, --icount" reader_that_keeps_up_loses_nothing 3 1000 \
	--kernel 6.12 --icount --mem 3G
plan $tap_n
done_testing
