#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Count 10 GiB of trace in eight shards, with make -j and as Slurm jobs with a real slurmd on this machine, using the
# files of examples/shards. The trace repeats one recording, and MIB= sets another size. The counts must equal those
# of one run, byte for byte.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/memory.sh"
. "$top/tests/session/slurm.sh"
memory_dir=$O/tests/session-shards
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
mib=${MIB:-10240}
free=$(df --output=avail -BM "$O" | tail -n 1 | tr -d 'M ')
[ "$free" -gt $((2 * mib + 2048)) ] || skip_all "$((2 * mib + 2048)) MiB of disk are needed, and $free are there"
memory_setup 10 && mv "$memory_dir/perf.data" "$memory_dir/small.data" && memory_setup "$mib" || exit 1
cd "$memory_dir" || exit 1
rm -rf all.counts shards ./*.log
trap 'slurm_stop; rm -rf "$tap_tmp" "$memory_dir/perf.data" "$memory_dir/small.data" "$memory_dir/shards"' EXIT
slurm_pids=

# took COMMAND...: run COMMAND. Set $most to the memory of its largest process in MiB, and set $said to a text with
# the time and the memory
took() {
	_start=$(date +%s)
	python3 "$top/tests/session/took.py" "$@" >"$tap_tmp/took" || { cat "$tap_tmp/took"; return 1; }
	most=$(tail -n 1 "$tap_tmp/took")
	said="$(($(date +%s) - _start)) s, at most $most MiB in a process"
}
export NTRACE="$tap_tmp/ntrace"; cp "$O/bin/ntrace" "$NTRACE"

plan 11
ok "counts of 10 MiB" took "$NTRACE" profile --counts -i small.data -o small.counts
figure "$said"
small=$most
ok "counts of $mib MiB" took "$NTRACE" profile --counts -i perf.data -o one.counts
figure "$mib MiB in one run: $said"
ok "counts of $mib MiB need at most 32 MiB more memory than those of 10 MiB" [ "$most" -le $((small + 32)) ]
ok "make -j" took make -f "$top/examples/shards/Makefile" -j"$(nproc)"
figure "split, and 8 shards by make -j$(nproc): $said"
ok "the merged counts of make -j equal those of one run, byte for byte" cmp one.counts all.counts
ok "merge of eight" took "$NTRACE" merge -o again.counts shards/1.counts shards/2.counts shards/3.counts \
	shards/4.counts shards/5.counts shards/6.counts shards/7.counts shards/8.counts
figure "$said"
rm -f shards/*.counts
if slurm_start >"$tap_tmp/why" 2>&1; then
	_start=$(date +%s)
	ok "Slurm runs an array of jobs" sbatch --wait --array=1-8 "$top/examples/shards/shards.sbatch" shards
	figure "8 shards by Slurm $(sinfo -V): $(($(date +%s) - _start)) s"
	is "all jobs of the array ran on this machine" "$(scontrol show job -o | grep -c 'JobState=COMPLETED.* NodeList=')" 8
	ok "the merged counts of the jobs equal those of one run, byte for byte" sh -c "'$NTRACE' merge -o slurm.counts shards/*.counts && cmp one.counts slurm.counts"
	# Damage a shard, so that its job fails
	mv shards/5.data shards/5.away && rm -f shards/*.counts
	sbatch --wait --array=4-5 "$top/examples/shards/shards.sbatch" shards
	is "a shard whose job has failed has no counts" "$(cd shards && echo *.counts)" 4.counts
	"$NTRACE" merge -o less.counts shards/4.counts >said 2>&1
	is "merge names the shard whose job has failed" "$? $(grep -c 'is missing' said) $(grep -c 'shard 5 of 8' said)" "1 7 1"
else
	for n in 1 2 3 4 5; do skip "Slurm, $n" "$(tail -n 1 "$tap_tmp/why")"; done
fi
done_testing
