# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Functions for tests of `ntrace record`
# on the board. Source this file after tests/perf/truth.sh.

# recorder_build NAME: build the recorder and the program that it records; the board's files are in
# $out
recorder_build() {
	truth_dir=$O/tests/$1
	truth_build 6.12
	out=$truth_dir/out
	static=$O/riscv64/bin/ntrace-static
	make -C "$top" guest-static >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
}

# recorder_files - copy the recorder and the program for the board, and remove the files of an earlier run
recorder_files() { rm -rf "$truth_dir" && mkdir -p "$out" && cp "$tap_tmp/work" "$static" "$out/"; }
