#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run perf's exported-sql-viewer.py on a recording of the board. The windows of the viewer must show the branches that
# perf script prints, and the calls in the database.
. "$(dirname "$0")/../harness/tap.sh"
. "$top/tests/perf/database.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "the host's perf is built for x86-64"
python=$(db_qt_python) || skip_all "no PySide2: python3-pyside2.qtsql, python3-pyside2.qtwidgets, libqt5sql5-sqlite"
db_build >"$tap_tmp/build" 2>&1 || { tail -n 3 "$tap_tmp/build"; skip_all "no python3-dev"; }
make -C "$top" guest-tools plugin modules MVERS=6.12 >"$tap_tmp/make" 2>&1 &&
	"$top/tools/perf/build.sh" 6.12 riscv64 >>"$tap_tmp/make" 2>&1 || { tail -n 30 "$tap_tmp/make"; exit 1; }
plan 7

dir=$O/tests/perf-viewer
db=$dir/db
rm -rf "$dir" && mkdir -p "$dir/out"
# Keep the symbols, because perf treats each jump in code without symbols as a call. fib(10) makes 177 calls
cat >"$tap_tmp/fib.c" <<'E2'
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { return fib(10) != 55; }
E2
"${CROSS_COMPILE:-riscv64-linux-gnu-}gcc" -O1 -fno-inline -static -o "$dir/out/fib" "$tap_tmp/fib.c" || exit
cat >"$dir/out/record" <<'E2'
cd /tmp
export PERF_BUILDID_DIR=/tmp/debug
cp /out/fib .
perf --buildid-dir /tmp/debug record --kcore -m,4M -e ntrace// -o fib.data -- ./fib >/out/record.log 2>&1 || exit 1
cp -r fib.data debug /out
E2
ok "the board records the program and the kernel" "$top/tools/board/board" run --out "$dir/out" --timeout 500 -- sh /out/record
mkdir -p "$dir/symfs/tmp"
cp -a "$O/root/guest/." "$dir/symfs/"
cp "$O/perf/6.12/riscv64/perf" "$dir/symfs/usr/bin/perf"
cp "$dir/out/fib" "$dir/symfs/tmp/"
cp -a "$dir/out/debug" "$dir/symfs/.debug"

ok "export-to-sqlite.py" db_export "$db" --symfs "$dir/symfs" -i "$dir/out/fib.data"
view() { db_view "$python" "$db" "$dir/picture.png" >"$tap_tmp/view"; }
ok "exported-sql-viewer.py opens the database" view
"$db_perf" script --symfs "$dir/symfs" -i "$dir/out/fib.data" --itrace=b -F ip,addr 2>/dev/null |
	awk '{ print $1, $3 }' >"$tap_tmp/wanted"
db_view_branches <"$tap_tmp/view" >"$tap_tmp/got"
figure "$(grep -c '^branch' "$tap_tmp/view") branches, $(grep -c '^graph' "$tap_tmp/view") rows of the call graph," \
	"$(grep -c '^tree' "$tap_tmp/view") of the call tree"
ok "the viewer shows the branches that perf script prints" sh -c "[ -s '$tap_tmp/wanted' ] && cmp '$tap_tmp/wanted' '$tap_tmp/got'"

# Print the calls of each function. The first two levels of the tree are the program and the thread. The viewer omits
# kernel threads whose name perf did not record.
calls() {
	db_rows "$db" 'SELECT symbols.name, count(*) FROM calls INNER JOIN call_paths ON call_path_id = call_paths.id
		INNER JOIN symbols ON symbol_id = symbols.id WHERE comm_id > 0 GROUP BY symbols.name' | sort
}
is "the viewer's call graph has each call" \
	"$(awk -F '\t' '$1 == "graph" && $2 > 1 { n[$3] += $5 } END { for (f in n) print f, n[f] }' "$tap_tmp/view" | sort)" "$(calls)"
is "the viewer's call tree has each call" \
	"$(awk -F '\t' '$1 == "tree" && $2 > 1 { n[$3]++ } END { for (f in n) print f, n[f] }' "$tap_tmp/view" | sort)" "$(calls)"
is "the viewer's call tree has 177 calls of fib" "$(awk -F '\t' '$1 == "tree" && $2 > 1 && $3 == "fib"' "$tap_tmp/view" | grep -c .)" 177
done_testing
