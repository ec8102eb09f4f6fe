/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Write a copy of a recording that has only the data that decoding needs. Command lines, the host's
 * name, samples, and names of files whose code was not executed are left out.
 */
#ifndef NTRACE_SESSION_SHARE_H
#define NTRACE_SESSION_SHARE_H

#include "session/session.h"

/* A file whose code was executed */
struct nt_shared_file {
	const char	*path;		/* name of the file in the recording */
	const uint8_t	*build_id;
	size_t		build_id_size;	/* 0: the file has no build id; at most 20 */
};

struct nt_share_options {
	size_t		size;	/* sizeof(struct nt_share_options) */
	const struct nt_shared_file *files;
	size_t		nr_files;
	bool		kernel;	/* keep the names of kernel modules, for a caller that adds the kernel's code */
	/* Function that gets each name that the new recording contains; @what is "file" or "process"; NULL: none */
	void		(*tell)(void *ctx, const char *what, const char *text);
	void		*ctx;
};

/*
 * nt_session_share() - write a copy of the recording to @fd, which is an empty file
 *
 * Return: 0, or -1 with nt_session_error().
 */
int nt_session_share(struct nt_session *session, int fd, const struct nt_share_options *options);

#endif /* NTRACE_SESSION_SHARE_H */
