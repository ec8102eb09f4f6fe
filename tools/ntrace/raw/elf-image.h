/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code from the files that options name.
 */
#ifndef NTRACE_ELF_IMAGE_H
#define NTRACE_ELF_IMAGE_H

#include <ntrace/elf.h>

/* Files that images have code of: they stay open until elf_files_close() */
struct elf_files {
	struct nt_elf	**at;
	size_t		nr;
	struct binary	*binaries;	/* a list */
};

/*
 * Add the loaded segments of "FILE", @offset bytes above where the file has them, or of
 * "FILE@OFFSET". A file of the whole name comes first. *xlen is set to 32 or 64. False: it cannot be
 * used, which was reported.
 */
bool elf_image_add_arg(struct elf_files *files, struct nt_image *image, const char *arg,
		       uint64_t offset, unsigned int *xlen);

/*
 * Add the bytes of "FILE@ADDRESS", which is no ELF file: a page of the kernel's memory, firmware.
 * False: it cannot be used, which was reported.
 */
bool elf_image_add_binary(struct elf_files *files, struct nt_image *image, const char *arg);

/* Close all of them, once their images are freed */
void elf_files_close(struct elf_files *files);

/* Only open "FILE" or "FILE@OFFSET", and set *offset if it is there. NULL: it was said */
struct nt_elf *elf_open_arg(const char *arg, uint64_t *offset);

#endif /* NTRACE_ELF_IMAGE_H */
