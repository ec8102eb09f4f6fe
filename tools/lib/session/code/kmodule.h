/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The file of a kernel module, and where the kernel has put its sections. A module is a relocatable
 * file: elfutils gives each section an address of its own choice, and the kernel another one, which
 * the addresses of its functions say.
 */
#ifndef NTRACE_SESSION_KMODULE_H
#define NTRACE_SESSION_KMODULE_H

#include <elfutils/libdwfl.h>

#include "session/session-priv.h"

/* A section with code */
struct ns_section {
	uint64_t	from, to;	/* of elfutils */
	uint64_t	kernel;		/* what the kernel's addresses are higher by */
	bool		placed;		/* @kernel is known: it is not of code that was thrown away */
};

struct ns_kmodule {
	Dwfl_Module	*dwfl;		/* NULL: there is no file of it */
	NS_ARRAY(struct ns_section) sections;
	char		*why;		/* ... and why there is none; NULL: out of memory */
	bool		refused;	/* ... because those that were found are others */
};

/* ns_is_kmodule() - is the object of a place a kernel module? ns_is_kernel() - is it the kernel? */
bool ns_is_kmodule(const struct nt_session *session, const char *object);
bool ns_is_kernel(const struct nt_session *session, const char *object);

/*
 * ns_kmodule_open() - find the file of a module: below nt_session_options::modules, in the build-id
 * cache, at the path that the recording names, and in lib/modules, below nt_session_options::symfs and
 * here. A file is taken if it has the build id that the recording names, and each of its functions
 * is where the recording's kernel has it.
 *
 * Of the kernel itself it is vmlinux with debug information, which is moved as a whole.
 */
void ns_kmodule_open(struct ns_kmodule *kmodule, Dwfl *dwfl, const struct nt_session *session,
		     const char *object);
void ns_kmodule_close(struct ns_kmodule *kmodule);

/*
 * Addresses of elfutils and of the kernel. Code that is not in the kernel keeps that of elfutils,
 * which is none of the kernel's.
 */
uint64_t ns_kmodule_from_kernel(const struct ns_kmodule *kmodule, uint64_t addr);
uint64_t ns_kmodule_to_kernel(const struct ns_kmodule *kmodule, uint64_t addr);

#endif /* NTRACE_SESSION_KMODULE_H */
