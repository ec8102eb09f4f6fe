# SPDX-License-Identifier: GPL-2.0-only
# TAP for shell tests: . "$(dirname "$0")/../harness/tap.sh"; plan N; ok "name" command...
# shellcheck shell=sh
top=$(cd "$(dirname "$0")/.." && pwd)
[ -f "$top/Kbuild" ] || top=$(cd "$top/.." && pwd)
O=${O:-$top/build}
export O
tap_n=0 tap_failed=0
tap_tmp=$(mktemp -d)
trap 'rm -rf "$tap_tmp"' EXIT

# tests/run starts two programs at a time, and both build in the same folder.
make() { mkdir -p "$O/tests" && flock "$O/tests" make "$@"; }

plan() { echo "1..$1"; }
skip_all() { echo "1..0 # SKIP $*"; exit 0; }
pass() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $*"; }
fail() { tap_n=$((tap_n + 1)); tap_failed=1; echo "not ok $tap_n - $*"; }
skip() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1 # SKIP $2"; }
# ok NAME COMMAND...: passes if COMMAND exits 0; its output is shown as comments
ok() {
	_name=$1; shift
	if "$@" >"$tap_tmp/out" 2>&1; then pass "$_name"; else fail "$_name"; fi
	sed 's/^/# /' "$tap_tmp/out"
}
# is NAME GOT WANTED
is() {
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1"; echo "# got:    $2"; echo "# wanted: $3"; fi
}
# out_files DIR: what the board's guest left in /out as files.tar. Each file that it makes there takes it as long as
# a megabyte in one file.
out_files() { tar -xf "$1/files.tar" -C "$1" && rm "$1/files.tar"; }
figure() { echo "# figure: $*"; }
done_testing() { [ "$tap_failed" -eq 0 ]; exit $?; }
