// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Find the file of a kernel module or of the kernel, and the kernel addresses of its sections
 * (kmodule.h).
 */
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmodule.h"
#include "session/file/whole-file.h"

#define ANOTHER	"its functions differ from those of the recorded kernel, so it is from another build"

/* State of the search for the file of a kernel module or of the kernel */
struct search {
	struct ns_kmodule *kmodule;
	Dwfl		*dwfl;
	const struct nt_session *session;
	const char	*object;	/* name of the module or kernel in the recording, "[NAME]" */
	bool		kernel;		/* @object is the kernel */
	char		name[64];
	const struct pd_build_id *id;	/* build id of @object; NULL: the recording does not contain it */
	NS_ARRAY(const struct ns_symbol *) symbols;	/* symbols of @object in kallsyms, sorted by name */
	const char	*why;
	/* path of the last file that was tried; @why is the reason why this file cannot be used */
	char		path[PATH_MAX];
};

bool ns_is_kmodule(const struct nt_session *session, const char *object)
{
	size_t i;

	for (i = 0; i < session->objects.modules.nr; i++) {
		if (session->objects.modules.at[i] == object)
			return true;
	}
	return false;
}

bool ns_is_kernel(const struct nt_session *session, const char *object)
{
	return object == session->objects.kcore.path;
}

/* ---- Names ---- */

/*
 * Return true if the file name in @path belongs to module @name. For example,
 * "/lib/modules/6.12/extra/a-b.ko.xz" is the file of "a_b".
 */
static bool is_file_of(const char *path, const char *name)
{
	static const char *const endings[] = { "", ".xz", ".gz", ".zst", ".debug" };
	const char *at = strrchr(path, '/');
	size_t i;

	for (at = at ? at + 1 : path; *name && (*at == '-' ? '_' : *at) == *name; at++)
		name++;
	if (*name || strncmp(at, ".ko", 3))
		return false;
	for (i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		if (!strcmp(at + 3, endings[i]))
			return true;
	}
	return false;
}

/* Return true if @path ends with the name of a kernel file, such as "vmlinux", "vmlinux-6.12.1" or "vmlinux.debug". */
static bool is_vmlinux(const char *path)
{
	const char *at = strrchr(path, '/');

	return !strncmp(at ? at + 1 : path, "vmlinux", strlen("vmlinux"));
}

static int name_cmp(const void *a, const void *b)
{
	const struct ns_symbol *x = *(const struct ns_symbol *const *)a;
	const struct ns_symbol *y = *(const struct ns_symbol *const *)b;

	return strcmp(x->name, y->name);
}

static bool take_symbols(struct search *s)
{
	const struct ns_symbol *symbol = s->session->objects.kcore.symbols.at;
	const struct ns_symbol *end = symbol + s->session->objects.kcore.symbols.nr;

	for (; symbol < end; symbol++) {
		if (symbol->module == (s->kernel ? NULL : s->object) && !ns_array_add(&s->symbols, symbol))
			return false;
	}
	ns_array_sort(&s->symbols, name_cmp);
	return true;
}

/*
 * Find the symbols in kallsyms with the name @name. Set *first to the index of the first symbol, and
 * return the number of symbols.
 */
static size_t symbols_of(const struct search *s, const char *name, size_t *first)
{
	const struct ns_symbol wanted = { .name = name }, *key = &wanted;
	size_t last;

	*first = ns_lower_bound(s->symbols.nr, name_cmp(&s->symbols.at[i], &key) < 0);
	for (last = *first; last < s->symbols.nr && !name_cmp(&s->symbols.at[last], &key); )
		last++;
	return last - *first;
}

/* Find the build id and the path of the module or kernel in the header of the recording. */
static void find_build_id(struct search *s)
{
	const struct perfdata *pd = &s->session->pd;
	size_t i;

	for (i = 0; i < pd->nr_build_ids && !s->id; i++) {
		if (!strcmp(pd->build_ids[i].path, s->object) || (s->kernel &&
		    (!strcmp(pd->build_ids[i].path, "[kernel.kallsyms]") || is_vmlinux(pd->build_ids[i].path))) ||
		    is_file_of(pd->build_ids[i].path, s->name))
			s->id = &pd->build_ids[i];
	}
}

/* ---- Find the sections of a module, and their addresses in the kernel ---- */

static struct ns_section *section_at(const struct ns_kmodule *m, uint64_t addr)
{
	size_t i;

	for (i = 0; i < m->sections.nr; i++) {
		if (addr >= m->sections.at[i].from && addr < m->sections.at[i].to)
			return &m->sections.at[i];
	}
	return NULL;
}

/* Add the sections with code. elfutils adds @bias to the addresses in the file. Return false if out of memory. */
static bool add_sections(struct ns_kmodule *m, Elf *elf, GElf_Addr bias)
{
	struct ns_section section = { 0 };
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_EXECINSTR) || !shdr.sh_size)
			continue;
		section.from = shdr.sh_addr + bias;
		section.to = section.from + shdr.sh_size;
		if (!ns_array_add(&m->sections, section))
			return false;
	}
	return true;
}

/*
 * Set the offset between the addresses of a section in elfutils and in the kernel. Return false if
 * an earlier function of the section has a different offset.
 */
static bool place_section(struct ns_section *section, uint64_t kernel)
{
	bool same = !section->placed || section->kernel == kernel;

	section->placed = true;
	section->kernel = kernel;
	return same;
}

/*
 * Find the kernel addresses of all sections from the functions whose names are unique. All functions
 * of a section must have the same offset, and the file must contain all functions of the module in
 * kallsyms. For the kernel, all sections must have the same offset, but its file need not contain
 * all functions, because kallsyms also lists BPF programs. Return NULL, or why the file is refused.
 */
static const char *place(const struct search *s, Dwfl_Module *dwfl)
{
	int nr = dwfl_module_getsymtab(dwfl), i;
	struct ns_section whole = { 0 }, *section, *end;
	size_t first, found, all = 0;
	const char *name;
	GElf_Addr addr;
	GElf_Sym sym;

	for (i = 0; i < nr; i++) {
		name = dwfl_module_getsym_info(dwfl, i, &sym, &addr, NULL, NULL, NULL);
		section = name ? section_at(s->kmodule, addr) : NULL;
		if (!section || (s->kernel && GELF_ST_TYPE(sym.st_info) != STT_FUNC))
			continue;
		found = symbols_of(s, name, &first);
		all += found > 0;
		if (found == 1 && !place_section(s->kernel ? &whole : section, s->symbols.at[first]->start - addr))
			return ANOTHER;
	}
	if (!s->kernel)
		return all >= s->symbols.nr ? NULL : ANOTHER;
	end = s->kmodule->sections.at + s->kmodule->sections.nr;
	for (section = s->kmodule->sections.at; whole.placed && section < end; section++)
		place_section(section, whole.kernel);
	return whole.placed ? NULL : "none of its functions is in the recording's kernel";
}

/* ---- Files ---- */

static const char *check(const struct search *s, Dwfl_Module *dwfl, Elf *elf)
{
	const unsigned char *bits;
	GElf_Addr at;
	GElf_Ehdr ehdr;
	int size;

	if (!gelf_getehdr(elf, &ehdr) || (ehdr.e_type == ET_REL) == s->kernel || ehdr.e_machine != EM_RISCV)
		return s->kernel ? "not a RISC-V kernel" : "not a RISC-V kernel module";
	size = dwfl_module_build_id(dwfl, &bits, &at);
	if (s->id && (size != s->id->size || memcmp(bits, s->id->id, size)))
		return "its build id differs from the one in the recording";
	if (!dwfl_module_getdwarf(dwfl, &at))
		return "it has no debug information";
	return NULL;
}

/* Use the file at @path, and return true, if it is the file of the module or kernel. It may be compressed. */
static bool try_path(struct search *s, const char *path)
{
	int fd = whole_file_read(path);
	Dwfl_Module *dwfl;
	GElf_Addr bias;
	Elf *elf;

	if (fd < 0)
		return false;
	dwfl_report_begin_add(s->dwfl);
	dwfl = dwfl_report_offline(s->dwfl, path, path, fd);
	dwfl_report_end(s->dwfl, NULL, NULL);
	if (!dwfl)
		return close(fd), false;
	elf = dwfl_module_getelf(dwfl, &bias);
	s->kmodule->sections.nr = 0;
	s->why = elf ? check(s, dwfl, elf) : "not an ELF file";
	if (!s->why && !add_sections(s->kmodule, elf, s->kernel ? bias : 0))
		s->why = "out of memory";
	if (!s->why)
		s->why = place(s, dwfl);
	if (!s->why)
		s->kmodule->dwfl = dwfl;
	snprintf(s->path, sizeof(s->path), "%s", path);
	return !s->why;
}

static bool try_folder(struct search *s, const char *folder)
{
	char *const paths[] = { (char *)folder, NULL };
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, NULL);
	bool found = false;
	FTSENT *entry;

	while (fts && !found && (entry = fts_read(fts)))
		found = (entry->fts_info == FTS_F || entry->fts_info == FTS_SL) &&
			(s->kernel ? is_vmlinux(entry->fts_path) : is_file_of(entry->fts_path, s->name)) &&
			try_path(s, entry->fts_path);
	if (fts)
		fts_close(fts);
	return found;
}

static bool try_caches(struct search *s)
{
	char path[PATH_MAX];
	size_t nth;

	for (nth = 0; s->id && ns_objects_cached(&s->session->objects, s->id->id, s->id->size,
						 s->kernel ? "/vmlinux" : "/elf", nth, path); nth++) {
		if (try_path(s, path))
			return true;
	}
	return false;
}

/* Try the paths below @root at which distributions and kernel builds store vmlinux. Return true if one is used. */
static bool try_kernel(struct search *s, const char *root, const char *release)
{
	static const char *const paths[] = {
		"%s/usr/lib/debug/boot/vmlinux-%s", "%s/usr/lib/debug/lib/modules/%s/vmlinux",
		"%s/boot/vmlinux-%s", "%s/lib/modules/%s/build/vmlinux",
	};
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		snprintf(path, sizeof(path), paths[i], root, release);
		if (try_path(s, path))
			return true;
	}
	return false;
}

/* Below @root, try the path in the recording, then the usual paths of the release. Return true if one is used. */
static bool try_root(struct search *s, const char *root)
{
	const char *release = pd_string(&s->session->pd, PD_FEAT_OSRELEASE);
	char path[PATH_MAX];

	if (s->id && s->id->path[0] == '/' &&
	    snprintf(path, sizeof(path), "%s%s", root, s->id->path) < PATH_MAX && try_path(s, path))
		return true;
	if (!release || !*release || strchr(release, '/') || *release == '.')
		return false;
	if (s->kernel)
		return try_kernel(s, root, release);
	snprintf(path, sizeof(path), "%s/lib/modules/%s", root, release);
	return try_folder(s, path);
}

static bool find_file(struct search *s)
{
	const struct nt_session_options *options = &s->session->options;

	return (options->modules && try_folder(s, options->modules)) || try_caches(s) ||
	       (options->symfs && try_root(s, options->symfs)) || try_root(s, "");
}

void ns_kmodule_open(struct ns_kmodule *kmodule, Dwfl *dwfl, const struct nt_session *session,
		     const char *object)
{
	struct search s = {
		.kmodule = kmodule, .dwfl = dwfl, .session = session, .object = object,
		.kernel = ns_is_kernel(session, object),
	};
	int n;

	memset(kmodule, 0, sizeof(*kmodule));
	snprintf(s.name, sizeof(s.name), "%.*s", (int)strcspn(object + 1, "]"), object + 1);
	find_build_id(&s);
	if (take_symbols(&s) && find_file(&s))
		goto out;
	kmodule->sections.nr = 0;
	kmodule->refused = s.why;
	if (s.why)
		n = asprintf(&kmodule->why, "%s: %s", s.path, s.why);
	else
		n = asprintf(&kmodule->why, "its file was not found");
	if (n < 0)
		kmodule->why = NULL;
out:
	free(s.symbols.at);
}

void ns_kmodule_close(struct ns_kmodule *kmodule)
{
	free(kmodule->sections.at);
	free(kmodule->why);
}

/* ---- Addresses ---- */

uint64_t ns_kmodule_from_kernel(const struct ns_kmodule *kmodule, uint64_t addr)
{
	const struct ns_section *s = kmodule->sections.at, *end = s + kmodule->sections.nr;

	for (; s < end; s++) {
		if (s->placed && addr - s->kernel >= s->from && addr - s->kernel < s->to)
			return addr - s->kernel;
	}
	return addr;
}

uint64_t ns_kmodule_to_kernel(const struct ns_kmodule *kmodule, uint64_t addr)
{
	const struct ns_section *section = section_at(kmodule, addr);

	return section && section->placed ? addr + section->kernel : addr;
}
