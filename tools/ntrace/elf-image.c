// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code from ELF files.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf-image.h"

#ifndef EM_RISCV
#define EM_RISCV 243
#endif

static bool complain(const char *path, const char *what)
{
	fprintf(stderr, "ntrace: %s: %s\n", path, what);
	return false;
}

static bool add_segment(struct nt_image *image, const char *path, const void *map,
			size_t size, uint64_t offset, const GElf_Phdr *phdr)
{
	if (phdr->p_type != PT_LOAD || !phdr->p_filesz)
		return true;
	if (phdr->p_offset > size || phdr->p_filesz > size - phdr->p_offset)
		return complain(path, "a segment lies beyond the end of the file");
	if (nt_image_add(image, 0, phdr->p_vaddr + offset,
			 (const uint8_t *)map + phdr->p_offset, phdr->p_filesz))
		return complain(path, "a segment has an address that is not valid");
	return true;
}

static bool add_segments(struct nt_image *image, const char *path, Elf *elf, const void *map,
			 size_t size, uint64_t offset, unsigned int *xlen)
{
	GElf_Ehdr ehdr;
	size_t nr, i;

	if (!gelf_getehdr(elf, &ehdr) || elf_getphdrnum(elf, &nr))
		return complain(path, "not an ELF file, or a damaged one");
	if (ehdr.e_machine != EM_RISCV)
		return complain(path, "not a RISC-V program");
	if (!nr)
		return complain(path, "has no segments: it is not linked to run");
	*xlen = gelf_getclass(elf) == ELFCLASS32 ? 32 : 64;
	for (i = 0; i < nr; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, i, &phdr))
			return complain(path, "damaged program header");
		if (!add_segment(image, path, map, size, offset, &phdr))
			return false;
	}
	return true;
}

static bool map_file(const char *path, struct elf_map *mapped)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map = MAP_FAILED;

	if (fd < 0 || fstat(fd, &st)) {
		complain(path, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || !st.st_size) {
		complain(path, "not an ELF file");
	} else {
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED)
			complain(path, strerror(errno));
	}
	if (fd >= 0)
		close(fd);
	mapped->data = map == MAP_FAILED ? NULL : map;
	mapped->size = mapped->data ? st.st_size : 0;
	return mapped->data;
}

bool elf_image_map(struct nt_image *image, const char *path, uint64_t offset, unsigned int *xlen,
		   struct elf_map *mapped)
{
	Elf *elf;
	bool ok;

	if (!map_file(path, mapped))
		return false;
	elf_version(EV_CURRENT);
	/* elf_memory() wants to be able to write; it does not as nothing is converted in place */
	elf = elf_memory(mapped->data, mapped->size);
	if (!elf)
		return complain(path, elf_errmsg(-1));
	ok = elf_kind(elf) == ELF_K_ELF ?
		add_segments(image, path, elf, mapped->data, mapped->size, offset, xlen) :
		complain(path, "not an ELF file");
	elf_end(elf);
	return ok;
}

bool elf_image_add(struct nt_image *image, const char *path, uint64_t offset, unsigned int *xlen)
{
	struct elf_map mapped;

	return elf_image_map(image, path, offset, xlen, &mapped);
}

void elf_image_unmap(struct elf_map *mapped)
{
	if (mapped->data)
		munmap(mapped->data, mapped->size);
	mapped->data = NULL;
}
