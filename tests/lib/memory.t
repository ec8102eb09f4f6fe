#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Decoding must use at most 32 MiB of memory for 64 MiB of trace, or for 256 MiB in make test-all.
# tests/long uses 1 GiB.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/lib/memory.sh"
memory_setup >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
plan 3
mib=$(by_size 64 256)
memory_trace htm --sync-mode 1 --sync-max 6 || exit 1
ok "$mib MiB from a pipe" memory_pipe htm $mib
figure "$said"
ok "$mib MiB, two threads" memory_threads htm $mib
figure "$said"
# Threads cannot divide this trace, because it has hardly any message with SYNC.
memory_trace no-sync --implicit-return || exit 1
ok "64 MiB with hardly a SYNC, two threads" memory_threads no-sync 64 implicit-return
figure "$said"
done_testing
