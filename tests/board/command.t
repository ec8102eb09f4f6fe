#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the command board with shell, dtb, list and a debugger. Test that each topology boots with the
# driver. If a part of the board is missing, the command must print one sentence with the remedy.
. "$(dirname "$0")/../harness/tap.sh"
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
make -s -C "$top" O="$O" plugin >"$tap_tmp/make" 2>&1 || { plan 1; fail "the plugin builds"; done_testing; }
board=$top/tools/board/board
topologies=$(ls "$top/tools/board/topology")
plan $(($(by_size 43 49) + $(echo "$topologies" | wc -w)))

says() { # NAME STATUS TEXT COMMAND...
	_name=$1 _status=$2 _text=$3
	shift 3
	_rc=0
	"$@" >"$tap_tmp/said" 2>&1 </dev/null || _rc=$?
	ok "$_name" sh -c "[ $_rc -eq $_status ] && grep -q -- '$_text' '$tap_tmp/said' || { cat '$tap_tmp/said'; echo status $_rc; exit 1; }"
}
says "board list prints the kernels" 0 "lts    6.12" "$board" list
for t in $topologies; do
	says "dtb of $t compiles, and connects each of 4 harts" 0 "^4 ways" sh -c \
		"'$board' dtb --topology $t --harts 4 | dtc -q -I dts -O dtb | dtc -q -I dtb -O dts |
			awk '/cpus = </ && !seen[\$0]++ { n++ } END { print n, \"ways\" }'"
done
says "a shell" 0 "42 2 harts" "$top/tests/board/talk.py" shell "$board" shell --harts 2 --no-driver

port=$((20000 + $$ % 20000))
"$board" run --no-driver --limit 20000000 --gdb $port -- true >"$tap_tmp/gdb" 2>&1 &
pid=$!
says "a debugger finds the hart at its reset vector" 0 "pc 0x1000" "$top/tests/board/talk.py" gdb $port
ok "a debugger finds the hart at its reset vector, and lets it continue" wait $pid

# With the limit of 5 million instructions a second, 30 million instructions take 6 s. Without the limit,
# they take a second or two.
start=$(date +%s%N)
ok "a run with --mips succeeds" "$board" run --boot-trace "$tap_tmp/paced" --mips 5 --limit 30000000 -- true
took=$((($(date +%s%N) - start) / 1000000))
figure "30 M instructions with --mips 5 take $took ms"
ok "a hart is as slow as --mips says" [ "$took" -ge 6000 ]

# The kernel runs its self-tests only in a stock boot. tests/board/repeat.t counts the instructions of another boot.
is "a stock boot: nothing is left out, and modules are signed" \
	"$("$board" run --stock-boot --no-driver -- 'grep -c notests /proc/cmdline; cat /proc/sys/kernel/tainted' | xargs)" "0 0"

# Test other cores and kernels, the highest number of harts, and memory that survives a reboot.
says "16 harts, each of which has an encoder" 0 "^16 ways" sh -c \
	"'$board' dtb --topology funnel2 --harts 16 | awk '/cpus = </ { n++ } END { print n, \"ways\" }'"
if large; then
	is "16 harts boot" "$("$board" run --harts 16 --topology funnel2 --no-driver -- nproc)" 16
fi
# The guest prints the hart of processor 0 in /proc/cpuinfo, which is the boot hart. The boot hart, the core and the
# topology are independent of each other, so one guest tests all three. tests/driver/selftests.t tests the other
# topologies.
boot_hart='sed -n "s/^hart[^a-z]*: //p" /proc/cpuinfo | head -n 1'
driven='dmesg | grep -c "ntrace .*: traces CPU"; rmmod ntrace && echo unloaded'
"$board" run --harts 4 --topology mixed --boot-hart last --cpu rva23s64 -- \
	"$boot_hart; grep -c -m 1 isa.*zvkt /proc/cpuinfo; $driven; exit 7" >"$tap_tmp/said" 2>"$tap_tmp/err"
is "the exit status of the guest's command is that of the board" $? 7
is "--boot-hart last with four harts" "$(sed -n 1p "$tap_tmp/said")" 3
is "another core" "$(sed -n 2p "$tap_tmp/said")" 1
is "mixed: the driver traces 4 harts, and can be unloaded" "$(sed '1,2d' "$tap_tmp/said" | xargs)" "4 unloaded"
if large; then
	for h in 0 1; do
		is "--boot-hart $h with three harts" "$("$board" run --harts 3 --boot-hart $h --no-driver -- "$boot_hart")" $h
	done
	for t in "funnel2 4" "interrupt 2"; do
		is "${t% *}: the driver traces ${t#* } harts, and can be unloaded" \
			"$("$board" run --topology ${t% *} --harts ${t#* } -- "$driven" 2>&1 | xargs)" "${t#* } unloaded"
	done
fi
mkdir -p "$tap_tmp/modules/lib"
ln -s "$O/root/kernel-new/usr/lib/modules" "$tap_tmp/modules/lib/modules"
is "another kernel and its modules" "$("$board" run --kernel-image "$O/root/kernel-new/vmlinuz" --modules "$tap_tmp/modules" \
	--no-driver -- 'uname -r | cut -d. -f1,2; modprobe configs 2>/dev/null; ls /lib/modules | cut -d. -f1,2')" "$(kernels new)
$(kernels new)"
# tests/driver/flight.t finds its record in memory after a warm reset.
large_only is "a warm reset keeps memory" "$("$board" run --reset warm --no-driver --append "mem=900M iomem=relaxed" -- \
	'v=$(busybox devmem 0xbc000000 32)
	if [ $v = 0x600DF00D ]; then echo kept; else busybox devmem 0xbc000000 32 0x600df00d; busybox reboot -f; sleep 1000; fi')" kept

# Make build folders in each of which one part of the board is missing. The other parts are links.
mkdir -p "$tap_tmp/o"
says "nothing is set up" 125 "QEMU is not there; run: make setup" env O="$tap_tmp/o" "$board" run -- true
mkdir -p "$tap_tmp/o/root"
ln -s "$O/root/bin" "$tap_tmp/o/root/bin"
says "no kernel" 125 "kernel new is not there; run: tools/setup/setup kernel-new" \
	env O="$tap_tmp/o" "$board" run --kernel new -- true
rm -r "$tap_tmp/o/root"
ln -s "$O/root" "$tap_tmp/o/root"
says "no plugin" 125 "the plugin is not built; run: make plugin" env O="$tap_tmp/o" "$board" run -- true
# QEMU refuses to load a plugin that was built for another version of QEMU's plugin interface. The command must then
# print which version it needs
mkdir -p "$tap_tmp/o/board"
for f in "$O"/board/*; do ln -s "$f" "$tap_tmp/o/board/"; done
rm "$tap_tmp/o/board/ntrace-board.so"
for version in 99 1; do
	echo "int qemu_plugin_version = $version; int qemu_plugin_install(void); int qemu_plugin_install(void) { return 0; }" |
		cc -shared -fPIC -o "$tap_tmp/o/board/ntrace-board.so" -x c -
	says "QEMU is too $([ $version = 1 ] && echo new || echo old) for the plugin's interface" 125 \
		"plugin interface is not the board.s (version 7): use QEMU 11.1" env O="$tap_tmp/o" "$board" run -- true
done
says "no driver" 125 "the driver for Linux 6.12 is not built, so the guest cannot trace; run: make modules MVERS=6.12" \
	env O="$tap_tmp/o" "$board" run -- true
says "an option without its value" 125 "--kernel needs a value" "$board" run --kernel
says "no command" 125 "no command to run" "$board" run
says "too many harts" 125 "--harts is 1 to 16, not 17" "$board" run --harts 17 -- true
says "an unknown variant" 125 "unknown variant .colour." "$board" run --variant colour -- true
says "a core with further options of QEMU" 125 "--cpu is a model of QEMU.s" "$board" run --cpu 'rv64 -S' -- true
says "an unknown kind of reset" 125 "--reset is warm or watchdog, not cold" "$board" run --reset cold -- true
says "modules without a kernel" 125 "--modules is for --kernel-image" "$board" run --modules / -- true
says "a kernel image that does not exist" 125 "no kernel: ./nowhere. cannot be read" "$board" run --kernel-image /nowhere -- true
says "a limit that is not a number" 125 "--limit is a number" "$board" run --limit many -- true
says "a speed of 0" 125 "--mips is a number of million instructions, not 0" "$board" run --mips 0 -- true
says "--mips together with --icount" 125 "--mips is for the trace hardware, and not for --icount" \
	"$board" run --mips 20 --icount -- true
says "--deep-idle together with a boot trace, which has no driver" 125 "--deep-idle is for the driver" \
	"$board" run --deep-idle --boot-trace "$tap_tmp/bt" -- true
says "a port that is not a number" 125 "--gdb is a number of a port" "$board" run --gdb here -- true
says "a wrong value for a switch of the trace hardware" 125 "expects on or off, not" "$board" run --model te.btm=maybe -- true
says "a wrong value for a number of the trace hardware" 125 "is not a number up to 0xff" "$board" run --model te.src_bits=many -- true
says "a topology with an output to a missing component" 125 "te leads to nowhere, which is no component" sh -c "
	echo 'encoder te hart=0 to=nowhere' >'$tap_tmp/t'; '$board' run --topology '$tap_tmp/t' -- true"
says "an unknown option of the command" 125 "no option --nosuch" "$board" run --nosuch -- true
says "a kernel version that is not set up" 125 "kernel 5.4 is not there; run: tools/setup/setup kernel-5.4" "$board" run --kernel 5.4 -- true
says "an unknown name of a kernel" 125 "no kernel newest: lts, new, next, debug or a version as 6.12" "$board" run --kernel newest -- true
says "an unknown topology" 125 "no topology ring" "$board" run --topology ring -- true
says "an unknown option of the trace hardware" 125 "unknown option .te.colour." "$board" run --model te.colour=blue -- true
says "--boot-hart with a hart that does not exist" 125 "there are 2 harts, from 0" "$board" run --harts 2 --boot-hart 2 -- true
says "--icount with several harts" 125 "one hart" "$board" run --icount --harts 2 -- true
says "a guest that hangs is stopped, and its console kept" 124 "console is in" "$board" run --no-driver --timeout 15 -- 'sleep 1000'
done_testing
