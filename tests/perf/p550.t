#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test hardware like SiFive's P550. Its registers and messages are older than N-Trace 1.0, and it has no filters and
# no context. All harts share one funnel, and the clock has 700 MHz. Every branch that perf prints for user code, the
# kernel and the firmware must be in the truth, with the same order and CPU. User code must belong to the right
# process, because each process has other code at these addresses. `ntrace script` does not read the firmware's code,
# but all other branches must be right.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"

plan 14
# The hardware cannot exclude kernel and firmware, so the trace needs a large buffer on a busy host.
truth_dir=$O/tests/perf-p550 truth_board=p550 truth_topology=p550 truth_size=64M
truth_build 6.12
# The hardware cannot exclude machine mode, so name the ELF file with the firmware's code
printf '[ntrace]\n\tfirmware = %s@0x80000000\n' "$O/root/firmware/fw_dynamic.elf" >"$tap_tmp/config"
export PERF_CONFIG="$tap_tmp/config"
truth_after='
	perf record -e ntrace/mode=7/ -- true 2>/out/mode7
	perf record -e ntrace/context/ -- true 2>/out/context
	dmesg >/out/dmesg'
ok "recorded on 2 harts, Linux 6.12" truth_record 6.12 2 1
ok "all branches are right" truth_compare
figure "$truth_last"
# If the host has no time for the guest, the sink fills up, and trace is lost. perf reports each loss by an error with
# code 1, and may report no other errors.
is "perf reports only errors about lost trace" "$(sed -n '/not complete/,$p' "$tap_tmp/err" | grep -c -E 'code ([^1]|1[0-9])')" 0

ok "ntrace script: all branches are right" truth_compare_ntrace
figure "ntrace: $truth_last"
is "ntrace script reports only errors about lost trace and about missing code of the firmware" "$("$O/bin/ntrace" script --symfs "$truth_root" \
	--buildid-dir "$truth_root/.debug" -i "$truth_dir/out/jit.data" -F ip 2>/dev/null | grep 'error type' |
	grep -c -v -E ' code 1?[15]: | ip 0x800[0-9a-f]{5} code (30|46): ')" 0

"$O/perf/new/x86_64/perf" script -D -i "$truth_dir/out/jit.data" 2>/dev/null |
	grep -a -E 'dialect|PERF_RECORD_AUX ' >"$tap_tmp/dump"
is "the metadata contains the dialect of each CPU" "$(grep -c 'CPU.* 40 bits 700000000 Hz.*dialect 1' "$tap_tmp/dump")" 2
is "the trace is not in frames" "$(grep RECORD_AUX "$tap_tmp/dump" | grep -c 'flags: 0x1[0-9a-f][0-9a-f]')" 0

# `ntrace record` and perf must write the same metadata of the encoders.
own=$tap_tmp/own
mkdir "$own"
"$top/tools/board/board" run --board p550 --harts 1 --console "$tap_tmp/console" --out "$own" -- '
	ntrace record -q --buildid-dir /out/debug -o /out/own.data -- /usr/lib/ntrace/work 1000
	cut -d" " -f1 /proc/uptime >/out/uptime'
"$O/bin/ntrace" script --buildid-dir "$own/debug" -i "$own/own.data" >"$own/script" 2>/dev/null
calls=$(grep -c ' call ' "$own/script")
ok "ntrace record: there is trace ($calls calls)" [ "$calls" -gt 1000 ]
is "ntrace record: no errors" "$(grep -c 'error type' "$own/script")" 0
ok "ntrace record: all times are in the last seconds of the recording" awk '
	NR == FNR { end = $1; next }
	match($0, / [0-9]+[.][0-9]+: /) { t = substr($0, RSTART, RLENGTH) + 0; n++; if (t < end - 20 || t > end) wrong++ }
	END { print "# " n " times, " wrong + 0 " of them not"; exit !n || wrong }' "$own/uptime" "$own/script"

# gdb steps forwards and backwards through the program's first instructions in main()
what="ntrace gdb: 300 times stepi and reverse-stepi go to the instructions of ntrace script"
if [ -x "$O/root/bin/gdb-multiarch" ]; then
	printf '%s\n' 'set $n = 0' 'tbreak main' continue 'while $n++ < 300' 'printf "%lx\n", $pc' stepi end \
		'while $n-- > 1' reverse-stepi 'printf "%lx\n", $pc' end >"$tap_tmp/commands"
	"$O/bin/ntrace" gdb --gdb "$O/root/bin/gdb-multiarch" --buildid-dir "$own/debug" -i "$own/own.data" -- -nx -batch -x "$tap_tmp/commands" 2>/dev/null |
		grep -xE '[0-9a-f]+' >"$tap_tmp/steps"
	"$O/bin/ntrace" script --insns -F ip --buildid-dir "$own/debug" -i "$own/own.data" 2>/dev/null |
		awk -v main="$(sed -n 1p "$tap_tmp/steps")" 'length($1) < 9 && ($1 == main || n) && n < 300 { print $1; n++ }' >"$tap_tmp/insns"
	is "$what" "$(wc -l <"$tap_tmp/steps"): $(xargs <"$tap_tmp/steps")" "600: $({ cat "$tap_tmp/insns"; tac "$tap_tmp/insns"; } | xargs)"
else
	skip "$what" "there is no gdb-multiarch: tools/setup/setup prepares it"
fi

# perf must report that the hardware does not support a requested setting.
ok "mode 7: perf reports that only mode 6 is supported" grep -q 'do not support mode=7. They support 6' "$truth_dir/out/mode7"
ok "mode 7: the kernel's log contains the reason" grep -q 'mode 7 of teInstruction is not used.* task switches' "$truth_dir/out/dmesg"
ok "context=1: perf reports that it is not supported" grep -q 'do not support context=1' "$truth_dir/out/context"
done_testing
