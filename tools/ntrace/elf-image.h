/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code from ELF files.
 */
#ifndef NTRACE_ELF_IMAGE_H
#define NTRACE_ELF_IMAGE_H

#include <ntrace/ntrace.h>

/*
 * Add the loaded segments of @path, @offset bytes above where the file has them.
 * *xlen is set to 32 or 64. False: it cannot be used, and it was said. The file stays mapped.
 */
bool elf_image_add(struct nt_image *image, const char *path, uint64_t offset, unsigned int *xlen);

struct elf_map {
	void	*data;	/* NULL: none */
	size_t	size;
};

/* As elf_image_add(). *mapped is for elf_image_unmap(), also after an error, once @image is gone. */
bool elf_image_map(struct nt_image *image, const char *path, uint64_t offset, unsigned int *xlen,
		   struct elf_map *mapped);
void elf_image_unmap(struct elf_map *mapped);

#endif /* NTRACE_ELF_IMAGE_H */
