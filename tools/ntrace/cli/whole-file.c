// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "whole-file.h"

#define TRIES	100

/* Signals that end the command, at once or because a limit was reached */
static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ };

/* What a signal has to remove */
static char on_its_way[PATH_MAX];
static volatile sig_atomic_t is_on_its_way;

static void on_end(int signal)
{
	if (is_on_its_way)
		unlink(on_its_way);
	/* SA_RESETHAND: the signal ends the program now, as it would have done */
	raise(signal);
}

/* A signal that is ignored stays so. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_end, .sa_flags = SA_RESETHAND | SA_NODEFER };
	struct sigaction before;
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		if (!sigaction(ends[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(ends[i], &action, NULL);
	}
}

static void block_signals(sigset_t *before)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaddset(&set, ends[i]);
	sigprocmask(SIG_BLOCK, &set, before);
}

static bool has_prefix(const char *path, const char *prefix)
{
	return !strncmp(path, prefix, strlen(prefix));
}

/*
 * Find what another file can replace: a regular file, or nothing. A link keeps leading to the file.
 * Names like /dev/stdout are those of open files, which stay as they are.
 */
static bool find_target(struct whole_file *file, const char *path, struct stat *st, bool *exists)
{
	char real[PATH_MAX];

	*exists = !lstat(path, st);
	if (has_prefix(path, "/dev/") || has_prefix(path, "/proc/") || strlen(path) >= PATH_MAX)
		return false;
	strcpy(file->target, path);
	if (!*exists)
		return errno == ENOENT;
	if (S_ISLNK(st->st_mode)) {
		if (!realpath(path, real) || stat(real, st))
			return false;
		strcpy(file->target, real);
	}
	return S_ISREG(st->st_mode);
}

/* The file gets the rights that the one before had. */
static int make_part(struct whole_file *file, const struct stat *st, bool exists)
{
	int fd = -1, i, n;

	for (i = 0; fd < 0 && i < TRIES; i++) {
		n = snprintf(file->part, sizeof(file->part), "%s.part-%d-%d", file->target,
			     (int)getpid(), i);
		if (n < 0 || n >= (int)sizeof(file->part)) {
			errno = ENAMETOOLONG;
			break;
		}
		fd = open(file->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return -1;
	if (exists && fchmod(fd, st->st_mode & 0777) == 0 && st->st_uid == geteuid())
		i = fchown(fd, -1, st->st_gid);
	close(fd);
	return 0;
}

/* A signal in between finds either no file, or one that it can remove. */
static int begin_part(struct whole_file *file, const struct stat *st, bool exists)
{
	sigset_t before;
	int err;

	block_signals(&before);
	err = make_part(file, st, exists) ? errno : 0;
	if (!err) {
		strcpy(on_its_way, file->part);
		is_on_its_way = true;
		catch_signals();
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

const char *whole_file_begin(struct whole_file *file, const char *path)
{
	struct stat st;
	bool exists;
	int err;

	file->part[0] = '\0';
	if (!find_target(file, path, &st, &exists))
		return path;
	if (exists && access(file->target, W_OK))
		return NULL;
	err = begin_part(file, &st, exists);
	if (!err)
		return file->part;
	file->part[0] = '\0';
	errno = err;
	/* to write over a file without room for another would lose both */
	return err == ENOSPC || err == EDQUOT ? NULL : path;
}

FILE *whole_file_open(struct whole_file *file, const char *path)
{
	const char *name;
	FILE *stream;
	int err;

	file->part[0] = '\0';
	if (!strcmp(path, "-"))
		return stdout;
	name = whole_file_begin(file, path);
	stream = name ? fopen(name, "we") : NULL;
	if (stream || !name)
		return stream;
	err = errno;
	whole_file_end(file, false);
	errno = err;
	return NULL;
}

int whole_file_end(struct whole_file *file, bool whole)
{
	int err = 0;

	if (!file->part[0])
		return 0;
	if (whole)
		err = rename(file->part, file->target);
	if (!whole || err) {
		int saved = errno;

		unlink(file->part);
		errno = saved;
	}
	is_on_its_way = false;
	file->part[0] = '\0';
	return err;
}

int whole_file_close(struct whole_file *file, FILE *stream, bool whole)
{
	int err = 0;

	if (fflush(stream) || ferror(stream))
		err = errno ? errno : EIO;
	if (stream != stdout && fclose(stream) && !err)
		err = errno;
	if (whole_file_end(file, whole && !err) && !err)
		err = errno;
	errno = err;
	return err ? -1 : 0;
}
