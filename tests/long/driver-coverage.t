#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Lines of the driver that its tests reach, by gcov: the kselftests in the guest, on several
# topologies, and the register tests on the host. The report of each file is in
# build/driver-coverage/report, with ##### before each line that was not reached; what these are is in
# Documentation/developer/driver-coverage.rst.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/driver/guest.sh"

kernel=6.12
real=$O
kdir=$O/root/kernel-$kernel/build
gcov=${CROSS_COMPILE-riscv64-linux-gnu-}gcov
[ -e "$kdir" ] && [ -e "$O/root/linux-$kernel/kernel/gcov/gcc_4_7.c" ] || skip_all "the kernel is not set up; make setup"
command -v "$gcov" >/dev/null || skip_all "there is no $gcov"

# A build folder as the board wants it, with a driver that counts
cov=$O/driver-coverage
rm -rf "$cov" && mkdir -p "$cov/m" "$cov/board" "$cov/drivers/$kernel" "$cov/tests/guest/$kernel" "$cov/report" "$cov/unit"
make -s -C "$top/selftests/ntrace" O="$O" >&2 && make -s -C "$top" plugin guest-tools >&2 || exit 1
for d in root selftests riscv64 perf; do [ ! -e "$O/$d" ] || ln -s "$O/$d" "$cov/$d"; done
ln -s "$O/board/ntrace-board.so" "$cov/board/"
ln -s "$top"/drivers/ntrace/*.[ch] "$top"/tests/driver/coverage/* "$O/root/linux-$kernel"/kernel/gcov/gcc_4_7.c \
	"$O/root/linux-$kernel"/kernel/gcov/gcov.h "$cov/m/"
ln -s "$top/drivers/ntrace/Makefile" "$cov/m/driver.mk"
env -u MAKEFLAGS make -C "$kdir" M="$cov/m" ARCH=riscv CROSS_COMPILE="${CROSS_COMPILE-riscv64-linux-gnu-}" \
	NTRACE_TOP="$top" modules >"$cov/log" 2>&1 || { tail -n 20 "$cov/log"; exit 1; }
"${CROSS_COMPILE-riscv64-linux-gnu-}objcopy" --strip-debug "$cov/m/ntrace.ko" "$cov/drivers/$kernel/ntrace.ko"
cp "$cov/m/ntrace-gcov.ko" "$cov/tests/guest/$kernel/"

guest_first='insmod /usr/lib/ntrace/ntrace-gcov.ko || exit 9'
guest_last='mkdir -p /tmp/gcda && for f in /sys/kernel/debug/ntrace_gcov/*; do cat $f >/tmp/gcda/${f##*/}; done
	tar -C /tmp/gcda -cz . | base64 -w 0 | sed "s/^/gcda /"; echo'
guest_timeout=1500
export O="$cov"
n=0
reaches() { # NAME PROGRAMS BOARD-OPTIONS...: as selftests, and gcov reads the counters
	selftests "$@"
	n=$((n + 1))
	mkdir -p "$cov/run$n/src"
	sed -n 's/^gcda //p' "$tap_tmp/out" | base64 -d | tar -xz -C "$cov/run$n" 2>/dev/null
	ok "$1: there are counters" [ -s "$cov/run$n/pmu.gcda" ]
	cp "$cov"/m/*.gcno "$cov/run$n/"
	(cd "$cov/run$n/src" && "$gcov" -o .. ../*.gcda >/dev/null 2>&1)
}

all="pmu_test;attr_test;field_test;filter_test;record_test;snapshot_test;sample_test;security_test;share_test"
reaches "2 harts" "$all;life_test;storm_test;fuzz_test" --kernel $kernel --harts 2
reaches "a choice of sinks" "field_test;share_test;life_test" --kernel $kernel --harts 4 --topology choice
reaches "interrupt, idle" "life_test;storm_test" --kernel $kernel --harts 2 --topology interrupt --deep-idle
reaches "ETR" "share_test;record_test;snapshot_test" --kernel $kernel --harts 4 --topology k3
reaches "SRAM" "record_test;snapshot_test;sample_test;load_test -t reader_that_stops_is_told" --kernel $kernel --harts 2 --topology sram
reaches "minimal" "pmu_test;attr_test;record_test" --kernel $kernel --model caps=minimal
guest_env="NTRACE_FAULTS=1 NTRACE_LIMIT_MS=5000"
reaches "hardware that gets stuck" storm_test --kernel $kernel --harts 2 --model fault.stuck=300
guest_env=

O=$real
make -s -C "$top/tests/driver" O="$cov/unit" CFLAGS="-O1 -g --coverage" >"$cov/unit.log" 2>&1
ok "the register tests pass" "$cov/unit/tests/driver/registers"
mkdir -p "$cov/unit/src"
(cd "$cov/unit/src" && find "$cov/unit" -name '*.gcda' -exec gcov -o "$cov/unit/tests/driver" {} + >/dev/null 2>&1)

# All runs in one: lines of the driver's own files
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
	}' $(for f in "$top"/drivers/ntrace/*.[ch]; do ls "$cov"/run*/src/"${f##*/}".gcov "$cov"/unit/src/"${f##*/}".gcov 2>/dev/null; done) \
	>"$cov/report/lines"
sort "$cov/report/lines" | awk '{ printf "# %-14s %6.1f %% of %d lines\n", $1, 100 * $2 / $3, $3 }'
figure "the tests reach $(awk '$1 == "all" { printf "%.1f %% of the driver'"'"'s %d lines", 100 * $2 / $3, $3 }' "$cov/report/lines")"
ok "90 % and more" awk '$1 == "all" { exit !($3 && $2 / $3 >= 0.9) }' "$cov/report/lines"
plan $tap_n
done_testing
