// SPDX-License-Identifier: GPL-2.0-only
/* Find the inlined functions at an address, and cache them (inlines.h). */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "inlines.h"
#include "session/array.h"
#include "session/code/lines.h"

/*
 * A cached address and its inlined functions. Without a cache, the look-up of these functions would
 * take much longer than all other work for a call
 */
struct known {
	const char	*object;
	uint64_t	address;
	uint32_t	first, nr;	/* index of the address's first name in inlines::names; number of names */
};

struct inlines {
	struct nt_lines	*lines;
	NS_ARRAY(const char *) names;
	void		*known;		/* tree of struct known for tsearch() */
};

struct inlines *inlines_new(struct nt_session *session)
{
	struct inlines *inlines = calloc(1, sizeof(*inlines));

	if (!inlines)
		return NULL;
	inlines->lines = nt_lines_new(session);
	if (inlines->lines)
		return inlines;
	free(inlines);
	return NULL;
}

void inlines_free(struct inlines *inlines)
{
	if (!inlines)
		return;
	nt_lines_free(inlines->lines);
	free(inlines->names.at);
	tdestroy(inlines->known, free);
	free(inlines);
}

static int known_cmp(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return ns_order(x->address, y->address) ?: ns_order(x->object, y->object);
}

/*
 * Look up the inlined functions at an address. nt_lines_at() returns the innermost frame first. The
 * last frame is the function that contains the inlined code.
 */
static void look_up(struct inlines *inlines, struct known *known)
{
	struct nt_frame frames[NT_INLINED_MAX + 1];
	size_t nr = nt_lines_at(inlines->lines, known->object, known->address, frames,
				NT_INLINED_MAX + 1);

	known->first = inlines->names.nr;
	for (nr--; nr-- > 0;) {
		if (frames[nr].function && !ns_array_add(&inlines->names, frames[nr].function))
			break;
	}
	known->nr = inlines->names.nr - known->first;
}

size_t inlines_at(void *ctx, const char *object, uint64_t address, const char **names, size_t max)
{
	struct known wanted = { .object = object, .address = address }, **known;
	struct inlines *inlines = ctx;
	size_t nr;

	known = tsearch(&wanted, &inlines->known, known_cmp);
	if (known && *known == &wanted) {
		*known = malloc(sizeof(wanted));
		if (!*known) {
			*known = &wanted;
			tdelete(&wanted, &inlines->known, known_cmp);
			return 0;
		}
		look_up(inlines, &wanted);
		**known = wanted;
	}
	nr = !known ? 0 : (*known)->nr < max ? (*known)->nr : max;
	if (nr)
		memcpy(names, inlines->names.at + (*known)->first, nr * sizeof(*names));
	return nr;
}
