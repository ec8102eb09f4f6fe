/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Objects of a recording. An object is a file with code and symbols, such as a program, a library,
 * the vDSO, or the copy of the kernel that perf has stored (kcore and kallsyms).
 *
 * The library searches the file of an object when the file is first needed. It searches below
 * nt_session_options::symfs, then in the build-id caches, such as ~/.debug, and debug/ and .debug/
 * beside the recording, then at the path in the recording. It ignores a file that is not for RISC-V,
 * or whose build id differs from the one in the recording. Any number of threads may call these
 * functions at the same time.
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
	/* first address, and first address after the symbol, in the file; for the kernel, addresses in memory */
	uint64_t	start, end;
	/* name in the symbol table; NULL: the function has only unwind information */
	const char	*name;
	const char	*shown;		/* name to display, which ns_symbol_name() sets */
	const char	*module;	/* "[NAME]" for kernel modules, else NULL */
	uint32_t	around;		/* index + 1 of the symbol that contains this symbol; 0: none */
	/* rank of the name (see symbols.c); of all names of an address, the one with the highest rank is displayed */
	uint8_t		rank;
};

struct ns_segment {
	/* address, file offset and size in bytes of a PT_LOAD segment */
	uint64_t	addr, offset, size;
	bool		exec, write;	/* the process can execute it, or write to it */
};

struct ns_object {
	const char	*path;		/* path in the recording */
	uint8_t		build_id[PD_BUILD_ID_SIZE];
	uint8_t		build_id_size;	/* size in bytes; 0: the recording does not contain the build id */
	bool		opened;		/* the file was searched, so that the members below this one no longer change */
	const uint8_t	*map;		/* contents of the file; NULL: no file was found, and @why is the reason */
	size_t		size;
	Dwfl		*dwfl;
	Dwfl_Module	*module;	/* the object's file in @dwfl */
	GElf_Addr	bias;		/* number that elfutils adds to the file's addresses */
	char		*file;		/* path at which the file was found, otherwise NULL */
	char		*why;
	NS_ARRAY(struct ns_segment) segments;
	/* symbols, sorted by address; if several symbols have the same start, the last one is displayed */
	NS_ARRAY(struct ns_symbol) symbols;
	/* strings that the object owns, such as names of symbols that the file does not contain */
	NS_ARRAY(char *) names;
};

struct ns_objects {
	pthread_mutex_t	lock;
	const char	*symfs;		/* nt_session_options::symfs; NULL: none */
	NS_ARRAY(char *) caches;	/* absolute paths of the build-id caches */
	char		*debug_path;	/* list of folders in which elfutils searches separate debug files */
	Dwfl_Callbacks	callbacks;
	char		*(*demangle)(const char *name);	/* nt_session_options::demangle */
	const struct perfdata *pd;	/* recording whose header contains build ids */
	NS_ARRAY(struct ns_object *) all;
	void		*tree;		/* tree of @all by path and build id, for tsearch() */
	void		*build_ids;	/* tree of the header's build ids by path, for tsearch() */
	struct ns_object kcore;		/* copy of the kernel in the recording's folder */
	Elf		*kcore_elf;
	/* text of kallsyms, which contains the names of the kernel's symbols */
	char		*kallsyms;
	NS_ARRAY(const char *) modules;	/* names of the kernel's modules in @kallsyms */
};

/*
 * ns_objects_init() - initialise @objects from the options of a session, whose strings must stay
 * valid
 * @path: Path of the recording, beside which build-id caches are searched; NULL: none. Return -1 if out of memory.
 */
int ns_objects_init(struct ns_objects *objects, const struct perfdata *pd, const char *path,
		    const struct nt_session_options *options);
void ns_objects_free(struct ns_objects *objects);

/* ns_objects_note() - call whole_file_input() for each file that may be read, so that no output replaces it */
void ns_objects_note(struct ns_objects *objects);

/* ns_objects_get() - return the object of a path and build id, or NULL if out of memory */
struct ns_object *ns_objects_get(struct ns_objects *objects, const char *path,
				 const uint8_t *build_id, size_t size);

/* ns_object_open() - search the file of the object if it was not searched yet. Return true if the file was found. */
bool ns_object_open(struct ns_objects *objects, struct ns_object *object);

/* ns_object_read() - copy bytes at @offset of the file. Return the number of bytes copied, from 0 to @size. */
size_t ns_object_read(struct ns_objects *objects, struct ns_object *object, uint64_t offset,
		      void *buf, size_t size);

/* ns_object_address() - convert a file offset to an address as in struct ns_symbol */
uint64_t ns_object_address(const struct ns_object *object, uint64_t offset);

/*
 * Copy the kernel's code at an address from the file kcore, which perf record --kcore has stored.
 * Return the number of bytes copied.
 */
size_t ns_kernel_read(struct ns_objects *objects, uint64_t addr, void *buf, size_t size);

/*
 * ns_symbols_read() - read the functions of a file. ns_symbols_kallsyms() - read the functions of
 * the kernel from kallsyms. Return false if out of memory.
 */
bool ns_symbols_read(struct ns_object *object, Elf *elf);
bool ns_symbols_kallsyms(struct ns_objects *objects);

/* ns_symbol_at() - return the innermost function at an address of the object, or NULL */
const struct ns_symbol *ns_symbol_at(const struct ns_object *object, uint64_t addr);

/*
 * ns_name_of() - return the name FILE+0xADDRESS for a function without a symbol, or NULL if out of
 * memory; the caller frees it
 */
char *ns_name_of(const char *object, uint64_t address);

/* Return true if the name that ns_name_of() returns matches the pattern. */
bool ns_name_of_matches(const char *object, uint64_t address, const char *pattern);

/*
 * ns_symbol_name() - return the demangled name of a function, or FILE+0xADDRESS if the function has
 * no name
 *
 * All calls for one symbol return the same pointer, which is valid as long as the object exists.
 */
const char *ns_symbol_name(struct ns_objects *objects, struct ns_object *object, const struct ns_symbol *symbol);

/* ns_symbol_matches() - return true if one of the function's names matches the pattern */
bool ns_symbol_matches(struct ns_objects *objects, struct ns_object *object, const struct ns_symbol *symbol,
		       const char *pattern);

/*
 * ns_objects_cached() - get the path that file @name of build id @id has in the cache with index
 * @nth, from 0; return false after the last cache
 */
bool ns_objects_cached(const struct ns_objects *objects, const uint8_t *id, size_t size, const char *name, size_t nth,
		       char path[PATH_MAX]);

#endif /* NTRACE_SESSION_OBJECT_H */
