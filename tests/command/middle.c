// SPDX-License-Identifier: GPL-2.0-only
/*
 * This library is preloaded into a command. It ends the command by the signal END_BY when it allocates memory for the
 * END_AFTERth time, so in the middle of its work. If END_COUNT is set, it writes the number of allocations to this file at the end.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t size);

static atomic_long count;
static long after;

void *malloc(size_t size)
{
	if (++count == after)
		kill(getpid(), atoi(getenv("END_BY")));
	return __libc_malloc(size);
}

__attribute__((constructor)) static void begin(void)
{
	after = atol(getenv("END_AFTER"));
	count = 0;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("END_COUNT");
	char text[24];
	int fd;

	if (!path)
		return;
	sprintf(text, "%ld", (long)count);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	(void)!write(fd, text, strlen(text));
	close(fd);
}
