#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ntrace record -o NAME` must keep an older recording NAME as NAME.old, and must rename it back if the new
# recording cannot start. tests/command/record.t records on the board.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
# shellcheck disable=SC2046
[ -e "$O/lib/libntrace-recorder.a" ] && gcc -D_GNU_SOURCE -Wall $(cat "$O/obj/libperf/cflags") -I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" \
	-o "$tap_tmp/kept" "$top/tests/command/kept.c" "$O/lib/libntrace-recorder.a" "$O/lib/libntrace-session.a" \
	"$O/lib/libntrace-elf.a" "$O/lib/libntrace.a" -ldw -lelf -lzstd -lpthread >"$tap_tmp/make" 2>&1 ||
	skip_all "this host has no libperf: $(head -n 1 "$tap_tmp/make")"
kept=$tap_tmp/kept
mkdir "$tap_tmp/there" && cd "$tap_tmp/there" || exit

# begin file|folder: remove everything, and make one recording, which is a file or a folder
begin() {
	rm -rf ./* && if [ "$1" = file ]; then echo before >rec; else mkdir -p rec/kcore_dir && echo before >rec/data; fi
}
content() { if [ -d "$1" ]; then cat "$1/data"; else cat "$1"; fi; }
# there NAME...: check that the folder has exactly these names
there() { [ "$(ls -A | xargs)" = "$*" ] || { ls -lA; return 1; }; }
renamed() {
	for was in file folder; do for is in file folder; do
		begin $was && "$kept" rec $is && there rec rec.old && [ "$(content rec.old)" = before ] && [ -z "$(content rec)" ] || return
	done; done
}
# Let two recordings fail, one after the other. Each renames the old recording, and renames it back when it fails. The
# old recording must remain
failed() {
	for was in file folder; do for is in file folder; do
		begin $was && "$kept" rec $is fails && "$kept" rec $is fails && there rec && [ "$(content rec)" = before ] || return
	done; done
}
nothing_left() { rm -rf ./* && "$kept" rec file fails && "$kept" rec folder fails && there; }
link() {
	begin file && mv rec real && ln -s real rec && "$kept" rec file && there real real.old rec && [ "$(cat real.old)" = before ] &&
		[ -L rec ] && "$kept" rec file fails && [ -L rec ] && [ -e real ]
}
device() { "$kept" /dev/null file fails && [ -c /dev/null ]; }
foreign() {
	begin folder && mkdir rec.old && echo mine >rec.old/mine
	"$kept" rec folder
	[ $? -eq 2 ] && there rec rec.old && [ "$(cat rec.old/mine)" = mine ] && [ "$(content rec)" = before ]
}

plan 6
ok "an older recording gets the name .old" renamed
ok "a recorder that cannot start, even twice, leaves the older recording its name" failed
ok "a recorder that cannot start leaves no file of its own" nothing_left
ok "a symbolic link stays, and the recording that it points to is kept" link
ok "a device as output is not removed" device
ok "a folder .old with other files is kept, and so is the recording" foreign
done_testing
