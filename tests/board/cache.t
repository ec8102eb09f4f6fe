#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Memory that is not coherent: what a sink wrote is seen when a hart has invalidated its cache.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/bare.sh"
bare_setup
printf 'encoder te hart=0 to=ram\nramsink ram mode=smem\n' | bare_topology "$tap_tmp/topology"
bare_build "$tap_tmp/cache" "$top/tests/board/cache.c" || exit 1
plan 2
said() { bare_run "$tap_tmp/cache" "$1" | tr -d '\r' | xargs; }
is "incoherent" "$(said incoherent=on)" \
	"at once: no cleaned: no invalidated: yes the next line: no flushed: yes after a store: yes"
is "coherent" "$(said incoherent=off)" \
	"at once: yes cleaned: yes invalidated: yes the next line: yes flushed: yes after a store: no"
done_testing
