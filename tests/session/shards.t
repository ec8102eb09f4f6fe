#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test `ntrace split`, `ntrace profile --counts` and `ntrace merge`. The merged counts of all shards must equal the
# counts of the recording byte for byte, and a message must name each missing or damaged shard.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/shards.sh"
. "$top/tests/session/says.sh"
build_tool
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
ntrace=$O/bin/ntrace
cd "$tap_tmp" || exit 1
riscv64-linux-gnu-gcc -O1 -g -static -Wl,--emit-relocs -o program "$top/tests/pictures/coverage.c" &&
	"$top/tests/harness/pcs" pcs ./program || exit 1

# recording OPTION...: make perf.data, which has 16 PERF_RECORD_AUX, and write to one.counts how often
# its code executed
recording() {
	"$ntrace" encode --elf program --pcs pcs -o nt "$@" &&
		python3 "$top/tests/session/shards.py" program nt perf.data "$@" $form &&
		"$ntrace" profile --counts -i perf.data -o one.counts
}

silent() { "$ntrace" split -i perf.data -n 8 -o many 2>said && [ ! -s said ]; }
# all_same OPTION...: compare the merged counts of 2, 5 and 16 shards of a recording with the counts of the recording.
# Each shard must have trace
all_same() {
	recording "$@" || return 1
	for n in 2 5 16; do
		shards_merged perf.data $n || { echo "$n shards differ"; return 1; }
		filled=$(shards_filled)
		echo "$n shards, $filled with counts"
		[ "$filled" -eq "$n" ] || return 1
	done
}

plan 35
form=
while read -r options; do
	# shellcheck disable=SC2086
	ok "16 stretches: $options" all_same $options
done <<E2
--sync-mode 1 --sync-max 0
--sync-mode 1 --sync-max 2 --mode btm
--timestamp --context 1234 --src-bits 4 --src 3
--timestamp --context 1234 --implicit-return --repeated-history
--implicit-return --sequential-jump --extend-addr --repeated-history
--mode btm --repeat-branch --implicit-return
--all-jumps --timestamp
E2
form=--pipe
ok "a recording from a pipe" all_same --sync-mode 1 --sync-max 0
form=--compressed
ok "a compressed recording" all_same --sync-mode 1 --sync-max 0
form=

python3 "$top/tests/session/repeat.py" program nt repeated.data 12 && mv repeated.data perf.data || exit 1
"$ntrace" profile --counts -i perf.data -o one.counts || exit 1
ok "a recording of two CPUs with 12 stretches, in one shard" shards_merged perf.data 1
ok "the same in three shards" shards_merged perf.data 3
mkdir debug && cp program debug/
ok "the same by make, which copies the folder of the programs" sh -c "make -s -f '$top/examples/shards/Makefile' NTRACE='$ntrace' DIR=made SHARDS=3 &&
	cmp all.counts one.counts && cmp made/debug/program program"
ok "the same in 20 shards, which are more than the stretches" shards_merged perf.data 20
ok "split says how many of 20 shards have no trace" says 0 "$((20 - $(shards_filled))) of 20 shards have no trace, because the trace can be cut only where an encoder starts to trace" "$ntrace" split -i perf.data -n 20 -o many
ok "the same in eight shards" shards_merged perf.data 8
ok "split says nothing if all shards have trace" silent
is "each of the eight shards has trace" "$(shards_filled)" 8
for format in lcov gcov llvm bolt; do
	"$ntrace" profile --$format --object program -i perf.data -o one.$format
	ok "--$format of the counts is that of the recording" sh -c \
		"'$ntrace' profile --$format --object program -i merged.counts -o merged.$format && [ -s one.$format ] && cmp one.$format merged.$format"
done
"$ntrace" merge -o half shards/[1-4].counts >/dev/null 2>&1
ok "merged counts can be merged with other counts" sh -c "'$ntrace' merge -o merged.counts half shards/[5-8].counts && cmp merged.counts one.counts"
"$ntrace" merge one.counts one.counts >twice
is "a recording that is added twice counts twice" "$(awk '/^b/ { a += $5 } END { print 2 * a }' one.counts)" "$(awk '/^b/ { a += $5 } END { print a }' twice)"
rm shards/3.counts
ok "merge names a missing shard" says 1 "shard 3 of 8 of perf.data is missing" "$ntrace" merge -o less shards/*.counts
ok "the counts of a missing shard can be added later" sh -c "'$ntrace' profile --counts -i shards/3.data -o shards/3.counts && '$ntrace' merge -o merged.counts less shards/3.counts && cmp merged.counts one.counts"
ok "merge refuses a shard that is given twice" says 2 "shard 2 of 8 of perf.data is given twice" "$ntrace" merge -o less shards/*.counts shards/2.counts
ok "split refuses a shard" says 2 "this is shard 2 of 8 of perf.data" "$ntrace" split -n 2 -i shards/2.data -o again
head -n 100 one.counts >cut.counts
ok "merge refuses counts that were cut short" says 2 "cut.counts was cut short: its last line is missing" "$ntrace" merge cut.counts
sed '50s/ / x/' one.counts >bad.counts
ok "merge refuses counts with a damaged line" says 2 "bad.counts: line 50 is damaged" "$ntrace" merge bad.counts
ok "merge refuses a file that does not have counts" says 2 "perf.data is not a file of counts" "$ntrace" merge perf.data
ok "counts have no calls" says 2 "--callgrind needs a recording" "$ntrace" profile --callgrind -i one.counts
ok "a full disk" says 2 "writing /dev/full failed: No space left" "$ntrace" merge -o /dev/full one.counts
ok "no number of shards" says 2 "split needs the number of shards" "$ntrace" split -i perf.data
ok "profile --counts by one thread gives the same counts" sh -c "'$ntrace' profile --counts --threads 1 -i perf.data | cmp - one.counts"
# indexed: the index of trace in each shard (feature section 18) must list exactly the records of trace in this shard
indexed() {
	"$ntrace" split -n 2 -i perf.data -o indexed && python3 - indexed/1.data indexed/2.data <<-'E3'
		import struct, sys
		for path in sys.argv[1:]:
		    data = open(path, "rb").read()
		    begin, size = struct.unpack_from("<QQ", data, 40)
		    at, found = begin, []
		    while at < begin + size:
		        kind, _, length = struct.unpack_from("<IHH", data, at)
		        found += [(at, length)] if kind == 71 else []
		        at += length + (struct.unpack_from("<Q", data, at + 8)[0] if kind == 71 else 0)
		    bits = int.from_bytes(data[72:104], "little")
		    section = begin + size + 16 * (bits & (1 << 18) - 1).bit_count()
		    offset, length = struct.unpack_from("<QQ", data, section)
		    words = struct.unpack_from(f"<{length // 8}Q", data, offset)
		    print(len(found), "records of trace")
		    if not bits >> 18 & 1 or not found or words != (len(found), *(n for entry in found for n in entry)):
		        sys.exit(f"{path}: {words}, and not {found}")
	E3
}
ok "each shard has an index of its trace" indexed
done_testing
