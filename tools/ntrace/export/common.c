// SPDX-License-Identifier: GPL-2.0-only
/* Functions that all formats of `ntrace export` use (export.h). */
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "cli/json-text.h"

#define BUFFER_SIZE	(256 << 10)

/* ---- Output ---- */

int export_flush(struct export *e)
{
	size_t len = e->len;

	e->len = 0;
	/* do not call fwrite() if nothing was exported, because e->text is then NULL */
	return !len || fwrite(e->text, 1, len, e->file) == len ? 0 : -1;
}

char *export_room(struct export *e, size_t size)
{
	size_t room = size > BUFFER_SIZE ? size : BUFFER_SIZE;
	void *text;

	if (e->room - e->len >= size)
		return e->text + e->len;
	if (e->len && export_flush(e))
		return NULL;
	if (e->room < size) {
		text = realloc(e->text, room);
		if (!text)
			return NULL;
		e->text = text;
		e->room = room;
	}
	return e->text;
}

int export_done(struct export *e, const char *end)
{
	e->len = end - e->text;
	return 0;
}

/* ---- Names ---- */

static bool make_text(struct export_text *to, const char *text)
{
	to->text = json_text(text, &to->size);
	return to->text;
}

static bool make_name(struct export_name *name, const struct nt_function *f)
{
	const char *symbol = f->symbol ? f->symbol : "[unknown]";
	const char *object = f->object ? f->object : "[unknown]";

	return make_text(&name->symbol_or_null, f->symbol) && make_text(&name->object_or_null, f->object) &&
		make_text(&name->object, object) && make_text(&name->symbol, symbol);
}

const struct export_name *export_name(struct export *e, uint32_t function)
{
	const struct export_name none = { 0 };

	while (e->names.nr <= function) {
		if (!ns_array_add(&e->names, none))
			return NULL;
	}
	if (e->names.at[function].symbol.text ||
	    make_name(&e->names.at[function], nt_calls_function(e->calls, function)))
		return &e->names.at[function];
	return NULL;
}

/* ---- Threads ---- */

/*
 * Find a thread, or add it. Search the newest thread first, because consecutive calls often belong
 * to the same thread.
 */
static struct export_thread *add_thread(struct export *e, const struct export_thread *new)
{
	struct export_thread thread = *new;
	size_t i;

	for (i = e->threads.nr; i--; ) {
		if (e->threads.at[i].tid == new->tid && e->threads.at[i].pid == new->pid &&
		    (e->threads.at[i].comm == new->comm || !strcmp(e->threads.at[i].comm, new->comm))) {
			e->threads.at[i].is_new = false;
			return &e->threads.at[i];
		}
	}
	thread.number = e->threads.nr;
	thread.is_new = true;
	if (make_text(&thread.json, thread.comm) && ns_array_add(&e->threads, thread))
		return &e->threads.at[thread.number];
	return NULL;
}

/* Return the thread of a call. A thread has the same name in a whole slice, unless it calls exec in this slice. */
const struct export_thread *export_thread(struct export *e, const struct nt_call *call)
{
	const struct nt_slice *s = nt_calls_slice(e->calls, call->slice);
	struct export_slice *slice = &e->slices[call->slice % EXPORT_SLICES];
	struct export_thread at_end, thread = { .tid = call->tid }, *found;
	bool inside = call->begin >= s->begin;

	if (slice->known && slice->number == call->slice && inside) {
		found = &e->threads.at[slice->thread];
		found->is_new = false;
		return found;
	}
	nt_session_thread(e->session, call->tid, call->begin, &thread.pid, &thread.comm);
	nt_session_thread(e->session, call->tid, s->end, &at_end.pid, &at_end.comm);
	inside = inside && at_end.pid == thread.pid && at_end.comm == thread.comm;
	found = add_thread(e, &thread);
	if (found)
		*slice = (struct export_slice){ inside, call->slice, found->number };
	return found;
}
