#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# perf records a KVM guest on the board. The output of perf must distinguish host and guest, use the symbols of each,
# and equal the truth. The first board is the virt machine, and the second board is a K3. BOARDS= selects boards, and
# KERNEL=lts|new selects the kernel.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"
. "$top/tests/board/guest.sh"

kernel=$(kernels "${KERNEL:-lts}")
ls "$O/root/kernel-$kernel/modules"/*/kernel/arch/riscv/kvm/kvm.ko* >/dev/null 2>&1 || skip_all "no kvm.ko; run make setup"
truth_build "$kernel"
boards=${BOARDS:-virt k3}
plan $(($(echo "$boards" | wc -w) * 7))

# Record the guest after it has booted, so that no recording contains code that the guest's kernel later patched or
# freed. A second, idle guest runs all the time, because the host patches its own scheduler when the first guest
# starts or the last guest ends. The workload is short, because a waiting guest keeps the host busy: if a timer of the
# guest has expired, each wfi of the host returns immediately.
record() {
	rm -rf "$truth_dir" && mkdir -p "$truth_dir/out" || return
	vm_work="/bin/busybox ls -l /proc/self /bin; /bin/busybox sha256sum /init" vm_wait=1
	vm_image "$truth_dir/out" "${ROUNDS:-1}" "cryptomgr.notests initcall_blacklist=jent_mod_init" || return
	truth_options=
	[ "$kernel" = 6.12 ] || truth_options=--no-buildid-mmap
	cat >"$truth_dir/out/go" <<-E2
		cp /proc/cpuinfo /out/cpuinfo
		cd /tmp && cp /out/vmm . && modprobe kvm && mkfifo control || exit 1
		export PERF_BUILDID_DIR=/tmp/debug
		./vmm hold >held & hold=\$!
		until grep -q held held; do sleep 0.2; done
		perf --buildid-dir /tmp/debug record --no-bpf-event $truth_options --kcore -a -m,${truth_size:-64M} \
			-D -1 --control fifo:control -e ntrace//GH -o all.data -- \
			sh -c 'exec ./vmm /out/image /out/devicetree /out/initrd memory >said 2>&1' >/out/record.log 2>&1 & perf=\$!
		until grep -q 'the guest is ready' said; do sleep 0.1; done 2>/dev/null
		echo enable >control
		for task in /proc/\$perf/task/*; do echo thread \${task##*/} of \$perf; done >threads
		wait \$perf || exit 1
		kill \$hold
		cp -r said memory threads debug all.data /out
	E2
	# Slow down the guest. A busy host executes more timer interrupts and less other code, and perf would lose
	# events and trace.
	# shellcheck disable=SC2086
	"$top/tools/board/board" run --kernel "$kernel" --slow 4 "$@" --truth "$truth_dir/truth" --out "$truth_dir/out" --timeout 1800 -- sh /out/go || return
	truth_symfs "$kernel"
	cp "$truth_dir/out/vmm" "$truth_root/tmp/"
	python3 "$top/tests/perf/guestcore.py" "$truth_dir/out/all.data/kcore_dir/kallsyms" "$truth_dir/out/memory" "$truth_dir/vm"
}

# A K3 cannot exclude machine mode, so name the file with the firmware's code
printf '[ntrace]\n\tfirmware = %s@0x80000000\n' "$O/root/firmware/fw_dynamic.elf" >"$tap_tmp/config"
PERF_CONFIG=$tap_tmp/config
export PERF_CONFIG

script() {
	"$O/perf/new/x86_64/perf" script --symfs "$truth_root" -i "$truth_dir/out/all.data" \
		--guestkallsyms "$truth_dir/vm/kallsyms" --guestmodules "$truth_dir/vm/modules" "$@" 2>"$tap_tmp/err"
}
# Fields of a line: pid/tid [CPU] MODE time: flags ip name (object) => addr name (object)
lines() { script --itrace=be --ns -F pid,tid,cpu,misc,time,flags,ip,sym,dso,addr; }

# A recording has tens of millions of lines, so one pass counts the lines and compares them with the truth. An address
# in a guest's kernel must have a symbol of this kernel, and an address in another part of the guest must have no
# symbol.
look() {
	awk -v errors="$tap_tmp/errors" -v modes="$tap_tmp/modes" -v names="$tap_tmp/names" '
		/instruction trace error/ { print >errors; next }
		{ mode = $3; n[mode]++ }
		mode == "K" || mode == "U" {
			at = index($0, "[guest.")
			if (at && at < index($0, "=>") && ++wrong < 5)
				print >names
			next
		}
		{ from = $0; sub(/ =>.*/, "", from) }
		mode == "G" && from ~ / ffffffff8[0-9a-f]* [^[]/ && from ~ /\[guest\.kernel\.kallsyms\]/ { good++; next }
		mode == "G" && from !~ / 0 \[unknown\]/ { bad++; if (bad < 5) print >names }
		END {
			for (m in n) printf "%s %d, ", m, n[m] >modes
			print "branches by privilege" >modes
			print good + 0, "branches in the guest have a name,", bad + 0, "have none;", wrong + 0, "of the host have one of the guest" >names
		}'
}
looked_at() { lines | tee "$tap_tmp/look"; }
names_are_right() {
	cat "$tap_tmp/names"
	tail -n 1 "$tap_tmp/names" | awk '{ exit !($1 > 10000 && $9 == 0 && $12 == 0) }'
}

check() {
	is "$board_kind: the guest ran to its end" "$(grep -c 'the guest has done' "$truth_dir/out/said")" 1
	rm -f "$tap_tmp/look" "$tap_tmp/errors" "$tap_tmp/names" "$tap_tmp/modes"
	mkfifo "$tap_tmp/look" && : >"$tap_tmp/errors"
	look <"$tap_tmp/look" & looking=$!
	ok "$board_kind: all branches are right, with the privilege of each" truth_check looked_at
	wait $looking
	figure "$board_kind: $(grep 'of a guest' "$tap_tmp/compared"); $truth_last"
	figure "$board_kind: $(cat "$tap_tmp/modes")"
	ok "$board_kind: branches of the guest have names of its kernel, and branches of the host do not" names_are_right
	figure "$board_kind: $(wc -l <"$tap_tmp/errors") errors: $(sed 's/.* code [0-9]*: //; s/, at.*//' "$tap_tmp/errors" | sort | uniq -c | tr '\n' ';')"
	# If code of a guest is missing, perf reports a second error at each later return whose call is in the missing
	# code
	is "$board_kind: the only errors are about code that a recording cannot have" \
		"$(grep -v 'code of a guest is missing\|but its call is in missing code' "$tap_tmp/errors" | head -n 3)" ""
	ok "$board_kind: at least ten thousand branches belong to the guest" \
		[ "$(sed -n 's/ branches of a guest.*//p' "$tap_tmp/compared")" -ge 10000 ]
	ok "$board_kind: a report has the functions of both kernels" both_are_reported
}

both_are_reported() {
	# perf report does not have options for guests, so use perf kvm report
	"$O/perf/new/x86_64/perf" kvm --host --guest --guestkallsyms "$truth_dir/vm/kallsyms" --guestmodules "$truth_dir/vm/modules" \
		-i "$truth_dir/out/all.data" report --stdio --symfs "$truth_root" --itrace=i1000i --sort dso,sym \
		2>"$tap_tmp/err" >"$tap_tmp/report" || tail -n 3 "$tap_tmp/err"
	grep -m 4 '\[k\] ' "$tap_tmp/report"
	grep -m 4 '\[g\] ' "$tap_tmp/report"
	grep -q '\[g\] ' "$tap_tmp/report" && grep -q '\[k\] ' "$tap_tmp/report"
}

for board_kind in $boards; do
	truth_dir=$O/tests/perf-guest-$board_kind
	case $board_kind in
	virt) ok "$board_kind: recorded" record --harts 2 ;;
	k3) ok "$board_kind: recorded" record --board k3 --harts 2 ;;
	esac
	[ -d "$truth_dir/vm" ] && check
	sed 's/^/# /' "$truth_dir/out/record.log"
done
done_testing
