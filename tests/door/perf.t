#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test the perf that this tree builds. This perf must have all features and must know the RISC-V names. The build must
# also work with the sources of other kernels, and each wrong use of the build must lead to a sentence.
. "$(dirname "$0")/../harness/tap.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
data=$top/tests/perf
build=$top/tools/perf/build.sh
perfs=$(perfs lts new) || exit
plan $((8 + 10 * $(echo "$perfs" | wc -w)))

says() { # NAME SENTENCE COMMAND...: check that COMMAND fails with the sentence
	_name=$1 _text=$2
	shift 2
	if "$@" >"$tap_tmp/said" 2>&1 </dev/null; then fail "$_name"; echo "# it did not fail"; return; fi
	if grep -qF -- "$_text" "$tap_tmp/said"; then pass "$_name"; else fail "$_name"; echo "# wanted: $_text"; fi
	sed 's/^/# /' "$tap_tmp/said" | head -n 5
}

# ---- arguments of make perf
says "KSRC is not a kernel source" "/wrong is no kernel source: it has no tools/perf/MANIFEST" \
	make -C "$top" perf KSRC=/wrong
says "an unknown architecture" "unknown architecture sparc: x86_64 or riscv64; set ARCH=" "$build" 6.12 sparc
says "no compiler" "no compiler nosuch-gcc" env CROSS_COMPILE=nosuch- "$build" 6.12 riscv64
says "no libraries for RISC-V" "run 'tools/setup/setup sysroot', or set SYSROOT=" \
	env SYSROOT=/nosuch "$build" 6.12 riscv64

# ---- Make kernel sources with another version, for which this tree has no hook patch
tree() { # DIR KVER VERSION PATCHLEVEL
	mkdir -p "$1/tools/perf"
	cp "$O/root/linux-$2/tools/perf/MANIFEST" "$1/tools/perf/"
	sed -n 's,^+++ b/,,p' "$top/tools/perf/hooks-$2.patch" | while read -r f; do
		mkdir -p "$1/${f%/*}" && cp "$O/root/linux-$2/$f" "$1/$f"
	done
	printf 'VERSION = %s\nPATCHLEVEL = %s\nSUBLEVEL = 0\n' "$3" "$4" >"$1/Makefile"
}
known=$(kernels new)
[ -e "$top/tools/perf/hooks-$known.patch" ] || known=6.12
next=${known%.*}.$((${known#*.} + 1))
tree "$tap_tmp/next" "$known" "${next%.*}" "${next#*.}"
tree "$tap_tmp/old" 6.12 6 17
tree "$tap_tmp/other" "$known" 7 4
sed -i 's/PERF_AUXTRACE_/PERF_AUX_/' "$tap_tmp/other/tools/perf/util/auxtrace.c" "$tap_tmp/other/tools/perf/util/auxtrace.h"
# This host has no compiler, so the build ends as soon as it has chosen the patch.
says "the nearest hook patch is used for the next kernel" "no hook patch for Linux $next; hooks-$known.patch applies to it, and is used" \
	env KSRC="$tap_tmp/next" CC=nosuch "$build" custom x86_64
says "the nearest hook patch, for 6.17" "no hook patch for Linux 6.17; hooks-6.12.patch applies to it, and is used" \
	env KSRC="$tap_tmp/old" CC=nosuch "$build" custom x86_64
says "none that applies" "no hook patch applies to Linux 7.4" \
	env KSRC="$tap_tmp/other" CC=nosuch "$build" custom x86_64
mkdir -p "$tap_tmp/o/root"
ln -s kernel-7.4 "$tap_tmp/o/root/kernel-new"
ln -s "$tap_tmp/other" "$tap_tmp/o/root/linux-7.4"
ln -s "$(readlink -f "$O/root/linux-6.12")" "$tap_tmp/o/root/linux-6.12"
says "the newest kernel uses the perf of 6.12 if no hook patch applies" "Documentation/developer/add-a-kernel.rst says how to make one. The perf of Linux 6.12 is used in its place" \
	env O="$tap_tmp/o" CC=nosuch "$build" new x86_64

# ---- Make a program with a PLT, and a recording of samples in this program, without N-Trace
cat >"$tap_tmp/plt.c" <<'EOT'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char text[20];

	snprintf(text, sizeof(text), "%d %d", getpid(), atoi(argv[0]));
	return puts(text);
}
EOT
"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -O1 -fno-builtin -no-pie -o "$tap_tmp/plt" "$tap_tmp/plt.c" || exit
# List the address of each entry of the PLT, and its name NAME@plt as objdump prints it.
"${CROSS_COMPILE:-riscv64-linux-gnu-}objdump" -d -j .plt "$tap_tmp/plt" |
	sed -n 's/^0*\([0-9a-f]*\) <\([a-z_]*\)@plt>:$/\1 \2@plt/p' | sort >"$tap_tmp/wanted"
python3 - "$tap_tmp" "$data" <<'EOT'
import sys
tmp, data = sys.argv[1:]
sys.path.insert(0, data)
import perfdata
f = perfdata.File(aux_sample_size=8)
f.comm(77, 'plt')
f.mmap(77, 0x10000, 0x2000, 0, tmp + '/plt')
for n, line in enumerate(open(tmp + '/wanted')):
    f.sample(b'', int(line.split()[0], 16) + 4, 1000 + n, 77)
f.save(tmp + '/plt.data')
EOT

calls_program -g || exit
recording_as calls good || exit
mv "$tap_tmp/calls" "$tap_tmp/gone"
cp "$tap_tmp/gone" "$tap_tmp/here" && python3 "$data/mkcalls.py" "$tap_tmp/here" "$tap_tmp/here.data" good || exit

has_library() { # HEADER FEATURE
	if [ -e "/usr/include/$1" ] || [ -n "$(ls /usr/include/*/"$1" 2>/dev/null)" ]; then
		perf version --build-options | grep -E " $2: \[ on "
	else
		echo "there is no $1 here"
	fi
}

for kver in $perfs; do
	"$build" $kver x86_64 >"$tap_tmp/build" 2>&1 || { cat "$tap_tmp/build"; exit 1; }
	perf() { "$O/perf/$kver/x86_64/perf" "$@"; }
	ok "$kver: the samples are in the program's PLT" [ "$(wc -l <"$tap_tmp/wanted")" -ge 4 ]
	perf script -i "$tap_tmp/plt.data" --itrace=e -F ip,sym 2>/dev/null | awk '{ print $2 }' | sort >"$tap_tmp/names"
	is "$kver: samples in the PLT have the names of its functions" "$(paste -sd' ' "$tap_tmp/names")" "$(awk '{ print $2 }' "$tap_tmp/wanted" | sort | paste -sd' ')"
	perf script -i "$tap_tmp/calls.data" --itrace=be -F ip,sym >/dev/null 2>"$tap_tmp/err"
	is "$kver: a program whose file is missing is named once" \
		"$(grep -c "cannot read the code of $tap_tmp/calls: copy it to this machine (perf archive)" "$tap_tmp/err")" 1
	perf script -i "$tap_tmp/here.data" --insn-trace=disasm >"$tap_tmp/disasm" 2>&1
	# Debian 12's capstone 4 does not support RISC-V, so only test capstone 5. door/mistakes.t tests the board's
	# perf.
	if grep -qE 'CS_API_MAJOR ([5-9]|[1-9][0-9])' /usr/include/capstone/capstone.h 2>/dev/null; then
		is "$kver: perf disassembles RISC-V" "$(grep -oE '(addi|jal|ecall|bnez|beqz)( .*)?$' "$tap_tmp/disasm" | awk '{ print $1 }' | sort -u | paste -sd' ')" \
			"addi bnez ecall jal"
	else
		skip "$kver: perf disassembles RISC-V" "there is no capstone 5 here"
	fi
	perf script -i "$tap_tmp/here.data" --itrace=i1il2 -F ip,brstackinsn,brstackinsnlen >"$tap_tmp/insns" 2>&1
	is "$kver: brstackinsn prints instructions with their RISC-V lengths" \
		"$(sed -n 's/.*insn: \(.*[0-9a-f]\) *.ilen: \([0-9]*\).*/\1,\2/p' "$tap_tmp/insns" | awk -F, '{ print split($1, b, " ") == $2 }' | sort -u)" 1
	perf test ntrace >"$tap_tmp/test" 2>&1
	is "$kver: perf test ntrace runs the tests of N-Trace" "$(grep -c 'N-Trace (ntrace): .* Ok' "$tap_tmp/test")" 3
	ok "$kver: a terminal interface" has_library slang.h libslang
	ok "$kver: a disassembler" has_library capstone/capstone.h libcapstone
	ok "$kver: modules that xz packed" has_library lzma.h lzma
	ok "$kver: perf archive can be run" sh -c "'$O/perf/$kver/x86_64/perf' archive '$tap_tmp/nosuch' 2>&1 | grep -q 'no build-ids found'"
done
done_testing
