# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Functions of tests/session/shards.t and its long form.

# shards_merged FILE N: check that the merged counts of N shards of a recording equal those of the
# recording, byte for byte
shards_merged() {
	rm -rf shards && "$ntrace" split -i "$1" -n "$2" || return 1
	for _k in $(seq "$2"); do
		"$ntrace" profile --counts -i "shards/$_k.data" -o "shards/$_k.counts" || return 1
	done
	"$ntrace" merge -o merged.counts shards/*.counts && cmp merged.counts one.counts
}

# shards_filled - print how many of the shards have counts of blocks
shards_filled() { grep -l '^b' shards/*.counts | wc -l; }
