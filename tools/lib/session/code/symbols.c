// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Read the functions of an object. The library elfutils finds the symbols in the object's file, in
 * the section .gnu_debugdata of this file, or in a separate debug file. Documentation/names.rst
 * describes which name is displayed if a function has several names.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "object.h"
#include "session/session.h"

/* Bits of a symbol's rank. If several symbols have the same address, the symbol with the highest rank is displayed. */
enum {
	RANK_GLOBAL	= 1,
	RANK_STRONG	= 2,
	RANK_SIZED	= 4,
	RANK_LABEL	= 8,		/* the symbol has no type, which is usual in assembler code */
	RANK_FUNCTION	= 16,
};

static bool add(struct ns_object *object, uint64_t start, uint64_t size, const char *name, uint8_t rank)
{
	const struct ns_symbol symbol = {
		.start = start, .end = start + size, .name = name, .rank = size ? rank | RANK_SIZED : rank,
	};

	return symbol.end < start || ns_array_add(&object->symbols, symbol);
}

static uint8_t rank_of_binding(bool global, bool weak)
{
	return (global ? RANK_GLOBAL : 0) | (weak ? 0 : RANK_STRONG);
}

/* ---- Symbol tables ---- */

static bool has_code(Elf *elf, GElf_Word section)
{
	GElf_Shdr shdr;

	return gelf_getshdr(elf_getscn(elf, section), &shdr) && shdr.sh_flags & SHF_EXECINSTR;
}

/*
 * Return the rank of a symbol, or 0 if it is not a function. Symbols without a type whose names
 * start with "." or "$" are labels inside functions.
 */
static uint8_t rank_of(const GElf_Sym *sym, const char *name, Elf *elf, GElf_Word section)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info), binding = GELF_ST_BIND(sym->st_info);
	uint8_t rank = rank_of_binding(binding == STB_GLOBAL, binding == STB_WEAK);

	if (sym->st_shndx == SHN_UNDEF || !*name)
		return 0;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return rank | RANK_FUNCTION;
	return type == STT_NOTYPE && *name != '.' && *name != '$' && has_code(elf, section) ? rank | RANK_LABEL : 0;
}

static bool read_symtab(struct ns_object *object)
{
	int nr = dwfl_module_getsymtab(object->module), i;
	GElf_Word section;
	const char *name;
	GElf_Addr addr;
	uint8_t rank;
	GElf_Sym sym;
	Elf *elf;

	for (i = 0; i < nr; i++) {
		name = dwfl_module_getsym_info(object->module, i, &sym, &addr, &section, &elf, NULL);
		rank = name ? rank_of(&sym, name, elf, section) : 0;
		if (rank && !add(object, addr - object->bias, sym.st_size, name, rank))
			return false;
	}
	return true;
}

/* ---- PLT ---- */

#define PLT_HEADER	32	/* bytes of the first PLT entry (RISC-V ELF psABI, "Program Linkage Table") */
#define PLT_ENTRY	16

static Elf_Scn *section_named(Elf *elf, const char *name, GElf_Shdr *shdr)
{
	Elf_Scn *section = NULL;
	size_t strings;
	const char *is;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, shdr) && (is = elf_strptr(elf, strings, shdr->sh_name)) &&
		    !strcmp(is, name))
			break;
	}
	return section;
}

/*
 * Add the PLT entries as functions with names such as "printf@plt". PLT entries have the same order
 * as the relocations in .rela.plt.
 */
static bool read_plt(struct ns_object *object, Elf *elf)
{
	GElf_Shdr plt, rela, dynsym;
	Elf_Scn *relocations = section_named(elf, ".rela.plt", &rela), *scn;
	Elf_Data *data = elf_getdata(relocations, NULL), *symbols;
	const char *name;
	uint64_t start;
	GElf_Rela r;
	GElf_Sym sym;
	char *copy;
	int i;

	if (!data || !section_named(elf, ".plt", &plt))
		return true;
	scn = elf_getscn(elf, rela.sh_link);
	symbols = elf_getdata(scn, NULL);
	if (!symbols || !gelf_getshdr(scn, &dynsym))
		return true;
	for (i = 0; gelf_getrela(data, i, &r); i++) {
		start = plt.sh_addr + PLT_HEADER + PLT_ENTRY * (uint64_t)i;
		if (start + PLT_ENTRY > plt.sh_addr + plt.sh_size)
			break;
		name = gelf_getsym(symbols, GELF_R_SYM(r.r_info), &sym) ?
			elf_strptr(elf, dynsym.sh_link, sym.st_name) : NULL;
		if (!name || !*name)
			continue;
		if (asprintf(&copy, "%s@plt", name) < 0)
			return false;
		if (!ns_array_add(&object->names, copy)) {
			free(copy);
			return false;
		}
		if (!add(object, start, PLT_ENTRY, copy, RANK_FUNCTION))
			return false;
	}
	return true;
}

/* ---- Functions without a symbol ---- */

#define PCREL_SDATA4	(DW_EH_PE_pcrel | DW_EH_PE_sdata4)

/*
 * Return true if the FDEs of a CIE contain relative addresses of four bytes, which is the format
 * that all RISC-V compilers use. If the augmentation is "zR", "zPLR" or "zRS", the last byte of the
 * augmentation data is the format.
 */
static bool is_relative(const unsigned char *ident, Elf_Data *data, Dwarf_Off offset)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	return !dwarf_next_cfi(ident, data, true, offset, &next, &entry) && dwarf_cfi_cie_p(&entry) &&
	       strchr(entry.cie.augmentation, 'R') && entry.cie.augmentation_data_size &&
	       entry.cie.augmentation_data[entry.cie.augmentation_data_size - 1] == PCREL_SDATA4;
}

/*
 * Add the functions that have unwind information, which contains the start and the end of functions
 * even if their names were stripped. Return false if out of memory.
 */
static bool read_frames(struct ns_object *object, Elf *elf)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
	Dwarf_Off offset, next = 0, cie = -1;
	bool relative = false;
	Dwarf_CFI_Entry entry;
	struct {
		int32_t		start;
		uint32_t	size;
	} fde;
	Elf_Data *data;
	GElf_Shdr shdr;

	data = elf_getdata(section_named(elf, ".eh_frame", &shdr), NULL);
	while (data && (offset = next, !dwarf_next_cfi(ident, data, true, offset, &next, &entry))) {
		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (entry.fde.CIE_pointer != cie) {
			cie = entry.fde.CIE_pointer;
			relative = is_relative(ident, data, cie);
		}
		if (!relative || entry.fde.end < entry.fde.start + sizeof(fde))
			continue;
		memcpy(&fde, entry.fde.start, sizeof(fde));
		if (!add(object, shdr.sh_addr + (entry.fde.start - (const uint8_t *)data->d_buf) + fde.start,
			 fde.size, NULL, 0))
			return false;
	}
	return true;
}

/* ---- Sort the symbols ---- */

/*
 * Compare two symbols, to sort them by address. Symbols with the same address are sorted so that the
 * last one has the name that perf displays.
 */
static int symbol_cmp(const void *a, const void *b)
{
	const struct ns_symbol *x = a, *y = b;
	int order = ns_order(x->start, y->start) ?: ns_order(x->rank, y->rank);

	if (order || !x->name || !y->name)
		return order;
	return ns_order(strspn(y->name, "_"), strspn(x->name, "_")) ?:
		ns_order(strlen(x->name), strlen(y->name)) ?: strcmp(x->name, y->name);
}

/*
 * Return the innermost symbol that ends after @addr, out of symbol @nth and the symbols that contain
 * it. @nth and the return value are an index + 1, or 0 for no symbol.
 */
static uint32_t around(const struct ns_object *object, uint32_t nth, uint64_t addr)
{
	while (nth && object->symbols.at[nth - 1].end <= addr)
		nth = object->symbols.at[nth - 1].around;
	return nth;
}

/* Remove labels and unnamed functions that are inside another symbol. Set ns_symbol::around of all others. */
static void nest(struct ns_object *object)
{
	struct ns_symbol *at = object->symbols.at;
	size_t i, n = 0;
	bool alias;

	for (i = 0; i < object->symbols.nr; i++) {
		alias = n && at[n - 1].start == at[i].start;
		at[i].around = alias ? at[n - 1].around : around(object, n, at[i].start);
		if (at[i].around && at[i].rank < RANK_FUNCTION)
			continue;
		at[n] = at[i];
		if (alias && at[n].end < at[n - 1].end)
			at[n].end = at[n - 1].end;
		n++;
	}
	object->symbols.nr = n;
}

/* Set the end of each symbol without a size to the start of the next symbol, or to the end of the enclosing one. */
static void extend(struct ns_object *object)
{
	struct ns_symbol *at = object->symbols.at;
	uint64_t next = object->symbols.nr ? at[object->symbols.nr - 1].start + 4096 : 0;
	size_t i;

	for (i = object->symbols.nr; i--; ) {
		if (at[i].end == at[i].start)
			at[i].end = at[i].around && at[at[i].around - 1].end < next ? at[at[i].around - 1].end : next;
		if (!i || at[i - 1].start != at[i].start)
			next = at[i].start;
	}
}

static void sort_symbols(struct ns_object *object)
{
	ns_array_sort(&object->symbols, symbol_cmp);
	nest(object);
	extend(object);
}

/* ---- All ---- */

/* Set the module of a symbol. All symbols of a module, which kallsyms lists in a row, get one pointer to its name. */
static bool set_module(struct ns_objects *objects, struct ns_symbol *symbol, char *name)
{
	const char **last = objects->modules.nr ? &objects->modules.at[objects->modules.nr - 1] : NULL;

	if (*name != '[')
		return true;
	name[strcspn(name, " ")] = '\0';
	symbol->module = last && !strcmp(*last, name) ? *last : name;
	return symbol->module != name || ns_array_add(&objects->modules, name);
}

/*
 * Parse a hexadecimal number with lower-case digits, and return the position after it. The function
 * is faster than strtoull(), which would take a third of the time of a short report.
 */
static char *parse_hex(char *at, uint64_t *value)
{
	for (*value = 0; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
		*value = *value << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
	return at;
}

/*
 * Parse kallsyms, which has lines such as "ffffffff80002000 T name\t[module]". kallsyms has no sizes,
 * so a function extends to the start of the next function.
 */
bool ns_symbols_kallsyms(struct ns_objects *objects)
{
	struct ns_object *kcore = &objects->kcore;
	char *line, *save, *name, *module, *end;
	uint64_t start;
	char type;

	for (line = strtok_r(objects->kallsyms, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		end = parse_hex(line, &start);
		if (end == line || *end != ' ' || !memchr("tTwW", end[1], 4) || end[2] != ' ')
			continue;
		type = end[1];
		name = end + 3;
		module = name + strcspn(name, "\t ");
		if (*module)
			*module++ = '\0';
		/* skip local labels of the assembler, and mapping symbols of RISC-V */
		if (!strncmp(name, ".L", 2) || name[0] == '$')
			continue;
		if (!add(kcore, start, 0, name, RANK_FUNCTION | rank_of_binding(type == 'T', type == 'w' || type == 'W')) ||
		    !set_module(objects, &kcore->symbols.at[kcore->symbols.nr - 1], module))
			return false;
	}
	sort_symbols(kcore);
	return true;
}

bool ns_symbols_read(struct ns_object *object, Elf *elf)
{
	bool ok = read_symtab(object) && read_plt(object, elf) && read_frames(object, elf);

	sort_symbols(object);
	return ok;
}

/* ---- Look-up ---- */

const struct ns_symbol *ns_symbol_at(const struct ns_object *object, uint64_t addr)
{
	uint32_t nth = around(object, ns_lower_bound(object->symbols.nr, object->symbols.at[i].start <= addr), addr);

	return nth ? &object->symbols.at[nth - 1] : NULL;
}

char *ns_name_of(const char *object, uint64_t address)
{
	char *name;

	return asprintf(&name, "%s%s%#" PRIx64, nt_base_name(object) ?: "", object ? "+" : "", address) < 0 ? NULL : name;
}

static char *new_name(const struct ns_objects *objects, const struct ns_object *object, const struct ns_symbol *symbol)
{
	if (!symbol->name)
		return ns_name_of(object->path, symbol->start);
	return objects->demangle ? objects->demangle(symbol->name) : NULL;
}

const char *ns_symbol_name(struct ns_objects *objects, struct ns_object *object, const struct ns_symbol *symbol)
{
	const char **shown = &object->symbols.at[symbol - object->symbols.at].shown, *name;
	char *new;

	name = __atomic_load_n(shown, __ATOMIC_ACQUIRE);
	if (name)
		return name;
	pthread_mutex_lock(&objects->lock);
	name = *shown;
	if (!name) {
		new = new_name(objects, object, symbol);
		if (new && !ns_array_add(&object->names, new)) {
			free(new);
			new = NULL;
		}
		name = new ?: symbol->name ?: object->path;
		__atomic_store_n(shown, name, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&objects->lock);
	return name;
}

/*
 * Return true if @name matches the shell pattern, or if @pattern is the name without its return
 * type, template arguments and parameters.
 */
bool nt_name_matches(const char *name, const char *pattern)
{
	size_t n = strlen(pattern);
	int depth = 0;

	if (!fnmatch(pattern, name, 0))
		return true;
	for (; *name; name++) {
		if (!depth && !strncmp(name, pattern, n) && (!name[n] || strchr("(<", name[n])))
			return true;
		do
			depth += (*name == '<' || *name == '(') - (*name == '>' || *name == ')');
		while (*name && (depth > 0 || *name != ' ') && *++name);
		if (!*name)
			break;
	}
	return false;
}

bool ns_name_of_matches(const char *object, uint64_t address, const char *pattern)
{
	char *name = ns_name_of(object, address);
	bool matches = name && nt_name_matches(name, pattern);

	free(name);
	return matches;
}

bool ns_symbol_matches(struct ns_objects *objects, struct ns_object *object, const struct ns_symbol *symbol,
		       const char *pattern)
{
	const struct ns_symbol *first = object->symbols.at, *s;

	for (s = symbol; s >= first && s->start == symbol->start; s--) {
		if (nt_name_matches(ns_symbol_name(objects, object, s), pattern) || (s->name && nt_name_matches(s->name, pattern)))
			return true;
	}
	return false;
}
