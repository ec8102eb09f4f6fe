#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Build the module for one of the kernels of the emulated board.
#
#   drivers/ntrace/build.sh lts|new|debug|custom|VERSION [make arguments]
#
# Result: $O/drivers/KVER/ntrace.ko. KDIR=, CROSS_COMPILE= and V=1 can be given.
# To run sparse, use tests/check: with C=1 alone, sparse fails, because it refuses the -march of the compiler.
# Sources are linked into a folder for each kernel, so that objects do not mix.
set -eu
case ${1-} in
"" | -h | --help) sed -n '3,9s/^# \{0,1\}//p' "$0"; exit $((!$#)) ;;
esac
word=$1
shift
top=$(cd "$(dirname "$0")/../.." && pwd)
O=${O:-$top/build}
kver=$(O=$O "$top/tools/setup/kernel" "$word")
KDIR=${KDIR:-$O/root/kernel-$kver/build}
src=$O/drivers/$kver/src
# On a RISC-V machine, no cross compiler is needed
[ "$(uname -m)" != riscv64 ] || CROSS_COMPILE=${CROSS_COMPILE-}
cross=${CROSS_COMPILE-riscv64-linux-gnu-}

die() { echo "modules: $*" >&2; exit 1; }

[ -f "$KDIR/Makefile" ] ||
	die "no kernel to build for in $KDIR: it has no Makefile. KDIR= names a kernel's build folder, as" \
		"/lib/modules/VERSION/build; 'make setup' fetches those of the board"
for tool in gcc objcopy; do
	command -v "$cross$tool" >/dev/null ||
		die "no $cross$tool; install gcc-riscv64-linux-gnu, or set CROSS_COMPILE= to your compiler's prefix"
done
case $("${cross}gcc" -dumpmachine) in
riscv64*) ;;
*) die "${cross}gcc does not compile for RISC-V; set CROSS_COMPILE=, as riscv64-linux-gnu-" ;;
esac
mkdir -p "$src/drivers/ntrace/flight" "$src/drivers/ntrace/fabric" "$src/include/uapi/linux"
exec 9>"$O/drivers/$kver/lock"
flock 9
for f in "$top"/drivers/ntrace/*.[ch] "$top"/drivers/ntrace/*/*.[ch] "$top"/drivers/ntrace/Makefile; do
	ln -sf "$f" "$src/${f#"$top/"}"
done
ln -sf "$top"/include/uapi/linux/ntrace*.h "$src/include/uapi/linux/"
# Delete links whose source does not exist any more
find "$src" -xtype l -delete

log=$O/drivers/$kver/log
[ "${V:-}" != 1 ] || set -- "$@" V=1
# The debug kernel exports perf_output_copy(), so that the tests can load a module that writes AUX samples
[ "$word" != debug ] || export CONFIG_NTRACE_SAMPLE=y
compile() { make -C "$KDIR" M="$src/drivers/ntrace" ARCH=riscv CROSS_COMPILE="$cross" "$@" modules; }
if [ "${V:-}" = 1 ] || [ $# -gt 0 ]; then
	compile "$@"
else
	compile >"$log" 2>&1 || { grep -E 'error|Error|\*\*\*' "$log" | head -n 30 >&2; die "building failed; the whole log is $log"; }
	! grep -E '(^|/)drivers/ntrace/.*warning:' "$log" >&2 || true
fi
# Remove debug information, which tests on the emulated board do not need
"${cross}objcopy" --strip-debug "$src/drivers/ntrace/ntrace.ko" "$O/drivers/$kver/ntrace.ko.new"
# Replace the file in one step, because another process may be reading it
if cmp -s "$O/drivers/$kver/ntrace.ko.new" "$O/drivers/$kver/ntrace.ko"; then
	rm "$O/drivers/$kver/ntrace.ko.new"
else
	mv "$O/drivers/$kver/ntrace.ko.new" "$O/drivers/$kver/ntrace.ko"
	[ "${V:-}" = 1 ] || printf '  %-7s %s\n' MODULE "$kver"
fi
[ "$kver" != custom ] || echo "modules: built ${O#"$PWD/"}/drivers/$kver/ntrace.ko"
