#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compare call chains of a whole system, in the kernel and in programs, with the truth of the board.
. "$(dirname "$0")/../harness/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
kernels=${KERNELS:-$(kernels lts new)}
# shellcheck disable=SC2086
plan $((4 * $(echo $kernels | wc -w)))

record() {
	rm -rf "$dir" && mkdir -p "$dir/out"
	[ "$kernel" = 6.12 ] && mmap_options= || mmap_options=--no-buildid-mmap
	cat >"$dir/out/record" <<-E2
		cd /tmp
		export PERF_BUILDID_DIR=/tmp/debug
		perf --buildid-dir /tmp/debug record $mmap_options --kcore -a -m,16M -e ntrace// -o all.data -- \
			sh -c 'busybox true; ls -l /usr >/dev/null; echo some | sort >/dev/null' >/out/record.log 2>&1 || exit 1
		cp -r all.data debug /out
	E2
	"$top/tools/board/board" run --kernel "$kernel" --truth "$dir/truth" --out "$dir/out" --timeout 500 -- sh /out/record
}

script() { "$O/perf/new/x86_64/perf" script --symfs "$dir/symfs" -i "$dir/out/all.data" "$@" 2>"$tap_tmp/err"; }

chains() {
	script --itrace=i50ig1000 -F tid,ip --max-stack 1024 |
		python3 "$top/tests/perf/system.py" "$tap_tmp/blocks.txt" 50 "$dir/out/all.data/kcore_dir/kallsyms"
}

for kernel in $kernels; do
	make -C "$top" tool guest-tools plugin modules MVERS="$kernel" >"$tap_tmp/make" 2>&1 &&
		"$top/tools/perf/build.sh" "$kernel" riscv64 >>"$tap_tmp/make" 2>&1 &&
		"$top/tools/perf/build.sh" new x86_64 >>"$tap_tmp/make" 2>&1 &&
		gcc -O2 -Wall -Wextra -I"$top/tools/board/model" -o "$tap_tmp/blocks" \
			"$top/tests/perf/blocks.c" "$O/board/model/libnbmodel.a" || { tail -n 30 "$tap_tmp/make"; exit 1; }
	dir=$O/tests/perf-chains-$kernel
	ok "$kernel: the board records the system" record
	mkdir -p "$dir/symfs"
	cp -a "$O/root/guest/." "$dir/symfs/"
	cp "$O/perf/$kernel/riscv64/perf" "$dir/symfs/usr/bin/perf"
	cp -a "$dir/out/debug" "$dir/symfs/.debug"

	is "$kernel: no errors" "$(script --itrace=e | grep -c 'instruction trace error')" 0
	"$tap_tmp/blocks" all "$dir/truth/hart0.truth" >"$tap_tmp/blocks.txt"
	ok "$kernel: the truth has the code of the recording" [ "$(grep -c . "$tap_tmp/blocks.txt")" -gt 10000 ]
	ok "$kernel: the call chain of each 50th instruction equals that of the truth" chains
	figure "$kernel: $(cat "$tap_tmp/out")"
done
done_testing
