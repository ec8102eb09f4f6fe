#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Test memory that is not coherent. A hart sees the data of a sink only after the hart has invalidated
# its cache. Also test cached memory, in which data of a hart survives a reset only if the hart has written
# the data back.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/bare.sh"
bare_setup
printf 'encoder te hart=0 to=ram\nramsink ram mode=smem\n' | bare_topology "$tap_tmp/topology"
bare_build "$tap_tmp/cache" "$top/tests/board/cache.c" || exit 1
bare_build "$tap_tmp/cached" "$top/tests/board/cached.c" || exit 1
plan 5
said() { bare_run "$tap_tmp/cache" "$1" | tr -d '\r' | xargs; }
is "incoherent" "$(said incoherent=on)" \
	"at once: no cleaned: no invalidated: yes the next line: no flushed: yes after a store: yes"
is "coherent" "$(said incoherent=off)" \
	"at once: yes cleaned: yes invalidated: yes the next line: yes flushed: yes after a store: no"
# A reset may discard the caches of the harts. Memory that is not coherent then contains the data that the sink wrote.
reset() { { bare_reboot='' bare_run "$tap_tmp/cached" "$1" -smp 2; echo "status $?"; } | tr -d '\r' | xargs; }
left="cleaned: yes after it: no never: no flushed: yes the last byte: yes of a sink: yes status 0"
is "a reset without caches" "$(reset cached-from=0x82000000,cached-size=0x1000)" "invalidated: no $left"
is "a reset without caches, incoherent" "$(reset incoherent=on,cached-from=0x82000000,cached-size=0x1000)" \
	"invalidated: no $left"
is "a reset" "$(reset "")" \
	"invalidated: yes cleaned: yes after it: yes never: yes flushed: yes the last byte: yes of a sink: yes status 0"
done_testing
