#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The driver as a patch series for a kernel tree, so that it builds in it.
#
#   drivers/ntrace/series.sh KSRC [DIR]     writes DIR/000N-*.patch (build/series)
#   (cd KSRC && cat DIR/*.patch | patch -p1)
set -eu
[ $# -ge 1 ] || { sed -n 's/^# \{0,1\}//p' "$0" | sed 1d >&2; exit 2; }
ksrc=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
dir=${2:-${O:-$top/build}/series}
for f in drivers/Makefile drivers/hwtracing/Kconfig; do
	[ -f "$ksrc/$f" ] || { echo "$0: $ksrc has no $f: is it a kernel tree?" >&2; exit 2; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dir" "$work/a/drivers/hwtracing" "$work/b"
rm -f "$dir"/000?-*.patch
cp "$ksrc/drivers/Makefile" "$work/a/drivers/"
cp "$ksrc/drivers/hwtracing/Kconfig" "$work/a/drivers/hwtracing/"
cp -r "$work/a/." "$work/b"

put() { # FROM... TO: copy files to the folder TO of the new tree b
	for to; do :; done
	mkdir -p "$work/b/$to"
	while [ $# -gt 1 ]; do cp "$1" "$work/b/$to/"; shift; done
}

n=0
patch() { # NAME SUBJECT: make a patch of the files that put() has copied since the last patch
	n=$((n + 1))
	out=$dir/000$n-$1.patch
	printf 'Subject: [PATCH %d/4] %s\n\n---\n' $n "$2" >"$out"
	(cd "$work" && diff -urN a b) >>"$out" || [ $? = 1 ]
	rm -rf "$work/a"
	cp -r "$work/b" "$work/a"
	echo "$out"
}

put "$top/Documentation/devicetree/bindings/riscv/riscv,trace-component.yaml" \
	Documentation/devicetree/bindings/riscv
patch binding "dt-bindings: riscv: add trace components"

put "$top/include/uapi/linux/ntrace.h" include/uapi/linux
put "$top/include/uapi/linux/ntrace-flight.h" include/uapi/linux
put "$top"/drivers/ntrace/*.[ch] "$top/drivers/ntrace/Kconfig" drivers/hwtracing/ntrace
for d in flight fabric; do
	put "$top"/drivers/ntrace/$d/*.[ch] drivers/hwtracing/ntrace/$d
done
sed '/^CONFIG_NTRACE/d; /^# Out of tree/,$d; s/: in a kernel tree.*//; s/^# Kbuild$/# RISC-V N-Trace/' \
	"$top/drivers/ntrace/Makefile" >"$work/b/drivers/hwtracing/ntrace/Makefile"
sed -i 's|^endmenu|source "drivers/hwtracing/ntrace/Kconfig"\n\nendmenu|' "$work/b/drivers/hwtracing/Kconfig"
sed -i '/hwtracing\/ptt\//a obj-$(CONFIG_NTRACE)		+= hwtracing/ntrace/' "$work/b/drivers/Makefile"
patch driver "hwtracing: ntrace: add a driver for RISC-V N-Trace"

put "$top"/Documentation/ABI/testing/*ntrace* Documentation/ABI/testing
put "$top/Documentation/trace/ntrace.rst" Documentation/trace
patch documentation "Documentation: trace: add ntrace"

put "$top"/selftests/ntrace/*.[ch] "$top/selftests/ntrace/settings" "$top/selftests/ntrace/config" \
	tools/testing/selftests/ntrace
cat >"$work/b/tools/testing/selftests/ntrace/Makefile" <<-EOT
	# SPDX-License-Identifier: GPL-2.0
	TEST_GEN_PROGS := $(sed -n 's/^tests.*:= //p' "$top/selftests/ntrace/Makefile")
EOT
cat >>"$work/b/tools/testing/selftests/ntrace/Makefile" <<-'EOT'
	LOCAL_HDRS := trace.h
	CFLAGS += -O2 -D_GNU_SOURCE $(KHDR_INCLUDES)
	LDLIBS += -lpthread
	include ../lib.mk
	$(TEST_GEN_PROGS): trace.c frames.c
EOT
patch selftests "selftests: ntrace: add tests"
