/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Print lines of text, which several threads create in parallel, in the order of time.
 *
 * Each stretch of a recording creates its lines in a struct lines. A buffer may have the trace of
 * several CPUs, and each CPU has its own stretches. The stretches of one CPU in one buffer follow
 * one another in time. After all lines were created, the lines of all buffers and CPUs are merged.
 * Lines that do not fit into memory are stored in unnamed files.
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
	struct merge *direct;	/* if lines are printed at once, the merge that prints them; NULL: lines are stored */
	uint64_t nth;		/* number of the stretch, from 0, in the order of the calls of merge_begin() */
	char	*text;
	size_t	len, room;
	size_t	begin;		/* offset in @text at which the current line starts */
	int	cpu;		/* CPU of the current line */
	FILE	*spilled;	/* file with the lines that precede those in @text; NULL: none */
	bool	failed;		/* out of memory or disk space, see errno */
};

/*
 * lines_begin() - start a line for @cpu; lines_end() - end the line, after the caller has added a
 * newline
 *
 * Return -1 on failure.
 */
void lines_begin(struct lines *lines, int cpu);
int lines_end(struct lines *lines, uint64_t time);

void lines_add(struct lines *lines, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void lines_add_text(struct lines *lines, const char *text);

/*
 * lines_room() - return memory into which the caller writes up to @size bytes of the current line, with
 * functions of put-text.h. Return NULL if out of memory; lines_end() then fails
 * lines_done() - add the bytes that the caller has written to the line; they end before @end
 * lines_grow() - allocate memory for lines_room(), its only caller
 *
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

/* lines_add_string() - add a JSON string with quotes; NULL becomes null */
void lines_add_string(struct lines *lines, const char *string);
void lines_free(struct lines *lines);

/* lines_print() - write text to the standard output. Return 0, or -1 with errno */
int lines_print(const char *text, size_t len);

/* lines_were_printed() - return true if lines_print() has written anything */
bool lines_were_printed(void);

/* merge_new() - create a merge. Return NULL after an error, which was reported. */
struct merge *merge_new(void);

/*
 * merge_directly() - print lines directly, and do not store them. Call this function first, and
 * only if the recording has one buffer of one CPU
 *
 * Lines are then printed as soon as the lines of all earlier stretches are printed.
 */
void merge_directly(struct merge *merge);

/*
 * merge_begin() - start to create the lines of a stretch (nt_stretch) in @lines
 *
 * Begin the stretches in the same order in which merge_add() is later called for them.
 */
void merge_begin(struct merge *merge, struct lines *lines);
void merge_free(struct merge *merge);

/*
 * merge_add() - add the lines of the next stretch of a buffer. Call this function when @lines has all lines
 * of the stretch. Return -1 with errno if writing failed.
 */
int merge_add(struct merge *merge, unsigned int buffer, struct lines *lines);

/*
 * merge_each() - pass all lines to @take, in the order of time
 *
 * @take returns 0 to continue. Return -1 with errno if reading failed.
 */
int merge_each(struct merge *merge, int (*take)(void *ctx, uint64_t time, void *line,
						size_t size), void *ctx);

/* merge_print() - print all lines. Return -1 with errno if writing or reading failed. */
int merge_print(struct merge *merge);

#endif /* NTRACE_TOOL_LINES_H */
