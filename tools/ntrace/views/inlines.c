// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "inlines.h"
#include "session/array.h"
#include "session/code/lines.h"

#ifdef HAVE_LIBDW

/*
 * Cache of the functions at an address, because looking them up takes much longer than the rest of
 * a call
 */
struct known {
	const char	*object;
	uint64_t	address;
	uint32_t	first, nr;	/* range in @names */
};

struct inlines {
	struct nt_lines	*lines;
	NS_ARRAY(const char *) names;
	struct known	*known;		/* hash table; an entry without an object is empty */
	size_t		size, nr;
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
	free(inlines->known);
	free(inlines);
}

static struct known *find(const struct inlines *inlines, const char *object, uint64_t address)
{
	uint64_t h = ((uintptr_t)object + address) * 0x9e3779b97f4a7c15ULL;
	size_t at = h >> 20 & (inlines->size - 1);

	while (inlines->known[at].object && (inlines->known[at].object != object ||
					     inlines->known[at].address != address))
		at = (at + 1) & (inlines->size - 1);
	return &inlines->known[at];
}

static bool grow(struct inlines *inlines)
{
	struct inlines larger = *inlines;
	size_t i;

	larger.size = inlines->size ? 2 * inlines->size : 1024;
	larger.known = calloc(larger.size, sizeof(*larger.known));
	if (!larger.known)
		return false;
	for (i = 0; i < inlines->size; i++) {
		if (inlines->known[i].object)
			*find(&larger, inlines->known[i].object, inlines->known[i].address) =
				inlines->known[i];
	}
	free(inlines->known);
	*inlines = larger;
	return true;
}

/*
 * Look up the inlined functions. The frames of an instruction are returned with the innermost one
 * first, and the last one is the function itself.
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
	inlines->nr++;
}

size_t inlines_at(void *ctx, const char *object, uint64_t address, const char **names, size_t max)
{
	struct inlines *inlines = ctx;
	struct known *known;
	size_t nr;

	if (2 * inlines->nr >= inlines->size && !grow(inlines))
		return 0;
	known = find(inlines, object, address);
	if (!known->object) {
		known->object = object;
		known->address = address;
		look_up(inlines, known);
	}
	nr = known->nr < max ? known->nr : max;
	if (nr)
		memcpy(names, inlines->names.at + known->first, nr * sizeof(*names));
	return nr;
}

#else

struct inlines *inlines_new(struct nt_session *session)
{
	return NULL;
}

void inlines_free(struct inlines *inlines)
{
}

size_t inlines_at(void *ctx, const char *object, uint64_t address, const char **names, size_t max)
{
	return 0;
}

#endif
