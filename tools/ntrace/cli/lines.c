// SPDX-License-Identifier: GPL-2.0-only
/* Print lines of text, which several threads create in parallel, in the order of time (lines.h). */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "option.h"
#include "session/array.h"

#define SPILL	(4 << 20)	/* maximum size in bytes of the lines of a stretch that are stored in memory */
#define OUTPUT	(1 << 16)	/* number of bytes that are written together */

/* The header of each line that is stored until all lines are merged in the order of time */
struct line_head {
	uint64_t	time;
	uint32_t	len;
	int		cpu;
};

/* The finished lines of one CPU in one AUX buffer */
struct output {
	unsigned int	buffer;
	int		cpu;
	FILE		*file;
	uint64_t	time;		/* during the merge, time of the next line, ns */
	char		*line;
	size_t		room, len;
};

struct merge {
	NS_ARRAY(struct output) outputs;
	bool		direct;
	/*
	 * @begun is the number of stretches that have started; @turn is the number of the stretch
	 * whose lines are being printed
	 */
	uint64_t	begun, turn;
};

/* ---- Store or print the lines of one stretch ---- */

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

void lines_begin(struct lines *lines, int cpu)
{
	lines->cpu = cpu;
	lines->begin = lines->len;
	if (!lines->direct && reserve(lines, sizeof(struct line_head)))
		lines->len += sizeof(struct line_head);
}

/* Pass each line of a file to @take, together with the header of the line. */
static int each_line(FILE *from, int (*take)(void *ctx, const char *line, size_t size), void *ctx)
{
	struct line_head head;
	size_t room = 0;
	char *line = NULL, *more;
	int ret = 0;

	if (fflush(from) || fseek(from, 0, SEEK_SET))
		return -1;
	while (!ret && fread(&head, 1, sizeof(head), from) == sizeof(head)) {
		if (sizeof(head) + head.len > room) {
			room = 2 * (sizeof(head) + head.len);
			more = realloc(line, room);
			if (!more) {
				ret = -1;
				break;
			}
			line = more;
		}
		memcpy(line, &head, sizeof(head));
		if (fread(line + sizeof(head), 1, head.len, from) != head.len)
			ret = -1;
		else
			ret = take(ctx, line, sizeof(head) + head.len);
	}
	free(line);
	return ret || ferror(from) ? -1 : 0;
}

static bool printed;

bool lines_were_printed(void)
{
	return printed;
}

int lines_print(const char *text, size_t len)
{
	printed |= len;
	return !len || fwrite_unlocked(text, 1, len, stdout) == len ? 0 : -1;
}

static int print_file(FILE *from)
{
	char text[OUTPUT];
	size_t n;

	if (fflush(from) || fseek(from, 0, SEEK_SET))
		return -1;
	while ((n = fread(text, 1, sizeof(text), from))) {
		if (lines_print(text, n))
			return -1;
	}
	return ferror(from) ? -1 : 0;
}

/*
 * Return true if the lines of all earlier stretches were printed, so that the lines of this stretch
 * may be printed directly. First print the lines that this stretch has stored in a file.
 */
static bool is_turn(struct lines *l)
{
	if (!l->direct || l->nth != __atomic_load_n(&l->direct->turn, __ATOMIC_ACQUIRE))
		return false;
	if (l->spilled && print_file(l->spilled))
		l->failed = true;
	if (l->spilled)
		fclose(l->spilled);
	l->spilled = NULL;
	return true;
}

static int spill(struct lines *l)
{
	if (is_turn(l)) {
		l->failed = lines_print(l->text, l->len);
		l->len = 0;
		return l->failed ? -1 : 0;
	}
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
	struct line_head head = { .time = time, .cpu = lines->cpu };

	if (lines->failed)
		return -1;
	if (!lines->direct) {
		head.len = lines->len - lines->begin - sizeof(head);
		memcpy(lines->text + lines->begin, &head, sizeof(head));
	}
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
	/* the text did not fit into the buffer, for example because of a name with more than 500 characters */
	if (n < 0 || !reserve(lines, n + 1))
		return;
	va_start(ap, fmt);
	lines->len += vsnprintf(lines->text + lines->len, lines->room - lines->len, fmt, ap);
	va_end(ap);
}

void lines_add_text(struct lines *lines, const char *text)
{
	lines_add_bytes(lines, text, strlen(text));
}

char *lines_grow(struct lines *lines, size_t size)
{
	return reserve(lines, size) ? lines->text + lines->len : NULL;
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
		/* escape all bytes that are not ASCII, because file names need not be UTF-8, but JSON must be UTF-8 */
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

struct merge *merge_new(void)
{
	struct merge *merge = calloc(1, sizeof(*merge));

	if (!merge)
		refuse("out of memory");
	return merge;
}

void merge_free(struct merge *merge)
{
	unsigned int i;

	if (!merge)
		return;
	for (i = 0; i < merge->outputs.nr; i++) {
		fclose(merge->outputs.at[i].file);
		free(merge->outputs.at[i].line);
	}
	free(merge->outputs.at);
	free(merge);
}

static struct output *output_of(struct merge *merge, unsigned int buffer, int cpu)
{
	struct output new = { .buffer = buffer, .cpu = cpu }, *o = merge->outputs.at;

	for (; o < merge->outputs.at + merge->outputs.nr; o++) {
		if (o->buffer == buffer && o->cpu == cpu)
			return o;
	}
	new.file = tmpfile();
	if (new.file && ns_array_add(&merge->outputs, new))
		return &merge->outputs.at[merge->outputs.nr - 1];
	if (new.file)
		fclose(new.file);
	return NULL;
}

/* Write lines to the files of their CPUs. Consecutive lines of one CPU are written together. */
static int share_out(struct merge *merge, unsigned int buffer, const char *text, size_t len)
{
	struct line_head head;
	struct output *o;
	size_t at, n;
	int cpu;

	for (; len; text += at, len -= at) {
		memcpy(&head, text, sizeof(head));
		cpu = head.cpu;
		for (at = 0; at < len; at += n) {
			memcpy(&head, text + at, sizeof(head));
			if (head.cpu != cpu)
				break;
			n = sizeof(head) + head.len;
		}
		o = output_of(merge, buffer, cpu);
		if (!o || fwrite(text, 1, at, o->file) != at)
			return -1;
	}
	return 0;
}

struct sharing {
	struct merge	*merge;
	unsigned int	buffer;
};

static int share_line(void *ctx, const char *line, size_t size)
{
	const struct sharing *sharing = ctx;

	return share_out(sharing->merge, sharing->buffer, line, size);
}

static int share_out_file(struct merge *merge, unsigned int buffer, FILE *from)
{
	struct sharing sharing = { merge, buffer };

	return each_line(from, share_line, &sharing);
}

void merge_directly(struct merge *merge)
{
	merge->direct = true;
	setvbuf(stdout, NULL, _IOFBF, OUTPUT);
}

void merge_begin(struct merge *merge, struct lines *lines)
{
	lines->direct = merge->direct ? merge : NULL;
	lines->nth = merge->begun++;
}

static int print_turn(struct merge *merge, struct lines *lines)
{
	int err = lines->failed || !is_turn(lines) || lines->failed ||
		  lines_print(lines->text, lines->len) ? -1 : 0;

	__atomic_store_n(&merge->turn, lines->nth + 1, __ATOMIC_RELEASE);
	return err;
}

int merge_add(struct merge *merge, unsigned int buffer, struct lines *lines)
{
	if (lines->direct)
		return print_turn(merge, lines);
	if (lines->failed || (lines->spilled && share_out_file(merge, buffer, lines->spilled)))
		return -1;
	return share_out(merge, buffer, lines->text, lines->len);
}

/* Read the next line of a file, or set output::line to NULL at the end. */
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
	/* do not decrease the time, so that the lines of a CPU in a buffer keep their order */
	if (head.time > o->time)
		o->time = head.time;
	o->len = head.len;
	return fread_unlocked(o->line, 1, head.len, o->file) == head.len;
}

int merge_each(struct merge *merge, int (*take)(void *ctx, uint64_t time, void *line,
						size_t size), void *ctx)
{
	struct output *all = merge->outputs.at, *o, *first;
	int err;

	for (o = all; o < all + merge->outputs.nr; o++) {
		if (fflush(o->file) || fseek(o->file, 0, SEEK_SET) || !next_line(o))
			return -1;
	}
	while (1) {
		first = NULL;
		for (o = all; o < all + merge->outputs.nr; o++) {
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
	return lines_print(line, size);
}

int merge_print(struct merge *merge)
{
	return merge_each(merge, print_line, NULL) || fflush(stdout) || ferror(stdout) ? -1 : 0;
}
