// SPDX-License-Identifier: GPL-2.0-only
/* Print the progress of a long job on a line of the standard error (progress.h). */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"

#define FIRST_AFTER	1.0	/* time in seconds after which the progress is printed first */
#define EACH		0.5

/* The state of the progress line. A process has only one progress line, because it has one standard error. */
static struct {
	double	begin, last;
	bool	printed;
} line;

double progress_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

bool progress_wanted(void)
{
	return isatty(STDERR_FILENO);
}

static void end(void)
{
	if (line.printed)
		fputs("\r\033[K", stderr);
	line.printed = false;
	line.begin = 0;
}

void progress_print(void *ctx, uint64_t done, uint64_t all)
{
	double t = progress_now(), left;

	if (done >= all) {
		end();
		return;
	}
	if (!line.begin)
		line.begin = t;
	if (t - line.begin < FIRST_AFTER || t - line.last < EACH || !done)
		return;
	left = (t - line.begin) * (all - done) / done;
	fprintf(stderr, "\rntrace: %d %% of %.0f MB, %.0f s left\033[K", (int)(100.0 * done / all),
		all / 1e6, left);
	line.last = t;
	line.printed = true;
}
