/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rows of one table, written straight into a database of SQLite ("Database File Format" of its documents).
 *
 * SQLite itself puts 2 to 4 million rows a second into a table, and takes 160 ns to be given the values of a row
 * of eight columns. Rows that come by their ids need none of what takes that long: their pages are written one
 * after the other. SQLite makes the file and the table before, and has to be closed meanwhile.
 */
#ifndef NTRACE_TOOL_SQLITE_ROWS_H
#define NTRACE_TOOL_SQLITE_ROWS_H

#include <stdint.h>

#define SQLITE_ROWS_PAGE	65536	/* PRAGMA page_size of the file */
#define SQLITE_ROWS_COLUMNS	15	/* without the id: the sizes of a row's parts are then one byte each */
#define SQLITE_ROWS_LEVELS	4

/* A page, and the last id in it or below it */
struct sqlite_child {
	uint32_t	page;
	uint64_t	last;
};

struct sqlite_rows {
	int		fd;
	uint32_t	root;		/* page of the table, which is empty */
	uint32_t	pages;		/* of the file */
	uint64_t	id;		/* of the last row */
	uint8_t		*leaf;
	uint32_t	nr, content;	/* rows in @leaf, and where the last one of them begins */
	struct {
		struct sqlite_child *at;
		uint32_t nr;
	} levels[SQLITE_ROWS_LEVELS];	/* pages that have no parent yet; leaves first */
};

/*
 * sqlite_rows_begin() - @fd is the file, which has @pages of SQLITE_ROWS_PAGE bytes
 * sqlite_rows_add() - the next row, whose id is one more; a column is NULL if its bit of @nulls is set
 * sqlite_rows_end() - the table is complete
 *
 * The table's first column is "id INTEGER PRIMARY KEY". Return: 0; -1: errno
 */
int sqlite_rows_begin(struct sqlite_rows *rows, int fd, uint32_t root, uint32_t pages);
int sqlite_rows_add(struct sqlite_rows *rows, const int64_t *columns, unsigned int nr, unsigned int nulls);
int sqlite_rows_end(struct sqlite_rows *rows);
void sqlite_rows_free(struct sqlite_rows *rows);

#endif /* NTRACE_TOOL_SQLITE_ROWS_H */
