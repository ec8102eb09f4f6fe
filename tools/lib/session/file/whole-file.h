/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Write a file, or the folder of a recording, so that it gets its name only when it is complete.
 *
 * The file is written in the folder of its target under another name, and replaces the target at the end. A
 * command that fails, or that a signal ends, leaves the target unchanged and removes its output. A pipe or
 * a device is written directly. A file that the command reads is never replaced.
 */
#ifndef NTRACE_SESSION_WHOLE_FILE_H
#define NTRACE_SESSION_WHOLE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct whole_file {
	struct whole_file *next;	/* the next unfinished file */
	bool		folder;
	char		target[PATH_MAX];	/* path that the complete file gets */
	char		part[PATH_MAX];		/* path of the incomplete file; "" if the target is written directly */
};

/* whole_file_input() - note that this process reads the file @fd, so that no output of the process replaces it */
void whole_file_input(int fd);

/*
 * whole_file_read() - open a regular file for reading, and note it like whole_file_input()
 *
 * Return the descriptor of the file, or -1 with errno. errno is EMEDIUMTYPE if @path is another kind of file.
 */
int whole_file_read(const char *path);

/* whole_file_begins() - return true if @path is a regular file that begins with @magic, of at most 32 bytes */
bool whole_file_begins(const char *path, const char *magic);

/*
 * whole_file_map() - map a regular file for reading, and note it like whole_file_input()
 * @size: Set to the size of the file in bytes
 *
 * Return the map, or NULL with errno.
 */
void *whole_file_map(const char *path, size_t *size);

/*
 * whole_file_text() - return the text of a regular file of less than @most bytes, or NULL. The caller frees the text.
 */
char *whole_file_text(const char *path, size_t most);

/* whole_file_is_input() - return true if @fd is a regular file that whole_file_input() has noted */
bool whole_file_is_input(int fd);

/*
 * whole_file_begin() - prepare to write a file; @file must stay valid until whole_file_end()
 * @mode: Access rights of a new file; a file that is replaced keeps its rights
 *
 * Return the path to write, which is valid as long as @file, or NULL with errno. errno is ETXTBSY
 * if @path is an input of this process.
 */
const char *whole_file_begin(struct whole_file *file, const char *path, mode_t mode);

/*
 * whole_folder_begin() - create the folder of a recording, which can replace a recording, but no other folder. Return
 * the path to write, or NULL with errno.
 */
const char *whole_folder_begin(struct whole_file *file, const char *path);

/*
 * whole_file_open() - call whole_file_begin() and open the file; "-" is the standard output. Return
 * the stream, or NULL with errno.
 */
FILE *whole_file_open(struct whole_file *file, const char *path);

/*
 * whole_file_end() - rename the closed file to its target, or remove the file if @whole is false
 *
 * Return: 0, or -1 with the errno of this call.
 */
int whole_file_end(struct whole_file *file, bool whole);

/*
 * whole_file_close() - close the @stream that whole_file_open() returned, and call whole_file_end()
 *
 * Return: 0 with errno unchanged, or -1 with the errno of the first error.
 */
int whole_file_close(struct whole_file *file, FILE *stream, bool whole);

/*
 * whole_folder_make() - create a folder for several files. If a signal ends the process, the signal handler removes the
 * folder if it is empty. Return false with errno if the folder could not be created.
 */
bool whole_folder_make(const char *path);

/* whole_file_remove_parts() - remove all unfinished files. A signal handler that ends the process may call it. */
void whole_file_remove_parts(void);

/* whole_file_strerror() - return a text that describes an errno of the functions above */
const char *whole_file_strerror(int error);

/* whole_file_copy() - write @to as a copy of @from with the same access rights. Return 0, or -1 with errno. */
int whole_file_copy(const char *from, const char *to);

/*
 * recording_remove() - remove the folder of a recording, but only if it has no other files
 *
 * Return: 0, or -1 with errno. If errno is ENOTEMPTY, the folder has other files, and nothing was removed.
 */
int recording_remove(const char *folder);

#endif /* NTRACE_SESSION_WHOLE_FILE_H */
