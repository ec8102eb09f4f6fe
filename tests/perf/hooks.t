#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The hook patches must be small, and must apply to the distribution's kernel source.
. "$(dirname "$0")/../harness/tap.sh"

patches=$(cd "$top/tools/perf" && ls hooks-*.patch)
plan $((2 * $(echo "$patches" | wc -l)))

for patch in $patches; do
	kver=${patch#hooks-} kver=${kver%.patch}
	lines=$(wc -l <"$top/tools/perf/$patch")
	figure "$patch: $lines lines"
	ok "$patch is under 60 lines" [ "$lines" -lt 60 ]
	[ -d "$O/root/linux-$kver" ] || "$top/tools/setup/setup" "linux-$kver" >/dev/null 2>&1
	if [ -d "$O/root/linux-$kver/tools/perf" ]; then
		# Run git apply outside of any repository, so that git changes files in this folder
		mkdir -p "$tap_tmp/$kver"
		sed -n 's,^+++ b/,,p' "$top/tools/perf/$patch" | while read -r f; do
			mkdir -p "$tap_tmp/$kver/${f%/*}"
			cp "$O/root/linux-$kver/$f" "$tap_tmp/$kver/$f"
		done
		ok "$patch applies to the untouched source" \
			env GIT_CEILING_DIRECTORIES="$tap_tmp" git -C "$tap_tmp/$kver" apply --check "$top/tools/perf/$patch"
	else
		skip "$patch applies to the untouched source" "this archive has no source of Linux $kver"
	fi
done
done_testing
