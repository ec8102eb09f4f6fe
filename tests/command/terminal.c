// SPDX-License-Identifier: GPL-2.0-only
/*
 * Usage is "terminal COMMAND...". Run the command with a terminal as its standard error, and print the text that the
 * command writes to this terminal.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(int terminal, char **argv)
{
	const char *name = ptsname(terminal);
	int other = name ? open(name, O_RDWR | O_NOCTTY) : -1;

	if (other < 0 || dup2(other, STDERR_FILENO) < 0)
		return 125;
	close(other);
	close(terminal);
	execvp(argv[0], argv);
	return 126;
}

int main(int argc, char **argv)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), status;
	char said[4096];
	ssize_t n;
	pid_t pid;

	if (argc < 2 || terminal < 0 || grantpt(terminal) || unlockpt(terminal))
		return 124;
	pid = fork();
	if (!pid)
		_exit(run(terminal, argv + 1));
	/*
	 * read() waits if the child has not opened the terminal yet, and fails after the child has closed the
	 * terminal
	 */
	while ((n = read(terminal, said, sizeof(said))) > 0)
		fwrite(said, 1, n, stdout);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 123;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
