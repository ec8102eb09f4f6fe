#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test that each injected fault has its documented effect and no other. With --icount, two
# runs without a fault are equal, so that only the fault can cause a difference. tests/driver/faults.t tests the driver
# with broken hardware.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/boot.sh"
. "$(dirname "$0")/hand.sh"
boot_setup
plan 19

# trace NAME MODEL: trace the first 20 million instructions of a boot, and dump the trace
trace() {
	if "$board" run --icount --no-driver --limit 20000000 --boot-trace "$tap_tmp/$1" --stats "$tap_tmp/$1/stats" \
		--model "boot-timestamp=on,fault.seed=5,$2" -- true >"$tap_tmp/run" 2>&1; then
		"$O/bin/ntrace" dump --timestamp "$tap_tmp/$1/ram0.ntrace" 2>&1 |
			sed 's/^ *[0-9]*: //' >"$tap_tmp/$1/dump"
		pass "$1: the boot succeeds"
	else
		fail "$1: the boot succeeds"
		sed 's/^/# /' "$tap_tmp/run"
	fi
}
messages() { wc -l <"$tap_tmp/$1/dump"; }
# differing NAME SIGN: compare the dump of NAME with the dump of the trace "good", which has no fault. If SIGN is "<",
# print the number of lines that only the dump of "good" has. If SIGN is ">", print the number of lines that only the
# dump of NAME has
differing() { diff "$tap_tmp/good/dump" "$tap_tmp/$1/dump" | grep -c "^$2"; }

trace good fault.drop=0
n=$(messages good)
figure "$n messages"

trace drop fault.drop=1000
lost=$((n - $(messages drop)))
is "drop: messages are missing, and there are no new messages" "$(differing drop '<') $(differing drop '>')" "$lost 0"
ok "drop: about one message in 1000 is missing ($lost)" [ $lost -gt $((n / 1300)) -a $lost -lt $((n / 800)) ]

trace duplicate fault.duplicate=1000
more=$(($(messages duplicate) - n))
is "duplicate: messages are there twice, and no message is missing" \
	"$(differing duplicate '<') $(differing duplicate '>')" "0 $more"
ok "duplicate: about one message in 1000 is there twice ($more)" [ $more -gt $((n / 1300)) -a $more -lt $((n / 800)) ]

trace corrupt fault.corrupt=1000
cmp -l "$tap_tmp/good/ram0.ntrace" "$tap_tmp/corrupt/ram0.ntrace" >"$tap_tmp/bytes"
bad=$(wc -l <"$tap_tmp/bytes")
is "corrupt: the trace has as many bytes as without the fault" "$(wc -c <"$tap_tmp/corrupt/ram0.ntrace")" "$(wc -c <"$tap_tmp/good/ram0.ntrace")"
ok "corrupt: about one message in 1000 has a wrong byte ($bad)" [ $bad -gt $((n / 1300)) -a $bad -lt $((n / 800)) ]
is "corrupt: each wrong byte has one wrong bit" "$(python3 -c 'import sys
print(sum(bin(int(a, 8) ^ int(b, 8)).count("1") != 1 for _, a, b in map(str.split, sys.stdin)))' <"$tap_tmp/bytes")" 0

trace clock fault.clock_stopped=on
is "clock stopped: the trace has as many messages as without the fault" "$(messages clock)" "$n"
is "clock stopped: the time is 0 in all messages" "$(grep -vc 'TSTAMP=0x0$\|TSTAMP=0$' "$tap_tmp/clock/dump")" 0

# Make a topology whose sink writes to system memory. A script in the guest programs the sink without a driver.
printf 'encoder te%% hart=%% to=ram%%\nramsink ram%% mode=smem irq=40\n' >"$tap_tmp/topology"
ok "the guest runs the script, which lets a sink write to the UART" "$board" run --no-driver --topology "$tap_tmp/topology" --stats "$tap_tmp/stats" \
	--console "$tap_tmp/console" --model fault.irq_lost=on,fault.wp_outside=on -- "$(by_hand 0x10000000 4096 "ls -l / >/dev/null")"
sed -n 's/^# //p' "$tap_tmp/out" >"$tap_tmp/said"
count() { sed -n "s/^ram0 .*$1=\([0-9]*\).*/\1/p" "$tap_tmp/stats"; }
cp "$tap_tmp/out" "$tap_tmp/said"
ok "the sink that writes to the UART has bus errors" [ "$(count bus_errors)" -gt 10 ]
is "the console prints no trace of the sink that writes to the UART" "$(LC_ALL=C tr -d '\11\12\15\33\40-\176' <"$tap_tmp/console" | wc -c)" 0
is "interrupt lost: a full buffer sends no interrupt" "$(count interrupts)" 0
wp=$(sed -n 's/^wp //p' "$tap_tmp/said")
is "write pointer outside: it is 4 KiB after trRamLimit" $((${wp:-0} & ~3)) $((0x10000000 + 4032 + 4096))
done_testing
