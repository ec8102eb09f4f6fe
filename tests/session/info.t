#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ntrace info` prints how a recording was made, the threads, and the trace of each CPU, as text and as JSON.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/losses.sh"
build_tool
losses_build || exit 1
ntrace=$O/bin/ntrace
cd "$tap_tmp" || exit 1
losses_windows "1:01 0:01 1!:1 0:0r1 1:01 1!:0 0:01 0:01"

# describe CUT: add a host, a kernel and a command line of three words to the recording, without the last CUT bytes of
# the command line
describe() {
	python3 - "$1" <<-'P'
		import struct, sys
		cut = int(sys.argv[1])
		data = bytearray(open("windows.data", "rb").read())
		begin, size = struct.unpack_from("<QQ", data, 40)
		text = lambda word: struct.pack("<I", len(word) + 1) + word + b"\0"
		words = struct.pack("<I", 3) + text(b"perf") + text(b"re\"cord\xff") + text(b"--all")
		blobs = [text(b"board"), text(b"6.12.0"), words[:len(words) - cut]]
		at, table = begin + size + 16 * len(blobs), b""
		for blob in blobs:
		    table += struct.pack("<QQ", at, len(blob))
		    at += len(blob)
		data[72:104] = (1 << 3 | 1 << 4 | 1 << 11).to_bytes(32, "little")
		open("described.data", "wb").write(data[:begin + size] + table + b"".join(blobs))
	P
}
# values KEY NAME...: print the values with these NAMEs of each JSON object that has the KEY
values() {
	python3 -c 'import json, sys
for line in open("json"):
    o = json.loads(line)
    if sys.argv[1] in o: print(*(o[k] for k in sys.argv[2:]))' "$@"
}

plan 13
describe 0
"$ntrace" info -i described.data >text 2>err
"$ntrace" info --json -i described.data >json 2>json-err
is "the command line" "$(sed -n 's/^Command: //p' text)" "$(printf "perf 're\"cord\377' --all")"
is "the machine" "$(grep ^Recorded text)" "Recorded on board with Linux 6.12.0"
is "the rate of the trace" "$(grep -c '^An instruction takes [0-9.]* bits of trace, and a CPU writes [0-9.]* MB a second, so -m 1M holds [0-9.]* s$' text)" 1
is "the instructions of threads are those of report" "$(awk 'rows { n += $3 } /^ *ran / { rows = 1 } END { print n }' text)" \
	"$("$ntrace" report --functions -i described.data 2>/dev/null | awk '{ print $1; exit }')"
is "JSON has the same recording" "$(values host host kernel cpus buffers command)" \
	"board 6.12.0 2 2 ['perf', 're\"cord$(printf '\357\277\275')', '--all']"
is "JSON has the same threads" "$(values tid tid cpu instructions)" "$(sed -n 's/^ *[0-9.]* [mun]s *\([0-9]*\) *\([0-9]*\)  calls (\([0-9]*\)).*/\3 \2 \1/p' text)"
is "JSON has the same CPUs" "$(values reasons cpu instructions missing_instructions missing_bytes)" \
	"$(sed -n 's/^CPU \([0-9]*\): \([0-9]*\) instr.*/\1 \2/p; s/.* estimated \([0-9]*\) instructions and \([0-9]*\) bytes.*/\1 \2/p' text |
		awk 'NR < 3 { line[NR] = $0; next } { print line[NR - 2], $0 }')"
is "each loss has a reason" "$(python3 -c 'import json
print(all(sum(r["ns"] for r in o["reasons"]) == o["missing_ns"] for o in map(json.loads, open("json")) if "reasons" in o))')" True
ok "the messages are those of the text" cmp err json-err
is "--limit" "$("$ntrace" info --limit 1 -i described.data 2>/dev/null | grep -cE 'calls \(|^\.\.\. and 1 more')" 2
"$ntrace" slow outer -i described.data >slow-text 2>/dev/null
"$ntrace" slow outer --json -i described.data >json 2>/dev/null
is "slow --json has the number of calls" "$(values begin function calls)" "$(sed -n 's/^\(outer\) was called \([0-9]*\) time.*/\1 \2/p' slow-text)"
is "slow --json has the tree" "$(values depth function calls median_calls)" "$("$ntrace" slow outer --limit 0 -i described.data 2>/dev/null |
	awk 'tree { for (i = 9; i <= NF; i += 2) print $i, $3, $7 } / took .* calls / { tree = 1 }')"
describe 1
is "a command line that is cut short" "$("$ntrace" info -i described.data 2>/dev/null | sed -n 's/^Command: //p')" "$(printf "perf 're\"cord\377'")"
done_testing
