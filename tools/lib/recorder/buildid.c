// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * This file writes the build ids of mapped programs and libraries, and of the kernel's modules, to
 * the header. It copies programs and libraries to the build-id cache. perf and the session library
 * search this cache for files, and perf archive packs files of this cache. An example of a file in
 * the cache is
 *
 *	~/.debug/usr/bin/ls/1234.../elf
 *	~/.debug/.build-id/12/34... -> ../../usr/bin/ls/1234...
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder-priv.h"

#define VDSO		"[vdso]"

struct scan {
	struct nt_recorder *r;
	struct pd_bytes	*to;		/* build ids that were found so far */
	void		*names;		/* tree of the names that were found so far, for tsearch() */
	char		cache[PATH_MAX];	/* path of the cache, or empty */
};

/* ---- Read the build id of an ELF file ---- */

/* Bytes of an ELF file. The recorder reads them without libelf, which cannot be linked statically on Debian. */
struct bytes {
	const char	*at;
	size_t		size;
};

static bool has(const struct bytes *b, uint64_t offset, uint64_t size)
{
	return offset <= b->size && size <= b->size - offset;
}

/*
 * Find the build id in the notes from @at to @end, each of which is padded to 4 bytes. Return its
 * size, or 0 if it is missing.
 */
static size_t id_of_notes(const struct bytes *b, uint64_t at, uint64_t end,
			  uint8_t id[PD_BUILD_ID_SIZE])
{
	Elf64_Nhdr note;
	uint64_t name;

	while (at < end && has(b, at, sizeof(note))) {
		memcpy(&note, b->at + at, sizeof(note));
		name = at + sizeof(note);
		at = name + ((note.n_namesz + 3ULL) & ~3ULL);
		if (!has(b, name, at - name) || !has(b, at, note.n_descsz))
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(b->at + name, "GNU", 4) && note.n_descsz <= PD_BUILD_ID_SIZE) {
			memcpy(id, b->at + at, note.n_descsz);
			return note.n_descsz;
		}
		at += (note.n_descsz + 3ULL) & ~3ULL;
	}
	return 0;
}

static size_t id_of_elf(const struct bytes *b, uint8_t id[PD_BUILD_ID_SIZE])
{
	size_t i, size = 0;
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;

	if (!has(b, 0, sizeof(ehdr)))
		return 0;
	memcpy(&ehdr, b->at, sizeof(ehdr));
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_phentsize != sizeof(phdr))
		return 0;
	for (i = 0; !size && i < ehdr.e_phnum; i++) {
		if (!has(b, ehdr.e_phoff + i * sizeof(phdr), sizeof(phdr)))
			return 0;
		memcpy(&phdr, b->at + ehdr.e_phoff + i * sizeof(phdr), sizeof(phdr));
		if (phdr.p_type == PT_NOTE && has(b, phdr.p_offset, phdr.p_filesz))
			size = id_of_notes(b, phdr.p_offset, phdr.p_offset + phdr.p_filesz, id);
	}
	return size;
}

static size_t id_of_file(const char *path, uint8_t id[PD_BUILD_ID_SIZE])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct bytes b = { 0 };
	struct stat st;
	size_t size;
	void *map;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		b.size = st.st_size;
	map = b.size ? mmap(NULL, b.size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (map == MAP_FAILED)
		return 0;
	b.at = map;
	size = id_of_elf(&b, id);
	munmap(map, b.size);
	return size;
}

/*
 * Get the build id of module "[NAME]" from its notes in sysfs, because its file may be anywhere.
 * Return its size, or 0 if it is missing.
 */
static size_t id_of_module(const char *name, uint8_t id[PD_BUILD_ID_SIZE])
{
	char path[256], notes[4096];
	struct bytes b = { .at = notes };
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/module/%.*s/notes/.note.gnu.build-id",
		 (int)strcspn(name + 1, "]"), name + 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, notes, sizeof(notes));
	close(fd);
	b.size = n > 0 ? n : 0;
	return id_of_notes(&b, 0, b.size, id);
}

/* ---- The vDSO, which has no file ---- */

/* Return the bytes of the vDSO in this process, which are the same in all processes. */
static struct bytes vdso(void)
{
	const char *begin = (const char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *ehdr = (const void *)begin;

	if (!begin || memcmp(begin, ELFMAG, SELFMAG))
		return (struct bytes){ 0 };
	return (struct bytes){ begin, ehdr->e_shoff + (size_t)ehdr->e_shnum * ehdr->e_shentsize };
}

/* ---- Copies of files in perf's build-id cache ---- */

/* Create the folders of a path, up to its last slash. Return false on failure. */
static bool make_folders(const char *path)
{
	char part[PATH_MAX], *slash;

	snprintf(part, sizeof(part), "%s", path);
	for (slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) && errno != EEXIST)
			return false;
		*slash = '/';
	}
	return true;
}

static bool put_vdso(const char *to)
{
	const struct bytes b = vdso();
	struct whole_file whole;
	FILE *out = b.size ? whole_file_open(&whole, to) : NULL;

	return out && !whole_file_close(&whole, out, fwrite(b.at, 1, b.size, out) == b.size);
}

/*
 * Copy a program to the cache. Ignore errors, because readers also look for the program at its original
 * path.
 */
static void cache(const struct scan *s, const char *original, const uint8_t *id, size_t size)
{
	char hex[2 * PD_BUILD_ID_SIZE + 1], folder[PATH_MAX], to[PATH_MAX], link[PATH_MAX];
	const char *path = original, *name = strcmp(path, VDSO) ? "elf" : "vdso";
	size_t i;

	for (i = 0; i < size; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	path += *path == '/';
	if (snprintf(to, sizeof(to), "%s/%s/%s/%s", s->cache, path, hex, name) >= PATH_MAX - 8 ||
	    !access(to, F_OK))
		return;
	if (!make_folders(to) || !(strcmp(original, VDSO) ? !whole_file_copy(original, to) : put_vdso(to)))
		return;
	snprintf(folder, sizeof(folder), "../../%s/%s", path, hex);
	if (snprintf(link, sizeof(link), "%s/.build-id/%.2s/%s", s->cache, hex, hex + 2) >=
	    PATH_MAX)
		return;
	if (make_folders(link) && symlink(folder, link) && errno == EEXIST) {
		unlink(link);
		(void)!symlink(folder, link);
	}
}

/* ---- Records of the file ---- */

static void take_path(struct scan *s, const char *path)
{
	const struct bytes b = vdso();
	uint8_t id[PD_BUILD_ID_SIZE];
	size_t size = strcmp(path, VDSO) ? id_of_file(path, id) : id_of_elf(&b, id);

	if (!size)
		return;
	pd_add_id(s->to, PERF_RECORD_MISC_USER, path, id, size);
	if (*s->cache)
		cache(s, path, id, size);
}

static void take_module(struct scan *s, const struct perf_event_header *header)
{
	const size_t name = sizeof(*header) + 32;	/* offset of the name in struct map_record */
	const char *path = (const char *)header + name;
	uint8_t id[PD_BUILD_ID_SIZE];
	size_t size;

	if (header->size <= name || *path != '[' || !memchr(path, 0, header->size - name))
		return;
	size = id_of_module(path, id);
	if (size)
		pd_add_id(s->to, PERF_RECORD_MISC_KERNEL, path, id, size);
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/*
 * Handle a record of a map. The tree of names refers to the record, because the recording stays in
 * memory until the end.
 */
static void take_map(struct scan *s, const struct perf_event_header *header)
{
	const size_t name = sizeof(*header) + 64;	/* offset of the name in struct perf_record_mmap2 */
	const char *record = (const char *)header, *path = record + name;
	const char **found;

	if (header->misc & PERF_RECORD_MISC_MMAP_DATA || header->size <= name ||
	    !memchr(path, 0, header->size - name))
		return;
	if (strcmp(path, VDSO) && (path[0] != '/' || path[1] == '/'))
		return;
	found = tsearch(path, &s->names, compare);
	if (found && *found == path)
		take_path(s, path);
}

void rec_count(struct nt_recorder_info *info, const struct perf_event_header *header)
{
	const uint64_t cut = PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL;
	const uint64_t *words = (const uint64_t *)(header + 1);

	if (header->type == PERF_RECORD_AUX && header->size >= sizeof(*header) + 24) {
		info->stretches++;
		if (words[2] & PERF_AUX_FLAG_COLLISION)
			info->busy_stretches++;
		else
			info->cut_stretches += (words[2] & cut) != 0;
	} else if (header->type == PERF_RECORD_LOST && header->size >= sizeof(*header) + 16) {
		info->lost_events += words[1];
	}
}

static int take(void *ctx, const struct pd_record *record)
{
	struct scan *s = ctx;

	rec_count(&s->r->info, record->header);
	if (record->header->type == PERF_RECORD_MMAP2)
		take_map(s, record->header);
	else if (record->header->type == PERF_RECORD_MMAP)
		take_module(s, record->header);
	return 0;
}

static void keep_name(void *name)
{
}

static void choose_cache(const struct nt_recorder *r, char cache[PATH_MAX])
{
	const char *home = getenv("HOME");

	*cache = '\0';
	if (r->options.no_cache)
		return;
	if (r->options.cache)
		snprintf(cache, PATH_MAX, "%s", r->options.cache);
	else if (home && *home)
		snprintf(cache, PATH_MAX, "%s/.debug", home);
}

void rec_build_ids(struct nt_recorder *r, struct pd_bytes *to)
{
	struct scan s = { .r = r, .to = to };
	struct perfdata pd;

	r->info.stretches = r->info.cut_stretches = r->info.lost_events = 0;
	r->info.busy_stretches = 0;
	choose_cache(r, s.cache);
	if (!pd_open(&pd, r->out.path))
		pd_for_each(&pd, take, &s);
	tdestroy(s.names, keep_name);
	pd_close(&pd);
}
