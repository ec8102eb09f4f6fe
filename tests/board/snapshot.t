#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest that starts from a snapshot must equal a booted guest, except for its time, random numbers and files. If a
# snapshot cannot be used, the command prints one line with the reason, boots the guest, and succeeds.
. "$(dirname "$0")/../harness/tap.sh"
[ -x "$O/root/bin/qemu-system-riscv64" ] || skip_all "no QEMU; run make setup"
make -s -C "$top" O="$O" plugin >"$tap_tmp/make" 2>&1 || { plan 1; fail "the plugin builds"; done_testing; }
plan 23

# Use a separate build folder and cache for this test
mkdir -p "$tap_tmp/o/board" "$tap_tmp/o/tests/guest/6.12"
ln -s "$O/root" "$tap_tmp/o/root"
ln -s "$O/board/ntrace-board.so" "$tap_tmp/o/board/"
[ ! -e "$O/drivers" ] || ln -s "$O/drivers" "$tap_tmp/o/drivers"
export O="$tap_tmp/o" XDG_CACHE_HOME="$tap_tmp/cache" BOARD_BOOTS="$tap_tmp/boots"
unset BOARD_BOOT
board=$top/tools/board/board
store=$XDG_CACHE_HOME/ntrace/snapshot

# started - print how many guests booted and how many started from a snapshot since the last call of this function
started() { sort "$BOARD_BOOTS" | uniq -c | sed 's/^ *//' | paste -sd,; : >"$BOARD_BOOTS"; }

# with_error NAME TEXT COMMAND...: check that COMMAND, whose guest prints "ok", boots without a snapshot and
# prints one line on standard error, which contains TEXT
with_error() {
	_name=$1 _text=$2
	shift 2
	is "$_name: the run succeeds" "$("$@" -- echo ok 2>"$tap_tmp/err")" ok
	is "$_name: one line contains the reason for which the guest boots" "$(grep -c . "$tap_tmp/err") $(grep -c "no snapshot is used.*$_text" "$tap_tmp/err")" "1 1"
	sed 's/^/# /' "$tap_tmp/err"
}

# forge DIR: record the current sizes and dates of the snapshot's files, so that the board does not notice a change of
# these files
forge() { (cd "$1" && stat -c '%n %s %Y' memory state console >made); }

# These commands print the state of the guest, without dates and without the two ports that only a guest from a
# snapshot has.
# shellcheck disable=SC2016
look='uname -a; id; pwd; env | sort; cat /proc/cmdline; nproc; free -m | awk "NR == 2 { print \$2 }"
	ls /sys/bus/platform/devices /dev /sys/class | grep -v vport
	ls -ln / /root | awk "{ print \$1, \$3, \$4, \$9 }"; cut -d" " -f1 /proc/modules; sed "s/size=[0-9]*k,nr_inodes=[0-9]*,//" /proc/mounts
	find /usr/lib/ntrace /usr/bin /usr/lib/board -type f | sort | xargs sha256sum'

"$board" run -- "$look; cat /proc/sys/kernel/random/uuid >&2" >"$tap_tmp/one" 2>"$tap_tmp/uuid1" &
first=$!
before=$(date +%s)
"$board" run -- "$look; cat /proc/sys/kernel/random/uuid >&2; date +%s >&2; exit 7" >"$tap_tmp/two" 2>"$tap_tmp/uuid2"
is "a run that starts from a snapshot has the status of its command" $? 7
ok "another run that needs the same snapshot at the same time succeeds" wait $first
is "two runs that need the same snapshot at the same time make it once" "$(started)" "1 makes a snapshot,2 starts from a snapshot"
now=$(date +%s)
is "two runs from one snapshot have different random numbers" "$(sort -u "$tap_tmp/uuid1" "$tap_tmp/uuid2" | grep -c -- -)" 2
there=$(sed -n 2p "$tap_tmp/uuid2")
ok "the guest's clock has a time between start and end of the run" [ "$before" -le "$there" -a "$there" -le "$now" ]
"$board" run --boot-anew -- "$look" >"$tap_tmp/anew"
is "--boot-anew boots" "$(started)" "1 boots: --boot-anew: the user wants a boot (also BOARD_BOOT=anew)"
ok "a guest from a snapshot equals a guest that has booted" diff "$tap_tmp/anew" "$tap_tmp/one"
is "two guests from one snapshot are equal" "$(cmp "$tap_tmp/one" "$tap_tmp/two" 2>&1)" ""

echo 1 >"$O/tests/guest/6.12/new"
is "a file that make has built after the snapshot is in the guest" "$("$board" run -- cat /usr/lib/ntrace/new)" 1
is "a file that make has built needs no new snapshot" "$(started)" "1 starts from a snapshot"
ok "after detach, the guest has the files that make has built, and no folders of the host" "$board" run -- \
	'detach && ! grep 9p /proc/mounts && cat /usr/lib/ntrace/new'
is "a shell starts from the snapshot, and ends" "$("$top/tests/board/talk.py" shell "$board" shell | grep -c '42 1 harts') $(started)" \
	"1 2 starts from a snapshot"

snapshot=$(echo "$store"/*)
is "a wrong option of the trace hardware does not remove a snapshot" \
	"$("$board" run --model te.btm=maybe -- true 2>&1 | grep -c 'no snapshot'; ls "$snapshot/made")" "0
$snapshot/made"
BOARD_SNAPSHOT_SPACE=0 "$board" run --append quiet -- true
is "if all snapshots take too much space, the least recently used one is removed" \
	"$(ls "$store" | wc -l) $(ls -d "$snapshot" 2>/dev/null)" "1 "

snapshot=$(echo "$store"/*)
truncate -s 9000 "$snapshot/state"
: >"$BOARD_BOOTS"
with_error "a snapshot whose files were changed" "have changed since they were made" "$board" run --append quiet
# Another run may remove a snapshot while this run adds up the sizes of all snapshots
mkdir "$tap_tmp/bin"
printf '#!/bin/sh\nexit 1\n' >"$tap_tmp/bin/du"
chmod +x "$tap_tmp/bin/du"
ok "a snapshot that disappears while its size is measured does not end the run" env PATH="$tap_tmp/bin:$PATH" "$board" run --append quiet -- true
is "the next run makes the snapshot again" "$(started)" \
	"1 boots: the files of $snapshot have changed since they were made,1 makes a snapshot,1 starts from a snapshot"
truncate -s 9000 "$snapshot/state"
forge "$snapshot"
with_error "a snapshot that QEMU cannot load" "qemu-system-riscv64: " "$board" run --append quiet
is "a snapshot that QEMU cannot load is removed" "$(ls "$snapshot/made" 2>/dev/null)" ""
with_error "a cache that cannot be written" "cannot be written" env XDG_CACHE_HOME=/dev/null "$board" run
done_testing
