#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check the driver's sources as a kernel maintainer would. Also check the patch series that adds the driver to a
# kernel tree.
. "$(dirname "$0")/../harness/tap.sh"

ksrc=$O/root/linux-6.12
checkpatch=$ksrc/scripts/checkpatch.pl
[ -f "$checkpatch" ] || skip_all "no kernel source; make setup"
inputs="drivers/ntrace include/uapi tests/driver/style.t"

# Check compat.h separately, because it needs comparisons of the kernel's version, which checkpatch refuses.
styled() {
	"$checkpatch" --no-tree --strict --terse -f "$@"
}

style() {
	styled $(ls "$top"/drivers/ntrace/*.[ch] "$top"/drivers/ntrace/*/*.[ch] | grep -v compat.h) \
		"$top/drivers/ntrace/Makefile" "$top/drivers/ntrace/Kconfig" &&
		"$checkpatch" --no-tree --strict --terse --ignore LINUX_VERSION_CODE,CONSTANT_COMPARISON \
			-f "$top/drivers/ntrace/compat.h"
}

# Build all selftests in a kernel tree, and print how long this takes
every_selftest() {
	_to=$tap_tmp/tree/tools/testing/selftests/ntrace
	grep -q '^timeout=' "$_to/settings" && grep -q '^CONFIG_NTRACE=' "$_to/config" || return
	for _t in "$top"/selftests/ntrace/*_test.c; do
		_t=${_t##*/}
		grep -qE "^TEST_GEN_PROGS.* ${_t%.c}( |\$)" "$_to/Makefile" || return
	done
}

# Copy the parts of a kernel tree that the patch series changes, and apply the series
series_applies() {
	mkdir -p "$tap_tmp/tree/drivers/hwtracing"
	printf 'obj-$(CONFIG_HISI_PTT)\t\t+= hwtracing/ptt/\nobj-y\t\t\t\t+= android/\n' \
		>"$tap_tmp/tree/drivers/Makefile"
	printf 'menu "HW tracing support"\n\nsource "drivers/hwtracing/ptt/Kconfig"\n\nendmenu\n' \
		>"$tap_tmp/tree/drivers/hwtracing/Kconfig"
	"$top/drivers/ntrace/series.sh" "$tap_tmp/tree" "$tap_tmp/series" || return
	(cd "$tap_tmp/tree" && cat "$tap_tmp"/series/*.patch | patch -s -p1) || return
	cmp "$top/drivers/ntrace/session.c" "$tap_tmp/tree/drivers/hwtracing/ntrace/session.c" &&
		every_selftest &&
		grep -q 'hwtracing/ntrace/Kconfig' "$tap_tmp/tree/drivers/hwtracing/Kconfig" &&
		grep -q 'CONFIG_NTRACE.*hwtracing/ntrace/' "$tap_tmp/tree/drivers/Makefile" &&
		grep -q '^obj-$(CONFIG_NTRACE)' "$tap_tmp/tree/drivers/hwtracing/ntrace/Makefile" &&
		! grep -q 'CONFIG_NTRACE[^)]*=' "$tap_tmp/tree/drivers/hwtracing/ntrace/Makefile"
}

# module KDIR KERNEL [MAKE-ARGUMENTS]: build the module for KERNEL, whose build folder is KDIR
module() {
	_kdir=$1; shift
	O=$cached KDIR=$_kdir drivers/ntrace/build.sh "$@" W=1 >"$cached/log" 2>&1
}

# builds KERNEL [MAKE-ARGUMENTS]: check that the module builds for KERNEL without a warning
builds() {
	cached_build module "$inputs" module "$(readlink -f "$O/root/kernel-$1/build")" "$@" ||
		{ tail -n 30 "$cached/log"; return 1; }
	! grep -E 'drivers/ntrace.*(warning|error):|^[a-z/]+\.c:.*(warning|error):|\*\*\*' "$cached/log"
}

layered() {
	builds 6.12
	"$top/tests/driver/layers" "$cached/drivers/6.12/src/drivers/ntrace" >"$tap_tmp/layers"
	sed 's/^/# /' "$tap_tmp/layers"
	! [ -s "$tap_tmp/layers" ]
}

# If these parts of the driver are left out, the module must not contain any of their functions
core_alone() {
	# shellcheck disable=SC2086
	builds 6.12 $without &&
		! "${CROSS_COMPILE-riscv64-linux-gnu-}nm" "$cached/drivers/6.12/ntrace.ko" |
			grep -E ' [tT] ntrace_(flight|record|causes|sifive|cs|tmc|etr)_'
}

without="CONFIG_NTRACE_FLIGHT=n CONFIG_NTRACE_CORESIGHT=n CONFIG_NTRACE_SIFIVE=n"
plan $(by_size 6 10)
ok "checkpatch --strict finds nothing" cached_build checkpatch "$inputs" style "$(readlink -f "$checkpatch")"
ok "builds for 6.12 without a warning" builds 6.12
ok "each file calls only functions of files before it in the Makefile" layered
ok "the core builds without the flight recorder and foreign components" core_alone
for option in $without; do
	# shellcheck disable=SC2086
	large_only ok "builds with $option" builds 6.12 $option
done
large_only ok "builds for the newest kernel without a warning" builds new
ok "build.sh --help prints its arguments" sh -c "drivers/ntrace/build.sh --help | grep -q 'build.sh lts|new'"
ok "the series applies to a kernel tree" series_applies
done_testing
