/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines of text that several threads make at once, printed in the order of time.
 *
 * Each stretch of a recording makes its lines in a struct lines. A buffer may have the trace of
 * several CPUs, each with stretches of its own; those of one CPU follow each other. The lines of all buffers and
 * CPUs are merged when all are done. What does not fit into memory waits
 * in files without a name.
 */
#ifndef NTRACE_TOOL_LINES_H
#define NTRACE_TOOL_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "put-text.h"

struct merge;

struct lines {
	struct merge *direct;	/* by merge_begin(): lines are printed as they stand; NULL: they wait, with heads */
	uint64_t nth;		/* stretch of that */
	char	*text;
	size_t	len, room;
	size_t	begin;		/* of the line that is being made */
	int	cpu;		/* that it is of */
	FILE	*spilled;	/* lines before those in @text; NULL: none */
	bool	failed;		/* no memory, or a full disk: errno says */
};

/* lines_begin() - a line of what @cpu executed begins; lines_end() - it is complete, newline included. -1: failed */
void lines_begin(struct lines *lines, int cpu);
int lines_end(struct lines *lines, uint64_t time);
/* lines_cancel() - there is no such line */
void lines_cancel(struct lines *lines);

void lines_add(struct lines *lines, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void lines_add_text(struct lines *lines, const char *text);

/*
 * lines_room() - where to write up to @size bytes of the line, by put-text.h; NULL: there is no memory, so
 * that lines_end() will fail. lines_done() - they end at @end
 */
char *lines_grow(struct lines *lines, size_t size);
static inline char *lines_room(struct lines *lines, size_t size)
{
	return lines->room - lines->len >= size ? lines->text + lines->len : lines_grow(lines, size);
}

static inline void lines_done(struct lines *lines, const char *end)
{
	lines->len = end - lines->text;
}

static inline void lines_add_bytes(struct lines *lines, const void *bytes, size_t size)
{
	char *at = lines_room(lines, size);

	if (at)
		lines_done(lines, put_bytes(at, bytes, size));
}

/* lines_add_string() - with quotes, as JSON wants it; NULL is null */
void lines_add_string(struct lines *lines, const char *string);
void lines_free(struct lines *lines);

/* lines_print() - write text to the standard output. Return 0; -1: errno */
int lines_print(const char *text, size_t len);

/* lines_were_printed() - return true if lines_print() has written anything */
bool lines_were_printed(void);

/* merge_new() - NULL: errno says why */
struct merge *merge_new(void);

/*
 * merge_directly() - to be called first if the recording has one buffer of one CPU: lines need not
 * wait for others, so that they go to the standard output when their stretch's turn has come
 */
void merge_directly(struct merge *merge);

/* merge_begin() - the lines of another stretch begin, in the order of merge_add() */
void merge_begin(struct merge *merge, struct lines *lines);
void merge_free(struct merge *merge);

/* merge_add() - the next stretch of a buffer. -1: writing failed, errno */
int merge_add(struct merge *merge, unsigned int buffer, struct lines *lines);

/*
 * merge_each() - give the lines to @take, which returns 0 to go on; the times that it gets never go
 * back. -1: reading failed, errno
 */
int merge_each(struct merge *merge, int (*take)(void *ctx, uint64_t time, void *line,
						size_t size), void *ctx);

/* merge_print() - to the standard output. -1: writing or reading failed, errno */
int merge_print(struct merge *merge);

#endif /* NTRACE_TOOL_LINES_H */
