#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The code of machine mode must come from the file that --firmware names, because recordings do not
# name such a file.
. "$(dirname "$0")/../harness/tap.sh"
build_tool
cd "$tap_tmp" || exit 1
for at in 0x10000 0x8000; do
	"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -nostdlib -static -Wl,-Ttext=$at,--build-id=none -o calls-$at "$top/tests/perf/calls.S" || exit
done
# The recording no-maps lacks the maps of processes, so that no process has mapped the executed code.
for what in good no-maps; do python3 "$top/tests/perf/mkcalls.py" calls-0x10000 $what.data $what || exit 1; done

branches() { "$O/bin/ntrace" script -F ip,sym,addr -i "$@" 2>said; }
says() { # FILE SENTENCE
	branches no-maps.data --firmware "$1"
	[ $? -eq 2 ] && grep -q "$2" said
}
branches good.data >wanted

plan 5
is "without --firmware, code is missing" "$(branches no-maps.data | grep -c 'code 30: ')" 7
is "--firmware FILE: all branches, with symbols" "$(branches no-maps.data --firmware calls-0x10000 | sort)" "$(sort wanted)"
is "--firmware FILE@ADDRESS: the address is added" "$(branches no-maps.data --firmware calls-0x8000@0x8000 | sort)" "$(sort wanted)"
ok "a sentence says that the file does not exist" says nothing "firmware's file nothing does not exist"
ok "a sentence says that the file has no code" says wanted "firmware's code cannot be read from wanted: not an ELF file"
done_testing
