// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages and end of a run. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "board.h"

static void say(const char *fmt, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	fprintf(stderr, "ntrace-board: %s\n", text);
}

void board_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void board_fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	_exit(1);
}

static void report(FILE *f)
{
	for (unsigned int i = 0; i < board.n_harts; i++) {
		const struct hart_stats *s = &board.harts[i].stats;

		fprintf(f, "hart%u retired=%llu exceptions=%llu interrupts=%llu partial=%llu pc_reads=%llu "
			"edges=%llu register_accesses=%llu minstret_checks=%llu minstret_diffs=%llu power_losses=%llu "
			"stalls=%llu resets=%llu\n", i,
			(unsigned long long)s->retired, (unsigned long long)s->exceptions,
			(unsigned long long)s->interrupts, (unsigned long long)s->partial,
			(unsigned long long)s->pc_reads, (unsigned long long)s->edges,
			(unsigned long long)s->mmio, (unsigned long long)board.harts[i].minstret_checks,
			(unsigned long long)board.harts[i].minstret_diffs, (unsigned long long)s->power_losses,
			(unsigned long long)s->stalls, (unsigned long long)s->resets);
	}
	latency_report(f);
	topology_report(f);
	for (unsigned int i = 0; i < NB_REPORT_MAX; i++)
		if (board.reports[i])
			fprintf(f, "report%u=%llu %s\n", i, (unsigned long long)board.reports[i], nb_report_text(i));
}

static void write_stats(void)
{
	FILE *f = fopen(board.stats, "w");
	bool bad;

	if (f)
		report(f);
	bad = !f || ferror(f);
	if ((f && fclose(f)) || bad)
		board_incomplete(board.stats, "the counts");
}

/* Report that a file is not complete, which makes the run fail. errno contains the reason. */
void board_incomplete(const char *whose, const char *what)
{
	board_warn("%s: %s: not complete: %s", whose, what, strerror(errno));
	board.incomplete = true;
}

static void finish_run(void)
{
	if (board.exiting)
		return;
	board.exiting = true;
	topology_close();
	for (unsigned int i = 0; i < board.n_harts; i++) {
		struct hart *h = &board.harts[i];

		struct nb_truth_writer *truth = h->truth;

		/* Prevent a hart that still runs from using the closed file */
		h->truth = NULL;
		if (truth && nb_truth_close(truth)) {
			char name[16];

			snprintf(name, sizeof(name), "hart %u", i);
			board_incomplete(name, "the truth");
		}
	}
	if (board.stats)
		write_stats();
}

void board_at_exit(void *opaque)
{
	finish_run();
	/* Exit here, because QEMU would exit with 0 although a file is not complete */
	if (board.incomplete) {
		fflush(NULL);
		_exit(1);
	}
}

/*
 * Finish the run when the guest powers off the machine. QEMU stops the harts some time later, and the number
 * of instructions until then is random, so the truth does not contain these instructions.
 */
void board_power_off(struct hart *h)
{
	board_claim(h);
	finish_run();
	for (unsigned int i = 0; i < board.n_harts; i++)
		board.harts[i].score->gate = 0;
	board_release(h);
	hart_leave(h);
}

/* End the run because @h has retired the requested number of instructions. */
void board_end(struct hart *h)
{
	board_claim(h);
	finish_run();
	_exit(board.incomplete);
}

