#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Records of the flight recorder that are damaged, half-written or none at all.
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/flight.sh"
make -C "$top" tool >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
flight_build >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
ntrace=$O/bin/ntrace

damaged 400 "${SEED:-1}"
"$flight" record "$tap_tmp/record"
"$flight" half "$tap_tmp/half"
is "the cause" "$("$ntrace" flight -i "$tap_tmp/record" | head -n 1)" "cause    panic: it panics"
ok "a half-written header is said to be one" sh -c "'$ntrace' flight -i '$tap_tmp/half' 2>&1 | grep 'is half-written'"
head -c 70000 "$tap_tmp/record" >"$tap_tmp/short"
ok "a record that was cut short" sh -c "'$ntrace' flight -i '$tap_tmp/short' 2>&1 | grep 'was cut short'"
ok "another file" sh -c "'$ntrace' flight -i '$0' 2>&1 | grep 'this is no record'"
{ head -c 40960 /dev/zero; cat "$tap_tmp/record"; head -c 100 /dev/zero; } >"$tap_tmp/vmcore"
is "the record in a crash dump" "$("$ntrace" flight --vmcore "$tap_tmp/vmcore" | head -n 1)" "cause    panic: it panics"
ok "a crash dump without one" sh -c "'$ntrace' flight --vmcore /bin/sh 2>&1 | grep 'there is no record'"
ok "perf's own form of it is a recording" sh -c "cd '$tap_tmp' && '$ntrace' flight save -i record --no-kcore &&
	'$ntrace' script -i perf.flight.data 2>&1 | tail -n 1"
plan $tap_n
done_testing
