/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code from the ELF files that options name.
 */
#ifndef NTRACE_ELF_IMAGE_H
#define NTRACE_ELF_IMAGE_H

#include <ntrace/elf.h>

/*
 * Add the loaded segments of @path, @offset bytes above where the file has them. *xlen is set to 32
 * or 64. False: it cannot be used, which was reported. The file stays open.
 */
bool elf_image_add(struct nt_image *image, const char *path, uint64_t offset, unsigned int *xlen);

/*
 * The same for "FILE", or "FILE@OFFSET" instead of @offset. A file of the whole name comes first.
 */
bool elf_image_add_arg(struct nt_image *image, const char *arg, uint64_t offset,
		       unsigned int *xlen);

/* Only open "FILE" or "FILE@OFFSET", and set *offset if it is there. NULL: it was said */
struct nt_elf *elf_open_arg(const char *arg, uint64_t *offset);

#endif /* NTRACE_ELF_IMAGE_H */
