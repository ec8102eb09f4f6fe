// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a table (chapter 1.6, "B-tree Pages"); numbers are big-endian:
 *
 *	leaf		0x0d, u16 free block, u16 rows, u16 where the rows begin, u8 fragments,
 *			u16 place of each row ... and from the end on the rows:
 *			size of the record, id, record
 *	above it	0x05, the same, u32 last child; u16 place of each cell ...
 *			u32 child, the last id below it
 *	record		size of its header, type of each column (chapter 2.1), columns
 *
 * Sizes and ids are varints: 7 bits a byte, the most significant ones first.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sqlite-rows.h"

#define PAGE		SQLITE_ROWS_PAGE
#define LEAF_HEADER	8
#define ABOVE_HEADER	12
#define ROW_MAX		(1 + 9 + 1 + 1 + SQLITE_ROWS_COLUMNS * 9)
#define CHILDREN	4096		/* of a page: a cell takes up to 15 bytes */
#define CHILDREN_MAX	(2 * CHILDREN)	/* so that no page has but one: SQLite takes that for damage */
#define LOCK_PAGE	((1 << 30) / PAGE + 1)	/* SQLite locks bytes of it, and never uses it */
#define SIZE_OFFSET	28		/* of the number of pages, in the file's header */

enum { TYPE_LEAF = 0x0d, TYPE_ABOVE = 0x05 };
enum { SERIAL_NULL = 0, SERIAL_48 = 5, SERIAL_64 = 6, SERIAL_0 = 8, SERIAL_1 = 9 };

static void put_u16(uint8_t *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, sizeof(value));
}

static void put_u32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

/* Ids are below 2^56. */
static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	unsigned int bytes = (63 - __builtin_clzll(value | 1)) / 7;

	for (; bytes; bytes--)
		*at++ = value >> 7 * bytes | 0x80;
	*at++ = value & 0x7f;
	return at;
}

/* ---- Records ---- */

/* Add a column: its type at @type, its bytes at @at, where 8 bytes may be written. Returns their end */
static uint8_t *put_column(uint8_t *type, uint8_t *at, int64_t value)
{
	/* types by the bytes that a number needs, and what they take */
	static const uint8_t types[] = { 0, 1, 2, 3, 4, SERIAL_48, SERIAL_48, SERIAL_64, SERIAL_64 };
	static const uint8_t sizes[] = { 0, 1, 2, 3, 4, 6, 6, 8, 8 };
	unsigned int bytes;

	if ((uint64_t)value <= 1) {
		*type = value ? SERIAL_1 : SERIAL_0;
		return at;
	}
	/* with the sign's bit */
	bytes = (64 - __builtin_clzll((value < 0 ? ~value : value) | 1)) / 8 + 1;
	*type = types[bytes];
	value = htobe64((uint64_t)value << (64 - 8 * sizes[bytes]));
	memcpy(at, &value, sizeof(value));
	return at + sizes[bytes];
}

/* ---- Pages ---- */

static int write_page(struct sqlite_rows *rows, uint32_t number, const uint8_t *page)
{
	size_t done = 0;
	ssize_t n;

	while (done < PAGE) {
		n = pwrite(rows->fd, page + done, PAGE - done, (off_t)(number - 1) * PAGE + done);
		if (n < 0)
			return -1;
		done += n;
	}
	return 0;
}

static uint32_t new_page(struct sqlite_rows *rows)
{
	rows->pages++;
	if (rows->pages == LOCK_PAGE)
		rows->pages++;
	return rows->pages;
}

/* The page is full, or the last one. What lies between the places and the rows does not matter, but is zero. */
static void end_leaf(struct sqlite_rows *rows)
{
	uint8_t *leaf = rows->leaf;
	size_t places = LEAF_HEADER + 2 * rows->nr;

	memset(leaf, 0, LEAF_HEADER);
	leaf[0] = TYPE_LEAF;
	put_u16(leaf + 3, rows->nr);
	/* 0 is 65536 */
	put_u16(leaf + 5, rows->content);
	memset(leaf + places, 0, rows->content - places);
	rows->nr = 0;
	rows->content = PAGE;
}

static int add_child(struct sqlite_rows *rows, unsigned int level, struct sqlite_child child);

/* Write the first @nr children of a level as one page. */
static int write_above(struct sqlite_rows *rows, unsigned int level, uint32_t nr, uint32_t number)
{
	const struct sqlite_child *children = rows->levels[level].at;
	uint8_t *page = calloc(1, PAGE), cell[16], *end;
	uint32_t content = PAGE, i;
	int err;

	if (!page) {
		errno = ENOMEM;
		return -1;
	}
	page[0] = TYPE_ABOVE;
	put_u16(page + 3, nr - 1);
	for (i = 0; i + 1 < nr; i++) {
		put_u32(cell, children[i].page);
		end = put_varint(cell + 4, children[i].last);
		content -= end - cell;
		memcpy(page + content, cell, end - cell);
		put_u16(page + ABOVE_HEADER + 2 * i, content);
	}
	put_u16(page + 5, content);
	put_u32(page + 8, children[nr - 1].page);
	err = write_page(rows, number, page);
	free(page);
	return err;
}

/* The first @nr children of a level get a parent. */
static int adopt(struct sqlite_rows *rows, unsigned int level, uint32_t nr)
{
	struct sqlite_child parent = { .page = new_page(rows), .last = rows->levels[level].at[nr - 1].last };

	if (write_above(rows, level, nr, parent.page))
		return -1;
	rows->levels[level].nr -= nr;
	memmove(rows->levels[level].at, rows->levels[level].at + nr,
		rows->levels[level].nr * sizeof(parent));
	return add_child(rows, level + 1, parent);
}

static int add_child(struct sqlite_rows *rows, unsigned int level, struct sqlite_child child)
{
	if (level == SQLITE_ROWS_LEVELS) {
		errno = EFBIG;
		return -1;
	}
	if (!rows->levels[level].at)
		rows->levels[level].at = malloc(CHILDREN_MAX * sizeof(child));
	if (!rows->levels[level].at) {
		errno = ENOMEM;
		return -1;
	}
	rows->levels[level].at[rows->levels[level].nr++] = child;
	return rows->levels[level].nr < CHILDREN_MAX ? 0 : adopt(rows, level, CHILDREN);
}

static int next_leaf(struct sqlite_rows *rows)
{
	const struct sqlite_child leaf = { .page = new_page(rows), .last = rows->id };

	end_leaf(rows);
	return write_page(rows, leaf.page, rows->leaf) ? -1 : add_child(rows, 0, leaf);
}

/* ---- Rows ---- */

int sqlite_rows_begin(struct sqlite_rows *rows, int fd, uint32_t root, uint32_t pages)
{
	*rows = (struct sqlite_rows){
		.fd = fd, .root = root, .pages = pages, .content = PAGE, .leaf = malloc(PAGE),
	};
	if (!rows->leaf)
		errno = ENOMEM;
	return rows->leaf ? 0 : -1;
}

int sqlite_rows_add(struct sqlite_rows *rows, const int64_t *columns, unsigned int nr, unsigned int nulls)
{
	uint8_t row[ROW_MAX], *record, *types, *at;
	size_t size;
	unsigned int i;

	record = put_varint(row + 1, rows->id + 1);
	types = record + 1;
	at = types + 1 + nr;
	*record = at - record;
	/* the id is not in the record */
	*types++ = SERIAL_NULL;
	for (i = 0; i < nr; i++) {
		if (nulls >> i & 1)
			types[i] = SERIAL_NULL;
		else
			at = put_column(&types[i], at, columns[i]);
	}
	row[0] = at - record;
	size = at - row;
	if (rows->content < LEAF_HEADER + 2 * (rows->nr + 1) + size && next_leaf(rows))
		return -1;
	rows->id++;
	rows->content -= size;
	memcpy(rows->leaf + rows->content, row, size);
	put_u16(rows->leaf + LEAF_HEADER + 2 * rows->nr++, rows->content);
	return 0;
}

/* Levels without a level above them have more than one child, as two pages at least were made of those below. */
static int end_levels(struct sqlite_rows *rows)
{
	unsigned int level;
	uint32_t nr;

	for (level = 0; level + 1 < SQLITE_ROWS_LEVELS; level++) {
		nr = rows->levels[level].nr;
		if (nr <= CHILDREN && !rows->levels[level + 1].nr)
			return write_above(rows, level, nr, rows->root);
		if (nr > CHILDREN && adopt(rows, level, nr / 2))
			return -1;
		if (adopt(rows, level, rows->levels[level].nr))
			return -1;
	}
	errno = EFBIG;
	return -1;
}

static int end_table(struct sqlite_rows *rows)
{
	if (rows->levels[0].nr)
		return next_leaf(rows) ? -1 : end_levels(rows);
	end_leaf(rows);
	return write_page(rows, rows->root, rows->leaf);
}

int sqlite_rows_end(struct sqlite_rows *rows)
{
	uint8_t size[4];

	if (end_table(rows))
		return -1;
	put_u32(size, rows->pages);
	return pwrite(rows->fd, size, sizeof(size), SIZE_OFFSET) == sizeof(size) ? 0 : -1;
}

void sqlite_rows_free(struct sqlite_rows *rows)
{
	unsigned int i;

	free(rows->leaf);
	for (i = 0; i < SQLITE_ROWS_LEVELS; i++)
		free(rows->levels[i].at);
}
