#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compare the conversion of CoreSight frames with a separate formatter (tests/dialect/formatter.py).
. "$(dirname "$0")/../harness/tap.sh"
make -C "$top" lib tool >"$tap_tmp/make" 2>&1 || { cat "$tap_tmp/make"; exit 1; }
ntrace=$O/bin/ntrace
cd "$tap_tmp" || exit 1
elf=$top/samples/primes
nt=$top/samples/primes.nt

plan 15
# First run frames.py with a library that has sanitizers, and print its results.
"$top/tests/dialect/frames.py" "$O/lib/libntrace.so" 40 | grep -v '^1\.\.' >frames.tap
cat frames.tap
tap_n=$(grep -c '^ok\|^not ok' frames.tap)
grep -q '^not ok' frames.tap && tap_failed=1

# frames NAME ID=FILE...: write the file NAME with frames that contain these traces
frames() {
	name=$1; shift
	python3 - "$top/tests/dialect" "$name" "$@" <<-'EOT'
		import runpy, sys
		folder = sys.argv.pop(1)
		runpy.run_path(folder + '/formatter.py', run_name='__main__')
	EOT
}

frames two 3="$nt" 0x60="$nt" || exit 1
"$ntrace" decode --elf "$elf" --pcs "$nt" >want
"$ntrace" decode --elf "$elf" --pcs --frames=0x60 two >one
is "--frames=ID decodes what one source sent" "$(cksum <one)" "$(cksum <want)"
cat want want | sort >both
is "--frames decodes the trace of all IDs" "$("$ntrace" decode --elf "$elf" --pcs --frames two | sort | cksum)" "$(cksum <both)"
"$ntrace" dump "$nt" | sed 's/^/{96} /' >want
is "dump prints the ID of each message" "$("$ntrace" dump --frames two | grep '^{96}' | cksum)" "$(cksum <want)"

# If bytes are missing, the decoder must report an error, and must decode the data after them.
dd if=two of=damaged bs=1 count=200 2>/dev/null
tail -c +208 two >>damaged
"$ntrace" decode --elf "$elf" --stats --frames damaged >stats 2>errors
is "lost bytes: exit status" $? 1
ok "lost bytes: an error is reported" grep NT_E_FRAME_ID errors

# A buffer that has wrapped around may begin anywhere.
tail -c +6 two >cut
"$ntrace" decode --elf "$elf" --stats --frames cut >stats 2>errors
is "a buffer that begins inside a frame: the rest of that frame is skipped" "$(sed -n 's/.*inside a frame: \([0-9]*\) bytes.*/\1/p' errors)" 11
is "a buffer that begins inside a frame: decoding has no error" "$(awk '$1 == "errors" { print $2 }' stats)" 0
done_testing
