// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace export --format folded - write a line "comm;outer;inner COUNT" for each stack, for
 * flamegraph.pl.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "page/flame.h"
#include "cli/json-text.h"

#define STACKS_MAX	(4 << 20)
/* Limit of callers in a line. A recursion without it would write the square of its depth. */
#define DEPTH_MAX	1024

struct folded {
	struct flame	flame;
	uint64_t	too_deep;	/* number of calls deeper than DEPTH_MAX */
};

static int folded_begin(struct export *e)
{
	struct folded *folded = calloc(1, sizeof(*folded));

	if (!folded) {
		errno = ENOMEM;
		return -1;
	}
	folded->flame.max = STACKS_MAX;
	e->state = folded;
	return 0;
}

/* Enter a call. If space for its stack is missing, count it for its caller's stack. */
static int folded_enter(struct export *e, struct nested_call *call)
{
	const struct export_thread *thread;
	struct folded *folded = e->state;
	uint32_t parent, node = FLAME_NONE;

	if (call->depth) {
		parent = e->nested.open.at[call->depth - 1].user;
	} else {
		thread = export_thread(e, &call->call);
		if (!thread)
			return -1;
		parent = flame_child(&folded->flame, 0, thread->number);
	}
	if (call->depth < DEPTH_MAX)
		node = flame_child(&folded->flame, parent, call->call.function);
	else
		folded->too_deep++;
	call->user = node == FLAME_NONE ? parent : node;
	return 0;
}

static int folded_leave(struct export *e, const struct nested_call *call)
{
	uint64_t all = e->insns ? call->call.insns : call->call.ns;
	uint64_t child = e->insns ? call->child_insns : call->child_ns;
	struct flame *flame = &((struct folded *)e->state)->flame;

	if (call->user != FLAME_NONE)
		flame->nodes.at[call->user].ns += all > child ? all - child : 0;
	return 0;
}

/*
 * Add a name. Replace semicolons, newlines and invalid characters, which would change the meaning
 * of the line.
 */
static int add_name(struct export *e, const char *name, char after)
{
	size_t size = strlen(name), i;
	char *at = export_room(e, size + 1);

	if (!at)
		return -1;
	utf8_copy(at, name, size);
	for (i = 0; i < size; i++) {
		if (at[i] == ';')
			at[i] = ':';
		else if ((unsigned char)at[i] < ' ' || at[i] == 0x7f)
			at[i] = '?';
	}
	at[size] = after;
	return export_done(e, at + size + 1);
}

static const char *name_of(const struct export *e, const struct flame_node *n)
{
	const struct nt_function *f;

	if (!n->parent)
		return e->threads.at[n->name].comm[0] ? e->threads.at[n->name].comm : "[unknown]";
	f = nt_calls_function(e->calls, n->name);
	return f->symbol ? f->symbol : f->object ? f->object : "[unknown]";
}

/*
 * Add a stack. Collect its callers first, because they may be as deep as the calls of the
 * recording.
 */
static int add_stack(struct export *e, const struct flame *flame, uint32_t node, uint32_t *path)
{
	const struct flame_node *n = &flame->nodes.at[node];
	uint32_t depth = 0;
	char *at;

	for (path[depth] = node; flame->nodes.at[path[depth]].parent; depth++)
		path[depth + 1] = flame->nodes.at[path[depth]].parent;
	for (depth++; depth--; ) {
		if (add_name(e, name_of(e, &flame->nodes.at[path[depth]]), depth ? ';' : ' '))
			return -1;
	}
	at = export_room(e, 32);
	if (!at)
		return -1;
	at = put_unsigned(at, n->ns);
	*at++ = '\n';
	return export_done(e, at);
}

static int folded_end(struct export *e)
{
	const struct folded *folded = e->state;
	const struct flame *flame = &folded->flame;
	uint32_t *path = calloc(flame->nodes.nr + 1, sizeof(*path));
	int err = path ? 0 : -1;
	size_t i;

	for (i = 1; !err && i < flame->nodes.nr; i++) {
		if (flame->nodes.at[i].ns)
			err = add_stack(e, flame, i, path);
	}
	free(path);
	if (!err && folded->too_deep)
		fprintf(stderr, "ntrace: %" PRIu64 " calls have more than %d callers: they count as a part of their caller\n",
			folded->too_deep, DEPTH_MAX);
	return err;
}

static void folded_free(struct export *e)
{
	if (e->state)
		flame_free(&((struct folded *)e->state)->flame);
	free(e->state);
}

const struct export_format export_folded = {
	.name = "folded", .begin = folded_begin, .enter = folded_enter, .leave = folded_leave,
	.end = folded_end, .free = folded_free,
};
