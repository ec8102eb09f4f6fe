// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Store slices by their number. A recording may have millions of slices (see calls.h), so they are
 * in an unnamed file. The file is mapped, and its pages are released again, because they would
 * count as memory of the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls-priv.h"

#define GROWTH		(1 << 16)	/* slices by which the file grows (3.5 MiB) */
#define BLOCK		1024
#define BLOCKS		256		/* number of blocks that are read before pages are released */

/*
 * Allocate the disk blocks now, because a write to a mapped page without a block would kill the
 * process.
 */
static bool grow_file(struct ns_numbered *n)
{
	size_t size = n->room * sizeof(*n->at), more = size + GROWTH * sizeof(*n->at);
	void *at;

	if (!n->file)
		n->file = tmpfile();
	if (!n->file)
		return false;
	errno = posix_fallocate(fileno(n->file), 0, more);
	if (errno)
		return false;
	at = size ? mremap(n->at, size, more, MREMAP_MAYMOVE) :
		    mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(n->file), 0);
	if (at == MAP_FAILED)
		return false;
	n->at = at;
	n->room += GROWTH;
	return true;
}

struct nt_slice *ns_numbered_get(struct ns_numbered *n, size_t number)
{
	if (number / BLOCK != n->block) {
		n->block = number / BLOCK;
		if (++n->looked == BLOCKS) {
			n->looked = 0;
			madvise(n->at, n->room * sizeof(*n->at), MADV_DONTNEED);
		}
	}
	return number < n->nr ? &n->at[number] : NULL;
}

struct nt_slice *ns_numbered_make(struct ns_numbered *n, size_t number)
{
	while (n->room <= number) {
		if (!grow_file(n))
			return NULL;
	}
	if (n->nr <= number)
		n->nr = number + 1;
	return ns_numbered_get(n, number);
}

void ns_numbered_free(struct ns_numbered *n)
{
	munmap(n->at, n->room * sizeof(*n->at));
	if (n->file)
		fclose(n->file);
}

static int stack_order(const void *a, const void *b)
{
	const struct ns_key *x = a, *y = b;

	return ns_order(x->tid, y->tid) ?: ns_order(x->cpu, y->cpu) ?: ns_order(x->number, y->number);
}

bool ns_numbered_threads(struct nt_calls *calls)
{
	struct ns_pool *pool = &calls->pool;
	uint32_t *numbers = calloc(pool->stacks.nr + 1, sizeof(*numbers));
	struct nt_slice *slice;
	size_t i;

	if (!numbers)
		return false;
	ns_array_sort(&pool->stacks, stack_order);
	for (i = 0; i < pool->stacks.nr; i++)
		numbers[pool->stacks.at[i].nth] = i;
	for (i = 0; (slice = ns_numbered_get(calls->numbered, i)); i++)
		slice->thread = numbers[slice->thread];
	free(numbers);
	return true;
}
