#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Record 4 harts system-wide. The workload has forks, execs, signals, page faults, threads, modules that are loaded,
# and code that is generated at run time. Every branch that perf prints must be in the truth, with the same order,
# CPU, thread and process.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/truth.sh"
. "$top/tests/perf/damaged.sh"

# perf cannot decode trace in modules, so ignore the exit status.
sanitized() {
	damaged_build || return
	damaged_timeout=1800
	damaged_perf script --symfs "$truth_root" -i "$truth_dir/out/jit.data" --itrace=ei1msgl >"$tap_tmp/said" 2>&1
	[ $? -lt 124 ] && grep -q 'instructions' "$tap_tmp/said" && ! damaged_is_bad "$tap_tmp/said"
}

plan 12
for kernel in $(kernels lts new); do
	truth_dir=$O/tests/perf-truth-$kernel
	truth_build "$kernel"
	ok "Linux $kernel: recorded on 4 harts" truth_record "$kernel" 4 3 \
		"modprobe xor; modprobe lz4hc; ls -lR /usr/lib >/dev/null; sort /etc/passwd"
	ok "Linux $kernel: all branches are right" truth_compare
	figure "Linux $kernel: $truth_last"
	truth_speed
	ok "Linux $kernel: ntrace script: all branches are right" truth_compare_ntrace
	figure "Linux $kernel: ntrace: $truth_last"
	ok "Linux $kernel: there are at least 20 million branches" [ "$(truth_number branches)" -ge 20000000 ]
	# perf.data lacks the code of modules that were loaded later, so the trace of these modules has gaps.
	"$O/perf/new/x86_64/perf" script --symfs "$truth_root" -i "$truth_dir/out/jit.data" --itrace=e \
		2>/dev/null | sed -n 's/.* ip 0x\([0-9a-f]*\) code.*/\1/p' >"$tap_tmp/errors"
	ok "Linux $kernel: all errors are in modules that were loaded during the recording" \
		sh -c "! grep -v '^ffffffff0' '$tap_tmp/errors'"
	ok "Linux $kernel: a perf with sanitizers reports no fault" sanitized
done
done_testing
