#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Measure with gcov which lines of the driver its tests execute. The tests are the kselftests in the guest on several
# topologies and kernels, some tests that run their own guests, and the register tests on the host. The report of each
# file is in build/driver-coverage/report, with ##### before each line that no test executed.
# Documentation/developer/driver-coverage.rst explains these lines. GUESTS= and TESTS= select some of the tests.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/driver/guest.sh"

real=$O
gcov=${CROSS_COMPILE-riscv64-linux-gnu-}gcov
source=$O/root/linux-6.12/kernel/gcov
[ -e "$source/gcc_4_7.c" ] || skip_all "the kernels are not set up; make setup"
command -v "$gcov" >/dev/null || skip_all "there is no $gcov"

# Make a build folder for the board, with a driver for each kernel. These drivers count their executed lines
cov=$O/driver-coverage
rm -rf "$cov" && mkdir -p "$cov/board" "$cov/report" "$cov/unit" "$cov/kept"
make -s -C "$top/selftests/ntrace" O="$O" >&2 && make -s -C "$top" plugin guest-tools tool >&2 || exit 1
for d in "$O"/*; do
	case ${d##*/} in drivers|tests|board|driver-coverage) ;; *) ln -s "$d" "$cov/" ;; esac
done
ln -s "$O/board/ntrace-board.so" "$O/board/model" "$cov/board/"

counts() { # KERNEL: build the driver for it
	mkdir -p "$cov/m/$1" "$cov/drivers/$1" "$cov/tests/guest/$1"
	mkdir "$cov/m/$1/flight" "$cov/m/$1/fabric"
	ln -s "$top"/drivers/ntrace/flight/*.[ch] "$cov/m/$1/flight/"
	ln -s "$top"/drivers/ntrace/fabric/*.[ch] "$cov/m/$1/fabric/"
	ln -s "$top"/drivers/ntrace/*.[ch] "$top"/tests/driver/coverage/* "$source"/gcc_4_7.c "$source"/gcov.h "$cov/m/$1/"
	ln -s "$top/drivers/ntrace/Makefile" "$cov/m/$1/driver.mk"
	env -u MAKEFLAGS make -C "$O/root/kernel-$1/build" M="$cov/m/$1" ARCH=riscv \
		CROSS_COMPILE="${CROSS_COMPILE-riscv64-linux-gnu-}" NTRACE_TOP="$top" modules >"$cov/log" 2>&1 ||
		{ tail -n 20 "$cov/log"; exit 1; }
	"${CROSS_COMPILE-riscv64-linux-gnu-}objcopy" --strip-debug "$cov/m/$1/ntrace.ko" "$cov/drivers/$1/ntrace.ko"
	cp "$cov/m/$1/ntrace-gcov.ko" "$cov/tests/guest/$1/"
	echo "$1" >"$cov/tests/guest/$1/gcov-kernel"
}
for kernel in $(kernels lts new debug); do
	counts $kernel
done

n=0
add_up() { # KERNEL FOLDER: let gcov read the counters of the driver for KERNEL, which are in FOLDER
	n=$((n + 1))
	mkdir -p "$cov/run$n/src"
	cp "$2"/*.gcda "$cov/m/$1"/*.gcno "$cov/m/$1"/*/*.gcno "$cov/run$n/"
	(cd "$cov/run$n/src" && "$gcov" -o .. ../*.gcda >/dev/null 2>&1)
}

# shellcheck disable=SC2016
collect='mkdir -p $to && for f in /sys/kernel/debug/ntrace_gcov/*; do cat $f >$to/${f##*/}; done'

guest_first='insmod /usr/lib/ntrace/ntrace-gcov.ko || exit 9'
guest_last="to=/tmp/gcda; $collect; tar -C /tmp/gcda -cz . | base64 -w 0 | sed 's/^/gcda /'; echo"
guest_timeout=1500
# Allow more time for each operation, because the counters make the driver slower
guest_env=NTRACE_LIMIT_MS=5000
export O="$cov"
reaches() { # NAME KERNEL PROGRAMS BOARD-OPTIONS...: run selftests() on KERNEL, and let gcov read the counters
	_reached=$1 _kernel=$2 _programs=$3; shift 3
	case $_reached in ${GUESTS:-*}) ;; *) return ;; esac
	selftests "$_reached" "$_programs" --kernel "$_kernel" "$@"
	mkdir "$tap_tmp/gcda"
	sed -n 's/^gcda //p' "$tap_tmp/out" | base64 -d | tar -xz -C "$tap_tmp/gcda" 2>/dev/null
	ok "$_reached: there are counters" [ -s "$tap_tmp/gcda/pmu.gcda" ]
	add_up "$_kernel" "$tap_tmp/gcda"
	rm -r "$tap_tmp/gcda"
}

all="pmu_test;attr_test;field_test;filter_test;record_test;snapshot_test;sample_test;security_test;share_test"
reaches "2 harts" 6.12 "$all;life_test;storm_test;fuzz_test" --harts 2
reaches "encoders with two sinks" 6.12 "field_test;share_test;life_test" --harts 4 --topology choice
reaches "interrupt, idle" 6.12 "life_test;storm_test" --harts 2 --topology interrupt --deep-idle
reaches "ETR" 6.12 "share_test;record_test;snapshot_test" --harts 4 --topology k3
reaches "a funnel" 6.12 "pmu_test;attr_test" --harts 2 --topology funnel
reaches "SiFive" 6.12 "attr_test;record_test;life_test" --board p550
reaches "SRAM" 6.12 "record_test;snapshot_test;load_test -t reader_that_stops_is_told" --harts 2 --topology sram
reaches "minimal" 6.12 "pmu_test;attr_test;record_test" --model caps=minimal
reaches "AUX pause" "$(kernels new)" "attr_test;share_test" --harts 2
# Only the debug kernel exports the functions that the driver needs for AUX samples
reaches "samples" debug "sample_test" --harts 2 --topology funnel
reaches "samples, SRAM" debug "sample_test" --topology sram
reaches "samples, ETR" debug "sample_test -t the_buffer_goes_on" --harts 2 --topology k3
guest_env="NTRACE_FAULTS=1 NTRACE_LIMIT_MS=5000"
reaches "hardware that gets stuck" 6.12 storm_test --harts 2 --model fault.stuck=300
guest_env=

# Run the tests that start their own guests
export BOARD_KEEP="$cov/kept"
export BOARD_FIRST="insmod /usr/lib/ntrace/ntrace-gcov.ko
trap 'to=/out/kept; $collect; cat /usr/lib/ntrace/gcov-kernel >/out/kept/kernel' EXIT"
# Run only one part of the long test of the flight recorder. This part loads the driver with each correct and wrong
# form of flight=
export CASES='forms*'
for t in ${TESTS-driver/late driver/power driver/faults driver/bridge driver/perf driver/flight long/driver-flight command/probe}; do
	ok "$t" "$top/tests/$t.t"
done

# flight TOPOLOGY: stop the flight recorder by each cause that the machine survives
flight() {
	"$top/tools/board/board" run --kernel 6.12 --flight 4M --harts 2 --topology "$1" --timeout 600 \
		--console "$tap_tmp/console" --out "$tap_tmp/flight" -- '
		F=/sys/devices/platform/ntrace-flight trouble=/usr/lib/ntrace/ntrace-trouble.ko
		echo 2 >/proc/sys/kernel/hung_task_timeout_secs
		# again CAUSE: print why the recorder has stopped, write to the file "clear", which must restart the
		# recorder, and print the new state
		again() { echo "$1: $(cat $F/state), $(ntrace flight | sed -n "s/^cause  *//p")"; echo 1 >$F/clear; cat $F/state; }
		cat $F/enable $F/config $F/user_mode $F/size
		echo junk >$F/config; echo 0x8000000 >$F/config; echo maybe >$F/user_mode; echo 0 >$F/clear
		echo 0 >$F/enable; cat $F/state; echo 1 >$F/user_mode; echo 1 >$F/enable; echo 1 >$F/clear
		echo 0 >/sys/devices/system/cpu/cpu1/online; echo 1 >/sys/devices/system/cpu/cpu1/online
		/usr/lib/selftests/ntrace/share_test
		echo enough >$F/trigger; echo again >$F/trigger; ntrace flight save -o /tmp/f
		again user
		echo y >/proc/sysrq-trigger; sleep 1; again SysRq
		(insmod $trouble how=oops); sleep 1; again oops
		rmmod ntrace; insmod /usr/lib/ntrace/ntrace.ko; cat $F/state' >"$tap_tmp/said" 2>"$tap_tmp/err"
	sed 's/^/# /' "$tap_tmp/said" | grep -E 'user:|SysRq:|oops:'
	is "flight recorder, $1: each cause has stopped it" "$(sed -n 's/^\(user\|SysRq\|oops\): .*/\1/p' "$tap_tmp/said" | xargs)" "user SysRq oops"
	is "flight recorder, $1: it records again after each clear" "$(grep -A 1 -E '^(user|SysRq|oops): stopped' "$tap_tmp/said" |
		grep -c '^recording')" 3
}
mkdir -p "$tap_tmp/flight"
make -s -C "$top/tests/driver" O="$O" KVER=6.12 guest >&2 || exit 1
for topology in ${TOPOLOGIES-direct funnel}; do
	flight $topology
done
for run in "$cov"/kept/*/kept; do
	[ ! -s "$run/pmu.gcda" ] || add_up "$(cat "$run/kernel")" "$run"
done
ok "all guests have written their counters" [ -e "$cov/kept" ]
unset BOARD_KEEP BOARD_FIRST

O=$real
make -s -C "$top/tests/driver" O="$cov/unit" CFLAGS="-O1 -g --coverage" >"$cov/unit.log" 2>&1
ok "the register tests pass" "$cov/unit/tests/driver/registers"
mkdir -p "$cov/unit/src"
(cd "$cov/unit/src" && find "$cov/unit" -name '*.gcda' -exec gcov -o "$cov/unit/tests/driver" {} + >/dev/null 2>&1)

# The last result adds up all runs, and prints the number of lines in the driver's own files.
awk -v report="$cov/report" '
	FNR == 1 { n = split(FILENAME, p, "/"); name = p[n]; sub(/\.gcov$/, "", name) }
	{
		split($0, f, ":"); line = f[2] + 0; count = f[1]; gsub(/[ *]/, "", count)
		if (!line || count == "-")
			next
		key = name SUBSEP line
		text[key] = substr($0, index($0, ":") + 1)
		if (line > last[name]) last[name] = line
		hit[key] = hit[key] || count !~ /^[#=]/
	}
	END {
		for (name in last) {
			lines = reached = 0
			for (i = 1; i <= last[name]; i++) {
				key = name SUBSEP i
				if (!(key in hit)) continue
				lines++; reached += hit[key]
				if (!hit[key]) print "#####:" text[key] >(report "/" name ".missed")
			}
			printf "%s %d %d\n", name, reached, lines
			all += lines; sum += reached
		}
		printf "all %d %d\n", sum, all
	}' $(for f in "$top"/drivers/ntrace/*.[ch] "$top"/drivers/ntrace/*/*.[ch]; do ls "$cov"/run*/src/"${f##*/}".gcov "$cov"/unit/src/"${f##*/}".gcov 2>/dev/null; done) \
	>"$cov/report/lines"
sort "$cov/report/lines" | awk '{ printf "# %-14s %6.1f %% of %d lines\n", $1, 100 * $2 / $3, $3 }'
figure "the tests reach $(awk '$1 == "all" { printf "%.1f %% of the driver'"'"'s %d lines", 100 * $2 / $3, $3 }' "$cov/report/lines")"
ok "90 % and more" awk '$1 == "all" { exit !($3 && $2 / $3 >= 0.9) }' "$cov/report/lines"
plan $tap_n
done_testing
