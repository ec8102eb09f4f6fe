// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Find and read the files of the objects of a recording, such as programs and libraries (object.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "object.h"
#include "session/session.h"
#include "session/file/whole-file.h"

#define KERNEL_NAME	"[kernel.kallsyms]"

/* ---- Manage the list of objects ---- */

static void close_object(struct ns_object *object)
{
	size_t i;

	for (i = 0; i < object->names.nr; i++)
		free(object->names.at[i]);
	free(object->names.at);
	if (object->dwfl)
		dwfl_end(object->dwfl);
	free(object->file);
	free(object->why);
	free(object->segments.at);
	free(object->symbols.at);
}

static int build_id_cmp(const void *a, const void *b)
{
	return strcmp(((const struct pd_build_id *)a)->path, ((const struct pd_build_id *)b)->path);
}

/* If *size is 0, no build id is known; get the build id for @path from the header of the recording, if it has one. */
static void find_build_id(const struct ns_objects *objects, const char *path,
			  const uint8_t **build_id, size_t *size)
{
	const struct pd_build_id wanted = { .path = path }, **known;

	known = *size ? NULL : tfind(&wanted, &objects->build_ids, build_id_cmp);
	if (known) {
		*build_id = (*known)->id;
		*size = (*known)->size;
	}
}

static int object_cmp(const void *a, const void *b)
{
	const struct ns_object *x = a, *y = b;

	return strcmp(x->path, y->path) ?: ns_order(x->build_id_size, y->build_id_size) ?:
		memcmp(x->build_id, y->build_id, x->build_id_size);
}

struct ns_object *ns_objects_get(struct ns_objects *objects, const char *path,
				 const uint8_t *build_id, size_t size)
{
	struct ns_object wanted = { .path = path }, *object, **known;

	find_build_id(objects, path, &build_id, &size);
	wanted.build_id_size = size;
	if (size)
		memcpy(wanted.build_id, build_id, size);
	known = tsearch(&wanted, &objects->tree, object_cmp);
	if (!known || *known != &wanted)
		return known ? *known : NULL;
	object = malloc(sizeof(*object));
	if (object) {
		*object = wanted;
		*known = object;
		if (ns_array_add(&objects->all, object))
			return object;
	}
	tdelete(&wanted, &objects->tree, object_cmp);
	free(object);
	return NULL;
}

/* ---- Files ---- */

/*
 * Check that a file is for RISC-V. If the recording contains the build id of the object, also check
 * that the file has this build id. Return NULL, or the reason why the file cannot be used.
 */
static const char *check(const struct ns_object *object, Elf *elf)
{
	const unsigned char *id;
	GElf_Addr at;
	GElf_Ehdr ehdr;

	if (!gelf_getehdr(elf, &ehdr) || ehdr.e_machine != EM_RISCV)
		return "not a RISC-V file";
	if (object->build_id_size && (dwfl_module_build_id(object->module, &id, &at) < object->build_id_size ||
				      memcmp(id, object->build_id, object->build_id_size)))
		return "its build id differs from the one in the recording";
	return NULL;
}

/* Read the PT_LOAD segments, without bytes that are beyond the end of the file. Return NULL, or what failed. */
static const char *read_segments(struct ns_object *object, Elf *elf)
{
	struct ns_segment segment;
	GElf_Phdr phdr;
	size_t nr, i;

	object->map = (const uint8_t *)elf_rawfile(elf, &object->size);
	if (!object->map || elf_getphdrnum(elf, &nr))
		return "its program headers cannot be read";
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_LOAD ||
		    phdr.p_offset >= object->size)
			continue;
		segment.addr = phdr.p_vaddr;
		segment.offset = phdr.p_offset;
		segment.size = phdr.p_filesz < object->size - phdr.p_offset ?
			phdr.p_filesz : object->size - phdr.p_offset;
		segment.exec = phdr.p_flags & PF_X;
		segment.write = phdr.p_flags & PF_W;
		if (!ns_array_add(&object->segments, segment))
			return "out of memory";
	}
	return NULL;
}

static const char *read_object(struct ns_object *object, const char *path)
{
	Elf *elf = object->module ? dwfl_module_getelf(object->module, &object->bias) : NULL;
	const char *error = elf ? check(object, elf) : "not an ELF file";

	if (!error)
		error = read_segments(object, elf);
	if (error)
		return error;
	object->file = strdup(path);
	return object->file && ns_symbols_read(object, elf) ? NULL : "out of memory";
}

/* Use the file at @path if it is the file that was executed. Return NULL, or the reason why the file cannot be used. */
static const char *try_path(struct ns_objects *objects, struct ns_object *object, const char *path)
{
	const char *error;
	int fd = whole_file_read(path);

	if (fd < 0)
		return whole_file_strerror(errno);
	object->dwfl = dwfl_begin(&objects->callbacks);
	object->module = object->dwfl ? dwfl_report_offline(object->dwfl, path, path, fd) : NULL;
	if (object->module)
		dwfl_report_end(object->dwfl, NULL, NULL);
	else
		close(fd);
	error = read_object(object, path);
	if (!error)
		return NULL;
	dwfl_end(object->dwfl);
	object->dwfl = NULL;
	object->map = NULL;
	object->segments.nr = object->symbols.nr = 0;
	return error;
}

bool ns_objects_cached(const struct ns_objects *objects, const uint8_t *id, size_t size, const char *name, size_t nth,
		       char path[PATH_MAX])
{
	char hex[2 * PD_BUILD_ID_SIZE + 1];
	size_t i;

	if (!size || size > PD_BUILD_ID_SIZE || nth >= objects->caches.nr)
		return false;
	for (i = 0; i < size; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	snprintf(path, PATH_MAX, "%s/.build-id/%.2s/%s%s", objects->caches.at[nth], hex, hex + 2, name);
	return true;
}

/*
 * Use the file at @path unless the object already has a file. If the file exists but cannot be
 * used, store the reason in @object->why, unless there is an earlier reason.
 */
static void use_path(struct ns_objects *objects, struct ns_object *object, const char *path)
{
	const char *error = object->map ? NULL : try_path(objects, object, path);
	bool other = strcmp(path, object->path);

	if (error && !object->why && strcmp(error, strerror(ENOENT)) &&
	    asprintf(&object->why, "%s%s%s", other ? path : "", other ? ": " : "", error) < 0)
		object->why = NULL;
}

/* Call @use with each path at which the file of the object can be. */
static void each_path(struct ns_objects *objects, struct ns_object *object,
		      void (*use)(struct ns_objects *objects, struct ns_object *object, const char *path))
{
	static const char *const names[] = { "/elf", "/vdso" };
	char path[PATH_MAX];
	size_t i, nth;

	if (objects->symfs && snprintf(path, sizeof(path), "%s/%s", objects->symfs, object->path) < PATH_MAX)
		use(objects, object, path);
	for (i = 0; i < 2; i++) {
		for (nth = 0; ns_objects_cached(objects, object->build_id, object->build_id_size, names[i], nth, path); nth++)
			use(objects, object, path);
	}
	if (object->path[0] == '/')
		use(objects, object, object->path);
}

/* Note a file as an input of this process. Use O_PATH, because opening a device for reading can have an effect. */
static void note_path(struct ns_objects *objects, struct ns_object *object, const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	whole_file_input(fd);
	if (fd >= 0)
		close(fd);
}

void ns_objects_note(struct ns_objects *objects)
{
	size_t i;

	for (i = 0; i < objects->all.nr; i++)
		each_path(objects, objects->all.at[i], note_path);
}

static void open_locked(struct ns_objects *objects, struct ns_object *object)
{
	each_path(objects, object, use_path);
	if (!object->map && !object->why)
		object->why = strdup(strerror(ENOENT));
}

bool ns_object_open(struct ns_objects *objects, struct ns_object *object)
{
	if (!__atomic_load_n(&object->opened, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&objects->lock);
		if (!object->opened) {
			open_locked(objects, object);
			/*
			 * set @opened last, because another thread that finds @opened set reads the other members
			 * without the lock
			 */
			__atomic_store_n(&object->opened, true, __ATOMIC_RELEASE);
		}
		pthread_mutex_unlock(&objects->lock);
	}
	return object->map;
}

size_t ns_object_read(struct ns_objects *objects, struct ns_object *object, uint64_t offset,
		      void *buf, size_t size)
{
	const struct ns_segment *s;
	uint64_t end;

	if (!ns_object_open(objects, object) || offset >= object->size)
		return 0;
	/*
	 * Do not read beyond the executable segments. The kernel first maps all segments of a program
	 * together, so the first map record of a program also covers data.
	 */
	end = object->segments.nr ? 0 : object->size;
	for (s = object->segments.at; s < object->segments.at + object->segments.nr; s++) {
		if (s->exec && offset >= s->offset && offset - s->offset < s->size)
			end = s->offset + s->size;
	}
	if (offset >= end)
		return 0;
	if (size > end - offset)
		size = end - offset;
	memcpy(buf, object->map + offset, size);
	return size;
}

uint64_t ns_object_address(const struct ns_object *object, uint64_t offset)
{
	const struct ns_segment *s;

	for (s = object->segments.at; s < object->segments.at + object->segments.nr; s++) {
		if (offset >= s->offset && offset - s->offset < s->size)
			return s->addr + (offset - s->offset);
	}
	return offset;
}

/* ---- Find code and symbols of the kernel ---- */

size_t ns_kernel_read(struct ns_objects *objects, uint64_t addr, void *buf, size_t size)
{
	const struct ns_object *kcore = &objects->kcore;
	const struct ns_segment *s;
	uint64_t in;

	for (s = kcore->segments.at; s < kcore->segments.at + kcore->segments.nr; s++) {
		in = addr - s->addr;
		if (addr < s->addr || in >= s->size)
			continue;
		if (size > s->size - in)
			size = s->size - in;
		memcpy(buf, kcore->map + s->offset + in, size);
		return size;
	}
	return 0;
}

/* Map the file kcore with libelf, because libdwfl does not report a core file as a module. */
static const char *map_kcore(struct ns_objects *objects, const char *path)
{
	const char *error = "not an ELF file";
	int fd = whole_file_read(path);

	if (fd < 0)
		return whole_file_strerror(errno);
	elf_version(EV_CURRENT);
	objects->kcore_elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (objects->kcore_elf) {
		error = read_segments(&objects->kcore, objects->kcore_elf);
		elf_cntl(objects->kcore_elf, ELF_C_FDDONE);
	}
	close(fd);
	return error;
}

static bool open_kernel(struct ns_objects *objects)
{
	char path[PATH_MAX];
	const char *error;

	objects->kcore.path = KERNEL_NAME;
	objects->kcore.opened = true;
	if (!objects->pd->folder)
		return true;
	snprintf(path, sizeof(path), "%s/kcore_dir/kcore", objects->pd->folder);
	error = map_kcore(objects, path);
	if (error && asprintf(&objects->kcore.why, "%s: %s", path, error) < 0)
		return false;
	snprintf(path, sizeof(path), "%s/kcore_dir/kallsyms", objects->pd->folder);
	objects->kallsyms = whole_file_text(path, SIZE_MAX);
	return !objects->kallsyms || ns_symbols_kallsyms(objects);
}

/*
 * Sort the build ids of the header by path. If several build ids have the same path, a search finds
 * the first of them. Return false if out of memory.
 */
static bool sort_build_ids(struct ns_objects *objects)
{
	size_t i;

	for (i = 0; i < objects->pd->nr_build_ids; i++) {
		if (!tsearch(&objects->pd->build_ids[i], &objects->build_ids, build_id_cmp))
			return false;
	}
	return true;
}

/* Add a build-id cache if its folder exists. elfutils needs its absolute path. Return false if out of memory. */
static bool add_cache(struct ns_objects *objects, const char *folder, const char *below)
{
	char path[PATH_MAX], *cache;

	if (snprintf(path, sizeof(path), "%s/%s", folder, below) >= (int)sizeof(path))
		return true;
	cache = realpath(path, NULL);
	if (!cache || ns_array_add(&objects->caches, cache))
		return cache || errno != ENOMEM;
	free(cache);
	return false;
}

/* Add the build-id caches that perf archive, ntrace record and the demo write to @folder or to a folder below it. */
static bool add_caches(struct ns_objects *objects, const char *folder)
{
	return add_cache(objects, folder, ".") && add_cache(objects, folder, "debug") &&
	       add_cache(objects, folder, ".debug");
}

static bool add_caches_beside(struct ns_objects *objects, const char *path)
{
	char *folder = path && strcmp(path, "-") ? strdup(path) : NULL, *end;
	bool ok;

	if (!folder)
		return true;
	for (end = folder + strlen(folder); end > folder + 1 && end[-1] == '/'; end--)
		end[-1] = '\0';
	end = strrchr(folder, '/');
	if (end)
		end[end == folder] = '\0';
	ok = add_caches(objects, end ? folder : ".");
	free(folder);
	return ok;
}

/* Set the list of folders in which elfutils searches separate debug files. Return false if out of memory. */
static bool set_debug_path(struct ns_objects *objects)
{
	char *path = strdup(":.debug:/usr/lib/debug"), *longer;
	size_t i;

	for (i = 0; path && i < objects->caches.nr; i++) {
		longer = NULL;
		if (asprintf(&longer, "%s:%s", path, objects->caches.at[i]) < 0)
			longer = NULL;
		free(path);
		path = longer;
	}
	objects->debug_path = path;
	objects->callbacks = (Dwfl_Callbacks) {
		.find_elf = dwfl_build_id_find_elf, .find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address, .debuginfo_path = &objects->debug_path,
	};
	return path;
}

int ns_objects_init(struct ns_objects *objects, const struct perfdata *pd, const char *path,
		    const struct nt_session_options *options)
{
	memset(objects, 0, sizeof(*objects));
	pthread_mutex_init(&objects->lock, NULL);
	objects->pd = pd;
	objects->symfs = options->symfs;
	objects->demangle = options->demangle;
	if ((options->cache && !add_cache(objects, options->cache, ".")) ||
	    (options->symfs && !add_cache(objects, options->symfs, "usr/lib/debug")) ||
	    (pd->folder && !add_caches(objects, pd->folder)) || !add_caches_beside(objects, path))
		return -1;
	return set_debug_path(objects) && sort_build_ids(objects) && open_kernel(objects) ? 0 : -1;
}

static void keep(void *node)
{
}

void ns_objects_free(struct ns_objects *objects)
{
	size_t i;

	tdestroy(objects->tree, keep);
	for (i = 0; i < objects->all.nr; i++) {
		close_object(objects->all.at[i]);
		free(objects->all.at[i]);
	}
	free(objects->all.at);
	for (i = 0; i < objects->caches.nr; i++)
		free(objects->caches.at[i]);
	free(objects->caches.at);
	free(objects->debug_path);
	tdestroy(objects->build_ids, keep);
	close_object(&objects->kcore);
	elf_end(objects->kcore_elf);
	free(objects->kallsyms);
	free(objects->modules.at);
	pthread_mutex_destroy(&objects->lock);
}
