// SPDX-License-Identifier: GPL-2.0-only
/* Functions that all kinds of `ntrace script` use. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/put-text.h"
#include "ntrace.h"
#include "script.h"

/* ---- Text ---- */

static void find_place(const struct script_part *p, struct script_place *at, uint64_t space, uint64_t addr)
{
	struct nt_place *place = &at->place;

	nt_session_where(p->script->session, space, addr, place);
	at->space = space;
	at->addr = addr;
	at->symbol_len = place->symbol ? strlen(place->symbol) : 0;
	at->object_len = place->object ? strlen(place->object) : 0;
}

const struct script_place *script_find_place(struct script_part *p, enum script_column column,
					     const struct nt_who *who, uint64_t addr)
{
	struct script_place *at = &p->places[column][(addr >> 1 ^ addr >> 11) % SCRIPT_PLACES];
	uint64_t space = nt_who_space(who, addr);

	if (at->addr != addr || at->space != space)
		find_place(p, at, space, addr);
	return at;
}

static char *put_symbol(const struct script *s, char *to, const struct script_place *at)
{
	*to++ = ' ';
	if (!at->place.symbol)
		return PUT(to, "[unknown]");
	to = put_bytes(to, at->place.symbol, at->symbol_len);
	if (!script_has(s, F_SYMOFF))
		return to;
	to = PUT(to, "+0x");
	return to + sprintf(to, "%" PRIx64, at->place.offset);
}

static char *put_object(char *to, const struct script_place *at)
{
	to = PUT(to, " (");
	if (at->place.object)
		to = put_bytes(to, at->place.object, at->object_len);
	else
		to = PUT(to, "[unknown]");
	return PUT(to, ")");
}

char *script_put_names(const struct script *s, char *to, const struct script_place *at)
{
	if (script_has(s, F_SYM))
		to = put_symbol(s, to, at);
	return script_has(s, F_DSO) ? put_object(to, at) : to;
}

static void add_ids(struct lines *l, const struct script *s, const struct nt_who *who)
{
	if (script_has(s, F_COMM) && who->comm[0])
		lines_add(l, "%16s ", who->comm);
	else if (script_has(s, F_COMM))
		lines_add(l, "%*s:%d ", who->tid < 10 ? 14 : who->tid < 100 ? 13 : 12, "", who->tid);
	if (script_has(s, F_PID) && script_has(s, F_TID))
		lines_add(l, "%7d/%-7d ", who->pid, who->tid);
	else if (script_has(s, F_PID) || script_has(s, F_TID))
		lines_add(l, "%7d ", script_has(s, F_PID) ? who->pid : who->tid);
	if (script_has(s, F_CPU))
		lines_add(l, "[%03d] ", who->cpu);
}

/*
 * Add the columns of name, process, thread and CPU. Cache the text of these columns, because most
 * lines have the same thread as the previous line.
 */
static void add_same_ids(struct script_part *p, const struct nt_who *who)
{
	struct script_ids *ids = &p->ids;
	size_t at = p->lines.len;

	if (ids->len && ids->pid == who->pid && ids->tid == who->tid && ids->cpu == who->cpu &&
	    ids->comm == who->comm) {
		lines_add_bytes(&p->lines, ids->text, ids->len);
		return;
	}
	add_ids(&p->lines, p->script, who);
	ids->pid = who->pid;
	ids->tid = who->tid;
	ids->cpu = who->cpu;
	ids->comm = who->comm;
	ids->len = 0;
	if (p->lines.failed || p->lines.len - at > sizeof(ids->text))
		return;
	ids->len = p->lines.len - at;
	memcpy(ids->text, p->lines.text + at, ids->len);
}

/* Add the column of the time. Cache its text, because a message has several branches with the same time. */
static void add_time(struct script_part *p, uint64_t time)
{
	struct script_ids *ids = &p->ids;
	char *at = ids->time_text;

	if (!ids->time_len || ids->time != time) {
		at = put_filled(at, time / NS_PER_S, 5, ' ');
		at = PUT(put_digits(PUT(at, "."), time % NS_PER_S), ": ");
		ids->time = time;
		ids->time_len = at - ids->time_text;
	}
	lines_add_bytes(&p->lines, ids->time_text, ids->time_len);
}

void script_add_who(struct script_part *p, const struct nt_who *who, uint64_t time)
{
	add_same_ids(p, who);
	if (script_has(p->script, F_TIME))
		add_time(p, time);
}

void script_json_who(struct script_part *p, const struct nt_who *who, uint64_t time)
{
	lines_add(&p->lines, "{\"time\": %" PRIu64 ", \"cpu\": %d, \"pid\": %d, \"tid\": %d, \"comm\": ",
		  time, who->cpu, who->pid, who->tid);
	lines_add_string(&p->lines, who->comm);
}

void script_json_place(struct script_part *p, const char *name, enum script_column column,
		       const struct nt_who *who, uint64_t addr)
{
	const struct nt_place *place = &script_place(p, column, who, addr)->place;

	lines_add(&p->lines, ", \"%s\": {\"address\": \"%#" PRIx64 "\", \"symbol\": ", name, addr);
	lines_add_string(&p->lines, place->symbol);
	lines_add(&p->lines, ", \"offset\": %" PRIu64 ", \"object\": ", place->offset);
	lines_add_string(&p->lines, place->object);
	lines_add(&p->lines, "}");
}

/* ---- Errors ---- */

static int json_error(struct script_part *p, const struct nt_who *who, const char *text,
		      uint64_t offset)
{
	script_json_who(p, who, who->time);
	lines_add(&p->lines, ", \"error\": ");
	lines_add_string(&p->lines, text);
	lines_add(&p->lines, ", \"offset\": %" PRIu64 "}\n", offset);
	return lines_end(&p->lines, who->time);
}

static void add_error(struct script_part *p, const struct nt_who *who)
{
	lines_add(&p->lines, " instruction trace error type 1 time " TIME_FORMAT " cpu %d pid %d tid %d",
		  TIME_ARGS(who->time), who->cpu, who->pid, who->tid);
}

static int say_lost(struct script_part *p, const struct nt_who *who)
{
	lines_begin(&p->lines, who->cpu);
	if (p->script->json)
		return json_error(p, who, who->busy ? "another program used the sink" :
						      "trace was lost", 0);
	add_error(p, who);
	lines_add(&p->lines, who->busy ?
		  " ip 0 code 5: another program used the sink: trace is missing\n" :
		  " ip 0 code 1: trace was lost (try perf record -m,SIZE)\n");
	return lines_end(&p->lines, who->time);
}

int script_line(struct script_part *p, const struct nt_who *who, uint64_t time)
{
	struct nt_who loss = *who;

	/*
	 * use the time of the line, because @who->time can be the time of a later message that
	 * identified the thread
	 */
	loss.time = time;
	if (!p->has_lines) {
		p->has_lines = true;
		if (who->lost && say_lost(p, &loss))
			return -1;
	}
	lines_begin(&p->lines, who->cpu);
	return 0;
}

int script_error(void *part, const struct nt_who *who, const struct nt_item *item)
{
	const struct nt_problem *problem = item->type == NT_ITEM_ERROR ? &item->error :
					   item->type == NT_ITEM_GAP ? &item->gap : NULL;
	const char *text = problem ? nt_error_text(problem->code) :
				     nt_etype_name(item->lost.etype);
	struct script_part *p = part;

	if (p->chain)
		nt_chain_error(p->chain, item);
	p->at = 0;
	if (script_line(p, who, who->time))
		return -1;
	if (p->script->json)
		return json_error(p, who, text, item->offset);
	add_error(p, who);
	if (problem && problem->has_addr)
		lines_add(&p->lines, " ip 0x%" PRIx64, problem->addr);
	else
		lines_add(&p->lines, " ip 0");
	lines_add(&p->lines, " code %d: %s, at 0x%" PRIx64 "\n", problem ? -problem->code : 0,
		  text, item->offset);
	return lines_end(&p->lines, who->time);
}

/* ---- Stretches ---- */

void *script_begin(void *ctx, uint64_t stretch)
{
	struct script_part *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->script = ctx;
	if (p->script->chains)
		p->chain = nt_chain_new(p->script->chains, stretch);
	if (p->script->chains && !p->chain) {
		free(p);
		return NULL;
	}
	if (p->script->merge)
		merge_begin(p->script->merge, &p->lines);
	return p;
}

void script_free(struct script_part *p)
{
	nt_chain_free(p->chain);
	lines_free(&p->lines);
	free(p);
}

int script_inside(struct script_part *p, const struct nt_who *who, const struct nt_branch *branch,
		  bool *before, bool *after)
{
	*before = *after = true;
	return p->chain ? nt_chain_inside(p->chain, who, branch, before, after) : 0;
}

int script_end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct script_part *p = part;
	struct script *script = ctx;
	int err = 0;

	/* if trace was lost before the stretch, its first line has already reported this loss */
	if (lost && !(who->lost && p->has_lines) &&
	    nt_filter_passes(&(struct nt_filter){ .time = script->filter.time, .cpu = script->filter.cpu, .tid = -1 },
			     who->time, who->cpu, -1))
		err = say_lost(p, who);
	if (!err)
		err = merge_add(script->merge, who->buffer, &p->lines);
	script_free(p);
	return err;
}
