// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Files from which a debugger reads the names of the kernel and its modules. The kernel's file is vmlinux if it
 * was found. Otherwise it is made from kallsyms, as is the file of all modules. Such a file has no code.
 */
#include <elf.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "replay-priv.h"
#include "session/code/kmodule.h"
#include "session/file/whole-file.h"

enum { SECTION_TEXT = 1, SECTION_SYMBOLS, SECTION_NAMES, SECTIONS };

static const char section_names[] = "\0.text\0.symtab\0.strtab";

/* Start of the ELF file that make_file() makes. The symbols and their names follow this start. */
struct head {
	Elf64_Ehdr	file;
	Elf64_Phdr	segment;
	Elf64_Shdr	sections[SECTIONS];
	Elf64_Sym	none;
};

/* ---- Make a file ---- */

/* Return true if the symbol belongs to the kernel, or to a module. */
static bool is_chosen(const struct ns_symbol *symbol, bool modules)
{
	return symbol->name && !symbol->module == !modules;
}

static void fill_head(struct head *head, uint64_t nr, uint64_t names, const struct nt_replay_object *file)
{
	uint64_t symbols = (nr + 1) * sizeof(Elf64_Sym);

	*head = (struct head){
		.file = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			/*
			 * use ET_DYN, because gdb treats a function without a name as the entry point of an ET_EXEC
			 * file that has none, and ends the backtrace in this function
			 */
			.e_type = ET_DYN, .e_machine = EM_RISCV, .e_version = EV_CURRENT, .e_flags = 1 /* RVC */,
			.e_ehsize = sizeof(head->file), .e_phoff = offsetof(struct head, segment),
			.e_phentsize = sizeof(head->segment), .e_phnum = 1, .e_shoff = offsetof(struct head, sections),
			.e_shentsize = sizeof(*head->sections), .e_shnum = SECTIONS, .e_shstrndx = SECTION_NAMES,
		},
		.segment = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = file->start, .p_memsz = file->end - file->start },
		.sections = {
			[SECTION_TEXT] = { .sh_name = 1, .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					   .sh_addr = file->start, .sh_size = file->end - file->start, .sh_addralign = 2 },
			[SECTION_SYMBOLS] = { .sh_name = 7, .sh_type = SHT_SYMTAB, .sh_offset = offsetof(struct head, none),
					      .sh_size = symbols, .sh_link = SECTION_NAMES, .sh_info = 1,
					      .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym) },
			[SECTION_NAMES] = { .sh_name = 15, .sh_type = SHT_STRTAB, .sh_size = names,
					    .sh_offset = offsetof(struct head, none) + symbols, .sh_addralign = 1 },
		},
	};
}

static void fill_symbols(struct head *head, const struct ns_object *kcore, bool modules)
{
	const struct ns_symbol *from = kcore->symbols.at, *end = from + kcore->symbols.nr;
	char *names = (char *)head + head->sections[SECTION_NAMES].sh_offset;
	Elf64_Sym *to = &head->none + 1;
	size_t at = sizeof(section_names);

	memcpy(names, section_names, sizeof(section_names));
	for (; from < end; from++) {
		if (!is_chosen(from, modules))
			continue;
		*to++ = (Elf64_Sym){
			.st_name = at, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = SECTION_TEXT,
			.st_value = from->start, .st_size = from->end - from->start,
		};
		at += strlen(strcpy(names + at, from->name)) + 1;
	}
}

/* Make a file with the symbols of the kernel, or of all modules if @modules is set. Return false if out of memory. */
static bool make_file(struct nt_session *session, bool modules, struct ns_files *files)
{
	struct nt_replay_object file = { .path = modules ? "/kernel/modules" : "/kernel/vmlinux", .start = UINT64_MAX };
	const struct ns_object *kcore = &session->objects.kcore;
	uint64_t nr = 0, names = sizeof(section_names);
	const struct ns_symbol *s = kcore->symbols.at;
	void *data;

	for (; s < kcore->symbols.at + kcore->symbols.nr; s++) {
		if (!is_chosen(s, modules))
			continue;
		nr++;
		names += strlen(s->name) + 1;
		file.start = s->start < file.start ? s->start : file.start;
		file.end = s->end > file.end ? s->end : file.end;
	}
	if (!nr || ns_kernel_start(session) < 1ULL << 63)
		return true;
	file.size = sizeof(struct head) + nr * sizeof(Elf64_Sym) + names;
	data = mmap(NULL, file.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return false;
	fill_head(data, nr, names, &file);
	fill_symbols(data, kcore, modules);
	file.data = data;
	if (ns_array_add(&files->all, file))
		return true;
	munmap(data, file.size);
	return false;
}

/* ---- Find vmlinux ---- */

/*
 * Set the address of the first segment of vmlinux. All of its code is loaded at the same distance from the addresses in
 * the file. Return false if vmlinux has no segment.
 */
static bool place_vmlinux(const struct ns_kmodule *kernel, struct nt_replay_object *file)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(kernel->dwfl, &bias);
	GElf_Phdr p;
	size_t i;

	for (i = 0; elf && gelf_getphdr(elf, i, &p); i++) {
		if (p.p_type != PT_LOAD)
			continue;
		file->start = file->end = p.p_vaddr + bias + kernel->sections.at[0].kernel;
		return true;
	}
	return false;
}

/* Add vmlinux. Return 1; 0 if it was not found; -1 if out of memory. */
static int add_vmlinux(struct nt_session *session, struct ns_files *files)
{
	struct nt_replay_object file = { .path = "/kernel/vmlinux" };
	Dwfl *dwfl = dwfl_begin(&session->objects.callbacks);
	struct ns_kmodule kernel = { 0 };
	const char *path = NULL;
	int ret = dwfl ? 0 : -1;

	if (dwfl)
		ns_kmodule_open(&kernel, dwfl, session, session->objects.kcore.path);
	if (kernel.dwfl && place_vmlinux(&kernel, &file)) {
		dwfl_module_info(kernel.dwfl, NULL, NULL, NULL, NULL, NULL, &path, NULL);
		file.data = path ? whole_file_map(path, &file.size) : NULL;
		/* gdb cannot read a compressed file */
		if (file.data && file.size > SELFMAG && !memcmp(file.data, ELFMAG, SELFMAG))
			ret = ns_array_add(&files->all, file) ? 1 : -1;
		else if (file.data)
			munmap((void *)file.data, file.size);
	}
	ns_kmodule_close(&kernel);
	if (dwfl)
		dwfl_end(dwfl);
	return ret;
}

bool ns_kernel_files(struct nt_session *session, struct ns_files *files)
{
	int ret = add_vmlinux(session, files);

	return ret >= 0 && (ret || make_file(session, false, files)) && make_file(session, true, files);
}

void ns_kernel_files_free(struct ns_files *files)
{
	size_t i;

	for (i = 0; i < files->all.nr; i++)
		munmap((void *)files->all.at[i].data, files->all.at[i].size);
	free(files->all.at);
}
