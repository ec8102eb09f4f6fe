// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Files from which a debugger reads the names and lines of the kernel and its modules. The kernel's file is vmlinux if
 * it was found. Otherwise it is made from kallsyms, as is the file of all modules. Such a file has no code. If the user
 * names a folder with the files of modules, these files follow, because they have lines.
 */
#include <elf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay-priv.h"
#include "session/code/kmodule.h"
#include "session/file/whole-file.h"

static const char section_names[] = "\0.text\0.symtab\0.strtab";

static void free_file(const struct nt_replay_object *file)
{
	if (file->data)
		munmap((void *)file->data, file->size);
	/* the file of a module has sections and an allocated path; other paths are string literals */
	if (file->nr_sections)
		free((char *)file->path);
	free((void *)file->sections);
}

/* ---- Make a file ---- */

/* Return true if the symbol belongs to the kernel, or to a module. */
static bool is_chosen(const struct ns_symbol *symbol, bool modules)
{
	return symbol->name && !symbol->module == !modules;
}

/* Add a section, and return its data; NULL if out of memory. */
static Elf_Data *add_section(Elf *elf, GElf_Shdr header, Elf_Type type, void *buf, size_t size)
{
	Elf_Scn *scn = elf_newscn(elf);
	Elf_Data *data = scn ? elf_newdata(scn) : NULL;

	if (!data)
		return NULL;
	data->d_buf = buf;
	data->d_type = type;
	data->d_size = size;
	data->d_align = header.sh_addralign;
	return gelf_update_shdr(scn, &header) ? data : NULL;
}

/* Add the headers of the file. Return false if out of memory. */
static bool add_headers(Elf *elf, int class, const struct nt_replay_object *file)
{
	/*
	 * use ET_DYN, because gdb treats a function without a name as the entry point of an ET_EXEC file that has none,
	 * and ends the backtrace in this function
	 */
	GElf_Ehdr ehdr = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, class, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN,
		.e_machine = EM_RISCV, .e_version = EV_CURRENT, .e_flags = 1 /* EF_RISCV_RVC */, .e_shstrndx = 3,
	};
	GElf_Phdr segment = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = file->start, .p_memsz = file->end - file->start };
	GElf_Shdr text = { .sh_name = 1, .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = file->start, .sh_addralign = 2 };

	return gelf_newehdr(elf, class) && gelf_update_ehdr(elf, &ehdr) && gelf_newphdr(elf, 1) && gelf_update_phdr(elf, 0, &segment) &&
	       add_section(elf, text, ELF_T_BYTE, NULL, file->end - file->start);
}

static void fill_symbols(Elf_Data *data, char *names, const struct ns_object *kcore, bool modules)
{
	const struct ns_symbol *from = kcore->symbols.at, *end = from + kcore->symbols.nr;
	GElf_Sym symbol = { .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1 };
	size_t at = sizeof(section_names);
	int nth = 1;

	memcpy(names, section_names, sizeof(section_names));
	for (; from < end; from++) {
		if (!is_chosen(from, modules))
			continue;
		symbol.st_name = at;
		symbol.st_value = from->start;
		symbol.st_size = from->end - from->start;
		gelf_update_sym(data, nth++, &symbol);
		at += strlen(strcpy(names + at, from->name)) + 1;
	}
}

/* Write a file with @nr symbols, whose names have @size bytes, and map it. Return false if out of memory. */
static bool write_file(struct nt_session *session, bool modules, size_t nr, size_t size, struct nt_replay_object *file)
{
	int class = ns_kernel_start(session) >> 32 ? ELFCLASS64 : ELFCLASS32, fd = memfd_create("kernel", MFD_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_WRITE, NULL);
	size_t all;
	GElf_Shdr table = { .sh_name = 7, .sh_type = SHT_SYMTAB, .sh_link = 3, .sh_info = 1, .sh_addralign = 8 };
	GElf_Shdr strings = { .sh_name = 15, .sh_type = SHT_STRTAB, .sh_addralign = 1 };
	char *names = malloc(size);
	Elf_Data *symbols = NULL;
	void *buf = NULL;
	bool ok = false;

	if (elf && names && add_headers(elf, class, file)) {
		all = gelf_fsize(elf, ELF_T_SYM, nr + 1, EV_CURRENT);
		buf = calloc(1, all);
		table.sh_entsize = all / (nr + 1);
		symbols = buf ? add_section(elf, table, ELF_T_SYM, buf, all) : NULL;
	}
	if (symbols && add_section(elf, strings, ELF_T_BYTE, names, size)) {
		fill_symbols(symbols, names, &session->objects.kcore, modules);
		file->size = elf_update(elf, ELF_C_WRITE);
		file->data = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);
		ok = file->data != MAP_FAILED;
	}
	elf_end(elf);
	free(names);
	free(buf);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Make a file with the symbols of the kernel, or of all modules if @modules is set. Return false if out of memory. */
static bool make_file(struct nt_session *session, bool modules, struct ns_files *files)
{
	struct nt_replay_object file = { .path = modules ? "/kernel/modules" : "/kernel/vmlinux", .start = UINT64_MAX };
	const struct ns_object *kcore = &session->objects.kcore;
	size_t nr = 0, names = sizeof(section_names);
	const struct ns_symbol *s = kcore->symbols.at;

	for (; s < kcore->symbols.at + kcore->symbols.nr; s++) {
		if (!is_chosen(s, modules))
			continue;
		nr++;
		names += strlen(s->name) + 1;
		file.start = s->start < file.start ? s->start : file.start;
		file.end = s->end > file.end ? s->end : file.end;
	}
	if (!nr)
		return true;
	if (!write_file(session, modules, nr, names, &file))
		return false;
	if (ns_array_add(&files->all, file))
		return true;
	free_file(&file);
	return false;
}

/* ---- Find vmlinux and the files of modules ---- */

/* Address of a section whose address in the kernel is not known. No program has code there. */
#define NOWHERE		(0x71ULL << 56)

/*
 * Set the address of the first segment of vmlinux. All of its code is loaded at the same distance from the addresses in
 * the file. Return 1; 0 if vmlinux has no segment.
 */
static int place_vmlinux(const struct ns_kmodule *kernel, Elf *elf, GElf_Addr bias, struct nt_replay_object *file)
{
	GElf_Phdr p;
	size_t i;

	for (i = 0; gelf_getphdr(elf, i, &p); i++) {
		if (p.p_type != PT_LOAD)
			continue;
		file->start = file->end = p.p_vaddr + bias + kernel->sections.at[0].kernel;
		return 1;
	}
	return 0;
}

/*
 * Set the address of each section that the kernel has loaded. Return 1; 0 if the module has no such section; -1 if out
 * of memory.
 */
static int place_module(const struct ns_kmodule *module, Elf *elf, struct nt_replay_object *file)
{
	NS_ARRAY(uint64_t) sections = { 0 };
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	uint64_t addr;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_ALLOC))
			continue;
		addr = ns_kmodule_to_kernel(module, shdr.sh_addr);
		if (addr == shdr.sh_addr)
			addr += NOWHERE;
		else if (!file->start)
			file->start = file->end = addr;
		if (!ns_array_add(&sections, addr))
			break;
	}
	file->sections = sections.at;
	file->nr_sections = sections.nr;
	return scn ? -1 : !!file->nr_sections;
}

/* Return the path under which gdb reads the file of module @name, which is "[NAME]"; NULL if out of memory. */
static char *module_path(const char *name)
{
	char *path;

	return asprintf(&path, "/kernel/%.*s.ko", (int)strcspn(name + 1, "]"), name + 1) < 0 ? NULL : path;
}

/* Add the file of the kernel or of module @name. Return 1; 0 if it was not found; -1 if out of memory. */
static int add_file(struct nt_session *session, struct ns_files *files, const char *name)
{
	bool is_kernel = ns_is_kernel(session, name);
	struct nt_replay_object file = { .path = is_kernel ? "/kernel/vmlinux" : NULL };
	Dwfl *dwfl = dwfl_begin(&session->objects.callbacks);
	struct ns_kmodule module = { 0 };
	const char *path = NULL;
	int ret = dwfl ? 0 : -1;
	GElf_Addr bias;
	Elf *elf;

	if (dwfl)
		ns_kmodule_open(&module, dwfl, session, name);
	elf = module.dwfl ? dwfl_module_getelf(module.dwfl, &bias) : NULL;
	if (elf)
		ret = is_kernel ? place_vmlinux(&module, elf, bias, &file) : place_module(&module, elf, &file);
	if (ret > 0) {
		ret = 0;
		dwfl_module_info(module.dwfl, NULL, NULL, NULL, NULL, NULL, &path, NULL);
		file.data = path ? whole_file_map(path, &file.size) : NULL;
		if (!is_kernel)
			file.path = module_path(name);
		/* gdb cannot read a compressed file */
		if (file.data && file.size > SELFMAG && !memcmp(file.data, ELFMAG, SELFMAG))
			ret = file.path && ns_array_add(&files->all, file) ? 1 : -1;
	}
	if (ret <= 0)
		free_file(&file);
	ns_kmodule_close(&module);
	if (dwfl)
		dwfl_end(dwfl);
	return ret;
}

bool ns_kernel_files(struct nt_session *session, struct ns_files *files)
{
	int ret = add_file(session, files, session->objects.kcore.path);
	bool ok = ret >= 0 && (ret || make_file(session, false, files)) && make_file(session, true, files);
	size_t i;

	/* without --modules, do not search for the files, because opening the files of all modules takes seconds */
	for (i = 0; ok && session->options.modules && i < session->objects.modules.nr; i++)
		ok = add_file(session, files, session->objects.modules.at[i]) >= 0;
	return ok;
}

void ns_kernel_files_free(struct ns_files *files)
{
	size_t i;

	for (i = 0; i < files->all.nr; i++)
		free_file(&files->all.at[i]);
	free(files->all.at);
}
