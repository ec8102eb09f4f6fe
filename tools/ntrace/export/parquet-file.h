/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write a table as a Parquet file. Debian 12 has no C library that can write this format.
 *
 * The rows of the current row group and all texts are stored in memory.
 */
#ifndef NTRACE_TOOL_PARQUET_FILE_H
#define NTRACE_TOOL_PARQUET_FILE_H

#include <stdint.h>
#include <stdio.h>

#define PARQUET_NULL	INT64_MIN	/* value for NULL, except in a column of PARQUET_UNSIGNED */
#define PARQUET_COLUMNS	16		/* maximum number of columns */

enum parquet_kind {
	PARQUET_NUMBER,		/* a number, stored as int64 */
	PARQUET_UNSIGNED,	/* a number, stored as uint64 */
	PARQUET_TEXT,		/* a text, whose value parquet_text() returns */
};

struct parquet_column {
	const char		*name;
	enum parquet_kind	kind;
};

struct parquet;

/* parquet_new() - start a table with @nr columns; @columns must stay valid. Return NULL if out of memory */
struct parquet *parquet_new(FILE *file, const struct parquet_column *columns, size_t nr);
void parquet_free(struct parquet *table);

/* parquet_text() - return the value of a text for parquet_row(), or PARQUET_NULL if @text is NULL */
int64_t parquet_text(struct parquet *table, const char *text);

/* parquet_row() - add a row with a value for each column. Return 0, or -1 with errno */
int parquet_row(struct parquet *table, const int64_t *values);

/* parquet_end() - write the rest of the file. Return 0, or -1 with errno */
int parquet_end(struct parquet *table);

#endif /* NTRACE_TOOL_PARQUET_FILE_H */
