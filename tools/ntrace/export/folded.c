// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace export --format folded - write a line "comm;outer;inner COUNT" for each stack, for
 * flamegraph.pl. The format pprof writes the same stacks.
 */
#include <string.h>

#include "export.h"
#include "cli/json-text.h"

/*
 * Write a name, and the character @after. Replace semicolons, newlines and invalid characters in
 * the name, because they would change the meaning of the line.
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

static const char *name_of(const struct export *e, uint32_t function)
{
	const struct nt_function *f = nt_calls_function(e->calls, function);

	return f->symbol ? f->symbol : f->object ? f->object : "[unknown]";
}

static int add_stack(struct export *e, const struct export_stack *stack)
{
	uint64_t count = e->insns ? stack->insns : stack->ns;
	uint32_t depth;
	char *at;

	if (!count)
		return 0;
	if (add_name(e, stack->thread->comm[0] ? stack->thread->comm : "[unknown]", stack->depth ? ';' : ' '))
		return -1;
	for (depth = stack->depth; depth--; ) {
		if (add_name(e, name_of(e, stack->path[depth]), depth ? ';' : ' '))
			return -1;
	}
	at = export_room(e, 32);
	if (!at)
		return -1;
	at = put_unsigned(at, count);
	*at++ = '\n';
	return export_done(e, at);
}

static int folded_end(struct export *e)
{
	return export_stacks_each(e, add_stack);
}

const struct export_format export_folded = {
	.name = "folded", .begin = export_stacks_begin, .enter = export_stacks_enter, .leave = export_stacks_leave,
	.end = folded_end, .free = export_stacks_free,
};
