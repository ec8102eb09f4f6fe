#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ntrace probe` reports the trace hardware of a board: the components that the driver found, their constant
# registers, and their connections. tools/board/replay makes an emulated board from a report. `ntrace probe` on that
# board must print the same report. The trace in a report must decode.
. "$(dirname "$0")/../harness/tap.sh"
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
build_tool
board=$top/tools/board/board
ntrace=$O/bin/ntrace

# Print the lines of a report that must be equal for every board of the same kind. Leave out the names and addresses
# of devices, which depend on the device tree, and SRC, which the driver chooses. A random hart boots first and is CPU
# 0 in Linux, so print the CPUs last and sorted.
same() {
	# Print a sorted line for each component, because the driver may find the components in another order
	awk '/^\[/ { if (device) print all; device = /^\[device /; all = ""; next }
		device && !/^caps (address|cpu)/ &&
		/^(caps|implicit_return_mode|timestamp\/(width|modes)|default_config|driver) |trTeImpl|trRamImpl|trFunnelImpl|trTeInstFilters|trTeFilter/ {
			all = all $0 "; " }
		END { if (device) print all }' "$1" | sort
	grep '^caps cpu' "$1" | sort
}

# probe NAME BOARD-OPTION...: write the report of a board
probe() {
	name=$1
	shift
	"$board" run "$@" -- 'ntrace probe' >"$tap_tmp/$name" 2>"$tap_tmp/$name.err" ||
		{ cat "$tap_tmp/$name.err"; return 1; }
}

# replayed NAME BOARD-OPTION...: write the report of a board with these options, make a second board from this report,
# and check that the report of the second board is the same. Print five test results
replayed() {
	_what=$1
	ok "$1: ntrace probe reports the board's hardware" probe "$@"
	is "$1: the report has its first and its last line" "$(sed -n '1p;$p' "$tap_tmp/$1" | tr '\n' ' ')" "ntrace probe 1 [end] "
	ok "$1: tools/board/replay makes a board from the report" "$top/tools/board/replay" "$tap_tmp/$1" "$tap_tmp/$1.made"
	cat "$tap_tmp/$1.made/board" 2>/dev/null | sed 's/^/# /'
	ok "$1: ntrace probe reports that board's hardware" probe "$1.again" --board "$tap_tmp/$1.made/board"
	same "$tap_tmp/$1" >"$tap_tmp/before"
	same "$tap_tmp/$1.again" >"$tap_tmp/after"
	[ "$(grep -c 'caps type' "$tap_tmp/before")" -ge 3 ] || echo few >>"$tap_tmp/before"
	ok "$1: both reports describe the same hardware" diff "$tap_tmp/before" "$tap_tmp/after"
}

# trace NAME CPU: print the bytes of the trace in a report
trace() {
	sed -n "/^\[trace cpu$2\]/,/^\[/p" "$tap_tmp/$1" | grep -E '^[0-9a-f]+$' |
		awk 'length % 2 == 0' | python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))'
}

plan 24
# This board has one comparator less than other boards, few trace modes, and unusual widths of fields.
replayed odd --harts 2 --topology funnel \
	--model te.htm=off,te.comps=3,te.filters=1,te.comp_modes=3,te.ts_width=40,te.sync_modes=2 \
	--model te.sync_max_lowest=3,te.sync_max_highest=9,te.src_bits=5,te.stall=off,te.vendor=7,ram.align=64
replayed k3 --board k3 --harts 2
replayed p550 --board p550 --harts 2
is "p550: timestamps of the board that replay made count the same clock" \
	"$(grep -c '^timestamp/frequency 700000000$' "$tap_tmp/p550.again")" 2

# This board has registers in suspended power domains, and registers of a CPU that is offline while other CPUs trace.
# The registers also lose power after the driver was unloaded.
make -s -C "$top/tests/driver" O="$O" KVER=6.12 guest >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
"$board" run --kernel 6.12 --no-driver --topology power --harts 2 -- 'insmod /usr/lib/ntrace/ntrace-power.ko
insmod /lib/ntrace/ntrace.ko
cd /sys/kernel/debug/ntrace || exit 1
until [ "$(cat /sys/bus/platform/devices/*.trace/power/runtime_status | grep -c suspended)" = 4 ]; do sleep 0.1; done
cat */registers | grep -c Impl
echo 2 >/proc/sys/kernel/kptr_restrict
perf record -q -o /tmp/perf.data -e ntrace// -C 0 -- sh -c "while [ ! -e /tmp/end ]; do sleep 0.1; done" 2>/dev/null &
until cat */registers | grep -q "[2367abef] trTeControl"; do sleep 0.1; done
for i in 1 2 3 4 5 6 7 8 9 10; do cat */registers; done | grep -c Impl
touch /tmp/end; wait
echo 0 >/sys/devices/system/cpu/cpu1/online
cat */registers 2>&1 | grep -c -e Impl -e "No such device"
echo 1 >/sys/devices/system/cpu/cpu1/online
cd /
rmmod ntrace && ls /sys/kernel/debug/ntrace 2>&1 | grep -c "No such file"
dmesg | grep -c -e "BUG" -e "Oops" -e "WARNING"' >"$tap_tmp/power" 2>"$tap_tmp/power.err"
is "registers of 4 components can be read if they are suspended, or in use, or their CPU is off" \
	"$(tr '\n' ' ' <"$tap_tmp/power")" "4 40 4 1 0 "
is "the board reports no access to a component without power" "$(grep -c -v '^$' "$tap_tmp/power.err")" 0
sed 's/^/# /' "$tap_tmp/power.err"

trace odd 1 >"$tap_tmp/trace"
is "the report has at least 4 KiB of trace" "$(($(wc -c <"$tap_tmp/trace") >= 4096))" 1
"$ntrace" dump --src-bits "$(sed -n 's/^src_bits //p' "$tap_tmp/odd" | head -1)" --timestamp --tstamp-bits 40 "$tap_tmp/trace" >"$tap_tmp/dump" 2>&1
# The kernel's message buffer may fill up in the middle of the last message
sed '$d' "$tap_tmp/dump" | grep -i -B1 -A1 error | sed 's/^/# /'
is "the trace in the report has only valid messages" "$(sed '$d' "$tap_tmp/dump" | grep -c -i error)" 0
is "the trace in the report has the branches of a loop" "$(($(grep -c DirectBranch "$tap_tmp/dump") > 1000))" 1

# A report that another person sends may be truncated, or may be a different file.
head -c 2000 "$tap_tmp/odd" >"$tap_tmp/cut"
"$top/tools/board/replay" "$tap_tmp/cut" "$tap_tmp/cut.made" >"$tap_tmp/said" 2>&1
is "replay refuses a report that was cut short" "$? $(cut -d: -f1 "$tap_tmp/said")" "1 replay"
mkdir "$tap_tmp/empty"
"$ntrace" probe --root "$tap_tmp/empty" >"$tap_tmp/said" 2>"$tap_tmp/err"
is "ntrace probe reports that a system lacks trace hardware" "$? $(cat "$tap_tmp/err")" \
	"1 ntrace probe: no trace component in the device tree; see ntrace doctor"
"$ntrace" probe --nonsense >"$tap_tmp/said" 2>&1
is "ntrace probe refuses wrong arguments" "$?" 2
done_testing
