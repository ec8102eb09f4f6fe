// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Write a file, or the folder of a recording, that gets its name when it is complete
 * (whole-file.h).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/array.h"
#include "whole-file.h"

#define TRIES	100

/* Signals that end the command */
static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ };

/* Paths of the files, and then of the folders, that a recording's folder may have; they are removed in this order */
static const char *const names[] = {
	"data", "kcore_dir/kcore", "kcore_dir/kallsyms", "kcore_dir/modules", "kcore_dir", "",
};

#define NR_FILES	4
#define NR_NAMES	(sizeof(names) / sizeof(names[0]))

/* Unfinished files, and the folder that whole_folder_make() created. A signal handler removes them. */
static struct whole_file *unfinished;
static char made[PATH_MAX];

static struct {
	pthread_mutex_t lock;
	NS_ARRAY(struct file_id { dev_t dev; ino_t ino; }) all;
} inputs = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- Inputs ---- */

static bool is_input(const struct stat *st)
{
	bool found = false;
	size_t i;

	pthread_mutex_lock(&inputs.lock);
	for (i = 0; !found && i < inputs.all.nr; i++)
		found = inputs.all.at[i].dev == st->st_dev && inputs.all.at[i].ino == st->st_ino;
	pthread_mutex_unlock(&inputs.lock);
	return found;
}

bool whole_file_is_input(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && is_input(&st);
}

void whole_file_input(int fd)
{
	struct stat st;

	/* if @fd is -1, open() has failed; do not call a function that changes the errno of open() */
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || is_input(&st))
		return;
	pthread_mutex_lock(&inputs.lock);
	ns_array_add(&inputs.all, ((struct file_id){ st.st_dev, st.st_ino }));
	pthread_mutex_unlock(&inputs.lock);
}

int whole_file_read(const char *path)
{
	/* without O_NONBLOCK, open() of a pipe would wait for a writer */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode))) {
		whole_file_input(fd);
		return fd;
	}
	close(fd);
	return errno = EMEDIUMTYPE, -1;
}

bool whole_file_begins(const char *path, const char *magic)
{
	const size_t size = strlen(magic);
	struct stat st;
	/* do not open a named pipe, because a later reader of the pipe would not get the bytes read here */
	int fd = !stat(path, &st) && S_ISREG(st.st_mode) ? whole_file_read(path) : -1;
	char begin[32];
	bool does;

	if (fd < 0)
		return false;
	does = read(fd, begin, size) == (ssize_t)size && !memcmp(begin, magic, size);
	close(fd);
	return does;
}

void *whole_file_map(const char *path, size_t *size)
{
	int fd = whole_file_read(path), saved;
	void *map = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st)) {
		*size = st.st_size;
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		saved = *size ? errno : ENODATA;
		close(fd);
		errno = saved;
	}
	return map == MAP_FAILED ? NULL : map;
}

char *whole_file_text(const char *path, size_t most)
{
	size_t size;
	void *map = whole_file_map(path, &size);
	char *text = map && size < most ? strndup(map, size) : NULL;

	if (map)
		munmap(map, size);
	return text;
}

const char *whole_file_strerror(int error)
{
	if (error == ETXTBSY)
		return "the command also reads this file, so it does not write to it";
	return error == EMEDIUMTYPE ? "not a file" : strerror(error);
}

/* ---- Removal ---- */

/* Remove a recording, using only functions that a signal handler may call. */
static int remove_recording(const char *folder)
{
	const size_t length = strlen(folder);
	char path[PATH_MAX];
	int err = 0;
	size_t i;

	memcpy(path, folder, length);
	path[length] = '/';
	for (i = 0; i < NR_NAMES; i++) {
		if (length + 1 + strlen(names[i]) >= sizeof(path))
			continue;
		strcpy(path + length + 1, names[i]);
		err = i < NR_FILES ? unlink(path) : rmdir(path);
	}
	return err;
}

static bool is_of_recording(const char *name)
{
	size_t i;

	for (i = 0; i < NR_NAMES - 1; i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return !strcmp(name, "kcore_dir/.") || !strcmp(name, "kcore_dir/..");
}

/* Return 0 if subfolder @below of @folder ("": @folder) has only files of a recording, otherwise -1 with errno. */
static int check_entries(const char *folder, const char *below)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	int err = 0;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/%s", folder, below) >= PATH_MAX)
		return errno = ENAMETOOLONG, -1;
	dir = opendir(path);
	if (!dir)
		return *below && errno == ENOENT ? 0 : -1;
	while (!err && (entry = readdir(dir))) {
		if (!*below && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")))
			continue;
		snprintf(path, sizeof(path), "%s%.255s", below, entry->d_name);
		err = !is_of_recording(path);
	}
	closedir(dir);
	return err ? errno = ENOTEMPTY, -1 : 0;
}

int recording_remove(const char *folder)
{
	if (check_entries(folder, "") || check_entries(folder, "kcore_dir/"))
		return -1;
	return remove_recording(folder);
}

static void remove_part(const struct whole_file *file)
{
	if (file->folder)
		remove_recording(file->part);
	else
		unlink(file->part);
}

static void forget(struct whole_file *file)
{
	struct whole_file **at = &unfinished;

	while (*at && *at != file)
		at = &(*at)->next;
	if (*at)
		*at = file->next;
	file->part[0] = '\0';
}

void whole_file_remove_parts(void)
{
	const struct whole_file *file;

	for (file = unfinished; file; file = file->next)
		remove_part(file);
	rmdir(made);
}

/* Remove the unfinished files and end the program. Until then, all signals that end the command are blocked. */
static void on_end(int signal)
{
	whole_file_remove_parts();
	sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	raise(signal);
}

/* Catch the signals that end the command. Signals that are ignored stay ignored. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_end };
	struct sigaction before;
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaddset(&action.sa_mask, ends[i]);
	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		if (!sigaction(ends[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(ends[i], &action, NULL);
	}
}

/* ---- Begin ---- */

/* Return true for paths such as /dev/stdout, because a path of an open file or device must not be replaced. */
static bool is_special(const char *path)
{
	return (!strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9)) || !strncmp(path, "/proc/", 6);
}

/*
 * Set whole_file::target to the file that the output replaces. The target is a regular file or does not exist yet. If
 * @path is a symbolic link, the target is the file that the link points to. Return 1 if the target was set, 0 if the
 * caller must write to @path directly, or -1 with errno.
 */
static int find_target(struct whole_file *file, const char *path, struct stat *st, bool *exists)
{
	char *real;

	*exists = !stat(path, st);
	if (*exists && is_input(st))
		return errno = ETXTBSY, -1;
	if (strlen(path) >= PATH_MAX)
		return errno = ENAMETOOLONG, -1;
	if (is_special(path))
		return 0;
	strcpy(file->target, path);
	if (!*exists)
		return lstat(path, st) && errno == ENOENT;
	if (!S_ISREG(st->st_mode))
		return 0;
	real = realpath(path, NULL);
	if (!real || strlen(real) >= PATH_MAX) {
		free(real);
		return -1;
	}
	strcpy(file->target, real);
	free(real);
	return access(file->target, W_OK) ? -1 : 1;
}

static int make_part(struct whole_file *file, mode_t mode)
{
	int fd = -1, i, n;

	catch_signals();
	file->next = unfinished;
	unfinished = file;
	for (i = 0; i < TRIES; i++) {
		n = snprintf(file->part, sizeof(file->part), "%s.part-%d-%d", file->target,
			     (int)getpid(), i);
		if (n < 0 || n >= (int)sizeof(file->part)) {
			errno = ENAMETOOLONG;
			break;
		}
		if (file->folder)
			fd = mkdir(file->part, mode);
		else
			fd = open(file->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd < 0)
		forget(file);
	return fd;
}

const char *whole_file_begin(struct whole_file *file, const char *path, mode_t mode)
{
	struct stat st;
	bool exists;
	int fd;

	file->part[0] = '\0';
	file->folder = false;
	fd = find_target(file, path, &st, &exists);
	if (fd <= 0)
		return fd ? NULL : path;
	fd = make_part(file, mode);
	/* If the folder allows no new file, write to @path directly, but only if it is empty and has no data to lose */
	if (fd < 0)
		return exists && !st.st_size && (errno == EACCES || errno == EROFS) ? path : NULL;
	/* The new file gets the mode, and if possible the group, of the file that it replaces */
	if (exists && !fchmod(fd, st.st_mode & 0777) && st.st_uid == geteuid() &&
	    fchown(fd, -1, st.st_gid))
		errno = 0;
	close(fd);
	return file->part;
}

static bool data_is_input(const char *folder)
{
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/data", folder) >= PATH_MAX || stat(path, &st) || !is_input(&st))
		return false;
	errno = ETXTBSY;
	return true;
}

bool whole_folder_make(const char *path)
{
	catch_signals();
	if (mkdir(path, 0777))
		return false;
	strcpy(made, path);
	return true;
}

const char *whole_folder_begin(struct whole_file *file, const char *path)
{
	struct stat st;
	char *end;

	if (snprintf(file->target, sizeof(file->target), "%s", path) >= PATH_MAX)
		return errno = ENAMETOOLONG, NULL;
	for (end = file->target + strlen(file->target); end > file->target + 1 && end[-1] == '/'; end--)
		end[-1] = '\0';
	if (!stat(path, &st)) {
		if (is_input(&st))
			return errno = ETXTBSY, NULL;
		if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
			return errno = ENOTDIR, NULL;
		if (S_ISDIR(st.st_mode) && (data_is_input(path) || check_entries(path, "") || check_entries(path, "kcore_dir/")))
			return NULL;
	}
	file->folder = true;
	return make_part(file, 0700) ? NULL : file->part;
}

FILE *whole_file_open(struct whole_file *file, const char *path)
{
	const char *name;
	FILE *stream;
	int err;

	file->part[0] = '\0';
	if (!strcmp(path, "-")) {
		if (!whole_file_is_input(STDOUT_FILENO))
			return stdout;
		errno = ETXTBSY;
		return NULL;
	}
	name = whole_file_begin(file, path, 0666);
	stream = name ? fopen(name, "we") : NULL;
	if (stream || !name)
		return stream;
	err = errno;
	whole_file_end(file, false);
	errno = err;
	return NULL;
}

/* ---- End ---- */

static int sync_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -1 : 0;

	/* ignore the errors of file systems that do not support fsync() */
	if (fd >= 0 && fsync(fd) && errno != EINVAL && errno != ENOSYS)
		err = -1;
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * Rename the output to the target, unless the process has opened the target as an input since whole_file_begin().
 */
static int replace_file(const struct whole_file *file)
{
	struct stat st;

	if (!stat(file->target, &st) && is_input(&st))
		return errno = ETXTBSY, -1;
	return sync_file(file->part) ? -1 : rename(file->part, file->target);
}

/* Rename the output to the target. If rename() fails because the target is not an empty folder, exchange the two. */
static int replace_folder(const struct whole_file *file)
{
	char path[PATH_MAX];
	size_t i;

	if (data_is_input(file->target))
		return -1;
	for (i = 0; i < NR_FILES; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", file->part, names[i]) >= PATH_MAX)
			return errno = ENAMETOOLONG, -1;
		if (sync_file(path) && errno != ENOENT)
			return -1;
	}
	if (!rename(file->part, file->target))
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
		return -1;
	if (renameat2(AT_FDCWD, file->part, AT_FDCWD, file->target, RENAME_EXCHANGE))
		return -1;
	if (unlink(file->part))
		recording_remove(file->part);
	return 0;
}

int whole_file_end(struct whole_file *file, bool whole)
{
	int err = 0, saved;

	if (!file->part[0])
		return 0;
	if (whole)
		err = file->folder ? replace_folder(file) : replace_file(file);
	saved = errno;
	if (!whole || err)
		remove_part(file);
	forget(file);
	errno = saved;
	return err;
}

int whole_file_close(struct whole_file *file, FILE *stream, bool whole)
{
	int err = 0, before = errno;

	if (fflush(stream) || ferror(stream))
		err = errno ? errno : EIO;
	if (stream != stdout && fclose(stream) && !err)
		err = errno;
	if (whole_file_end(file, whole && !err) && !err)
		err = errno;
	errno = err ?: before;
	return err ? -1 : 0;
}

static int copy_bytes(FILE *in, FILE *out)
{
	char buf[64 << 10];
	size_t n;

	while ((n = fread(buf, 1, sizeof(buf), in)) > 0) {
		if (fwrite(buf, 1, n, out) != n)
			return -1;
	}
	return ferror(in) ? -1 : 0;
}

int whole_file_copy(const char *from, const char *to)
{
	struct whole_file whole;
	FILE *in = fopen(from, "re"), *out = in ? whole_file_open(&whole, to) : NULL;
	int err = out ? 0 : errno;
	struct stat st;

	if (out && (copy_bytes(in, out) || fstat(fileno(in), &st) ||
		    fchmod(fileno(out), st.st_mode & 0777)))
		err = errno;
	if (out && whole_file_close(&whole, out, !err) && !err)
		err = errno;
	if (in)
		fclose(in);
	errno = err;
	return err ? -1 : 0;
}
