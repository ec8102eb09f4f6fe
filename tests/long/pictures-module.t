#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Record a kernel module with perf and with `ntrace record` on the board. The coverage from both recordings must equal
# the counts that the module itself keeps for each line.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"
. "$top/tests/command/recorder.sh"
recorder_build pictures-module
ntrace=$O/bin/ntrace
modules=$top/tests/pictures/module

plan 8
# build KERNEL: build the module
build() {
	mkdir -p "$truth_dir/out" "$truth_dir/$1" && ln -sf "$modules"/* "$truth_dir/$1/" &&
		env -u MAKEFLAGS -u O make -C "$O/root/kernel-$1/build" "M=$truth_dir/$1" ARCH=riscv \
			CROSS_COMPILE=riscv64-linux-gnu- modules && cp "$truth_dir/$1/ntrace-counted.ko" "$truth_dir/out/"
}
# The counts of a recording are the module's counts after the recording minus its counts before the recording.
record() {
	cp "$O/riscv64/bin/ntrace-static" "$truth_dir/out/"
	cat >"$truth_dir/out/go" <<-'E2'
		cd /tmp && insmod /out/ntrace-counted.ko
		parameters=/sys/module/ntrace_counted/parameters
		cat $parameters/lines >/out/lines.0
		perf record --kcore -C 0 -m,4M -e ntrace//k -o perf.data -- taskset 1 sh -c "echo 300 >$parameters/run" >/out/log 2>&1 || exit 1
		cat $parameters/lines >/out/lines.1
		/out/ntrace-static record -C 0 -m 4M -e ntrace//k -o own.data -- taskset 1 sh -c "echo 200 >$parameters/run" >>/out/log 2>&1 || exit 1
		cat $parameters/lines >/out/lines.2
		cp -r perf.data own.data /out
	E2
	"$top/tools/board/board" run --kernel "$1" --out "$truth_dir/out" --timeout 600 -- sh /out/go || { cat "$truth_dir/out/log"; return 1; }
}
less() { awk 'NR == FNR { n[$1] = $2; next } { print $1, $2 - n[$1] }' "$truth_dir/out/lines.$1" "$truth_dir/out/lines.$2"; }
coverage() { # RECORDING BEFORE AFTER
	less "$2" "$3" >"$tap_tmp/counts" && "$ntrace" profile --lcov --object '[ntrace_counted]' --modules "$truth_dir/$kernel" \
		-i "$truth_dir/out/$1.data" -o "$tap_tmp/lcov" &&
		python3 "$modules.py" compare "$tap_tmp/lcov" "$tap_tmp/counts" "$modules/ntrace-counted.c"
}
for kernel in $(kernels lts new); do
	rm -rf "$truth_dir/out"
	truth_build "$kernel"
	ok "$kernel: the module" build "$kernel"
	ok "$kernel: recordings by perf and by ntrace" record "$kernel"
	ok "$kernel: the line counts from perf's recording are those of the module" coverage perf 0 1
	ok "$kernel: the line counts from the recording of ntrace record are those of the module" coverage own 1 2
done
done_testing
