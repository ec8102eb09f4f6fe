// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>
#include <libelf.h>

#include "elffile.h"

#ifndef EM_RISCV
#define EM_RISCV 243
#endif

static Elf *elf_of(const struct ns_object *object)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	return elf_memory((char *)object->map, object->size);
}

/* ---- Build id ---- */

static bool note_is(Elf_Scn *section,
		    const struct ns_object *object, bool *found)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((char *)data->d_buf + name, "GNU", 4))
			continue;
		*found = true;
		return note.n_descsz >= object->build_id_size &&
			!memcmp((char *)data->d_buf + desc, object->build_id,
				object->build_id_size);
	}
	return false;
}

/*
 * Return true if the build id matches. A file without a build id is another file if the recording
 * has one.
 */
static bool has_build_id(Elf *elf, const struct ns_object *object)
{
	Elf_Scn *section = NULL;
	bool found = false;
	GElf_Shdr shdr;

	if (!object->build_id_size)
		return true;
	while (!found && (section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &shdr) && shdr.sh_type == SHT_NOTE &&
		    note_is(section, object, &found))
			return true;
	}
	return false;
}

const char *ns_elf_check(const struct ns_object *object)
{
	Elf *elf = elf_of(object);
	const char *error = NULL;
	GElf_Ehdr ehdr;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr))
		error = "not an ELF file";
	else if (ehdr.e_machine != EM_RISCV)
		error = "not a file of RISC-V";
	else if (!has_build_id(elf, object))
		error = "the build id is another than the recording's";
	elf_end(elf);
	return error;
}

/* ---- Segments ---- */

const char *ns_elf_segments(struct ns_object *object)
{
	Elf *elf = elf_of(object);
	const char *error = NULL;
	struct ns_segment segment;
	GElf_Phdr phdr;
	size_t nr, i;

	if (!elf || elf_getphdrnum(elf, &nr)) {
		elf_end(elf);
		return "its program headers cannot be read";
	}
	for (i = 0; !error && i < nr; i++) {
		if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_LOAD ||
		    phdr.p_offset >= object->size)
			continue;
		segment.addr = phdr.p_vaddr;
		segment.offset = phdr.p_offset;
		segment.size = phdr.p_filesz < object->size - phdr.p_offset ?
			phdr.p_filesz : object->size - phdr.p_offset;
		if (!ns_array_add(&object->segments, segment))
			error = "out of memory";
	}
	elf_end(elf);
	return error;
}

/* ---- Symbols ---- */

/* Return a name. It must end inside its section, because names point into the mapped file. */
static const char *name_at(const struct ns_object *object, Elf *elf, size_t strings, size_t at)
{
	const char *name = elf_strptr(elf, strings, at);

	if (!name || name < (const char *)object->map ||
	    name >= (const char *)object->map + object->size)
		return NULL;
	return name;
}

static bool is_function(const GElf_Sym *sym, const char *name)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || !name || !name[0])
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	/* assembler code; .L and $x are labels inside functions */
	return type == STT_NOTYPE && name[0] != '.' && name[0] != '$';
}

static const char *read_table(struct ns_object *object, Elf *elf, Elf_Scn *section,
			      const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t nr = shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0, i;
	struct ns_symbol symbol = { 0 };
	GElf_Sym sym;

	for (i = 0; data && i < nr; i++) {
		if (!gelf_getsym(data, i, &sym))
			break;
		symbol.name = name_at(object, elf, shdr->sh_link, sym.st_name);
		if (!is_function(&sym, symbol.name))
			continue;
		symbol.start = sym.st_value;
		symbol.end = sym.st_value + sym.st_size;
		if (!ns_array_add(&object->symbols, symbol))
			return "out of memory";
	}
	return NULL;
}

/* ---- PLT ---- */

#define PLT_HEADER	32	/* RISC-V ELF psABI, "Program Linkage Table" */
#define PLT_ENTRY	16

static Elf_Scn *section_named(Elf *elf, const char *name, GElf_Shdr *shdr)
{
	Elf_Scn *section = NULL;
	size_t strings;
	const char *is;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, shdr))
			continue;
		is = elf_strptr(elf, strings, shdr->sh_name);
		if (is && !strcmp(is, name))
			return section;
	}
	return NULL;
}

/* Make a name such as "printf@plt". The object owns it, because no string table contains it. */
static const char *plt_name(struct ns_object *object, const char *name)
{
	char *copy;

	if (asprintf(&copy, "%s@plt", name) < 0)
		return NULL;
	if (ns_array_add(&object->names, copy))
		return copy;
	free(copy);
	return NULL;
}

/* Name the PLT entries, which are in the order of the relocations of .rela.plt. */
static const char *read_plt(struct ns_object *object, Elf *elf)
{
	GElf_Shdr plt, rela, dynsym;
	Elf_Scn *relocations;
	Elf_Data *data, *symbols;
	struct ns_symbol symbol = { 0 };
	const char *name;
	GElf_Rela r;
	GElf_Sym sym;
	int i;

	if (!section_named(elf, ".plt", &plt))
		return NULL;
	relocations = section_named(elf, ".rela.plt", &rela);
	if (!relocations || !gelf_getshdr(elf_getscn(elf, rela.sh_link), &dynsym))
		return NULL;
	data = elf_getdata(relocations, NULL);
	symbols = elf_getdata(elf_getscn(elf, rela.sh_link), NULL);
	for (i = 0; data && symbols && gelf_getrela(data, i, &r); i++) {
		symbol.start = plt.sh_addr + PLT_HEADER + PLT_ENTRY * (uint64_t)i;
		symbol.end = symbol.start + PLT_ENTRY;
		if (symbol.end > plt.sh_addr + plt.sh_size)
			break;
		if (!gelf_getsym(symbols, GELF_R_SYM(r.r_info), &sym))
			continue;
		name = name_at(object, elf, dynsym.sh_link, sym.st_name);
		symbol.name = name && name[0] ? plt_name(object, name) : NULL;
		if (symbol.name && !ns_array_add(&object->symbols, symbol))
			return "out of memory";
	}
	return NULL;
}

/*
 * Sort the symbols, keep one name for each address, and extend a symbol without a size to the next
 * one.
 */
static void tidy(struct ns_object *object)
{
	struct ns_symbol *at = object->symbols.at;
	size_t i, n = 0;

	if (!object->symbols.nr)
		return;
	ns_object_sort_symbols(object, true);
	for (i = 0; i < object->symbols.nr; i++) {
		if (n && at[n - 1].start == at[i].start) {
			if (at[n - 1].end < at[i].end)
				at[n - 1].end = at[i].end;
			continue;
		}
		at[n++] = at[i];
	}
	object->symbols.nr = n;
	for (i = 0; i + 1 < n; i++) {
		if (at[i].end == at[i].start)
			at[i].end = at[i + 1].start;
	}
}

const char *ns_elf_symbols(struct ns_object *object)
{
	static const uint32_t tables[] = { SHT_SYMTAB, SHT_DYNSYM };
	Elf *elf = elf_of(object);
	const char *error = NULL;
	Elf_Scn *section;
	unsigned int i;
	GElf_Shdr shdr;

	for (i = 0; elf && !error && i < 2 && !object->symbols.nr; i++) {
		section = NULL;
		while (!error && (section = elf_nextscn(elf, section))) {
			if (gelf_getshdr(section, &shdr) && shdr.sh_type == tables[i])
				error = read_table(object, elf, section, &shdr);
		}
	}
	if (elf && !error)
		error = read_plt(object, elf);
	elf_end(elf);
	tidy(object);
	return error;
}
