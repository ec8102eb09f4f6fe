# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh

# says STATUS SENTENCE COMMAND... - check that COMMAND exits with STATUS and prints SENTENCE
says() {
	wanted=$1 sentence=$2; shift 2
	"$@" >"$tap_tmp/said" 2>&1 </dev/null
	rc=$?
	cat "$tap_tmp/said"
	[ $rc -eq "$wanted" ] || { echo "exit status $rc, not $wanted"; return 1; }
	grep -qF -- "$sentence" "$tap_tmp/said"
}
