#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ntrace stat` must count exactly the messages that `ntrace dump` prints. The inputs are raw trace
# with each kind of message, trace that arrives in small pieces, trace of several sources, CoreSight
# frames, and recordings.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/session/says.sh"
command -v qemu-riscv64-static >/dev/null || skip_all "there is no qemu-riscv64-static"
make -C "$top" tool >"$tap_tmp/make" 2>&1 &&
	riscv64-linux-gnu-gcc -O2 -g -static -o "$tap_tmp/lines" "$top/tests/session/lines.c" &&
	calls_program &&
	"$top/tests/harness/pcs" "$tap_tmp/pcs" "$tap_tmp/lines" || { cat "$tap_tmp/make"; exit 1; }
ntrace=$O/bin/ntrace
cd "$tap_tmp" || exit

# same ENCODE... -- OPTION...: encode a trace with the options ENCODE, and compare stat with dump for each OPTION
same() {
	_options=
	while [ "$1" != -- ]; do _options="$_options $1"; shift; done
	shift
	# shellcheck disable=SC2086
	"$ntrace" encode --elf lines --pcs pcs -o t.nt $_options || return
	"$ntrace" dump "$@" t.nt >dump && "$ntrace" stat --json "$@" t.nt >stat.json &&
		"$ntrace" decode --elf lines "$@" t.nt >ranges && python3 "$top/tests/command/stat.py" stat.json t.nt dump ranges
}
# Read trace from a pipe in small pieces with random borders, and after idle bytes
pieces() {
	"$ntrace" encode --elf lines --pcs pcs -o t.nt --timestamp || return
	{ printf '\377\377\377'; cat t.nt; printf '\377'; } >idle.nt
	"$ntrace" dump --timestamp idle.nt >dump
	python3 -c 'import os, sys
data = open("idle.nt", "rb").read()
for i in range(0, len(data), 7): os.write(1, data[i:i + 7])' | "$ntrace" stat --json --timestamp - >stat.json &&
		python3 "$top/tests/command/stat.py" stat.json idle.nt dump &&
		"$ntrace" stat --timestamp idle.nt | grep -q '^  idle  *4$'
}
# Count lost messages. An Error message reports the loss when the encoder's FIFO overflows
losses() {
	"$ntrace" encode --elf lines --pcs pcs -o t.nt --fifo-depth 64 --fifo-rate 8 || return
	"$ntrace" dump t.nt >dump && "$ntrace" stat --json t.nt >stat.json && python3 "$top/tests/command/stat.py" stat.json t.nt dump &&
		"$ntrace" stat t.nt | grep '^Error messages  *[1-9]' && "$ntrace" stat t.nt | grep '7 Restart from FIFO overrun  *[1-9]'
}
# Count the messages of two sources in one stream, and of one source alone
sources() {
	for src in 1 2; do "$ntrace" encode --elf lines --pcs pcs -o s$src.nt --src-bits 4 --src $src || return; done
	cat s1.nt s2.nt >both.nt
	"$ntrace" stat --src-bits 4 both.nt >text && grep '^source [12] ' text
	[ "$(grep -c '^source [12] ' text)" -eq 2 ] || return
	n=$("$ntrace" dump --src-bits 4 s1.nt | wc -l)
	[ "$("$ntrace" stat --src-bits 4 --src 2 both.nt | awk '$1 == "all" { print $2 }')" -eq "$n" ] &&
		"$ntrace" stat --src-bits 4 --src 2 both.nt | grep -q "of other sources  *$(wc -c <s1.nt)$"
}
frames() {
	python3 "$top/tests/dialect/formatter.py" framed 16=s1.nt 17=s2.nt || return
	"$ntrace" stat --frames --src-bits 4 framed >text && grep -A1 '^trace ID' text
	[ "$(grep -c "^bytes  *$(wc -c <s1.nt)$" text)" -eq 2 ] && grep -q '^all$' text
}
# Count invalid messages, of which dump must print the same number
damage() {
	{ head -c 300 t.nt; printf '\002\002\002\377'; tail -c +301 t.nt; } >bad.nt
	"$ntrace" dump bad.nt >dump
	says 1 "of messages that are not valid" "$ntrace" stat bad.nt &&
		[ "$("$ntrace" stat --json bad.nt | python3 -c 'import json, sys; print(json.load(sys.stdin)["invalid"])')" -eq "$(grep -c ': error' dump)" ]
}

# value KEY OPTION...: print the value of KEY in the output of stat --json OPTION
value() {
	_key=$1; shift
	"$ntrace" stat --json "$@" 2>err | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$_key"
}
make_recording() { python3 "$top/tests/perf/mkcalls.py" calls "$2.data" "$1"; }
# Count the messages of a recording for each CPU, which must equal the number that dump prints
recording() {
	make_recording good good && make_recording lost-elsewhere two || return
	"$ntrace" dump good.data >dump
	[ "$(value messages good.data)" -eq "$(wc -l <dump)" ] && [ "$(value tstamps good.data)" -eq "$(grep -c TSTAMP dump)" ] || return
	"$ntrace" stat two.data >text
	grep -E '^(CPU|all|stretches)' text
	[ "$(grep -c '^CPU [01]$' text)" -eq 2 ] || return
	for cpu in 0 1; do
		[ "$("$ntrace" stat --cpu $cpu two.data | awk '$1 == "all" { print $2 }')" -eq "$("$ntrace" dump --cpu $cpu two.data | grep -vc ': error')" ] || return
	done
	[ "$(value losses two.data)" -eq 1 ]
}
# Print the times of the first and the last message
seconds() {
	first=$("$ntrace" script -F time -i good.data | awk 'NR == 1 { print $1 }')
	"$ntrace" stat good.data | grep '^time' | grep -F " ${first%:} to"
}

plan 16
ok "HTM" same --
ok "HTM, timestamps" same --timestamp --timestamp-step 77 -- --timestamp
ok "BTM, timestamps" same --mode btm --timestamp -- --timestamp
ok "RepeatBranch counts the instructions of the branches that it repeats" same --mode btm --repeat-branch --
ok "repeated history and a short I-CNT" same --repeated-history --icnt-bits 8 --
ok "synchronising messages" same --sync-mode 1 --sync-max 2 --timestamp -- --timestamp
ok "SiFive's messages from before N-Trace 1.0" same --dialect sifive -- --dialect sifive
ok "small pieces of a pipe, and idle bytes" pieces
ok "Error messages and overruns" losses
ok "two sources, and one of them alone" sources
ok "trace IDs of frames" frames
ok "messages that are not valid" damage
ok "recordings, CPU by CPU" recording
ok "time of a recording" seconds
ok "--cpu with a CPU without trace" says 1 "has no trace of CPU 9" "$ntrace" stat --cpu 9 two.data
full() { "$ntrace" stat t.nt >/dev/full; }
ok "a full disk" says 2 "No space left on device" full
done_testing
