#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The driver goes while a CPU is offline whose ATB bridge only answers when it is online: the next
# one does not take the bridge for that of a debugger. A CPU that goes and comes while all of them
# are recorded is traced again.
. "$(dirname "$0")/../harness/tap.sh"
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"

plan 3
"$top/tools/board/board" run --board k3 --harts 2 -- 'cpu1=/sys/devices/system/cpu/cpu1/online
echo 0 >$cpu1; rmmod ntrace; echo 1 >$cpu1; insmod /lib/ntrace/ntrace.ko; sleep 1
echo "debuggers $(dmesg | grep -c "in use by a debugger")"
perf record -B --no-bpf-event -q -C 1 -e ntrace// -o /tmp/data -- sh -c "for i in 1 2 3; do
	taskset 2 ls / >/dev/null; echo 0 >$cpu1; ls / >/dev/null; echo 1 >$cpu1; done; taskset 2 ls / >/dev/null" 2>/dev/null
echo "stretches $(perf script -D -i /tmp/data 2>/dev/null | grep -c "PERF_RECORD_AUX .*size: 0x[1-9a-f]")"
echo "complaints $(dmesg | grep -c -e BUG -e WARNING -e "did not become")"' >"$tap_tmp/printed" 2>"$tap_tmp/err"
sed 's/^/# /' "$tap_tmp/err"
is "no bridge is taken for a debugger's" "$(grep debuggers "$tap_tmp/printed")" "debuggers 0"
ok "trace before and after the CPU was offline" [ "$(sed -n 's/stretches //p' "$tap_tmp/printed")" -ge 1 ]
sed 's/^/# /' "$tap_tmp/printed"
is "no complaints" "$(grep complaints "$tap_tmp/printed")" "complaints 0"
done_testing
