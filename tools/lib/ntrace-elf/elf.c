// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Read the segments and the build-id of an ELF file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf-file.h"

#ifndef EM_RISCV
#define EM_RISCV 243
#endif

const char *nt_elf_error_text(int error)
{
	switch (error) {
#define NT_ELF_ERROR_TEXT(name, number, text)	case name: return text;
	NT_ELF_ERRORS(NT_ELF_ERROR_TEXT)
#undef NT_ELF_ERROR_TEXT
	}
	return nt_error_text(error);
}

/* ---- open ---- */

static int check_segment(const struct nt_elf *elf, const GElf_Phdr *phdr)
{
	if (phdr->p_offset > elf->size || phdr->p_filesz > elf->size - phdr->p_offset)
		return NT_ELF_E_DAMAGED;
	return NT_OK;
}

static int add_segment(struct nt_elf *elf, const GElf_Phdr *phdr)
{
	struct nt_elf_info *info = &elf->info;
	struct nt_elf_segment *segment = &elf->segments[elf->nr_segments];
	uint64_t end = phdr->p_vaddr + phdr->p_filesz;

	if (phdr->p_type != PT_LOAD || !phdr->p_filesz)
		return NT_OK;
	if (check_segment(elf, phdr))
		return NT_ELF_E_DAMAGED;
	*segment = (struct nt_elf_segment){
		.addr = phdr->p_vaddr, .size = phdr->p_filesz, .data = elf->data + phdr->p_offset,
		.flags = phdr->p_flags,
	};
	if (!elf->nr_segments || segment->addr < info->low)
		info->low = segment->addr;
	if (end > info->high)
		info->high = end;
	elf->nr_segments++;
	return NT_OK;
}

/* Read the build-id from the note segment, because note sections may be stripped. */
static void read_build_id(struct nt_elf *elf, const GElf_Phdr *phdr)
{
	size_t next, name, desc, at = 0;
	GElf_Nhdr note;
	Elf_Data *data;

	if (phdr->p_type != PT_NOTE || check_segment(elf, phdr))
		return;
	data = elf_getdata_rawchunk(elf->elf, phdr->p_offset, phdr->p_filesz,
				    phdr->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	for (; data && (next = gelf_getnote(data, at, &note, &name, &desc)); at = next) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp((const char *)data->d_buf + name, "GNU", sizeof("GNU")))
			continue;
		if (!note.n_descsz || note.n_descsz > NT_ELF_BUILD_ID_MAX)
			continue;
		elf->info.build_id_size = note.n_descsz;
		memcpy(elf->info.build_id, (const char *)data->d_buf + desc, note.n_descsz);
		return;
	}
}

static int read_segments(struct nt_elf *elf, size_t nr)
{
	GElf_Phdr phdr;
	size_t i;
	int err;

	elf->segments = calloc(nr, sizeof(*elf->segments));
	if (!elf->segments)
		return NT_E_NOMEM;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf->elf, i, &phdr))
			return NT_ELF_E_DAMAGED;
		err = add_segment(elf, &phdr);
		if (err)
			return err;
		read_build_id(elf, &phdr);
	}
	return elf->nr_segments ? NT_OK : NT_ELF_E_NOT_LINKED;
}

static int read_file(struct nt_elf *elf)
{
	GElf_Ehdr ehdr;
	size_t nr;

	elf_version(EV_CURRENT);
	/* elf_memory() takes a pointer that is not const, but it does not write to the memory. */
	elf->elf = elf_memory((char *)(uintptr_t)elf->data, elf->size);
	if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF)
		return NT_ELF_E_FORMAT;
	if (!gelf_getehdr(elf->elf, &ehdr))
		return NT_ELF_E_DAMAGED;
	if (ehdr.e_machine != EM_RISCV)
		return NT_ELF_E_MACHINE;
	if (elf_getphdrnum(elf->elf, &nr))
		return NT_ELF_E_DAMAGED;
	elf->info.xlen = gelf_getclass(elf->elf) == ELFCLASS32 ? 32 : 64;
	elf->info.entry = ehdr.e_entry;
	elf->info.type = ehdr.e_type;
	elf->info.isa = nt_elf_read_isa(elf);
	/* libelf counts no program headers if the table is beyond the end of the file. */
	if (!nr)
		return ehdr.e_phnum ? NT_ELF_E_DAMAGED : NT_ELF_E_NOT_LINKED;
	return read_segments(elf, nr);
}

static int open_mapped(struct nt_elf *map, struct nt_elf **elf)
{
	int err = NT_E_NOMEM;

	*elf = malloc(sizeof(**elf));
	if (*elf) {
		**elf = *map;
		err = read_file(*elf);
		if (!err)
			return NT_OK;
		nt_elf_close(*elf);
	} else if (map->is_mapped) {
		munmap((void *)(uintptr_t)map->data, map->size);
	}
	*elf = NULL;
	return err;
}

int nt_elf_open_memory(const void *data, size_t size, struct nt_elf **elf)
{
	struct nt_elf map = { .data = data, .size = size };

	*elf = NULL;
	return size ? open_mapped(&map, elf) : NT_ELF_E_FORMAT;
}

static int map_file(int fd, struct nt_elf *map)
{
	struct stat st;
	void *data;

	if (fstat(fd, &st))
		return NT_ELF_E_READ;
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return NT_ELF_E_FORMAT;
	data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return NT_ELF_E_READ;
	*map = (struct nt_elf){ .data = data, .size = st.st_size, .is_mapped = true };
	return NT_OK;
}

int nt_elf_open(const char *path, struct nt_elf **elf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err, saved;
	struct nt_elf map;

	*elf = NULL;
	if (fd < 0)
		return NT_ELF_E_READ;
	err = map_file(fd, &map);
	saved = errno;
	close(fd);
	errno = saved;
	return err ? err : open_mapped(&map, elf);
}

void nt_elf_close(struct nt_elf *elf)
{
	if (!elf)
		return;
	elf_end(elf->elf);
	if (elf->is_mapped)
		munmap((void *)(uintptr_t)elf->data, elf->size);
	free(elf->segments);
	free(elf);
}

/* ---- return the contents of an open ELF file ---- */

void nt_elf_info(const struct nt_elf *elf, struct nt_elf_info *info, size_t size)
{
	memset(info, 0, size);
	memcpy(info, &elf->info, size < sizeof(*info) ? size : sizeof(*info));
}

int nt_elf_segment(const struct nt_elf *elf, size_t nr, struct nt_elf_segment *segment,
		   size_t size)
{
	memset(segment, 0, size);
	if (nr >= elf->nr_segments)
		return NT_E_NOT_FOUND;
	memcpy(segment, &elf->segments[nr], size < sizeof(*segment) ? size : sizeof(*segment));
	return NT_OK;
}

int nt_elf_check_build_id(const struct nt_elf *elf, const void *build_id, size_t size)
{
	if (!elf->info.build_id_size)
		return NT_ELF_E_NO_BUILD_ID;
	if (!size || size > elf->info.build_id_size || memcmp(elf->info.build_id, build_id, size))
		return NT_ELF_E_BUILD_ID;
	return NT_OK;
}

int nt_elf_add(const struct nt_elf *elf, struct nt_image *image, uint64_t space, uint64_t offset)
{
	size_t i;
	int err;

	for (i = 0; i < elf->nr_segments; i++) {
		const struct nt_elf_segment *s = &elf->segments[i];

		err = nt_image_add(image, space, s->addr + offset, s->data, s->size);
		if (!err)
			continue;
		while (i-- > 0)
			nt_image_remove(image, space, elf->segments[i].addr + offset,
					elf->segments[i].size);
		return err;
	}
	return NT_OK;
}

int nt_elf_remove(const struct nt_elf *elf, struct nt_image *image, uint64_t space,
		  uint64_t offset)
{
	int err = NT_OK;
	size_t i;

	for (i = elf->nr_segments; i-- > 0;)
		if (nt_image_remove(image, space, elf->segments[i].addr + offset,
				    elf->segments[i].size))
			err = NT_E_NOT_FOUND;
	return err;
}
