# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Run a KVM guest on the board, for tests that trace it. Source this file after tap.sh.

# vm_image DIR ROUNDS [ARGS]: build a guest with the kernel 6.12. The guest reports that it is ready, waits
# for vm_wait seconds, runs vm_work (a checksum) ROUNDS times, and then switches itself off. ARGS are more
# arguments of the guest's kernel
vm_image() {
	_vm=$1 _rounds=$2 _more=${3:-}
	mkdir -p "$_vm" "$tap_tmp/vm/bin" &&
		"$O/root/bin/riscv64-guest-gcc" -O2 -Wall -Wextra -Werror -o "$_vm/vmm" "$top/tests/board/vmm.c" &&
		cp "$O/root/kernel-6.12/vmlinuz" "$_vm/image" &&
		cp "$O/root/guest/usr/bin/busybox" "$tap_tmp/vm/bin/" || return
	cat >"$tap_tmp/vm/init" <<-E2
		#!/bin/busybox sh
		/bin/busybox mkdir /dev /proc
		/bin/busybox mount -t devtmpfs dev /dev
		/bin/busybox mount -t proc proc /proc
		echo "<1>the guest is ready" >/dev/kmsg
		/bin/busybox sleep ${vm_wait:-0}
		n=0
		while [ \$n -lt $_rounds ]; do n=\$((n + 1)); ${vm_work:-/bin/busybox sha256sum /bin/busybox}; done >/dev/null
		echo "<1>the guest has done \$n rounds" >/dev/kmsg
		/bin/busybox poweroff -f
	E2
	chmod +x "$tap_tmp/vm/init"
	"$top/tools/board/guest/pack" "$tap_tmp/vm" "$_vm/initrd" || return
	cat >"$tap_tmp/vm.dts" <<-E2
		/dts-v1/;
		/ {
			#address-cells = <2>;
			#size-cells = <2>;
			compatible = "linux,dummy-virt";
			chosen {
				bootargs = "earlycon=sbi keep_bootcon loglevel=4 panic=-1 $_more";
				linux,initrd-start = <0x0 0x88000000>;
				linux,initrd-end = <0x0 $((0x88000000 + $(wc -c <"$_vm/initrd")))>;
			};
			memory@80000000 {
				device_type = "memory";
				reg = <0x0 0x80000000 0x0 0xc000000>;
			};
			cpus {
				#address-cells = <1>;
				#size-cells = <0>;
				timebase-frequency = <10000000>;
				cpu@0 {
					device_type = "cpu";
					compatible = "riscv";
					reg = <0>;
					riscv,isa = "rv64imafdc_zicntr_zicsr_zifencei_sstc";
					mmu-type = "riscv,sv39";
					interrupt-controller {
						#interrupt-cells = <1>;
						compatible = "riscv,cpu-intc";
						interrupt-controller;
					};
				};
			};
		};
	E2
	dtc -q -I dts -O dtb -o "$_vm/devicetree" "$tap_tmp/vm.dts"
}

# Linux on the board starts the guest with this command.
vm_command='modprobe kvm && cp /out/vmm /tmp/vmm && /tmp/vmm /out/image /out/devicetree /out/initrd >/out/said 2>&1'

# ---- Functions that trace the host and its guest from their boot. Source boot.sh before you call them ----

# vm_setup ROUNDS: prepare a trace of all privileges. The host boots without the self-tests of its kernel
vm_setup() {
	boot_stock='' boot_privileges=0x6b boot_command="$vm_command" vm_rounds=$1
	cc -O2 -I"$top/tools/board/model" -o "$tap_tmp/privileges" "$top/tests/board/privileges.c" \
		"$O/board/model/libnbmodel.a" &&
		vm_image "$tap_tmp/host" "$1" "cryptomgr.notests initcall_blacklist=jent_mod_init"
}

# Print how many instructions of the whole guest, of the guest's programs, and of the host are in the truth
vm_privileges() {
	for _truth in "$tap_tmp"/boot/hart*.truth; do "$tap_tmp/privileges" "$_truth"; done |
		awk '{ for (i = 1; i < NF; i += 2) n[$i] += $(i + 1) }
			END { printf "%.0f %.0f %.0f\n", n["VS"] + n["VU"], n["VU"], n["S"] + n["U"] + n["M"] }'
}

# vm_trace LEAST-OF-GUEST LEAST NAME MODEL DECODE [BOARD OPTIONS]: trace host and guest, and print three test results.
# The truth must have LEAST-OF-GUEST instructions of the guest, and LEAST instructions must be compared. NAME, MODEL,
# DECODE and BOARD OPTIONS are those of boot_verify. The guest's clock is slow, because on a busy host the guest would
# otherwise mostly execute timer interrupts.
vm_trace() {
	_least_guest=$1 _least=$2 _guest=$3 _model=$4 _how=$5
	shift 5
	rm -f "$tap_tmp/host/said"
	boot_trace "$_guest" "$_model" --out "$tap_tmp/host" --timeout 1800 --slow 4 "$@" || return
	ok "$_guest: the guest has done its work" grep -q "the guest has done $vm_rounds rounds" "$tap_tmp/host/said"
	vm_privileges >"$tap_tmp/n"
	read -r _vs _vu _host <"$tap_tmp/n"
	ok "$_guest: the truth has code of VS and VU mode" [ "$((_vs >= _least_guest)) $((_vu > 100000))" = "1 1" ]
	boot_compare "$_how" "$_model"
	_bad=$?
	figure "$_guest: $(compared 1) instructions compared, $_vs of the guest and $_host of the host; $(compared 2) differences," \
		"$(compared 5) missing, $(cat "$tap_tmp"/boot/*.ntrace | wc -c) bytes"
	ok "$_guest: the decoded trace equals the truth" \
		[ "$_bad $(($(compared 1) >= _least)) $(($(compared 1) == _vs + _host))" = "0 1 1" ]
	rm -rf "$tap_tmp/boot"
}
