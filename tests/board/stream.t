#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check the instructions that the board reports as retired, in boots of Linux. After each 50 million
# instructions, the number of reported instructions must equal the increase of QEMU's minstret. Each reported
# block must be a possible successor of the previous block in the code. LONG=1 runs more work, and compares the
# numbers of instructions from each trap to the next trap, like tests/long/board-stream.t.
. "$(dirname "$0")/../harness/tap.sh"
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
make -s -C "$top/tools/board" O="$O" all || { plan 1; fail "the plugin builds"; done_testing; }
board=$top/tools/board/board

value() { # FILE LINE KEY
	sed -n "s/^$2 \(.* \)\{0,1\}$3=\([0-9]*\).*/\2/p" "$1"
}

windows=50000000
[ -z "${LONG:-}" ] || windows='50000000 1'
kernels=$(kernels $(by_size new "lts new")) numbers=$(by_size 4 "1 4")
plan $((2 * $(echo $numbers | wc -w) + 3 * $(echo $kernels | wc -w) * $(echo $windows | wc -w)))
# With --stock-boot, the kernel runs its self-tests, which take most of the time of the boot.
boot=$(by_size --boot-anew --stock-boot) folder=$(by_size /usr/lib/riscv64-linux-gnu/gconv /usr/lib)
# A part of the work sleeps, because QEMU counts some instructions after a wfi twice, which the board must correct
work='i=0; while [ $i -lt 50 ]; do i=$((i+1)); busybox usleep 1000; done
i=0; while [ $i -lt 3 ]; do i=$((i+1)); ls -lR '$folder' | busybox sha256sum; done >/dev/null'
[ -z "${LONG:-}" ] || work="$work"'
i=0; while [ $i -lt 9 ]; do i=$((i+1)); ls -lR /usr/lib | busybox sha256sum; done >/dev/null
busybox gzip -c /usr/bin/perf | busybox sha256sum >/dev/null'
for w in $windows; do
for k in $kernels; do
	s=$tap_tmp/stats-$k
	# Disable the PMU driver of Linux, which would stop the counter of instructions
	ok "$k boots with time counted in instructions" "$board" run $boot --kernel $k --icount --no-driver --stats "$s" \
		--model check-minstret=$w --append initcall_blacklist=pmu_sbi_devinit -- "$work"
	n=$(value "$s" hart0 minstret_checks)
	figure "$k: $n windows of $w instructions or a little more compared with minstret," \
		"$(value "$s" hart0 minstret_diffs) differ; in all $(value "$s" hart0 retired) instructions," \
		"$(value "$s" hart0 interrupts) interrupts, $(value "$s" hart0 exceptions) exceptions"
	ok "$k: at least 4 windows" [ "${n:-0}" -ge 4 ]
	is "$k: minstret and the retired instructions are equal in all windows" "$(value "$s" hart0 minstret_diffs)" 0
done
done
for harts in $numbers; do
	s=$tap_tmp/stats-harts-$harts
	# In make test, this guest starts from a snapshot. tests/board/repeat.t checks each step of a boot.
	ok "6.12 runs on $harts harts" "$board" run $(by_size "" --stock-boot) --harts $harts --no-driver --stats "$s" --truth "$tap_tmp/truth" -- \
		"for i in 1 2 3 4; do ls -lR $folder | busybox sha256sum & done; wait"
	figure "$harts harts: $(awk '/^hart/ { for (i = 1; i <= NF; i++) { split($i, a, "="); if (a[1] == "retired") n += a[2]
		if (a[1] == "pc_reads") p += a[2] } } END { printf "%.0f instructions, %.0f reads of pc", n, p }' "$s")"
	is "the code allows each step from block to block" \
		"$(awk '/^hart/ { for (i = 1; i <= NF; i++) { split($i, a, "="); if (a[1] == "edges") n += a[2] } } END { print n + 0 }' "$s")" 0
	rm -rf "$tap_tmp/truth"
done
done_testing
