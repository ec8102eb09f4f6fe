// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ntrace.h"
#include "pager.h"

static const char default_pager[] = "if command -v less >/dev/null; then less; else cat; fi";
static pid_t pager;	/* process ID of the pager; 0: no pager was started */

/*
 * Let the pager read the end of the output, and wait until the user leaves it. Return false if the shell found no such
 * program, which the shell has reported.
 */
static bool wait_for_pager(void)
{
	int status = 0;

	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while (pager && waitpid(pager, &status, 0) < 0 && errno == EINTR)
		;
	pager = 0;
	return !WIFEXITED(status) || (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127);
}

/*
 * At a signal, wait until the user leaves the pager, which ignores SIGINT. Only then let the signal end the command. If
 * the shell could not execute the pager, the user has not seen any output, so exit with a usage error.
 */
static void on_end(int nr)
{
	if (pager && !wait_for_pager())
		_exit(EXIT_USAGE);
	signal(nr, SIG_DFL);
	raise(nr);
}

bool pager_end(void)
{
	if (!pager)
		return true;
	fflush(stdout);
	return wait_for_pager();
}

static void start(const char *command)
{
	int ends[2];

	fflush(stdout);
	if (pipe(ends))
		return;
	pager = fork();
	if (!pager) {
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		close(ends[1]);
		/* like git, let less end if the text fits on the screen, keep colors, and not clear the screen */
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	if (pager > 0) {
		dup2(ends[1], STDOUT_FILENO);
		if (isatty(STDERR_FILENO))
			dup2(ends[1], STDERR_FILENO);
		signal(SIGINT, on_end);
		signal(SIGTERM, on_end);
		signal(SIGHUP, on_end);
		signal(SIGQUIT, on_end);
		signal(SIGPIPE, on_end);
	} else {
		pager = 0;
	}
	close(ends[0]);
	close(ends[1]);
}

void pager_begin(void)
{
	const char *command = getenv("NTRACE_PAGER") ?: getenv("PAGER") ?: default_pager, *terminal = getenv("TERM");

	if (isatty(STDOUT_FILENO) && *command && strcmp(command, "cat") && terminal && strcmp(terminal, "dumb"))
		start(command);
}
