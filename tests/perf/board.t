#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Record on the board with the perf of the guest's kernel. The branches that perf decodes must equal the board's
# truth. The host's perf and the guest's perf must print the same. KERNEL=lts|new selects the kernel. SANITIZED=1 also
# decodes with a perf that is built with sanitizers, which takes minutes.
. "$(dirname "$0")/../harness/tap.sh"

kernel=$(kernels "${KERNEL:-lts}")
dir=$O/tests/perf-board-$kernel
host=$O/perf/new/x86_64/perf
[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"

make -C "$top" tool guest-tools plugin modules MVERS="$kernel" >"$tap_tmp/make" 2>&1 &&
	"$top/tools/perf/build.sh" "$kernel" riscv64 >>"$tap_tmp/make" 2>&1 &&
	"$top/tools/perf/build.sh" new x86_64 >>"$tap_tmp/make" 2>&1 || { tail -n 30 "$tap_tmp/make"; exit 1; }
plan $(($(by_size 16 19) + ${SANITIZED:-0}))
# Without this option, perf 7.2 and later do not put the vDSO into their build-id cache, but another machine needs the
# vDSO.
[ "$kernel" = 6.12 ] && mmap_options= || mmap_options=--no-buildid-mmap

rm -rf "$dir" && mkdir -p "$dir/out"
{
	echo "mmap_options=$mmap_options"
	echo "bytes=$(by_size 10000 100000)"
	echo "told=$(by_size "" told.data)"
	echo "folder=$(by_size /usr/lib/riscv64-linux-gnu/gconv /usr/lib/riscv64-linux-gnu)"
} >"$dir/out/options"
cat >"$dir/out/record" <<'E2'
. /out/options
cp /proc/cpuinfo /out/cpuinfo
cd /tmp
export PERF_BUILDID_DIR=/tmp/debug
record() { perf --buildid-dir /tmp/debug record $mmap_options "$@" >>/out/record.log 2>&1; }
head -c $bytes /usr/bin/busybox >some
# perf reads /proc/kallsyms several times for a recording, unless this file has no addresses. Recordings of user mode do
# not need them.
symbols=/proc/sys/kernel/kptr_restrict was=$(cat /proc/sys/kernel/kptr_restrict)
echo 2 >$symbols
# Trace one program in user mode only.
record -N --no-bpf-event -m,16M -e ntrace//u -o one.data -- busybox sha256sum some || exit 1
# Record a small program, whose recording the guest itself decodes.
record -N --no-bpf-event -m,4M -e ntrace//u -o true.data -- busybox true || exit 1
perf --buildid-dir /tmp/debug script -i true.data --itrace=be -F comm,tid,cpu,time,ip,sym,addr \
	>/tmp/true.guest 2>/out/guest.err
echo $was >$symbols
# The kernel executes 400 million instructions to generate /proc/kallsyms at each read, so mount a copy over it.
cat /proc/kallsyms >/tmp/kallsyms && mount --bind /tmp/kallsyms /proc/kallsyms
# The kernel patches the scheduler when the first perf event of a task is created, and when the last event is closed.
# perf copies kcore only once. Keep one event open, so that kcore matches the code during the whole recording.
perf stat -e cycles -o /tmp/stat.kept sleep 1000 & kept=$!
# Trace all CPUs, including the kernel.
record --kcore -a -m,16M -e ntrace// -o all.data -- sh -c "ls -lR $folder >/dev/null; sort /etc/passwd" || exit 1
# Trace machine mode. perf stat requests a counter, and the kernel calls the firmware for this counter.
record -N --no-bpf-event --kcore -C 0 -m,4M -e ntrace/firmware/ -o firmware.data -- taskset 1 perf stat -e cycles -o /tmp/stat busybox true || exit 1
# Record the same program without implicit returns. With implicit returns, missing code causes other gaps.
[ -z "$told" ] || record -N --no-bpf-event --kcore -C 0 -m,4M -e ntrace/firmware,implicit_return=0/ -o told.data -- taskset 1 perf stat -e cycles -o /tmp/stat busybox true || exit 1
kill $kept
echo 2 >$symbols
# The driver must refuse these requests.
refused() { perf record "$@" -o no.data -- true 2>>/out/refused && { echo "not refused: $*" >>/out/record.log; exit 1; }; }
refused -e ntrace/mode=5/
refused -k mono -e ntrace//
refused -F 99 -e ntrace//
refused -e ntrace//h
refused -e ntrace/firmware/u
refused -S4X -e ntrace//
refused -S4Me -e ntrace//
# Try to trace a zombie. A zombie is a process that has ended, but whose parent has not waited for it
sh -c 'sleep 0.3 & echo $! >/tmp/ended; exec sleep 1000' & parent=$!
while ! grep -qs '^State:.Z' "/proc/$(cat /tmp/ended)/status"; do sleep 0.1; done
refused -e ntrace// -p "$(cat /tmp/ended)"
kill $parent
tar -cf /out/files.tar one.data true.data true.guest all.data firmware.data $told debug
E2

# Make the snapshots in a separate boot, which writes no truth. A snapshot lacks most of the executed code, but the
# truth would contain all of it.
cat >"$dir/out/snapshot" <<'E2'
cd /tmp
symbols=/proc/sys/kernel/kptr_restrict was=$(cat /proc/sys/kernel/kptr_restrict)
echo 2 >$symbols
perf record -B --no-bpf-event -S16K -m,64K -e ntrace//u -o no.data -- true >>/out/record.log 2>&1 || exit 1
echo $was >$symbols
perf record -N --no-bpf-event -Se --kcore -m,128K -a -e ntrace//k -o snap.data -- ls -l /usr/lib >>/out/record.log 2>&1 || exit 1
# Record three tracepoints and the trace of user code, for points()
echo 2 >$symbols
perf record -N --no-bpf-event -a -m,4M -e ntrace//u -e sched:sched_switch -e sched:sched_process_exec -e raw_syscalls:sys_enter \
	-o points.data -- ls /usr >>/out/record.log 2>&1 || exit 1
tar -cf /out/files.tar snap.data points.data
E2

board() { # SCRIPT OPTIONS...
	script=$1; shift
	"$top/tools/board/board" run --kernel "$kernel" --harts 2 --out "$dir/out" "$@" -- sh "/out/$script" &&
		out_files "$dir/out"
}
ok "recorded on 2 harts, Linux $kernel" board record --truth "$dir/truth" --model truth-traced=$(by_size on off)
ok "snapshot" board snapshot
cat "$dir/out/record.log" 2>/dev/null | sed 's/^/# /'

# This folder has the guest's files, where perf with --symfs searches for them.
symfs=$dir/symfs
mkdir -p "$symfs"
cp -a "$O/root/guest/." "$symfs/"
cp "$O/perf/$kernel/riscv64/perf" "$symfs/usr/bin/perf"
rm -rf "$symfs/.debug" && cp -a "$dir/out/debug" "$symfs/.debug"

# perf reads the code of the firmware (OpenSBI) from its ELF file, which is loaded at the start of memory
printf '[ntrace]\n\tfirmware = %s@0x80000000\n' "$O/root/firmware/fw_dynamic.elf" >"$tap_tmp/config"
: >"$tap_tmp/no-config"
PERF_CONFIG=$tap_tmp/config
export PERF_CONFIG

script() { "$host" script --symfs "$symfs" "$@" 2>"$tap_tmp/err"; }

# Print the executed code in a format that `ntrace verify` reads. The names of the truth's files contain the number of
# the hart. The hart that boots first is CPU 0 of Linux.
ranges() {
	script -i "$dir/out/$1" --itrace=ed+o | awk '
		NR == FNR { if ($1 == "processor") cpu = $3; else if ($1 == "hart" && $2 == ":") hart[cpu] = $3; next }
		/^range cpu/ { print hart[$3], $4, $5, $6 }
		/^cpu [0-9]+: (error|lost|stop without)/ { print hart[$2 + 0], "gap" }
		/^cpu [0-9]+: start/ { print hart[$2 + 0], "start" }' "$dir/out/cpuinfo" -
}

verify() {
	{ ranges one.data; ranges true.data; ranges all.data; ranges firmware.data; large_only ranges told.data; } |
		"$O/bin/ntrace" verify --truth "$dir/truth/hart0.truth" --truth "$dir/truth/hart1.truth" --decoded - |
		tee "$tap_tmp/verified"
}

errors() {
	[ -e "$dir/out/$1" ] || { echo "no $1"; return; }
	script -i "$dir/out/$1" --itrace=e | grep -c 'instruction trace error'
}

# Compare the tracepoints that perf and ntrace print, with their times, names and fields. Remove the fields that perf
# prints as names by the format of the kernel, because ntrace prints their numbers.
points() {
	script -i "$dir/out/points.data" --ns -F time,event,trace | sed -E '/ branches: *$|instruction trace error/d; s/^ +//
		s/NR (-?[0-9]+) \((.*)\)$/\1 \2/; s/prev_state=.* next_comm/next_comm/; s/ +/ /g; s/, /,/g' >"$tap_tmp/points.perf"
	"$O/bin/ntrace" script --events -F time -i "$dir/out/points.data" | sed -E 's/^ +//
		s/id=(-?[0-9]+) args=/\1 /; /sys_enter/s/0x//g; s/prev_state=.* next_comm/next_comm/; s/ +/ /g' >"$tap_tmp/points.ntrace"
	figure "$(wc -l <"$tap_tmp/points.ntrace") tracepoints"
	sort "$tap_tmp/points.perf" >"$tap_tmp/wanted"
	sort "$tap_tmp/points.ntrace" | diff "$tap_tmp/wanted" - | head -n 10 >"$tap_tmp/differ"
	cat "$tap_tmp/differ"
	[ ! -s "$tap_tmp/differ" ] && [ "$(wc -l <"$tap_tmp/points.ntrace")" -gt 100 ]
}
if grep -q "built without libtraceevent" "$O/bin/ntrace"; then
	skip "ntrace prints the tracepoints that perf prints" "ntrace lacks libtraceevent; on Debian: apt-get install libtraceevent-dev"
else
	ok "ntrace prints the tracepoints that perf prints" points
fi

is "no errors in one program" "$(errors one.data)" 0
is "no errors system-wide" "$(errors all.data)" 0
verify | sed 's/^/# /'
last=$(tail -n 1 "$tap_tmp/verified")
figure "the decoded code equals the truth: $last"
ok "the decoded code of each hart equals the truth" \
	grep -q '^[1-9][0-9]* instructions compared, 0 differences, .* 0 missing' "$tap_tmp/verified"
compared_with_truth "$(echo "$last" | awk '{ print $1 + 0 }')"
ok "millions of instructions were compared" [ "$(echo "$last" | awk '{ print $1 + 0 }')" -gt "$(by_size 1000000 5000000)" ]

# Select the branches from or to the firmware. Its physical addresses have 8 digits and begin with 8, and no program of
# the guest uses these addresses.
in_firmware() { awk 'length($1) == 8 && $1 ~ /^8/ || length($3) == 8 && $3 ~ /^8/'; }
# without_firmware WHAT PERCENT: decode the recording WHAT without the firmware's ELF file. Check that perf prints at
# least PERCENT of the branches, and no wrong branch
without_firmware() {
	PERF_CONFIG=$tap_tmp/no-config script -i "$dir/out/$1.data" --itrace=be -F ip,addr >"$tap_tmp/without"
	grep 'instruction trace error' "$tap_tmp/without"
	sed -n '/^N-Trace: the trace is not complete/,$p' "$tap_tmp/err"
	[ "$(grep -c 'code 4: no \[firmware\] code: perf config ntrace.firmware=FILE' "$tap_tmp/without")" -eq 1 ] || return
	[ "$(grep -c 'instruction trace error' "$tap_tmp/without")" -eq 1 ] || return
	grep -q 'gaps, as there is no \[firmware\] code' "$tap_tmp/err" || return
	python3 "$top/tests/perf/gaps.py" "$tap_tmp/with" "$tap_tmp/without" >"$tap_tmp/gaps" ||
		{ cat "$tap_tmp/gaps"; return 1; }
	awk -v percent="$2" '{ exit $1 * 100 < $3 * percent }' "$tap_tmp/gaps"
}
for what in firmware:50 $(by_size "" told:95); do
	percent=${what#*:} what=${what%:*}
	is "$what: no errors with the firmware's ELF file" "$(errors $what.data)" 0
	script -i "$dir/out/$what.data" --itrace=be -F ip,addr >"$tap_tmp/with"
	ok "$what: branches of the firmware are decoded" [ "$(in_firmware <"$tap_tmp/with" | wc -l)" -gt 1000 ]
	ok "$what: without the ELF file: one error names the firmware, and $percent % of the branches are decoded, none of them wrong" \
		without_firmware $what "$percent"
	figure "$what.data: $(in_firmware <"$tap_tmp/with" | wc -l) branches in the firmware;" \
		"without its ELF file: $(cat "$tap_tmp/gaps")"
done

script -i "$dir/out/true.data" --itrace=be -F comm,tid,cpu,time,ip,sym,addr >"$tap_tmp/host"
figure "branches of a small program: $(wc -l <"$tap_tmp/host") lines"
ok "the host's perf prints the same as the guest's perf" cmp "$dir/out/true.guest" "$tap_tmp/host"
ok "a small program has over 1,000 branches" [ "$(wc -l <"$tap_tmp/host")" -gt 1000 ]

script -i "$dir/out/all.data" --itrace=c -F comm,tid,cpu,time,ip,sym,addr,flags >"$tap_tmp/all"
figure "calls system-wide: $(wc -l <"$tap_tmp/all")"
ok "functions of the kernel and system calls have names" grep -Eq 'syscall .* (handle_exception|__irqentry_text_start)' "$tap_tmp/all"
ok "calls are printed for threads of several programs" [ "$(awk '{ print $1 }' "$tap_tmp/all" | sort -u | grep -cE '^(ls|busybox|sort|sh|sleep)$')" -ge 3 ]
ok "a snapshot has trace" [ "$(script -i "$dir/out/snap.data" --itrace=b | grep -c branches)" -gt 1000 ]
# For each recording that perf refuses to start, perf must print exactly one line with the reason.
refusals_are_right() {
	cat "$dir/out/refused"
	for sentence in 'do not support mode=5. They support 3,6' 'Cannot use clockid' 'A trace has no frequency' \
		'asks for neither user code nor the kernel' "'firmware' asks for machine mode" '^-S4X: ' '^-S4Me: ' 'The process or thread has ended, so it cannot be traced'; do
		[ "$(grep -c -- "$sentence" "$dir/out/refused")" -eq 1 ] || { echo "no: $sentence"; return 1; }
	done
}
ok "each impossible request is refused with a message" refusals_are_right
if [ -n "${SANITIZED:-}" ]; then
	. "$top/tests/perf/damaged.sh"
	ok "a perf with sanitizers reports no fault" damaged_finds_nothing "$dir"/out/*.data
fi
done_testing
