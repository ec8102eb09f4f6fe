# SPDX-License-Identifier: GPL-2.0-only
# A function that tests damaged records of the flight
# recorder. Source it after tap.sh.
# shellcheck shell=sh
flight=$tap_tmp/flight
flight_build() {
	${CC:-cc} -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -D_GNU_SOURCE -Wall \
		-I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" -I"$top/tools/ntrace" -o "$flight" \
		"$top/tests/session/flight.c" "$top/tools/ntrace/flight/save.c" "$top/tools/ntrace/cli/output.c" \
		"$top/tools/lib/session/file/perfdata-write.c" "$top/tools/lib/session/file/whole-file.c" \
		"$top/tools/lib/session/file/flight.c" "$top/tools/lib/session/file/flight-parts.c" "$top/tools/lib/session/file/flight-trace.c" "$top/tools/lib/session/file/dump.c" "$top/tools/lib/session/file/flight-dump.c" "$top/tools/lib/session/world/setup.c" "$O/lib/libntrace.a"
}

# damaged N SEED: read N damaged records without a crash, of which at most 1 % may be silently wrong
damaged() {
	ok "$1 damaged records are read without a crash" sh -c "'$flight' $1 $2 >'$tap_tmp/damaged'"
	_wrong=$(sed -n 's/.* wrong \([0-9]*\)$/\1/p' "$tap_tmp/damaged")
	figure "of $1 damaged records: $(cat "$tap_tmp/damaged")"
	ok "at most 1 % of damaged records are read wrongly without a message" [ "${_wrong:-$1}" -le $(($1 / 100)) ]
}

vmcore=$tap_tmp/vmcore-test
vmcore_build() {
	${CC:-cc} -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -Wall \
		-I"$top/include" -I"$top/include/uapi" -I"$top/tools/lib" -I"$top/tools/ntrace" -o "$vmcore" \
		"$top/tests/session/vmcore.c" "$top/tools/ntrace/flight/kernel.c" "$top/tools/ntrace/flight/running.c" \
		"$top/tools/ntrace/flight/vmcore.c" "$top/tools/lib/session/file/flight.c" "$top/tools/lib/session/file/flight-parts.c" "$top/tools/lib/session/file/flight-trace.c" "$top/tools/lib/session/file/dump.c" \
		"$top/tools/lib/session/world/setup.c" "$O/lib/libntrace.a"
}
