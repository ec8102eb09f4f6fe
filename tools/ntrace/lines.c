// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

#define SPILL	(4 << 20)	/* bytes of a stretch that are kept in memory */

/* What stands before each line */
struct line_head {
	uint64_t	time;
	uint32_t	len;
};

/* ---- One stretch ---- */

static bool reserve(struct lines *l, size_t n)
{
	size_t room = 2 * l->room + n + 4096;
	char *text;

	if (l->len + n <= l->room)
		return true;
	text = l->failed ? NULL : realloc(l->text, room);
	if (!text) {
		l->failed = true;
		return false;
	}
	l->text = text;
	l->room = room;
	return true;
}

void lines_begin(struct lines *lines)
{
	lines->begin = lines->len;
	if (reserve(lines, sizeof(struct line_head)))
		lines->len += sizeof(struct line_head);
}

void lines_cancel(struct lines *lines)
{
	lines->len = lines->begin;
}

static int spill(struct lines *l)
{
	if (!l->spilled)
		l->spilled = tmpfile();
	if (!l->spilled || fwrite(l->text, 1, l->len, l->spilled) != l->len) {
		l->failed = true;
		return -1;
	}
	l->len = 0;
	return 0;
}

int lines_end(struct lines *lines, uint64_t time)
{
	struct line_head head = { .time = time };

	if (lines->failed)
		return -1;
	head.len = lines->len - lines->begin - sizeof(head);
	memcpy(lines->text + lines->begin, &head, sizeof(head));
	return lines->len < SPILL ? 0 : spill(lines);
}

void lines_add(struct lines *lines, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!reserve(lines, 512))
		return;
	va_start(ap, fmt);
	n = vsnprintf(lines->text + lines->len, lines->room - lines->len, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < lines->room - lines->len) {
		lines->len += n;
		return;
	}
	/* a name of more than 500 characters */
	if (n < 0 || !reserve(lines, n + 1))
		return;
	va_start(ap, fmt);
	lines->len += vsnprintf(lines->text + lines->len, lines->room - lines->len, fmt, ap);
	va_end(ap);
}

static void add_fill(struct lines *l, size_t n, char fill)
{
	if (!reserve(l, n))
		return;
	memset(l->text + l->len, fill, n);
	l->len += n;
}

void lines_add_text(struct lines *lines, const char *text)
{
	lines_add_bytes(lines, text, strlen(text));
}

void lines_add_right(struct lines *lines, const char *text, unsigned int width)
{
	size_t len = strlen(text);

	if (len < width)
		add_fill(lines, width - len, ' ');
	lines_add_bytes(lines, text, len);
}

void lines_add_left(struct lines *lines, const char *text, unsigned int width)
{
	size_t len = strlen(text);

	lines_add_bytes(lines, text, len);
	if (len < width)
		add_fill(lines, width - len, ' ');
}

void lines_add_hex(struct lines *lines, uint64_t value, unsigned int width)
{
	unsigned int digits = value ? (67 - __builtin_clzll(value)) / 4 : 1;
	size_t size = digits < width ? width : digits;
	char *at;

	if (!reserve(lines, size))
		return;
	memset(lines->text + lines->len, ' ', size - digits);
	lines->len += size;
	for (at = lines->text + lines->len; digits--; value >>= 4)
		*--at = "0123456789abcdef"[value & 15];
}

void lines_add_number(struct lines *lines, uint64_t value, unsigned int width, char fill)
{
	char digits[64];
	unsigned int n = sizeof(digits);

	do {
		digits[--n] = '0' + value % 10;
		value /= 10;
	} while (value);
	while (sizeof(digits) - n < width && n)
		digits[--n] = fill;
	lines_add_bytes(lines, digits + n, sizeof(digits) - n);
}

void lines_add_bytes(struct lines *lines, const void *bytes, size_t size)
{
	if (!reserve(lines, size))
		return;
	memcpy(lines->text + lines->len, bytes, size);
	lines->len += size;
}

void lines_add_string(struct lines *lines, const char *string)
{
	const unsigned char *c;

	if (!string) {
		lines_add(lines, "null");
		return;
	}
	lines_add(lines, "\"");
	for (c = (const unsigned char *)string; *c; c++) {
		if (*c == '"' || *c == '\\')
			lines_add(lines, "\\%c", *c);
		/* names of files need not be UTF-8, and JSON must */
		else if (*c < 0x20 || *c >= 0x7f)
			lines_add(lines, "\\u%04x", *c);
		else
			lines_add(lines, "%c", *c);
	}
	lines_add(lines, "\"");
}

void lines_free(struct lines *lines)
{
	if (lines->spilled)
		fclose(lines->spilled);
	free(lines->text);
	memset(lines, 0, sizeof(*lines));
}

/* ---- All buffers ---- */

/* The lines of one AUX buffer that are done */
struct output {
	FILE		*file;
	uint64_t	time;		/* of the next line, when they are merged */
	char		*line;
	size_t		room, len;
};

struct merge {
	unsigned int	nr;
	struct output	outputs[];
};

struct merge *merge_new(unsigned int buffers)
{
	struct merge *merge = calloc(1, sizeof(*merge) + buffers * sizeof(merge->outputs[0]));

	if (!merge)
		return NULL;
	for (; merge->nr < buffers; merge->nr++) {
		merge->outputs[merge->nr].file = tmpfile();
		if (!merge->outputs[merge->nr].file) {
			merge_free(merge);
			return NULL;
		}
	}
	return merge;
}

void merge_free(struct merge *merge)
{
	unsigned int i;

	if (!merge)
		return;
	for (i = 0; i < merge->nr; i++) {
		fclose(merge->outputs[i].file);
		free(merge->outputs[i].line);
	}
	free(merge);
}

static int copy(FILE *from, FILE *to)
{
	char buf[64 << 10];
	size_t n;

	if (fflush(from) || fseek(from, 0, SEEK_SET))
		return -1;
	while ((n = fread(buf, 1, sizeof(buf), from)) > 0) {
		if (fwrite(buf, 1, n, to) != n)
			return -1;
	}
	return ferror(from) ? -1 : 0;
}

int merge_add(struct merge *merge, unsigned int buffer, struct lines *lines)
{
	FILE *to = merge->outputs[buffer].file;

	if (lines->failed || (lines->spilled && copy(lines->spilled, to)))
		return -1;
	return !lines->len || fwrite(lines->text, 1, lines->len, to) == lines->len ? 0 : -1;
}

/* Read the next line of a buffer; without one, its line is NULL. */
static bool next_line(struct output *o)
{
	struct line_head head;
	char *line;

	o->len = 0;
	if (fread_unlocked(&head, 1, sizeof(head), o->file) != sizeof(head)) {
		free(o->line);
		o->line = NULL;
		return !ferror(o->file);
	}
	if (head.len > o->room || !o->line) {
		line = realloc(o->line, head.len + 1);
		if (!line)
			return false;
		o->line = line;
		o->room = head.len;
	}
	/* the lines of a buffer keep their order */
	if (head.time > o->time)
		o->time = head.time;
	o->len = head.len;
	return fread_unlocked(o->line, 1, head.len, o->file) == head.len;
}

int merge_each(struct merge *merge, int (*take)(void *ctx, uint64_t time, void *line,
						size_t size), void *ctx)
{
	struct output *all = merge->outputs, *o, *first;
	int err;

	for (o = all; o < all + merge->nr; o++) {
		if (fflush(o->file) || fseek(o->file, 0, SEEK_SET) || !next_line(o))
			return -1;
	}
	while (1) {
		first = NULL;
		for (o = all; o < all + merge->nr; o++) {
			if (o->line && (!first || o->time < first->time))
				first = o;
		}
		if (!first)
			return 0;
		err = take(ctx, first->time, first->line, first->len);
		if (err || !next_line(first))
			return err ? err : -1;
	}
}

static int print_line(void *ctx, uint64_t time, void *line, size_t size)
{
	return fwrite_unlocked(line, 1, size, stdout) == size ? 0 : -1;
}

int merge_print(struct merge *merge)
{
	return merge_each(merge, print_line, NULL) || fflush(stdout) ? -1 : 0;
}
