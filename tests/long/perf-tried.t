#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Record with perf in several situations: a BPF program runs, a debugger sets breakpoints, modules are loaded and
# unloaded, a process executes another program, or a program runs in a cgroup. Also use --switch-output, inject and
# diff. Every branch that perf prints must be in the truth, in the same order. KERNEL=lts|new selects the kernel.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"

kernel=$(kernels "${KERNEL:-lts}")
truth_dir=$O/tests/perf-tried-$kernel
out=$truth_dir/out
truth_build "$kernel"
"$O/root/bin/riscv64-guest-gcc" -O2 -g -o "$tap_tmp/tried" "$top/tests/perf/tried.c" || exit
plan 17

rm -rf "$truth_dir" && mkdir -p "$out" || exit
cp "$tap_tmp/tried" "$out/"
for m in xor md4; do
	find "$O/root/kernel-$kernel/usr/lib/modules/" -name $m.ko.xz -exec xz -dc {} + >"$out/$m.ko"
done
# Without this option, perf 7.2 and later do not put the vDSO into their build-id cache, but another machine needs the
# vDSO.
[ "$kernel" = 6.12 ] && mmap_options= || mmap_options=--no-buildid-mmap
echo "mmap_options=$mmap_options" >"$out/options"
cat >"$out/go" <<'E2'
. /out/options
cp /proc/cpuinfo /out/cpuinfo
cd /tmp && cp /out/tried .
export PERF_BUILDID_DIR=/tmp/debug
record() { perf --buildid-dir /tmp/debug record $mmap_options -m,4M "$@" >>/out/record.log 2>&1; }
# List perf's threads, such as its thread for BPF events, because the trace also contains these threads.
cat >list-threads <<'E3'
for task in /proc/$1/task/*; do echo thread ${task##*/} of $1; done >>/tmp/threads
E3
echo 1 >/proc/sys/net/core/bpf_jit_enable
record --kcore -a -e ntrace// -o load.data -- \
	sh -c './tried bpf 50; ./tried ptrace 20; insmod /out/xor.ko; sh list-threads $PPID' || exit 1
# The kernel loads the second module at the address of the first module.
record --kcore -a -e ntrace// -o unload.data -- \
	sh -c 'rmmod xor; insmod /out/md4.ko; ./tried sort 50 1; sh list-threads $PPID' || exit 1
# A traced process executes another program.
./tried exec /tmp/now ./tried sort 300 20 & pid=$!
record -e ntrace//u -p $pid -o exec.data -- sh -c ": >/tmp/now; while kill -0 $pid 2>/dev/null; do sleep 0.1; done"
[ -s exec.data ] || exit 1
# One program runs in a cgroup, and another program runs outside of this cgroup.
mkdir -p cg && mount -t cgroup -o perf_event none cg && mkdir cg/traced || exit 1
./tried sort 3000 100000 & beside=$!
record -a -e ntrace//u -G traced -o cgroup.data -- \
	sh -c 'sh -c "echo \$\$ >/tmp/cg/traced/cgroup.procs; exec ./tried sort 1000 4"; sh list-threads $PPID' || exit 1
kill $beside
for t in load unload exec cgroup; do cp -r $t.data /out/; done
cp -r debug threads /out
E2
# Make the recording with --switch-output in a separate boot, because perf cannot decode all of its trace. If perf has
# not read some trace when it ends a file, this trace is in the next file. The next file lacks the maps of programs that
# have already ended.
cat >"$out/switch" <<'E2'
cd /tmp && cp /out/tried .
# With --switch-output, perf collects no build IDs by default, and omits the record that names the vDSO. --no-no-buildid
# lets perf collect them.
perf --buildid-dir /tmp/debug record -m,4M --no-no-buildid --no-no-buildid-cache --switch-output=signal -e ntrace//u \
	-o switch.data -- sh -c 'for n in 400 300 200; do ./tried sort $n 5; kill -USR2 $PPID; sleep 1; done
	./tried sort 100 5' >>/out/record.log 2>&1 || exit 1
n=0
for f in switch.data.*; do n=$((n + 1)); cp $f /out/switch-$n.data; done
cp -r debug /out/switch-debug
E2
board() { # SCRIPT OPTIONS...
	board_script=$1; shift
	"$top/tools/board/board" run --kernel "$kernel" --harts 2 --out "$out" --timeout 1500 "$@" -- sh "/out/$board_script"
}
ok "recorded on 2 harts, Linux $kernel" board go --truth "$truth_dir/truth"
ok "recorded into several files" board switch
sed 's/^/# /' "$out/record.log"

truth_root=$truth_dir/symfs
mkdir -p "$truth_root/tmp"
cp -a "$O/root/guest/." "$truth_root/"
cp "$O/perf/$kernel/riscv64/perf" "$truth_root/usr/bin/perf"
cp -a "$out/debug" "$truth_root/.debug"
cp -a "$out/switch-debug/." "$truth_root/.debug/"
cp "$tap_tmp/tried" "$truth_root/tmp/"

perf() { "$O/perf/new/x86_64/perf" "$@" 2>>"$tap_tmp/err"; }
script() { # RECORDING OPTION...
	recording=$1; shift
	perf script --symfs "$truth_root" -i "$out/$recording.data" "$@"
}
# branches RECORDING: print all branches in the form that is compared, and write the final report of perf to
# RECORDING.err
branches() {
	: >"$tap_tmp/err"
	script "$1" --itrace=be --ns -F pid,tid,cpu,time,flags,ip,addr >"$tap_tmp/$1.lines"
	cp "$tap_tmp/err" "$tap_tmp/$1.err"
	grep 'instruction trace error' "$tap_tmp/$1.lines" | sed 's/^/# /' | head -n 20
	figure "$1: $(wc -l <"$tap_tmp/$1.lines") lines"
}
errors() { grep -c 'instruction trace error' "$tap_tmp/$1.lines"; }
switched=$(cd "$out" && for f in switch-*.data; do echo "${f%.data}"; done)
for r in load unload exec cgroup $switched; do branches "$r"; done

all_right() {
	for r in load unload exec cgroup; do cat "$tap_tmp/$r.lines"; done >"$tap_tmp/lines"
	truth_check cat "$tap_tmp/lines"
}
ok "all branches are right" all_right
is "all branches are right, and millions of them" "$(($(truth_number 'branches compared') > 5000000))" 1
figure "$truth_last"

# ---- Check that each recording contains the code or the events for which the recording was made
named() { script load --itrace=b -F ip,sym,addr,flags | grep -c "$1"; }
ok "code of a program of BPF, with its name" [ "$(named ' bpf_prog_[0-9a-f]*_tried')" -ge 5000 ]
ok "a debugger's child stops at each breakpoint" [ "$(named 'int .* ping =>')" -ge 20 ]

# perf copied the code of the kernel before the module was loaded or unloaded. perf must report that code is missing,
# and continue behind the missing code.
kernel_changed() {
	n=$(errors "$1")
	echo "$n errors"
	[ "$n" -ge 1 ] && [ "$n" -le 40 ] && cat "$tap_tmp/$1.err" &&
		grep -q 'code was patched after --kcore had copied it\|there is no code at this address' "$tap_tmp/$1.err"
}
ok "code of a module that was loaded during the recording is reported as missing" kernel_changed load
ok "code of a module that replaced another module is reported as missing" kernel_changed unload
is "-p: no errors, before and after exec" "$(errors exec)" 0
ok "-p: both programs" [ "$(script exec --itrace=b -F comm,ip | awk '{ print $1 }' | sort -u | wc -l)" -ge 1 \
	-a "$(wc -l <"$tap_tmp/exec.lines")" -gt 50000 ]
is "-G: no errors" "$(errors cgroup)" 0
ok "-G: the group's program" [ "$(wc -l <"$tap_tmp/cgroup.lines")" -gt 50000 ]

several_files() {
	n=0
	for r in $switched; do
		[ "$(grep -vc 'trace error' "$tap_tmp/$r.lines")" -gt 1000 ] && n=$((n + 1))
		grep -q 'is damaged' "$tap_tmp/$r.err" && return 1
	done
	echo "$n files with trace"
	[ "$n" -ge 2 ]
}
ok "--switch-output: each file is read" several_files

# ---- Test inject, report and diff. perf inject does not support BPF programs, so the recording load.data is not
# compared
export PERF_BUILDID_DIR="$out/debug"
samples() { perf script -F tid,cpu,time,ip,sym "$@"; }
injected() {
	perf inject -i "$out/load.data" --itrace=i1000i -o "$tap_tmp/load.injected" &&
		perf inject -i "$out/unload.data" --itrace=i1000i -o "$tap_tmp/unload.injected" || return
	samples -i "$out/unload.data" --itrace=i1000i >"$tap_tmp/direct"
	samples -i "$tap_tmp/unload.injected" >"$tap_tmp/from-injected"
	[ "$(wc -l <"$tap_tmp/direct")" -gt 10000 ] && cmp "$tap_tmp/direct" "$tap_tmp/from-injected"
}
ok "inject writes the samples that perf decodes from the trace" injected
by_function() { perf report --stdio -F sample,sym "$@" | grep -E '^ *[1-9]' | sort; }
reported() {
	by_function -i "$out/unload.data" --itrace=i1000i >"$tap_tmp/direct"
	by_function -i "$tap_tmp/unload.injected" >"$tap_tmp/from-injected"
	[ "$(wc -l <"$tap_tmp/direct")" -gt 100 ] && diff "$tap_tmp/direct" "$tap_tmp/from-injected"
}
ok "report of the injected file equals that of the trace" reported
ok "inject --strip removes the trace" sh -c "'$O/perf/new/x86_64/perf' inject --strip -i '$out/exec.data' --itrace=i1000i \
	-o '$tap_tmp/stripped' 2>/dev/null; [ \"\$('$O/perf/new/x86_64/perf' script -D -i '$tap_tmp/stripped' 2>/dev/null |
	grep -c -a 'PERF_RECORD_AUX\|PERF_RECORD_ITRACE_START')\" = 0 ]"
ok "diff compares two injected files" sh -c "'$O/perf/new/x86_64/perf' diff '$tap_tmp/load.injected' '$tap_tmp/unload.injected' 2>/dev/null |
	grep -q '[0-9]% .*\[kernel'"
done_testing
