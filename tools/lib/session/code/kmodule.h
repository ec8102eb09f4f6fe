/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The file of a kernel module, and the addresses of its sections in the kernel. A module is a
 * relocatable file, so elfutils and the kernel each assign their own addresses to its sections.
 * kallsyms lists the kernel's addresses of functions, from which those of the sections follow.
 */
#ifndef NTRACE_SESSION_KMODULE_H
#define NTRACE_SESSION_KMODULE_H

#include <elfutils/libdwfl.h>

#include "session/session-priv.h"

/* A section with code */
struct ns_section {
	uint64_t	from, to;	/* addresses of elfutils */
	uint64_t	kernel;		/* number to add to get addresses of the kernel */
	/* true if @kernel is known; false for code that the kernel has freed */
	bool		placed;
};

struct ns_kmodule {
	Dwfl_Module	*dwfl;		/* NULL: its file was not found */
	NS_ARRAY(struct ns_section) sections;
	char		*why;		/* reason why it was not found; NULL: out of memory */
	bool		refused;	/* files were found, but they are not the recorded module */
};

/*
 * ns_is_kmodule() - return true if @object is a kernel module; ns_is_kernel() - return true if it
 * is the kernel
 */
bool ns_is_kmodule(const struct nt_session *session, const char *object);
bool ns_is_kernel(const struct nt_session *session, const char *object);

/*
 * ns_kmodule_open() - find the file of a module
 *
 * It is searched below nt_session_options::modules, in the build-id cache, at the path in the
 * recording, and in lib/modules both below nt_session_options::symfs and on this machine. A file is
 * used if it has the build id in the recording, and if each of its functions is at the same address
 * as in the recorded kernel.
 *
 * For the kernel itself, the file is vmlinux with debug information, and one offset applies to all
 * its addresses.
 */
void ns_kmodule_open(struct ns_kmodule *kmodule, Dwfl *dwfl, const struct nt_session *session,
		     const char *object);
void ns_kmodule_close(struct ns_kmodule *kmodule);

/*
 * Convert between elfutils' addresses and the kernel's. If the kernel does not have that code,
 * return the elfutils address, which is never an address of the kernel.
 */
uint64_t ns_kmodule_from_kernel(const struct ns_kmodule *kmodule, uint64_t addr);
uint64_t ns_kmodule_to_kernel(const struct ns_kmodule *kmodule, uint64_t addr);

#endif /* NTRACE_SESSION_KMODULE_H */
