# SPDX-License-Identifier: GPL-2.0-only
# Functions for tests of `ntrace gdb`. A test includes tap.sh first. The functions work in $tap_tmp.
# shellcheck shell=sh
build_tool
PATH=$O/root/bin:$PATH
need_tool gdb-multiarch gdb-multiarch
ntrace=$O/bin/ntrace
HOME=$tap_tmp
unset DEBUGINFOD_URLS
cd "$tap_tmp" || exit 1
: >results

# in_gdb SCRIPT N OPTION...: run tests/command/SCRIPT in the gdb that `ntrace gdb OPTION...` starts, and add its results to
# the file results. If there are less than N results, print the output of gdb.
in_gdb() {
	_script=$1 _n=$2; shift 2
	timeout 1800 "$ntrace" gdb "$@" -- -nx -batch -x "$top/tests/command/$_script" >in_gdb 2>&1
	grep -E '^(ok|not ok) - ' in_gdb >one
	[ "$(wc -l <one)" -ge "$_n" ] || sed 's/^/# /' in_gdb
	cat one >>results
}

# results N: report the results of all scripts, and check that there are at least N results
results() {
	while read -r line; do
		case $line in ok*) pass "${line#ok - }" ;; *) fail "${line#not ok - }" ;; esac
	done <results
	ok "gdb has made all checks" [ "$(wc -l <results)" -ge "$1" ]
}

# insns FILE OPTION...: write the address of each instruction of a recording to FILE
insns() { _file=$1; shift; "$ntrace" script --insns -F ip "$@" 2>/dev/null | awk '{ print $1 }' >"$_file"; }

# said SENTENCE FILE: check that FILE contains the sentence
said() { grep -qF -e "$1" "$2" || { cat "$2"; return 1; }; }
