// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does SQLite take what sqlite-rows.c writes? rows FILE ROWS...
 *
 * Each table of so many rows is read back by SQLite, which checks the whole file and adds another row.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sqlite-rows.h"

enum { A, B, C, COLUMNS };

/* All sizes of numbers that there are */
static int64_t column(uint64_t id, unsigned int nr)
{
	const int64_t bit = (int64_t)(UINT64_C(1) << id % 64);

	return nr == A ? (int64_t)id : nr == B ? -(int64_t)id * 1000003 : id % 3 ? bit - (id % 2) : ~bit;
}

static void execute(sqlite3 *db, const char *sql)
{
	char *error;

	if (!sqlite3_exec(db, sql, NULL, NULL, &error))
		return;
	printf("%s: %s\n", sql, error);
	exit(1);
}

static void write_rows(const char *name, uint64_t nr)
{
	struct sqlite_rows rows;
	int64_t columns[COLUMNS];
	int fd = open(name, O_RDWR), err;
	unsigned int i;
	uint64_t id;

	err = sqlite_rows_begin(&rows, fd, 2, 3);
	for (id = 1; !err && id <= nr; id++) {
		for (i = 0; i < COLUMNS; i++)
			columns[i] = column(id, i);
		err = sqlite_rows_add(&rows, columns, COLUMNS, id % 5 ? 0 : 1 << B);
	}
	if (err || sqlite_rows_end(&rows)) {
		perror(name);
		exit(1);
	}
	sqlite_rows_free(&rows);
	close(fd);
}

static bool same_row(sqlite3_stmt *s, uint64_t id)
{
	unsigned int i;

	if (sqlite3_column_int64(s, 0) != (int64_t)id)
		return false;
	for (i = 0; i < COLUMNS; i++) {
		if (i == B && id % 5 == 0 ? sqlite3_column_type(s, i + 1) != SQLITE_NULL :
					    sqlite3_column_int64(s, i + 1) != column(id, i))
			return false;
	}
	return true;
}

static void read_rows(sqlite3 *db, uint64_t nr)
{
	sqlite3_stmt *s;
	uint64_t id = 0;

	sqlite3_prepare_v2(db, "SELECT * FROM t", -1, &s, NULL);
	while (sqlite3_step(s) == SQLITE_ROW) {
		if (same_row(s, ++id))
			continue;
		printf("row %" PRIu64 " of %" PRIu64 " is wrong\n", id, nr);
		exit(1);
	}
	sqlite3_finalize(s);
	sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL);
	sqlite3_step(s);
	printf("%" PRIu64 " rows of %" PRIu64 ", the file is %s\n", id, nr, sqlite3_column_text(s, 0));
	if (id != nr || strcmp((const char *)sqlite3_column_text(s, 0), "ok"))
		exit(1);
	sqlite3_finalize(s);
}

int main(int argc, char **argv)
{
	sqlite3 *db;
	uint64_t nr;
	int i;

	for (i = 2; i < argc; i++) {
		nr = strtoull(argv[i], NULL, 0);
		unlink(argv[1]);
		sqlite3_open(argv[1], &db);
		execute(db, "PRAGMA page_size = 65536; CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c);"
			    "CREATE TABLE u (x)");
		sqlite3_close(db);
		write_rows(argv[1], nr);
		sqlite3_open(argv[1], &db);
		execute(db, "INSERT INTO u VALUES ('after'); INSERT INTO t VALUES (NULL, 1, 2, 3);"
			    "DELETE FROM t WHERE id = (SELECT max(id) FROM t)");
		read_rows(db, nr);
		sqlite3_close(db);
	}
	unlink(argv[1]);
	return argc < 3;
}
