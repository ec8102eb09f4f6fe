#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The driver builds without a warning for each kernel that the archive at hand has, those that the
# board boots and the next one.
. "$(dirname "$0")/../harness/tap.sh"

builds() { # KERNEL [MAKE-ARGUMENTS]
	_kdir=$O/root/kernel-$1/build
	O="$tap_tmp/$1" KDIR="$_kdir" "$top/drivers/ntrace/build.sh" "$@" >"$tap_tmp/log" 2>&1 &&
		! grep -E '(warning|error):' "$tap_tmp/log" && [ -s "$tap_tmp/$1/drivers/$1/ntrace.ko" ]
}

plan 4
for kernel in 6.12 7.2 debug; do
	if [ -e "$O/root/kernel-$kernel/build" ]; then
		ok "for $kernel" builds "$kernel"
	else
		skip "for $kernel" "it is not set up; make setup"
	fi
done
# Prepared headers lack the list of the kernel's symbols.
"$top/tools/setup/setup" kernel-7.3 >"$tap_tmp/setup" 2>&1
if [ -e "$O/root/kernel-7.3/build" ]; then
	ok "for $(cat "$O/root/kernel-7.3/version")" builds 7.3 KBUILD_MODPOST_WARN=1
else
	skip "for 7.3" "$(tail -n 1 "$tap_tmp/setup")"
fi
done_testing
