# SPDX-License-Identifier: GPL-2.0-only
# Functions of tests/lib/memory.t and of the test in tests/long that uses more trace. They repeat the
# trace of a real program, and decode it from a pipe or by two threads. The used memory
# must not depend on the length of the trace.
# shellcheck shell=sh
. "$top/tests/lib/unit.sh"
dir=$O/tests/lib-memory
limit=$((32 * 1024))

memory_setup() {
	mkdir -p "$dir"
	unit_build memory && unit_workload 800
}

# memory_trace NAME OPTIONS...: make a trace of about 1 MiB, in whole pages
memory_trace() {
	name=$1; shift
	"$O/bin/ntrace" encode --elf "$dir/prog.elf" --pcs "$dir/prog.pcs" -o "$dir/one" "$@" || return 1
	size=$(wc -c <"$dir/one")
	count=$((size < 1048576 ? 1048576 / size + 1 : 1))
	while [ $count -gt 0 ]; do cat "$dir/one"; count=$((count - 1)); done >"$dir/$name"
	size=$(wc -c <"$dir/$name")
	head -c $(((4096 - size % 4096) % 4096)) /dev/zero | tr '\0' '\377' >>"$dir/$name"
}

# memory_pipe NAME MIB OPTIONS...: repeat the trace NAME to MIB MiB, decode it from a pipe, and set $said to a text with
# the figures
memory_pipe() {
	name=$1 mib=$2; shift 2
	times=$((mib * 1048576 / $(wc -c <"$dir/$name") + 1))
	python3 - "$dir/$name" $times "$O/bin/ntrace" decode --stats --elf "$dir/prog.elf" "$@" - \
		>"$tap_tmp/stats" <<-EOT || { cat "$tap_tmp/stats"; return 1; }
		import resource, subprocess, sys
		data, times = open(sys.argv[1], 'rb').read(), int(sys.argv[2])
		child = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE)
		for i in range(times):
		    child.stdin.write(data)
		child.stdin.close()
		status = child.wait()
		print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
		sys.exit(status)
	EOT
	peak=$(awk '$1 == "peak" { print $2 }' "$tap_tmp/stats")
	said="$name: $(awk '$1 == "bytes" && NF == 2 { b = $2 } $1 == "instructions" { i = $2 }
		END { printf "%.0f MiB from a pipe, %.0f million instructions", b / 1048576, i / 1e6 }' \
		"$tap_tmp/stats"): peak $peak KiB, all included"
	[ "$peak" -lt $limit ]
}

# memory_threads NAME MIB [OPTION]: repeat the trace NAME to MIB MiB, and decode it by two threads, without a pipe
memory_threads() {
	times=$(($2 * 1048576 / $(wc -c <"$dir/$1") + 1))
	# shellcheck disable=SC2086
	set -- "$1" $("$dir/memory" "$dir/prog.elf" "$dir/$1" $times 2 ${3:-})
	[ $# -eq 5 ] || return 1
	said="$1: $(($2 / 1048576)) MiB by two threads, $(($3 / 1000000)) million instructions,"
	said="$said $4 errors: peak $5 KiB, the trace not counted"
	[ "$4" -eq 0 ] && [ "$5" -gt 0 ] && [ "$5" -lt $limit ]
}
