// SPDX-License-Identifier: GPL-2.0-only
/*
 * A Parquet file (github.com/apache/parquet-format, version 2.6) consists of pages and of a footer
 * that describes the pages:
 *
 *	"PAR1"  { [dictionary page] data page } of each column and row group  footer  size of the footer  "PAR1"
 *
 * The headers of pages and the footer are in Thrift's compact protocol. Pages are compressed by
 * zstd, with a checksum of zstd, because few readers check the CRC of a page. Numbers are stored as
 * differences (DELTA_BINARY_PACKED). A text is stored as the number of an entry in the dictionary
 * of its column (RLE_DICTIONARY).
 */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "bytes.h"
#include "cli/json-text.h"
#include "parquet-file.h"
#include "session/array.h"
#include "session/hash.h"

#define GROUP_ROWS	(1 << 18)
#define BLOCK		128		/* values per block of DELTA_BINARY_PACKED, each stored as a difference */
#define MINIBLOCKS	4
#define LEVEL		3		/* compression level of zstd */

/* Values that parquet.thrift defines */
enum {
	TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6, OPTIONAL = 1, CONVERTED_UTF8 = 0, CONVERTED_UINT_64 = 14,
	DATA_PAGE = 0, DICTIONARY_PAGE = 2, CODEC_ZSTD = 6,
	PLAIN = 0, RLE = 3, DELTA_BINARY_PACKED = 5, RLE_DICTIONARY = 8,
};

/* Types of fields that Thrift's compact protocol defines */
enum { T_I32 = 5, T_I64 = 6, T_BINARY = 8, T_LIST = 9, T_STRUCT = 12 };

struct thrift {
	struct bytes	bytes;
	/*
	 * @last has the number of the last field in each struct that is not complete yet; @depth is
	 * the number of these structs
	 */
	unsigned int	last[8], depth;
};

/* A column of a row group */
struct chunk {
	/* offsets of the dictionary page (0: none) and of the data page in the file */
	uint64_t	dictionary, data;
	/* uncompressed and compressed size of the dictionary page and the data page with their headers, in bytes */
	uint64_t	raw, packed;
	uint64_t	rows, nulls;
	int64_t		least, most;
};

struct text {
	char		*text;
	size_t		size;
	uint32_t	entry;			/* number in the current dictionary page, from 1; 0: not in it */
};

struct parquet {
	FILE		*file;
	uint64_t	offset, rows;
	const struct parquet_column *columns;
	size_t		nr_columns;
	int64_t		*values[PARQUET_COLUMNS];
	size_t		nr;			/* number of rows in the current row group */
	/* values of the current column, except those that are NULL; each text is the number of its dictionary entry */
	uint64_t	*packed;
	struct bytes	page, zstd;
	struct thrift	head;
	ZSTD_CCtx	*compress;
	NS_ARRAY(struct chunk) chunks;
	NS_ARRAY(struct text) texts;
	NS_ARRAY(uint32_t) dictionary;
	struct ns_hash	numbers;		/* hash table of @texts */
	bool		failed;			/* out of memory */
};

/* ---- Bytes ---- */

static void put_u32(struct bytes *b, uint32_t value)
{
	value = htole32(value);
	bytes_put(b, &value, sizeof(value));
}

static void put_zigzag(struct bytes *b, int64_t value)
{
	bytes_varint(b, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

/* ---- Thrift's compact protocol ---- */

static void put_field(struct thrift *t, unsigned int field, unsigned int type)
{
	uint8_t byte = (field - t->last[t->depth]) << 4 | type;

	bytes_put(&t->bytes, &byte, 1);
	t->last[t->depth] = field;
}

static void put_number_field(struct thrift *t, unsigned int field, unsigned int type, int64_t value)
{
	put_field(t, field, type);
	put_zigzag(&t->bytes, value);
}

static void put_binary(struct thrift *t, const void *bytes, size_t size)
{
	bytes_varint(&t->bytes, size);
	bytes_put(&t->bytes, bytes, size);
}

static void put_list(struct thrift *t, unsigned int field, unsigned int type, size_t nr)
{
	uint8_t byte = (nr < 15 ? nr : 15) << 4 | type;

	put_field(t, field, T_LIST);
	bytes_put(&t->bytes, &byte, 1);
	if (nr >= 15)
		bytes_varint(&t->bytes, nr);
}

static void begin_struct(struct thrift *t)
{
	t->last[++t->depth] = 0;
}

static void begin_struct_field(struct thrift *t, unsigned int field)
{
	put_field(t, field, T_STRUCT);
	begin_struct(t);
}

static void end_struct(struct thrift *t)
{
	bytes_put(&t->bytes, "", 1);
	t->depth--;
}

/* ---- Encode values as Parquet's bit-packed, hybrid and delta encodings ---- */

static unsigned int width_of(uint64_t most)
{
	return most ? 64 - __builtin_clzll(most) : 0;
}

/* Write the lower @width bits of each value. @nr must be a multiple of 8. */
static void put_bits(struct bytes *b, const uint64_t *values, size_t nr, unsigned int width)
{
	uint64_t word = 0, little;
	unsigned int used = 0;
	size_t i;

	if (!bytes_room(b, nr * width / 8 + 8))
		return;
	for (i = 0; i < nr; i++) {
		word |= values[i] << used;
		used += width;
		if (used < 64)
			continue;
		little = htole64(word);
		memcpy(b->at + b->nr, &little, 8);
		b->nr += 8;
		used -= 64;
		word = used ? values[i] >> (width - used) : 0;
	}
	little = htole64(word);
	memcpy(b->at + b->nr, &little, 8);
	b->nr += used / 8;
}

/*
 * Write values in groups of 8. If a value occurs 8 times or more one after the other, write the
 * value once with its number of occurrences.
 */
static void put_hybrid(struct bytes *b, const uint64_t *values, size_t nr, unsigned int width)
{
	size_t i, run, begin = 0;	/* @begin is the index of the first value that is not yet written */
	uint64_t last[8] = { 0 };
	uint32_t value;

	for (i = 0; i < nr; i += run) {
		for (run = 1; i + run < nr && values[i + run] == values[i]; run++)
			;
		if (run < 8 && i + 8 <= nr) {
			run = 8;
			continue;
		}
		if (begin < i) {
			bytes_varint(b, (i - begin) / 8 << 1 | 1);
			put_bits(b, values + begin, i - begin, width);
		}
		if (run >= 8) {
			value = htole32(values[i]);
			bytes_varint(b, run << 1);
			bytes_put(b, &value, (width + 7) / 8);
		} else {
			run = nr - i;
			memcpy(last, values + i, run * sizeof(*values));
			bytes_varint(b, 1 << 1 | 1);
			put_bits(b, last, 8, width);
		}
		begin = i + run;
	}
	if (begin < nr) {
		bytes_varint(b, (nr - begin) / 8 << 1 | 1);
		put_bits(b, values + begin, nr - begin, width);
	}
}

static void put_block(struct bytes *b, const uint64_t *values, size_t nr)
{
	uint64_t deltas[BLOCK] = { 0 }, all;
	uint8_t widths[MINIBLOCKS];
	int64_t least = INT64_MAX;
	size_t i, k;

	for (i = 0; i < nr; i++) {
		deltas[i] = values[i] - values[i - 1];
		least = (int64_t)deltas[i] < least ? (int64_t)deltas[i] : least;
	}
	for (i = 0; i < nr; i++)
		deltas[i] -= least;
	for (k = 0; k < MINIBLOCKS; k++) {
		all = 0;
		for (i = 0; i < BLOCK / MINIBLOCKS; i++)
			all |= deltas[k * (BLOCK / MINIBLOCKS) + i];
		widths[k] = width_of(all);
	}
	put_zigzag(b, least);
	bytes_put(b, widths, sizeof(widths));
	for (k = 0; k < MINIBLOCKS; k++)
		put_bits(b, deltas + k * (BLOCK / MINIBLOCKS), BLOCK / MINIBLOCKS, widths[k]);
}

static void put_deltas(struct bytes *b, const uint64_t *values, size_t nr)
{
	size_t i;

	bytes_varint(b, BLOCK);
	bytes_varint(b, MINIBLOCKS);
	bytes_varint(b, nr);
	put_zigzag(b, nr ? values[0] : 0);
	for (i = 1; i < nr; i += BLOCK)
		put_block(b, values + i, nr - i < BLOCK ? nr - i : BLOCK);
}

/* ---- Pages ---- */

static int no_memory(void)
{
	errno = ENOMEM;
	return -1;
}

static int write_bytes(struct parquet *p, const struct bytes *b)
{
	if (b->failed)
		return no_memory();
	p->offset += b->nr;
	return fwrite(b->at, 1, b->nr, p->file) == b->nr ? 0 : -1;
}

/* Write a page with its header, and add the size of the page to that of its chunk. */
static int write_page(struct parquet *p, struct chunk *chunk, unsigned int type, size_t nr, unsigned int encoding)
{
	struct thrift *head = &p->head;
	size_t size = 0;

	head->bytes.nr = p->zstd.nr = 0;
	if (!p->page.failed && bytes_room(&p->zstd, ZSTD_compressBound(p->page.nr)))
		size = ZSTD_compress2(p->compress, p->zstd.at, p->zstd.room, p->page.at, p->page.nr);
	if (!size || ZSTD_isError(size))
		return no_memory();
	p->zstd.nr = size;
	begin_struct(head);
	put_number_field(head, 1, T_I32, type);
	put_number_field(head, 2, T_I32, p->page.nr);
	put_number_field(head, 3, T_I32, size);
	begin_struct_field(head, type == DATA_PAGE ? 5 : 7);
	put_number_field(head, 1, T_I32, nr);
	put_number_field(head, 2, T_I32, encoding);
	if (type == DATA_PAGE) {
		put_number_field(head, 3, T_I32, RLE);
		put_number_field(head, 4, T_I32, RLE);
	}
	end_struct(head);
	end_struct(head);
	chunk->raw += head->bytes.nr + p->page.nr;
	chunk->packed += head->bytes.nr + size;
	return write_bytes(p, &head->bytes) || write_bytes(p, &p->zstd) ? -1 : 0;
}

/*
 * Start a page with the definition levels of a column, which are 0 for NULL. Copy the values that
 * are not NULL to @packed, and return their number.
 */
static size_t begin_page(struct parquet *p, size_t column, struct chunk *chunk)
{
	const bool nullable = p->columns[column].kind != PARQUET_UNSIGNED;
	const int64_t *values = p->values[column];
	uint32_t size;
	size_t i, nr;

	for (i = 0; i < p->nr; i++) {
		p->packed[i] = !nullable || values[i] != PARQUET_NULL;
		chunk->nulls += !p->packed[i];
	}
	p->page.nr = 0;
	put_u32(&p->page, 0);
	put_hybrid(&p->page, p->packed, p->nr, 1);
	size = htole32(p->page.nr - sizeof(size));
	if (p->page.at)
		memcpy(p->page.at, &size, sizeof(size));
	chunk->least = INT64_MAX;
	chunk->most = INT64_MIN;
	for (i = nr = 0; i < p->nr; i++) {
		if (nullable && values[i] == PARQUET_NULL)
			continue;
		p->packed[nr++] = values[i];
		chunk->least = values[i] < chunk->least ? values[i] : chunk->least;
		chunk->most = values[i] > chunk->most ? values[i] : chunk->most;
	}
	return nr;
}

/*
 * Write a dictionary of the texts in a column, and replace the values of the column by the numbers
 * of the dictionary entries.
 */
static int write_dictionary(struct parquet *p, size_t column, struct chunk *chunk)
{
	const int64_t *values = p->values[column];
	struct text *text;
	size_t i;

	p->dictionary.nr = p->page.nr = 0;
	for (i = 0; i < p->nr; i++) {
		text = values[i] == PARQUET_NULL ? NULL : &p->texts.at[values[i]];
		if (!text || text->entry)
			continue;
		if (!ns_array_add(&p->dictionary, values[i]))
			return no_memory();
		text->entry = p->dictionary.nr;
		put_u32(&p->page, text->size);
		bytes_put(&p->page, text->text, text->size);
	}
	chunk->dictionary = p->offset;
	return write_page(p, chunk, DICTIONARY_PAGE, p->dictionary.nr, PLAIN);
}

static int write_chunk(struct parquet *p, size_t column)
{
	struct chunk chunk = { .rows = p->nr };
	const bool text = p->columns[column].kind == PARQUET_TEXT;
	uint8_t width;
	size_t nr, i;

	if (text && write_dictionary(p, column, &chunk))
		return -1;
	nr = begin_page(p, column, &chunk);
	chunk.data = p->offset;
	if (text) {
		for (i = 0; i < nr; i++)
			p->packed[i] = p->texts.at[p->packed[i]].entry - 1;
		width = width_of(p->dictionary.nr) ?: 1;
		bytes_put(&p->page, &width, 1);
		put_hybrid(&p->page, p->packed, nr, width);
		for (i = 0; i < p->dictionary.nr; i++)
			p->texts.at[p->dictionary.at[i]].entry = 0;
	} else {
		put_deltas(&p->page, p->packed, nr);
	}
	if (write_page(p, &chunk, DATA_PAGE, p->nr, text ? RLE_DICTIONARY : DELTA_BINARY_PACKED))
		return -1;
	return ns_array_add(&p->chunks, chunk) ? 0 : no_memory();
}

static int write_group(struct parquet *p)
{
	size_t i;

	for (i = 0; p->nr && i < p->nr_columns; i++) {
		if (write_chunk(p, i))
			return -1;
	}
	p->rows += p->nr;
	p->nr = 0;
	return 0;
}

/* ---- Footer ---- */

static void put_schema(struct parquet *p, struct thrift *t)
{
	const struct parquet_column *c;

	put_list(t, 2, T_STRUCT, p->nr_columns + 1);
	begin_struct(t);
	put_field(t, 4, T_BINARY);
	put_binary(t, "ntrace", 6);
	put_number_field(t, 5, T_I32, p->nr_columns);
	end_struct(t);
	for (c = p->columns; c < p->columns + p->nr_columns; c++) {
		begin_struct(t);
		put_number_field(t, 1, T_I32, c->kind == PARQUET_TEXT ? TYPE_BYTE_ARRAY : TYPE_INT64);
		put_number_field(t, 3, T_I32, OPTIONAL);
		put_field(t, 4, T_BINARY);
		put_binary(t, c->name, strlen(c->name));
		if (c->kind != PARQUET_NUMBER)
			put_number_field(t, 6, T_I32, c->kind == PARQUET_TEXT ? CONVERTED_UTF8 : CONVERTED_UINT_64);
		end_struct(t);
	}
}

/*
 * Write the minimum and the maximum of a column. With them, a reader can skip a row group that has
 * no values for a query.
 */
static void put_statistics(struct thrift *t, const struct chunk *chunk)
{
	int64_t least = htole64(chunk->least), most = htole64(chunk->most);

	begin_struct_field(t, 12);
	put_number_field(t, 3, T_I64, chunk->nulls);
	put_field(t, 5, T_BINARY);
	put_binary(t, &most, sizeof(most));
	put_field(t, 6, T_BINARY);
	put_binary(t, &least, sizeof(least));
	end_struct(t);
}

static void put_chunk(struct thrift *t, const struct parquet_column *column, const struct chunk *chunk)
{
	const bool text = column->kind == PARQUET_TEXT;

	begin_struct(t);
	put_number_field(t, 2, T_I64, text ? chunk->dictionary : chunk->data);
	begin_struct_field(t, 3);
	put_number_field(t, 1, T_I32, text ? TYPE_BYTE_ARRAY : TYPE_INT64);
	put_list(t, 2, T_I32, text ? 3 : 2);
	put_zigzag(&t->bytes, RLE);
	put_zigzag(&t->bytes, text ? RLE_DICTIONARY : DELTA_BINARY_PACKED);
	if (text)
		put_zigzag(&t->bytes, PLAIN);
	put_list(t, 3, T_BINARY, 1);
	put_binary(t, column->name, strlen(column->name));
	put_number_field(t, 4, T_I32, CODEC_ZSTD);
	put_number_field(t, 5, T_I64, chunk->rows);
	put_number_field(t, 6, T_I64, chunk->raw);
	put_number_field(t, 7, T_I64, chunk->packed);
	put_number_field(t, 9, T_I64, chunk->data);
	if (text)
		put_number_field(t, 11, T_I64, chunk->dictionary);
	if (column->kind == PARQUET_NUMBER && chunk->nulls < chunk->rows)
		put_statistics(t, chunk);
	end_struct(t);
	end_struct(t);
}

static void put_group(struct parquet *p, struct thrift *t, const struct chunk *chunks)
{
	uint64_t raw = 0;
	size_t i;

	begin_struct(t);
	put_list(t, 1, T_STRUCT, p->nr_columns);
	for (i = 0; i < p->nr_columns; i++) {
		put_chunk(t, &p->columns[i], &chunks[i]);
		raw += chunks[i].raw;
	}
	put_number_field(t, 2, T_I64, raw);
	put_number_field(t, 3, T_I64, chunks->rows);
	end_struct(t);
}

int parquet_end(struct parquet *p)
{
	struct thrift *t = &p->head;
	size_t i;

	if (p->failed)
		return no_memory();
	if (write_group(p))
		return -1;
	t->bytes.nr = 0;
	begin_struct(t);
	put_number_field(t, 1, T_I32, 2);
	put_schema(p, t);
	put_number_field(t, 3, T_I64, p->rows);
	put_list(t, 4, T_STRUCT, p->chunks.nr / p->nr_columns);
	for (i = 0; i < p->chunks.nr; i += p->nr_columns)
		put_group(p, t, &p->chunks.at[i]);
	put_field(t, 6, T_BINARY);
	put_binary(t, "ntrace", 6);
	end_struct(t);
	put_u32(&t->bytes, t->bytes.nr);
	bytes_put(&t->bytes, "PAR1", 4);
	return write_bytes(p, &t->bytes);
}

/* ---- Create a file and add rows ---- */

struct parquet *parquet_new(FILE *file, const struct parquet_column *columns, size_t nr)
{
	struct parquet *p = calloc(1, sizeof(*p));
	bool ok = p;
	size_t i;

	if (!p)
		return NULL;
	p->file = file;
	p->columns = columns;
	p->nr_columns = nr;
	p->compress = ZSTD_createCCtx();
	p->packed = malloc(GROUP_ROWS * sizeof(*p->packed));
	for (i = 0; i < nr; i++) {
		p->values[i] = malloc(GROUP_ROWS * sizeof(*p->values[i]));
		ok &= !!p->values[i];
	}
	if (ok && p->packed && p->compress) {
		ZSTD_CCtx_setParameter(p->compress, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(p->compress, ZSTD_c_checksumFlag, 1);
		bytes_put(&p->head.bytes, "PAR1", 4);
		if (!write_bytes(p, &p->head.bytes))
			return p;
	}
	parquet_free(p);
	return NULL;
}

void parquet_free(struct parquet *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i < p->nr_columns; i++)
		free(p->values[i]);
	for (i = 0; i < p->texts.nr; i++)
		free(p->texts.at[i].text);
	ZSTD_freeCCtx(p->compress);
	free(p->packed);
	free(p->page.at);
	free(p->head.bytes.at);
	free(p->zstd.at);
	free(p->chunks.at);
	free(p->texts.at);
	free(p->dictionary.at);
	free(p->numbers.slots);
	free(p);
}

int64_t parquet_text(struct parquet *p, const char *text)
{
	struct text new = { .size = text ? strlen(text) : 0 };
	struct ns_hash_slot *slot;

	if (!text)
		return PARQUET_NULL;
	new.text = malloc(new.size + 1);
	if (new.text)
		utf8_copy(new.text, text, new.size);
	slot = new.text ? ns_hash_find(&p->numbers, ns_hash_mix(ns_hash_bytes(NS_HASH_START, new.text, new.size)),
				       p->texts.at[i].size == new.size &&
				       !memcmp(p->texts.at[i].text, new.text, new.size)) : NULL;
	if (slot && slot->index) {
		free(new.text);
		return slot->index - 1;
	}
	if (!slot || !ns_array_add(&p->texts, new)) {
		free(new.text);
		p->failed = true;
		return PARQUET_NULL;
	}
	ns_hash_set(&p->numbers, slot, p->texts.nr - 1);
	return p->texts.nr - 1;
}

int parquet_row(struct parquet *p, const int64_t *values)
{
	size_t i;

	if (p->failed)
		return no_memory();
	for (i = 0; i < p->nr_columns; i++)
		p->values[i][p->nr] = values[i];
	return ++p->nr == GROUP_ROWS ? write_group(p) : 0;
}
