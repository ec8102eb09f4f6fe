/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files that have code and symbols: programs, libraries, the vDSO, and what perf kept of the
 * kernel (kcore and kallsyms).
 *
 * An object is looked for when it is needed first: below @symfs, in the build-id cache
 * (~/.debug), then at its own path. A file that is not of RISC-V, or has another build id
 * than the recording names, is not taken. Calls may come from any number of threads.
 */
#ifndef NTRACE_SESSION_OBJECT_H
#define NTRACE_SESSION_OBJECT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/array.h"
#include "session/file/perfdata.h"

struct ns_symbol {
	uint64_t	start, end;	/* addresses of the object; of the kernel: absolute */
	const char	*name;
	const char	*module;	/* "[NAME]", of the kernel's modules; NULL */
};

struct ns_segment {
	uint64_t	addr, offset, size;	/* PT_LOAD: address, place and bytes in the file */
};

struct ns_object {
	const char	*path;		/* as in the recording */
	uint8_t		build_id[PD_BUILD_ID_SIZE];
	uint8_t		build_id_size;	/* 0: the recording does not say */
	bool		opened;		/* the fields below are final */
	const uint8_t	*map;		/* NULL: no file was found; @why says more */
	size_t		size;
	char		*file;		/* its path, if it was found */
	char		*why;
	bool		reported;	/* the owner's: the user was told that it is missing */
	NS_ARRAY(struct ns_segment) segments;
	NS_ARRAY(struct ns_symbol) symbols;	/* by address */
	NS_ARRAY(char *) names;		/* of symbols that are not in the file */
};

struct ns_objects {
	pthread_mutex_t	lock;
	const char	*symfs;		/* NULL: none */
	const char	*cache;		/* build-id cache; NULL: none */
	const struct perfdata *pd;	/* build ids of the header */
	NS_ARRAY(struct ns_object *) all;
	uint32_t	*hash;		/* of @all, by path: number + 1 */
	size_t		hash_size;
	const struct pd_build_id **build_ids;	/* of the header, by path */
	struct ns_object kcore;		/* of the recording's folder */
	char		*kallsyms;	/* its text, which the kernel's symbols point into */
	NS_ARRAY(const char *) modules;	/* of the kernel: their names in @kallsyms */
};

/* ns_objects_init() - @symfs and @cache stay the caller's; NULL is the default */
int ns_objects_init(struct ns_objects *objects, const struct perfdata *pd, const char *symfs,
		    const char *cache);
void ns_objects_free(struct ns_objects *objects);

/* ns_objects_get() - the object of that path and build id; NULL: out of memory */
struct ns_object *ns_objects_get(struct ns_objects *objects, const char *path,
				 const uint8_t *build_id, size_t size);

/* ns_object_open() - look for the file; true: it is there */
bool ns_object_open(struct ns_objects *objects, struct ns_object *object);

/* ns_object_read() - bytes at @offset of the file, as many as there are; 0: none */
size_t ns_object_read(struct ns_objects *objects, struct ns_object *object, uint64_t offset,
		      void *buf, size_t size);

/* ns_object_symbol() - the function at @offset of the file; NULL: none */
const struct ns_symbol *ns_object_symbol(struct ns_objects *objects, struct ns_object *object,
					 uint64_t offset);

/* ns_object_address() - an address of the object, as symbols have it, from an offset */
uint64_t ns_object_address(const struct ns_object *object, uint64_t offset);

/* The kernel's code at an address, as --kcore has kept it */
size_t ns_kernel_read(struct ns_objects *objects, uint64_t addr, void *buf, size_t size);
const struct ns_symbol *ns_kernel_symbol(struct ns_objects *objects, uint64_t addr);

/*
 * ns_object_sort_symbols() - by address; of equal ones, by name if @by_name, else as their names
 * stand in memory
 */
void ns_object_sort_symbols(struct ns_object *object, bool by_name);

#endif /* NTRACE_SESSION_OBJECT_H */
