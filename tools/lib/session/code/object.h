/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files with code and symbols, which are programs, libraries, the vDSO, and the copy of the kernel
 * that perf kept (kcore and kallsyms).
 *
 * The file of an object is searched when it is first needed. It is searched below @symfs, then in
 * the build-id caches, which are debug/ and .debug/ beside the recording and ~/.debug, then at its
 * own path. A file that is not for RISC-V, or whose build id differs from the one in the recording,
 * is ignored. Any number of threads may call these functions.
 */
#ifndef NTRACE_SESSION_OBJECT_H
#define NTRACE_SESSION_OBJECT_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

#include "session/array.h"
#include "session/file/perfdata.h"

struct nt_session_options;

struct ns_symbol {
	/* addresses in the object; for the kernel, absolute addresses */
	uint64_t	start, end;
	const char	*name;		/* NULL: a function that only unwind information shows */
	const char	*shown;		/* set by ns_symbol_name() */
	const char	*module;	/* "[NAME]" for kernel modules, else NULL */
	uint32_t	around;		/* index + 1 of the symbol that contains this one; 0: none */
	uint8_t		rank;		/* the name with the highest rank is shown, see symbols.c */
};

struct ns_segment {
	/* address, file offset and size of a PT_LOAD segment */
	uint64_t	addr, offset, size;
	bool		exec;
};

struct ns_object {
	const char	*path;		/* path in the recording */
	uint8_t		build_id[PD_BUILD_ID_SIZE];
	uint8_t		build_id_size;	/* 0: not in the recording */
	bool		opened;		/* the fields below are final */
	const uint8_t	*map;		/* NULL: no file was found, for the reason in @why */
	size_t		size;
	Dwfl		*dwfl;
	Dwfl_Module	*module;	/* the file in @dwfl */
	GElf_Addr	bias;		/* number that elfutils adds to the file's addresses */
	char		*file;		/* path of the file, if it was found */
	char		*why;
	NS_ARRAY(struct ns_segment) segments;
	/*
	 * sorted by address; if several symbols have the same start, the last one is the function
	 */
	NS_ARRAY(struct ns_symbol) symbols;
	NS_ARRAY(char *) names;		/* names of symbols that are not in the file */
};

struct ns_objects {
	pthread_mutex_t	lock;
	const char	*symfs;		/* NULL: none */
	NS_ARRAY(char *) caches;	/* build-id caches */
	char		*debug_path;	/* where elfutils searches separate debug files */
	Dwfl_Callbacks	callbacks;
	char		*(*demangle)(const char *name);	/* see struct nt_session_options */
	const struct perfdata *pd;	/* source of the header's build ids */
	NS_ARRAY(struct ns_object *) all;
	void		*tree;		/* tree of @all by path and build id, for tsearch() */
	void		*build_ids;	/* tree of the header's build ids by path, for tsearch() */
	struct ns_object kcore;		/* kcore of the recording's folder */
	Elf		*kcore_elf;
	/* text of kallsyms, which the kernel's symbols point into */
	char		*kallsyms;
	NS_ARRAY(const char *) modules;	/* names of the kernel's modules in @kallsyms */
};

/*
 * ns_objects_init() - initialise from the options of a session, whose strings must stay valid
 * @path: Path of the recording, beside which files are also searched; NULL: none
 */
int ns_objects_init(struct ns_objects *objects, const struct perfdata *pd, const char *path,
		    const struct nt_session_options *options);
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

/*
 * ns_object_address() - convert a file offset to an address in the object, as its symbols have it
 */
uint64_t ns_object_address(const struct ns_object *object, uint64_t offset);

/* Copy the kernel's code at an address from the copy that --kcore made. */
size_t ns_kernel_read(struct ns_objects *objects, uint64_t addr, void *buf, size_t size);

/* ns_symbols_read() - read the functions of a file. Return false if out of memory. */
bool ns_symbols_read(struct ns_object *object, Elf *elf);
bool ns_symbols_kallsyms(struct ns_objects *objects);

/* ns_symbol_at() - return the innermost function at an address of the object, or NULL */
const struct ns_symbol *ns_symbol_at(const struct ns_object *object, uint64_t addr);

/* ns_name_of() - make the name of a function without a symbol, FILE+0xADDRESS; NULL: out of memory */
char *ns_name_of(const char *object, uint64_t address);

/* Return true if the name that ns_name_of() makes matches the pattern. */
bool ns_name_of_matches(const char *object, uint64_t address, const char *pattern);

/*
 * ns_symbol_name() - return the demangled name, or FILE+0xADDRESS if the function has no name
 *
 * All calls for one symbol return the same pointer, which is valid as long as the object exists.
 */
const char *ns_symbol_name(struct ns_objects *objects, struct ns_object *object, const struct ns_symbol *symbol);

/* ns_symbol_matches() - return true if one of the function's names matches the pattern */
bool ns_symbol_matches(struct ns_objects *objects, struct ns_object *object, const struct ns_symbol *symbol,
		       const char *pattern);

/* ns_objects_cached() - get a path of the file with that build id in one of the caches; false after the last one */
bool ns_objects_cached(const struct ns_objects *objects, const uint8_t *id, size_t size, const char *name, size_t nth,
		       char path[PATH_MAX]);

#endif /* NTRACE_SESSION_OBJECT_H */
