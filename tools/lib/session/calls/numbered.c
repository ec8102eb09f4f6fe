// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Slices by their number. A recording may have millions of them, so those of a large recording are
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

#define IN_MEMORY	(1 << 18)	/* slices in memory (12 MiB), and growth of the file */
#define BLOCK		1024
#define BLOCKS		256		/* blocks that are read before pages are released */

static int grow_memory(struct ns_numbered *n)
{
	size_t room = n->room ? 2 * n->room : 256;
	struct nt_slice *at = realloc(n->at, room * sizeof(*at));

	if (!at)
		return -1;
	memset(at + n->room, 0, (room - n->room) * sizeof(*at));
	n->at = at;
	n->room = room;
	return 0;
}

/*
 * Allocate the disk blocks now, because a write to a mapped page without a block would kill the
 * process.
 */
static int grow_file(struct ns_numbered *n)
{
	size_t room = n->room + IN_MEMORY;
	void *at;

	errno = posix_fallocate(fileno(n->file), 0, room * sizeof(*n->at));
	if (errno)
		return -1;
	at = mremap(n->at, n->room * sizeof(*n->at), room * sizeof(*n->at), MREMAP_MAYMOVE);
	if (at == MAP_FAILED)
		return -1;
	n->at = at;
	n->room = room;
	return 0;
}

static int move_to_file(struct ns_numbered *n)
{
	const size_t size = n->room * sizeof(*n->at);
	void *at;

	n->file = tmpfile();
	if (!n->file)
		return -1;
	errno = posix_fallocate(fileno(n->file), 0, size);
	at = errno ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(n->file), 0);
	if (at == MAP_FAILED) {
		fclose(n->file);
		n->file = NULL;
		return -1;
	}
	memcpy(at, n->at, size);
	free(n->at);
	n->at = at;
	return 0;
}

struct nt_slice *ns_numbered_get(struct ns_numbered *n, size_t number)
{
	if (n->file && number / BLOCK != n->block) {
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
	int err = 0;

	while (!err && n->room <= number) {
		if (n->room == IN_MEMORY && !n->file)
			err = move_to_file(n);
		if (!err)
			err = n->file ? grow_file(n) : grow_memory(n);
	}
	if (err)
		return NULL;
	if (n->nr <= number)
		n->nr = number + 1;
	return ns_numbered_get(n, number);
}

void ns_numbered_free(struct ns_numbered *n)
{
	if (!n->file) {
		free(n->at);
		return;
	}
	munmap(n->at, n->room * sizeof(*n->at));
	fclose(n->file);
}
