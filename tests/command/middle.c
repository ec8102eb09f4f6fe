// SPDX-License-Identifier: GPL-2.0-only
/*
 * This library is preloaded into a command. It kills the command with the signal END_BY when the command allocates
 * memory for the END_AFTERth time, so that the command ends in the middle of its work. If END_COUNT is set, the
 * library writes the number of allocations to the file END_COUNT when the command exits.
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
