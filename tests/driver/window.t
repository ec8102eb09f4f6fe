#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Check against the board's truth that the driver traces only code that an event selects. Events use address filters,
# and some events belong to a user who may trace only a program's user mode.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/guest.sh"

kernel=$(kernels "${KERNEL:-new}")
need_perf_and_work "$kernel"
cat >"$tap_tmp/guest/script" <<'E2'
echo 2 >/proc/sys/kernel/perf_event_paranoid
mkdir -p /tmp/user && chmod 777 /tmp/user /out
cp /usr/lib/ntrace/work /tmp/user/work
try() { n=$1; shift; perf record -B --no-bpf-event -o /tmp/user/$n.data -m,256K "$@" -- sh -c "echo $n \$\$ >>/out/tids; exec /tmp/user/work 1000" 2>&1; }
try filter -e ntrace//u --filter "filter inside @ /tmp/user/work"
try between -e ntrace//u --filter "start inside @ /tmp/user/work, stop outside @ /tmp/user/work"
try from -e ntrace//u --filter "start outside @ /tmp/user/work"
busybox su user -c "perf record -B --no-bpf-event -o /tmp/user/user.data -m 16,256K -e ntrace//u -- sh -c 'echo user \$\$ >>/tmp/user/tids; exec /tmp/user/work 100'" 2>&1
cat /tmp/user/tids >>/out/tids
E2
"$top/tools/board/board" run --kernel "$kernel" --console "$tap_tmp/console" --out "$tap_tmp/guest" \
	--truth "$tap_tmp/truth" -- "$hide_symbols; sh /out/script" >"$tap_tmp/said" 2>"$tap_tmp/err"
sed 's/^/# /' "$tap_tmp/said"

# window WHAT NAMES KIND [ADDRESS [ADDRESS]]: check the trace of the program's code with window.c, and print the result
# WHAT. NAMES is a regular expression for the names of recordings, whose threads are checked. KIND and ADDRESS are
# arguments of window.c
make -s -C "$top/tools/board/model" O="$O" >&2 &&
	gcc -O2 -Wall -Wextra -I"$top/tools/board/model" -o "$tap_tmp/window" \
		"$top/tests/driver/window.c" "$O/board/model/libnbmodel.a" || exit 1
work=$O/tests/guest/$kernel/work
# shellcheck disable=SC2046
set -- $(readelf -lW "$work" | awk '$1 == "LOAD" && / R E / { print $3, $6 }')
code=$(printf '%x %x' "$1" $(($1 + $2)))
# address FUNCTION [end]: print the address at which FUNCTION begins, or ends
address() {
	riscv64-linux-gnu-nm -S "$work" | while read -r _from _size _ _function; do
		[ "$_function" != "$1" ] || printf '%x' $((0x$_from + (${2:+0x$_size} + 0)))
	done
}
window() {
	_what=$1 _name=$2; shift 2
	_tids=$(sed -n "s/^$_name //p" "$tap_tmp/guest/tids" | paste -s -d, -)
	# shellcheck disable=SC2086
	_said=$("$tap_tmp/window" "$tap_tmp/truth/hart0.truth" "$_tids" $code "$@" 2>&1) &&
		pass "$_what" || fail "$_what"
	figure "$_what: $_said"
}

window "address filter: each instruction of the function is traced" filter filter "$(address inside)" "$(address inside end)"
window "from start to stop: each instruction from the start to the stop is traced" between start "$(address inside)" "$(address outside)"
window "from a start on: each instruction from the start on is traced" from start "$(address outside)"
window "unprivileged: each instruction of the program is traced, and none of the kernel" user all
window "unprivileged: no instruction of another thread is traced" '[a-z]*' nobody
quiet "recorded"
plan $tap_n
done_testing
