// SPDX-License-Identifier: GPL-2.0-only
/* Open and close output files and the standard output, and report their errors (output.h). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ntrace.h"
#include "output.h"
#include "session/file/whole-file.h"

/* a failure of the standard output was reported, so do not report another one */
static bool reported;

/*
 * Report SIGBUS. Input files are mapped, and the kernel sends this signal if a byte cannot be read,
 * for example because another process has shortened the file.
 */
static void on_bus(int signal)
{
	static const char said[] = "ntrace: an input file was shortened or its disk failed while the command read it\n";

	whole_file_remove_parts();
	(void)!write(STDERR_FILENO, said, sizeof(said) - 1);
	_exit(EXIT_USAGE);
}

/*
 * If a standard stream is closed, open /dev/null with the number of the stream, so that a file that is opened
 * later does not get this number. Open it for writing as the standard input, and for reading as the other
 * streams, so that using the stream still fails.
 */
void output_begin(void)
{
	int fd;

	signal(SIGBUS, on_bus);
	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

int output_failed(const char *path)
{
	int error = errno;

	if (!strcmp(path, "-")) {
		path = reported ? NULL : "the standard output";
		reported = true;
	}
	if (path)
		fprintf(stderr, "ntrace: writing %s failed: %s\n", path, whole_file_strerror(error));
	return EXIT_USAGE;
}

bool output_is_input(void)
{
	if (!whole_file_is_input(STDOUT_FILENO))
		return false;
	errno = ETXTBSY;
	return output_failed("-");
}

const char *counted(uint64_t number, const char *noun, char buf[COUNTED_SIZE])
{
	size_t length = strlen(noun);
	const char *s = number == 1 ? "" : length > 2 && !strcmp(noun + length - 2, "ch") ? "es" : "s";

	snprintf(buf, COUNTED_SIZE, "%" PRIu64 " %s%s", number, noun, s);
	return buf;
}

bool output_is_pipe(const char *command, const char *path)
{
	bool is = !strcmp(path, "-");

	if (is)
		fprintf(stderr, "ntrace: %s writes the header last, so it needs a file and not a pipe\n", command);
	return is;
}

int output_end(int status)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return reported ? EXIT_USAGE : status;
	errno = errno ? errno : EIO;
	return output_failed("-");
}
