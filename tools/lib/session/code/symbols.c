// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The order of an object's symbols */
#include <stdlib.h>
#include <string.h>

#include "object.h"

static int address_cmp(const void *a, const void *b)
{
	const struct ns_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int name_cmp(const void *a, const void *b)
{
	const struct ns_symbol *x = a, *y = b;

	return x->start == y->start ? strcmp(x->name, y->name) : address_cmp(a, b);
}

void ns_object_sort_symbols(struct ns_object *object, bool by_name)
{
	if (object->symbols.nr)
		qsort(object->symbols.at, object->symbols.nr, sizeof(object->symbols.at[0]),
		      by_name ? name_cmp : address_cmp);
}
