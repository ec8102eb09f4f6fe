#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compare two runs with --icount. The trace with timestamps, the truth, the counts, the console, and the
# output of the command must be equal to the last byte. The trace must also be the same without a truth
# file, although the plugin passes blocks to the encoder by another function in this case.
. "$(dirname "$0")/../harness/tap.sh"
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
make -s -C "$top" O="$O" plugin >"$tap_tmp/make" 2>&1 || { plan 1; fail "the plugin builds"; done_testing; }
plan 14

work='cat /proc/uptime /proc/interrupts /proc/sys/kernel/random/boot_id
head -c 16 /dev/urandom | od -x
cat /out/given; ls -l /usr/lib | busybox gzip -c | tee /out/list | sha256sum
for i in 1 2 3; do (echo $i $$; cat /proc/self/stat) & done; wait; sync'
for run in 1 2; do
	# Another test may cause a new build of the guest's image. The new image must be equal, so build it here.
	touch -c "$O/drivers/6.12/ntrace.ko"
	dir=$tap_tmp/$run
	mkdir -p "$dir/out"
	echo from the host >"$dir/out/given"
	"$top/tools/board/board" run --icount --no-driver --truth "$dir" --boot-trace "$dir" --stats "$dir/stats" \
		--console "$dir/console" --out "$dir/out" --model boot-timestamp=on \
		-- "$work" >"$dir/said" 2>"$dir/err" || { sed 's/^/# /' "$dir/err"; false; }
	is "run $run succeeds" $? 0
done
for f in ram0.ntrace hart0.truth stats console said out/list err; do
	ok "$f is the same, $(wc -c <"$tap_tmp/1/$f") bytes" cmp "$tap_tmp/1/$f" "$tap_tmp/2/$f"
done
ok "/out has the host's files, and the guest's come back" sh -c \
	"grep -q 'from the host' '$tap_tmp/1/said' && gunzip -t '$tap_tmp/1/out/list'"
same() { # NAME TRTECONTROL
	for truth in "" y; do
		dir=$tap_tmp/$1$truth
		mkdir -p "$dir"
		"$top/tools/board/board" run --icount --no-driver ${truth:+--truth "$dir"} --boot-trace "$dir" \
			--limit "$(by_size 20000000 60000000)" --model "boot-control=$2" -- true >/dev/null 2>&1 || return
	done
	[ -s "$tap_tmp/$1/ram0.ntrace" ] && cmp "$tap_tmp/$1/ram0.ntrace" "$tap_tmp/$1y/ram0.ntrace"
}
ok "the trace of HTM is the same without truth" same htm 0x01630260
ok "the trace of BTM is the same without truth" same btm 0x01a10230
diff "$tap_tmp/1/stats" "$tap_tmp/2/stats" | sed 's/^/# /'
diff "$tap_tmp/1/said" "$tap_tmp/2/said" | sed 's/^/# /'
diff "$tap_tmp/1/console" "$tap_tmp/2/console" | sed 's/^/# /' | head -n 20
retired=$(sed -n 's/^hart0 retired=\([0-9]*\).*/\1/p' "$tap_tmp/1/stats")
figure "$retired instructions, twice"
# The kernel runs its self-tests only in a stock boot
is "the code allows each step from block to block" "$(sed -n 's/^hart0 .*edges=\([0-9]*\).*/\1/p' "$tap_tmp/1/stats")" 0
ok "a boot without the kernel's self-tests has at most 1200 M instructions" [ "$retired" -gt 100000000 -a "$retired" -lt 1200000000 ]
done_testing
