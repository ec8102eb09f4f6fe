#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Record four threads on the board with buffers that are too small, so that most trace is lost. All call chains must
# be possible. Record the same program with large buffers to a file, to a pipe, and compressed. These recordings must
# have all branches. KERNEL=lts|new selects the kernel, and TOPOLOGIES= selects topologies.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"

kernel=$(kernels "${KERNEL:-new}")
topologies=${TOPOLOGIES:-direct sram}
# The perf of kernel 6.12 is built without zstd
forms="file pipe"
[ "$kernel" = 6.12 ] || forms="$forms z z-pipe"
truth_build "$kernel"
"$O/root/bin/riscv64-guest-gcc" -O2 -g -o "$tap_tmp/lost" "$top/tests/perf/lost.c" -lpthread || exit
plan $(($(echo "$topologies" | wc -w) * 3 + $(echo "$forms" | wc -w)))

record() { # TOPOLOGY SCRIPT
	rm -rf "$truth_dir" && mkdir -p "$truth_dir/out" || return
	cp "$tap_tmp/lost" "$truth_dir/out/"
	# Without this option, perf 7.2 and later do not put the vDSO into their build-id cache, but another machine
	# needs the vDSO.
	truth_options=
	[ "$kernel" = 6.12 ] || truth_options=--no-buildid-mmap
	cat >"$truth_dir/out/go" <<-E2
		cd /tmp && cp /out/lost lost
		export PERF_BUILDID_DIR=/tmp/debug
		record() { perf --buildid-dir /tmp/debug record --no-bpf-event $truth_options "\$@" 2>>/out/record.log; }
		$2
		cp -r *.data debug /out
	E2
	"$top/tools/board/board" run --kernel "$kernel" --harts 2 --topology "$1" --out "$truth_dir/out" \
		--timeout 1500 -- sh /out/go || return
	truth_symfs "$kernel"
	cp "$tap_tmp/lost" "$truth_root/tmp/"
}

perf() { "$O/perf/new/x86_64/perf" "$@" 2>"$tap_tmp/err"; }
script() { # RECORDING OPTION...
	_file=$truth_dir/out/$1.data; shift
	perf script --symfs "$truth_root" -i "$_file" "$@"
}
chains_are_possible() { script lost --itrace=i20ig32 -F ip,sym | python3 "$top/tests/perf/lost.py" 100000; }

for topology in $topologies; do
	truth_dir=$O/tests/perf-lost-$topology
	ok "$topology: recorded" record "$topology" 'record -m,16K -e ntrace//u -o lost.data -- ./lost 40000 || exit 1'
	losses=$(script lost --itrace=e -F event | grep -c 'trace was lost')
	figure "$topology: $losses losses"
	ok "$topology: trace was lost, many times" [ "$losses" -ge 100 ]
	ok "$topology: no call chain is impossible" chains_are_possible
	figure "$topology: $(tail -n 1 "$tap_tmp/out")"
done

# Count the branches of the program's loop. Their number is the same in each run. The trace of a CPU must be in
# several PERF_RECORD_AUXTRACE.
truth_dir=$O/tests/perf-lost-forms
run='-m,8M -e ntrace//u -o'
work="record $run file.data -- ./lost 20000 && record $run - -- ./lost 20000 | cat >pipe.data || exit 1"
[ "$kernel" = 6.12 ] || work="$work
record -z $run z.data -- ./lost 20000 && record -z $run - -- ./lost 20000 | cat >z-pipe.data || exit 1"
record direct "$work" >"$tap_tmp/said" 2>&1 || sed 's/^/# /' "$tap_tmp/said"
# For each i from 0 to 19,999, each of 4 threads executes the loop in work() once with i % 50 iterations, and once with
# i % 30 iterations. A loop of n iterations takes its branch n - 1 times
wanted=$((4 * (400 * 1176 + 666 * 406 + 171)))
for form in $forms; do
	script "$form" --itrace=b -F flags,ip,sym,addr >"$tap_tmp/branches"
	records=$(perf script -D -i "$truth_dir/out/$form.data" | grep -a -c 'PERF_RECORD_AUXTRACE size')
	lost=$(grep -c 'trace was lost' "$tap_tmp/err")
	figure "$form: $(wc -l <"$tap_tmp/branches") branches, $records PERF_RECORD_AUXTRACE, $lost lines of losses"
	is "$form: each round of the program's loop" \
		"$(awk '$1 == "jcc" && $3 == "work" && $2 "" > $5 ""' "$tap_tmp/branches" | wc -l)" "$wanted"
done
done_testing
