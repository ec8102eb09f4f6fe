/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files with code and symbols, which are programs, libraries, the vDSO, and the copy of the kernel
 * that perf kept (kcore and kallsyms).
 *
 * An object is searched when it is first needed, below @symfs, then in the build-id cache
 * (~/.debug), then at its own path. A file that is not for RISC-V, or whose build id differs from
 * the one in the recording, is ignored. Any number of threads may call these functions.
 */
#ifndef NTRACE_SESSION_OBJECT_H
#define NTRACE_SESSION_OBJECT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/array.h"
#include "session/file/perfdata.h"

struct ns_symbol {
	/* addresses in the object; for the kernel, absolute addresses */
	uint64_t	start, end;
	const char	*name;
	const char	*module;	/* "[NAME]" for kernel modules, else NULL */
};

struct ns_segment {
	/* address, file offset and size of a PT_LOAD segment */
	uint64_t	addr, offset, size;
};

struct ns_object {
	const char	*path;		/* path in the recording */
	uint8_t		build_id[PD_BUILD_ID_SIZE];
	uint8_t		build_id_size;	/* 0: not in the recording */
	bool		opened;		/* the fields below are final */
	const uint8_t	*map;		/* NULL: no file was found, for the reason in @why */
	size_t		size;
	char		*file;		/* path of the file, if it was found */
	char		*why;
	/* the owner has reported to the user that the file is missing */
	bool		reported;
	NS_ARRAY(struct ns_segment) segments;
	NS_ARRAY(struct ns_symbol) symbols;	/* sorted by address */
	NS_ARRAY(char *) names;		/* names of symbols that are not in the file */
};

struct ns_objects {
	pthread_mutex_t	lock;
	const char	*symfs;		/* NULL: none */
	const char	*cache;		/* build-id cache; NULL: none */
	const struct perfdata *pd;	/* source of the header's build ids */
	NS_ARRAY(struct ns_object *) all;
	uint32_t	*hash;		/* hash table of @all by path; an entry is the index + 1 */
	size_t		hash_size;
	const struct pd_build_id **build_ids;	/* build ids of the header, by path */
	struct ns_object kcore;		/* kcore of the recording's folder */
	/* text of kallsyms, which the kernel's symbols point into */
	char		*kallsyms;
	NS_ARRAY(const char *) modules;	/* names of the kernel's modules in @kallsyms */
};

/*
 * ns_objects_init() - initialise; @symfs and @cache stay the caller's, and NULL selects the default
 */
int ns_objects_init(struct ns_objects *objects, const struct perfdata *pd, const char *symfs,
		    const char *cache);
void ns_objects_free(struct ns_objects *objects);

/* ns_objects_get() - return the object of a path and build id, or NULL if out of memory */
struct ns_object *ns_objects_get(struct ns_objects *objects, const char *path,
				 const uint8_t *build_id, size_t size);

/* ns_object_open() - search the file. Return true if it was found. */
bool ns_object_open(struct ns_objects *objects, struct ns_object *object);

/*
 * ns_object_read() - copy bytes at @offset of the file. Return their number, which may be less or
 * 0.
 */
size_t ns_object_read(struct ns_objects *objects, struct ns_object *object, uint64_t offset,
		      void *buf, size_t size);

/* ns_object_symbol() - return the function at @offset of the file, or NULL */
const struct ns_symbol *ns_object_symbol(struct ns_objects *objects, struct ns_object *object,
					 uint64_t offset);

/*
 * ns_object_address() - convert a file offset to an address in the object, the unit of its symbols
 */
uint64_t ns_object_address(const struct ns_object *object, uint64_t offset);

/* Copy the kernel's code at an address from the copy that --kcore made. */
size_t ns_kernel_read(struct ns_objects *objects, uint64_t addr, void *buf, size_t size);
const struct ns_symbol *ns_kernel_symbol(struct ns_objects *objects, uint64_t addr);

/*
 * ns_object_sort_symbols() - sort by address
 *
 * Symbols with the same address are sorted by name if @by_name, else by the address of their name
 * in memory.
 */
void ns_object_sort_symbols(struct ns_object *object, bool by_name);

#endif /* NTRACE_SESSION_OBJECT_H */
