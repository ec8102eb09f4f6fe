/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The file of a kernel module, and the addresses of its sections in the kernel. A module is a
 * relocatable file, so elfutils and the kernel each assign their own addresses to its sections.
 * kallsyms lists the addresses of functions in the kernel, from which this library calculates the
 * addresses of the sections.
 */
#ifndef NTRACE_SESSION_KMODULE_H
#define NTRACE_SESSION_KMODULE_H

#include <elfutils/libdwfl.h>

#include "session/session-priv.h"

/* A section of a kernel module that contains code */
struct ns_section {
	/* first address of the section, and first address after it, as elfutils assigns them */
	uint64_t	from, to;
	uint64_t	kernel;		/* number to add to an elfutils address to get the address in the kernel */
	/* @kernel was found; false, for example, if the kernel freed the section when the module had started */
	bool		placed;
};

struct ns_kmodule {
	Dwfl_Module	*dwfl;		/* the module's file in elfutils; NULL: no file was found */
	NS_ARRAY(struct ns_section) sections;
	char		*why;		/* reason why @dwfl is NULL; NULL: out of memory */
	bool		refused;	/* files were found, but they are not the recorded module */
};

/* Return true if @object, which is a nt_place::object, is a kernel module (or the kernel, for ns_is_kernel()). */
bool ns_is_kmodule(const struct nt_session *session, const char *object);
bool ns_is_kernel(const struct nt_session *session, const char *object);

/*
 * ns_kmodule_open() - find the file of a kernel module; if there is none, set kmodule->why
 *
 * The function searches below nt_session_options::modules, in the build-id caches, at the path in
 * the recording, and in lib/modules both below nt_session_options::symfs and on this machine. It
 * uses a file that has debug information and the build id in the recording, and whose functions have
 * the same distances from each other as in the recorded kernel.
 *
 * For the kernel itself, the file is vmlinux, and one offset applies to all its addresses.
 */
void ns_kmodule_open(struct ns_kmodule *kmodule, Dwfl *dwfl, const struct nt_session *session,
		     const char *object);
void ns_kmodule_close(struct ns_kmodule *kmodule);

/*
 * Convert between elfutils' addresses and the kernel's. If the kernel does not contain the code at
 * @addr, return @addr. It cannot be mistaken for a result, because the two use different addresses.
 */
uint64_t ns_kmodule_from_kernel(const struct ns_kmodule *kmodule, uint64_t addr);
uint64_t ns_kmodule_to_kernel(const struct ns_kmodule *kmodule, uint64_t addr);

#endif /* NTRACE_SESSION_KMODULE_H */
