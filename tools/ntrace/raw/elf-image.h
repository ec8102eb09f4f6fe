/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code from the files that options name.
 */
#ifndef NTRACE_ELF_IMAGE_H
#define NTRACE_ELF_IMAGE_H

#include <ntrace/elf.h>

/* Files with the code of images. They stay open until elf_files_close(). */
struct elf_files {
	struct nt_elf	**at;		/* an array of session/array.h */
	size_t		nr, room;
	struct binary	*binaries;	/* linked list */
};

/*
 * Add the loaded segments of "FILE", or of "FILE@OFFSET" at OFFSET above their addresses in the file. A
 * file whose name is all of @arg has priority. *xlen is set to 32 or 64. Return false if it cannot be
 * used, which was reported.
 */
bool elf_image_add_arg(struct elf_files *files, struct nt_image *image, const char *arg, unsigned int *xlen);

/*
 * Add the bytes of "FILE@ADDRESS", which is not an ELF file, such as firmware or a page of the
 * kernel's memory. Return false if it cannot be used, which was reported.
 */
bool elf_image_add_binary(struct elf_files *files, struct nt_image *image, const char *arg);

/* Close all files after their images were freed. */
void elf_files_close(struct elf_files *files);

/*
 * Only open "FILE" or "FILE@OFFSET", and set *offset if it is given. Return NULL after a reported
 * error.
 */
struct nt_elf *elf_open_arg(const char *arg, uint64_t *offset);

#endif /* NTRACE_ELF_IMAGE_H */
