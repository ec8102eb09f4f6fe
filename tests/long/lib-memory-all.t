#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Decoding must use at most 32 MiB of memory for 1 GiB of trace in each mode.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/memory.sh"
memory_setup >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
plan 8
for kind in htm btm ts ir; do
	case $kind in
	htm) encode= decode= ;;
	btm) encode="--mode btm" decode= ;;
	ts) encode=--timestamp decode=--timestamp ;;
	ir) encode=--implicit-return decode=--implicit-return ;;
	esac
	# shellcheck disable=SC2086
	memory_trace $kind --sync-mode 1 --sync-max 6 $encode || exit 1
	# shellcheck disable=SC2086
	ok "$kind: 1 GiB from a pipe" memory_pipe $kind 1024 $decode
	figure "$said"
	# shellcheck disable=SC2086
	ok "$kind: 1 GiB, two threads" memory_threads $kind 1024 ${decode#--}
	figure "$said"
done
done_testing
