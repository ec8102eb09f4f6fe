// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elffile.h"
#include "object.h"
#include "session/file/whole-file.h"

#define KERNEL_NAME	"[kernel.kallsyms]"

/* ---- The list ---- */

static struct ns_object *new_object(const char *path, const uint8_t *build_id, size_t size)
{
	struct ns_object *object = calloc(1, sizeof(*object));

	if (!object)
		return NULL;
	object->path = path;
	object->build_id_size = size;
	memcpy(object->build_id, build_id, size);
	return object;
}

static void close_object(struct ns_object *object)
{
	size_t i;

	for (i = 0; i < object->names.nr; i++)
		free(object->names.at[i]);
	free(object->names.at);
	if (object->map)
		munmap((void *)object->map, object->size);
	free(object->file);
	free(object->why);
	free(object->segments.at);
	free(object->symbols.at);
}

/* Get the build id for @path from the header of the recording, unless the map contains one. */
static void find_build_id(const struct ns_objects *objects, const char *path,
			  const uint8_t **build_id, size_t *size)
{
	size_t low = 0, nr = objects->pd->nr_build_ids, high = nr, mid;

	while (!*size && low < high) {
		mid = low + (high - low) / 2;
		if (strcmp(objects->build_ids[mid]->path, path) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (*size || low == nr || strcmp(objects->build_ids[low]->path, path))
		return;
	*build_id = objects->build_ids[low]->id;
	*size = objects->build_ids[low]->size;
}

static size_t hash_of(const struct ns_objects *objects, const char *path)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (; *path; path++)
		h = (h ^ (uint8_t)*path) * 0x100000001b3ULL;
	return (h ^ h >> 32) & (objects->hash_size - 1);
}

static bool grow_hash(struct ns_objects *objects)
{
	size_t size = objects->hash_size ? 2 * objects->hash_size : 1024, i, at;
	uint32_t *hash = calloc(size, sizeof(*hash));

	if (!hash)
		return false;
	free(objects->hash);
	objects->hash = hash;
	objects->hash_size = size;
	for (i = 0; i < objects->all.nr; i++) {
		at = hash_of(objects, objects->all.at[i]->path);
		while (hash[at])
			at = (at + 1) & (size - 1);
		hash[at] = i + 1;
	}
	return true;
}

struct ns_object *ns_objects_get(struct ns_objects *objects, const char *path,
				 const uint8_t *build_id, size_t size)
{
	struct ns_object *object;
	size_t at;

	find_build_id(objects, path, &build_id, &size);
	if (2 * objects->all.nr >= objects->hash_size && !grow_hash(objects))
		return NULL;
	for (at = hash_of(objects, path); objects->hash[at];
	     at = (at + 1) & (objects->hash_size - 1)) {
		object = objects->all.at[objects->hash[at] - 1];
		if (!strcmp(object->path, path) && object->build_id_size == size &&
		    (!size || !memcmp(object->build_id, build_id, size)))
			return object;
	}
	object = new_object(path, build_id ? build_id : (const uint8_t *)"", size);
	if (object && !ns_array_add(&objects->all, object)) {
		free(object);
		return NULL;
	}
	objects->hash[at] = objects->all.nr;
	return object;
}

/* ---- Files ---- */

static const char *map_path(struct ns_object *object, const char *path)
{
	const char *error = NULL;
	struct stat st;
	void *map;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return strerror(errno);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size) {
		error = "not a file";
	} else {
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED) {
			error = strerror(errno);
		} else {
			whole_file_input(fd);
			object->map = map;
			object->size = st.st_size;
		}
	}
	close(fd);
	return error;
}

/*
 * Use the file at @path if it is the executed file. Return NULL, or the reason why it is not used.
 */
static const char *try_path(struct ns_object *object, const char *path)
{
	const char *error = map_path(object, path);

	if (error)
		return error;
	error = ns_elf_check(object);
	if (!error)
		error = ns_elf_segments(object);
	if (!error) {
		object->file = strdup(path);
		return object->file ? ns_elf_symbols(object) : "out of memory";
	}
	munmap((void *)object->map, object->size);
	object->map = NULL;
	object->segments.nr = 0;
	return error;
}

static const char *try_cache(struct ns_object *object, const char *cache)
{
	static const char *const names[] = { "elf", "vdso" };
	char path[PATH_MAX], hex[2 * PD_BUILD_ID_SIZE + 1];
	const char *error = NULL;
	unsigned int i;

	if (!cache || !object->build_id_size)
		return "not in the build-id cache";
	for (i = 0; i < object->build_id_size; i++)
		sprintf(hex + 2 * i, "%02x", object->build_id[i]);
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s/%s", cache, hex, hex + 2,
			 names[i]);
		error = try_path(object, path);
		if (!error)
			return NULL;
	}
	return error;
}

static void open_locked(struct ns_objects *objects, struct ns_object *object)
{
	const char *error = "no such file";
	char path[PATH_MAX];

	if (objects->symfs &&
	    snprintf(path, sizeof(path), "%s/%s", objects->symfs, object->path) < PATH_MAX)
		error = try_path(object, path);
	if (!object->map)
		error = try_cache(object, objects->cache);
	if (!object->map && object->path[0] == '/')
		error = try_path(object, object->path);
	if (!object->map && asprintf(&object->why, "%s", error) < 0)
		object->why = NULL;
}

bool ns_object_open(struct ns_objects *objects, struct ns_object *object)
{
	if (!__atomic_load_n(&object->opened, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&objects->lock);
		if (!object->opened) {
			open_locked(objects, object);
			/* the other fields are only read after this */
			__atomic_store_n(&object->opened, true, __ATOMIC_RELEASE);
		}
		pthread_mutex_unlock(&objects->lock);
	}
	return object->map;
}

size_t ns_object_read(struct ns_objects *objects, struct ns_object *object, uint64_t offset,
		      void *buf, size_t size)
{
	if (!ns_object_open(objects, object) || offset >= object->size)
		return 0;
	if (size > object->size - offset)
		size = object->size - offset;
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

/* ---- Symbols ---- */

static const struct ns_symbol *find_symbol(const struct ns_object *object, uint64_t addr)
{
	size_t low = 0, high = object->symbols.nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (object->symbols.at[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low && addr < object->symbols.at[low - 1].end ? &object->symbols.at[low - 1] : NULL;
}

const struct ns_symbol *ns_object_symbol(struct ns_objects *objects, struct ns_object *object,
					 uint64_t offset)
{
	if (!ns_object_open(objects, object))
		return NULL;
	return find_symbol(object, ns_object_address(object, offset));
}

const struct ns_symbol *ns_kernel_symbol(struct ns_objects *objects, uint64_t addr)
{
	return find_symbol(&objects->kcore, addr);
}

/* ---- The kernel ---- */

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

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t n = 0;
	ssize_t len;

	if (!f)
		return NULL;
	len = getdelim(&text, &n, 0, f);
	fclose(f);
	if (len < 0) {
		free(text);
		text = NULL;
	}
	return text;
}

/* Set the module of a symbol. The symbols of a module are consecutive. */
static bool set_module(struct ns_objects *objects, struct ns_symbol *symbol, char *name)
{
	const char **last = objects->modules.nr ? &objects->modules.at[objects->modules.nr - 1] : NULL;

	symbol->module = NULL;
	if (*name != '[')
		return true;
	name[strcspn(name, " ")] = '\0';
	symbol->module = last && !strcmp(*last, name) ? *last : name;
	return symbol->module != name || ns_array_add(&objects->modules, name);
}

/*
 * Parse kallsyms, which has lines such as "ffffffff80002000 T name\t[module]". The last of several
 * names of an address is kept, and a function extends to the next one.
 */
static bool parse_kallsyms(struct ns_objects *objects)
{
	struct ns_object *kcore = &objects->kcore;
	char *line, *save, *name, *module, *end;
	struct ns_symbol symbol;
	size_t i;

	for (line = strtok_r(objects->kallsyms, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		symbol.start = strtoull(line, &end, 16);
		if (end == line || *end != ' ' || !strchr("tTwW", end[1]) || end[2] != ' ')
			continue;
		name = end + 3;
		module = name + strcspn(name, "\t ");
		if (*module)
			*module++ = '\0';
		/* local labels of the assembler, and mapping symbols of RISC-V */
		if (!strncmp(name, ".L", 2) || name[0] == '$')
			continue;
		symbol.name = name;
		if (!set_module(objects, &symbol, module) || !ns_array_add(&kcore->symbols, symbol))
			return false;
	}
	ns_object_sort_symbols(kcore, false);
	for (i = 0; i < kcore->symbols.nr; i++)
		kcore->symbols.at[i].end = i + 1 < kcore->symbols.nr ?
			kcore->symbols.at[i + 1].start : kcore->symbols.at[i].start + 4096;
	return true;
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
	error = map_path(&objects->kcore, path);
	if (!error)
		error = ns_elf_segments(&objects->kcore);
	if (error && asprintf(&objects->kcore.why, "%s: %s", path, error) < 0)
		return false;
	snprintf(path, sizeof(path), "%s/kcore_dir/kallsyms", objects->pd->folder);
	objects->kallsyms = read_text(path);
	return !objects->kallsyms || parse_kallsyms(objects);
}

static int build_id_cmp(const void *a, const void *b)
{
	const struct pd_build_id *x = *(const struct pd_build_id *const *)a;
	const struct pd_build_id *y = *(const struct pd_build_id *const *)b;
	int order = strcmp(x->path, y->path);

	/* find the first of several entries with the same path */
	return order ? order : x < y ? -1 : x > y;
}

static bool sort_build_ids(struct ns_objects *objects)
{
	size_t nr = objects->pd->nr_build_ids, i;

	objects->build_ids = calloc(nr + 1, sizeof(*objects->build_ids));
	if (!objects->build_ids)
		return false;
	for (i = 0; i < nr; i++)
		objects->build_ids[i] = &objects->pd->build_ids[i];
	qsort(objects->build_ids, nr, sizeof(*objects->build_ids), build_id_cmp);
	return true;
}

int ns_objects_init(struct ns_objects *objects, const struct perfdata *pd, const char *symfs,
		    const char *cache)
{
	memset(objects, 0, sizeof(*objects));
	pthread_mutex_init(&objects->lock, NULL);
	objects->pd = pd;
	objects->symfs = symfs;
	objects->cache = cache;
	return sort_build_ids(objects) && open_kernel(objects) ? 0 : -1;
}

void ns_objects_free(struct ns_objects *objects)
{
	size_t i;

	for (i = 0; i < objects->all.nr; i++) {
		close_object(objects->all.at[i]);
		free(objects->all.at[i]);
	}
	free(objects->all.at);
	free(objects->hash);
	free(objects->build_ids);
	close_object(&objects->kcore);
	free(objects->kallsyms);
	free(objects->modules.at);
	pthread_mutex_destroy(&objects->lock);
}
