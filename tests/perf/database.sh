# SPDX-License-Identifier: GPL-2.0-only
# Export branches and calls to a database with the kernel's own script, and read the database with the kernel's
# viewer.
# shellcheck shell=sh

db_perf=$O/perf/new/x86_64-scripts/perf
db_scripts=$O/root/linux-new/tools/perf/scripts/python

# Build perf with Python support, which needs python3-dev
db_build() {
	[ -e "$(python3-config --includes 2>/dev/null | sed 's/^-I//;s/ .*//')/Python.h" ] || return
	SCRIPTS=1 "$top/tools/perf/build.sh" new x86_64
}

# db_export DATABASE OPTIONS...: export with Python's SQLite instead of Qt's SQLite, which may not be installed
db_export() {
	_db=$1; shift
	rm -f "$_db"
	PERF_EXEC_PATH=$O/root/linux-new/tools/perf PYTHONPATH=$top/tests/perf/qt PYTHONDONTWRITEBYTECODE=1 \
		"$db_perf" script "$@" --itrace=be -s "$db_scripts/export-to-sqlite.py" "$_db" branches calls
}

db_rows() { # DATABASE QUERY
	python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
	print(*row)' "$@"
}

# Print the name of a Python that has PySide2. The first python3 of a host may lack PySide2 if it is not the
# distribution's
db_qt_python() {
	for _python in python3 /usr/bin/python3; do
		"$_python" -c 'import PySide2.QtSql, PySide2.QtWidgets' 2>/dev/null || continue
		echo "$_python"
		return
	done
	return 1
}

db_view() { # PYTHON DATABASE PICTURE: print the contents of the viewer's windows
	"$1" "$top/tests/perf/viewer.py" "$db_scripts/exported-sql-viewer.py" "$2" "$3"
}

# Print the branches of a window in the form of `perf script -F ip,addr`, but without "=>"
db_view_branches() {
	awk -F '\t' '$1 == "branch" { n = split($8, w, " "); for (i = 1; i < n; i++) if (w[i] == "->") print w[1], w[i + 1] }'
}
