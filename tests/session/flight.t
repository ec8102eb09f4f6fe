#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Read records of the flight recorder that are damaged, incomplete or empty.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/flight.sh"
build_tool
flight_build >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
ntrace=$O/bin/ntrace

damaged 400 "${SEED:-1}"
"$flight" record "$tap_tmp/record"
"$flight" half "$tap_tmp/half"
is "flight prints the cause" "$("$ntrace" flight -i "$tap_tmp/record" | head -n 1)" "cause    panic: it panics"
ok "flight reports that an event of perf used a sink" sh -c "'$ntrace' flight -i '$tap_tmp/record' |
	grep '^trace  *ram1: .*, which a perf event used (perf, process 77)'"
ok "a record with a half-written header is reported" sh -c "'$ntrace' flight -i '$tap_tmp/half' 2>&1 | grep 'this record has no trace, because'"
head -c 70000 "$tap_tmp/record" >"$tap_tmp/short"
ok "a record that was cut short is reported" sh -c "'$ntrace' flight -i '$tap_tmp/short' 2>&1 | grep 'was cut short'"
ok "a file that is not a record is reported" sh -c "'$ntrace' flight -i '$0' 2>&1 | grep 'this is not a record'"
{ head -c 40960 /dev/zero; cat "$tap_tmp/record"; head -c 100 /dev/zero; } >"$tap_tmp/vmcore"
is "--vmcore finds the record in a crash dump" "$("$ntrace" flight --vmcore "$tap_tmp/vmcore" | head -n 1)" "cause    panic: it panics"
ok "a crash dump without a record is reported" sh -c "'$ntrace' flight --vmcore /bin/sh 2>&1 | grep 'has no record of a flight recorder'"
{ printf '\177ELF\2\1\1'; head -c 9 /dev/zero; printf '\4\0'; head -c 8192 /dev/zero; } >"$tap_tmp/core"
ok "a crash dump without a record: the message does not name reserved memory" \
	sh -c "'$ntrace' flight --vmcore '$tap_tmp/core' 2>&1 | grep 'a crash dump does not contain reserved memory'"
ok "a file that is not a crash dump is reported" \
	sh -c "! '$ntrace' flight --vmcore /bin/sh 2>&1 | grep 'a crash dump does'"
"$flight" core "$tap_tmp/core"
is "a crash dump with a record in several segments, and with a copy of another record" \
	"$("$ntrace" flight --vmcore "$tap_tmp/core" 2>&1 | head -n 1)" "cause    panic: it panics"
{ printf 'KDUMP   '; head -c 8192 /dev/zero; } >"$tap_tmp/kdump"
ok "a compressed crash dump is refused, and a message names the remedy" sh -c "'$ntrace' flight --vmcore '$tap_tmp/kdump' 2>&1 | grep 'makedumpfile -E'"
ok "crash dumps with random headers" "$flight" dumps 300
vmcore_build >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
for levels in 3 4 5; do
	mkdir "$tap_tmp/code$levels"
	ok "a crash dump with $levels levels of page tables: code and symbols are right, except for a module that the dump lacks" \
		"$vmcore" $levels "$tap_tmp/code$levels"
done
mkdir "$tap_tmp/damaged-code"
ok "crash dumps with damaged page tables are read without a crash" sh -c "'$vmcore' damage 30 '$tap_tmp/damaged-code' 2>/dev/null"
ok "records with right CRCs and hostile values are read without a crash" "$flight" hostile 400
ok "the end of the trace is found in rings whose sink was not stopped" "$flight" rings 1
ok "an event of perf with another ts_mode or a prescaler has no known frequency" "$flight" clocks 1
ok "flight calls of a folder that does not exist" sh -c "'$ntrace' flight calls -i '$tap_tmp/nothing' 2>&1 | grep 'nothing'"
# CPU 1 executes the same program as CPU 0, and starts 100 ns later
recording two-sources
is "flight calls: the heading of a CPU contains how long before the newest trace its trace ends" \
	"$("$ntrace" flight calls -n 1 -i "$tap_tmp/two-sources.data" | head -n 1 | sed "s|  *| |g")" "CPU 0, whose trace ends 100 ns before CPU 1 | CPU 1"
for wrong in 0 x -1 1001; do
	ok "calls -n $wrong" sh -c "'$ntrace' flight calls -n $wrong 2>&1 | grep 'from 1 to 1000'"
done
ok "flight -n without calls is refused" sh -c "'$ntrace' flight -n 3 -i '$tap_tmp/record' 2>&1 | grep 'is an option of .flight calls'"
ok "flight calls --clear is refused" sh -c "'$ntrace' flight calls --clear 2>&1 | grep 'has only the options -i and -n'"
ok "perf data can read a saved record" sh -c "cd '$tap_tmp' && '$ntrace' flight save -i record --no-kcore &&
	'$ntrace' script -i perf.flight.data 2>&1 | tail -n 1"
plan $tap_n
done_testing
