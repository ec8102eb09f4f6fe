// SPDX-License-Identifier: GPL-2.0-only
/* ntrace flight calls - print the last calls of each CPU side by side. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"
#include "cli/nothing.h"
#include "flight.h"
#include "session/array.h"
#include "session/flow/branch.h"

#define CELL_SIZE	256

/* A branch, with the data that is printed in its line */
struct call {
	uint64_t	time, from, to;
	uint64_t	from_space, to_space;
	int32_t		tid;
	char		comm[16];
};

/* The last calls of a CPU. @next is the index in @ring at which the next call is written. */
struct tail {
	int32_t		cpu;
	struct call	*ring;
	size_t		nr, next;
	struct call	last;		/* last branch of the CPU, even if it is not a call; time 0: none */
};

struct tails {
	size_t		wanted;		/* number of calls to print for each CPU */
	NS_ARRAY(struct tail) of;
};

struct flight_calls {
	struct nt_session *session;
	struct tails	all;
	bool		errors;
};

/* One stretch */
struct part {
	struct tails	tails;
	bool		errors;
};

/* ---- Collect the last calls of each CPU ---- */

static struct tail *tail_of(struct tails *tails, int32_t cpu)
{
	struct tail new = { .cpu = cpu };
	size_t i;

	for (i = 0; i < tails->of.nr; i++) {
		if (tails->of.at[i].cpu == cpu)
			return &tails->of.at[i];
	}
	new.ring = calloc(tails->wanted, sizeof(*new.ring));
	if (new.ring && ns_array_add(&tails->of, new))
		return &tails->of.at[tails->of.nr - 1];
	free(new.ring);
	return NULL;
}

static void tails_free(struct tails *tails)
{
	size_t i;

	for (i = 0; i < tails->of.nr; i++)
		free(tails->of.at[i].ring);
	free(tails->of.at);
}

static void add_call(struct tail *tail, size_t wanted, const struct call *call)
{
	tail->ring[tail->next] = *call;
	tail->next = (tail->next + 1) % wanted;
	if (tail->nr < wanted)
		tail->nr++;
}

/* Return the @nth call that is kept, the oldest first. */
static const struct call *nth_call(const struct tail *tail, size_t wanted, size_t nth)
{
	return &tail->ring[(tail->next + wanted - tail->nr + nth) % wanted];
}

static void *begin(void *ctx, uint64_t stretch)
{
	const struct flight_calls *c = ctx;
	struct part *part = calloc(1, sizeof(*part));

	if (part)
		part->tails.wanted = c->all.wanted;
	return part;
}

static int take(void *ctx, const struct nt_who *who, const struct nt_branch *branch)
{
	struct part *part = ctx;
	struct tail *tail = tail_of(&part->tails, who->cpu);
	struct call *last;

	if (!tail)
		return -1;
	last = &tail->last;
	*last = (struct call){
		.time = branch->time, .from = branch->from, .to = branch->to, .tid = who->tid,
		.from_space = nt_who_space(who, branch->from),
		.to_space = nt_who_space(who, branch->to),
	};
	strncpy(last->comm, who->comm, sizeof(last->comm) - 1);
	if (branch->kind == NT_BRANCH_CALL && !branch->flags)
		add_call(tail, part->tails.wanted, last);
	return 0;
}

static int note_error(void *ctx, const struct nt_who *who, const struct nt_item *item)
{
	struct part *part = ctx;

	part->errors = true;
	return 0;
}

/* Add the calls of a stretch. Stretches end in the order of time, so later calls are newer. */
static int end(void *ctx, void *ended, const struct nt_who *who, bool lost)
{
	struct flight_calls *c = ctx;
	struct part *part = ended;
	struct tail *from, *to;
	size_t i, k;
	int err = 0;

	c->errors |= part->errors || lost;
	for (i = 0; !err && i < part->tails.of.nr; i++) {
		from = &part->tails.of.at[i];
		to = tail_of(&c->all, from->cpu);
		err = to ? 0 : -1;
		for (k = 0; to && k < from->nr; k++)
			add_call(to, c->all.wanted, nth_call(from, c->all.wanted, k));
		if (to)
			to->last = from->last;
	}
	tails_free(&part->tails);
	free(part);
	return err;
}

/* ---- Print ---- */

static const char *symbol(struct nt_session *session, uint64_t space, uint64_t addr,
			  struct nt_place *place)
{
	nt_session_where(session, space, addr, place);
	return place->symbol ? place->symbol : "[unknown]";
}

static int put_head(char *cell, const struct call *call)
{
	return snprintf(cell, CELL_SIZE, "%" PRIu64 ".%06" PRIu64 " %s/%d  ", call->time / NS_PER_S,
			call->time % NS_PER_S / 1000, call->comm[0] ? call->comm : "?", call->tid);
}

static void put_call(const struct flight_calls *c, char *cell, const struct call *call)
{
	struct nt_place from, to;
	int at = put_head(cell, call);

	snprintf(cell + at, CELL_SIZE - at, "%s => %s",
		 symbol(c->session, call->from_space, call->from, &from),
		 symbol(c->session, call->to_space, call->to, &to));
}

/*
 * Print the place at which a CPU's trace ends, which is the destination of the CPU's last branch.
 */
static void put_end(const struct flight_calls *c, char *cell, const struct call *last)
{
	uint64_t addr = last->to ? last->to : last->from;
	uint64_t space = last->to ? last->to_space : last->from_space;
	struct nt_place place;
	const char *name = symbol(c->session, space, addr, &place);
	int at = put_head(cell, last);

	snprintf(cell + at, CELL_SIZE - at, "ends in %s+%#" PRIx64, name, place.offset);
}

/* Write the heading of a CPU's column, with the time by which its trace ends before the newest trace of all CPUs. */
static void put_heading(const struct flight_calls *c, char *cell, const struct tail *tail)
{
	const struct tail *newest = c->all.of.at, *t;
	char text[16];

	for (t = newest; t < c->all.of.at + c->all.of.nr; t++) {
		if (t->last.time > newest->last.time)
			newest = t;
	}
	if (newest->last.time > tail->last.time)
		snprintf(cell, CELL_SIZE, "CPU %d, whose trace ends %s before CPU %d", tail->cpu,
			 duration(newest->last.time - tail->last.time, text), newest->cpu);
	else
		snprintf(cell, CELL_SIZE, "CPU %d", tail->cpu);
}

/*
 * Fill a cell of a column. The first row is the heading, the last row is the end of the trace, and
 * the rows between are calls. The last calls of all CPUs are in the same row.
 */
static void fill_cell(const struct flight_calls *c, size_t column, size_t row, char *cell)
{
	const struct tail *tail = &c->all.of.at[column];
	size_t wanted = c->all.wanted, empty = wanted - tail->nr;

	*cell = '\0';
	if (!row)
		put_heading(c, cell, tail);
	else if (row == wanted + 1)
		put_end(c, cell, &tail->last);
	else if (row > empty)
		put_call(c, cell, nth_call(tail, wanted, row - 1 - empty));
}

static bool is_empty_row(const struct flight_calls *c, size_t row)
{
	size_t i;

	for (i = 0; i < c->all.of.nr; i++) {
		if (!row || row > c->all.wanted - c->all.of.at[i].nr)
			return false;
	}
	return true;
}

static int print_rows(const struct flight_calls *c, const int *widths)
{
	size_t columns = c->all.of.nr, row, i;
	char cell[CELL_SIZE];

	for (row = 0; row < c->all.wanted + 2; row++) {
		for (i = 0; !is_empty_row(c, row) && i < columns; i++) {
			fill_cell(c, i, row, cell);
			if (i + 1 < columns)
				printf("%-*s | ", widths[i], cell);
			else
				puts(cell);
		}
	}
	return 0;
}

static int print_calls(const struct flight_calls *c)
{
	int *widths = calloc(c->all.of.nr + 1, sizeof(*widths)), err;
	char cell[CELL_SIZE];
	size_t i, row;

	if (!widths) {
		perror("ntrace");
		return -1;
	}
	for (i = 0; i < c->all.of.nr; i++) {
		for (row = 0; row < c->all.wanted + 2; row++) {
			fill_cell(c, i, row, cell);
			if (widths[i] < (int)strlen(cell))
				widths[i] = strlen(cell);
		}
	}
	err = print_rows(c, widths);
	free(widths);
	return err;
}

static int by_cpu(const void *a, const void *b)
{
	const struct tail *x = a, *y = b;

	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static int decode(struct flight_calls *c, const struct recording_options *recording)
{
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin, .branch = take, .error = note_error,
		.end = end,
	};

	if (nt_session_branches(c->session, &sink, c))
		return recording_failed(c->session);
	if (!c->all.of.nr)
		return nothing_matched(recording, c->session, NULL);
	qsort(c->all.of.at, c->all.of.nr, sizeof(*c->all.of.at), by_cpu);
	if (print_calls(c))
		return EXIT_USAGE;
	return c->errors ? EXIT_TRACE : EXIT_CLEAN;
}

int flight_calls(const char *path, size_t wanted)
{
	struct flight_calls c = { .all.wanted = wanted };
	struct recording_options recording = { 0 };
	int status = EXIT_USAGE;

	recording_init(&recording);
	recording.input = path;
	c.session = recording_open(&recording);
	if (c.session) {
		status = decode(&c, &recording);
		recording_report(c.session);
	}
	tails_free(&c.all);
	nt_session_close(c.session);
	return status;
}
