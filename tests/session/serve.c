// SPDX-License-Identifier: GPL-2.0-only
/*
 * This library is preloaded into a command, and calls the command's main() once for each line of the standard input.
 * A line has the arguments, separated by tabs. The library answers each line with a wait status. If the file
 * "packets" exists, main() reads it as its standard input.
 *
 * A worker process handles RUNS lines. If the worker ends during a line, its parent answers this line. This takes a
 * fraction of the time in which a program with sanitizers starts.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS		10	/* limit of a command in processor time, which does not depend on the host's load */
#define RUNS		50	/* number of lines that a worker handles, because a worker may leak memory */
#define MORE		77	/* exit status of a worker after RUNS lines; NO_MORE: after the last line */
#define NO_MORE		78
#define MAX_ARGS	32

typedef int main_fn(int argc, char **argv, char **envp);

static main_fn *real_main;
static int answers;	/* the original standard output of this process */

/* Open the file as @fd for the next command, and make the file empty, because the last command wrote to it */
static void redirect(int fd, const char *path)
{
	int to = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);

	dup2(to, fd);
	close(to);
}

/*
 * Limit a command to @seconds of processor time (SIGPROF), and limit its waiting time (SIGALRM). 0 removes both
 * limits
 */
static void limit(int seconds)
{
	setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = seconds }, NULL);
	alarm(12 * seconds);
}

static int run(char *line, char **envp)
{
	static const int caught[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ };
	char *args[MAX_ARGS + 1] = { "ntrace" }, *arg;
	int nr = 1, status, packets;
	size_t i;

	for (arg = strtok(line, "\t\n"); arg && nr < MAX_ARGS; arg = strtok(NULL, "\t\n"))
		args[nr++] = arg;
	redirect(STDOUT_FILENO, "/dev/null");
	redirect(STDERR_FILENO, "said");
	packets = open("packets", O_RDONLY);
	if (packets >= 0) {
		dup2(packets, STDIN_FILENO);
		close(packets);
	}
	optind = 0;
	limit(SECONDS);
	status = real_main(nr, args, envp);
	limit(0);
	for (i = 0; i < sizeof(caught) / sizeof(*caught); i++)
		signal(caught[i], SIG_DFL);
	return status;
}

/* Read the next line from @lines without a buffer, because the next worker must find the following lines */
static int next_line(int lines, char *line, size_t size)
{
	ssize_t n = read(lines, line, size - 1);

	line[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Handle up to RUNS lines. Return 1 if there may be more lines, and 0 at the end of the input */
static int work(int lines, char **envp)
{
	char line[4096];
	int n, status;

	for (n = 0; n < RUNS; n++) {
		if (!next_line(lines, line, sizeof(line)))
			return 0;
		status = run(line, envp);
		dprintf(answers, "%d\n", W_EXITCODE(status & 0xff, 0));
	}
	return 1;
}

static int serve(int argc, char **argv, char **envp)
{
	const int lines = dup(STDIN_FILENO);
	int status, more = 1;
	pid_t child;

	(void)argc;
	(void)argv;
	answers = dup(STDOUT_FILENO);
	unsetenv("LD_PRELOAD");
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	redirect(STDIN_FILENO, "/dev/null");
	while (more) {
		child = fork();
		if (!child)
			/*
			 * exit without destructors, because destructors of sanitized programs take longer than a
			 * command
			 */
			_exit(work(lines, envp) ? MORE : NO_MORE);
		if (child < 0 || waitpid(child, &status, 0) != child)
			return 1;
		if (status == W_EXITCODE(MORE, 0))
			continue;
		if (status == W_EXITCODE(NO_MORE, 0))
			more = 0;
		else
			dprintf(answers, "%d\n", status);
	}
	return 0;
}

typedef int start_fn(main_fn *main, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

start_fn __libc_start_main;

int __libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end)
{
	start_fn *real = (start_fn *)dlsym(RTLD_NEXT, "__libc_start_main");

	real_main = main;
	return real(serve, argc, argv, init, fini, rtld_fini, stack_end);
}
