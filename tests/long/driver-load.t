#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# If the reader is fast enough, no trace may be lost (selftests/ntrace/load_test) on hardware with many and with few
# features. With one hart and --icount, timers do not depend on the host.
. "$(dirname "$0")/../harness/tap.sh"

make -s -C "$top/selftests/ntrace" O="$O" >&2 || exit 1
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "the board is not set up; make setup"

keeps_up() { # BOARD-OPTIONS...
	"$top/tools/board/board" run --timeout 600 "$@" -- \
		"NTRACE_LOAD_SECONDS=${NTRACE_LOAD_SECONDS:-10} /usr/lib/selftests/ntrace/load_test -t reader_that_keeps_up_loses_nothing"
}

plan 4
ok "6.12, 1 hart, --icount" keeps_up --kernel 6.12 --icount
ok "new, 1 hart, --icount" keeps_up --kernel new --icount
ok "6.12, 4 harts" keeps_up --kernel 6.12 --harts 4
ok "6.12, minimal hardware, --icount" keeps_up --kernel 6.12 --icount --model caps=minimal
done_testing
