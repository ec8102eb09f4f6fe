/* SPDX-License-Identifier: GPL-2.0-only */
/* Read code from the files that options name. */
#ifndef NTRACE_ELF_IMAGE_H
#define NTRACE_ELF_IMAGE_H

#include <ntrace/elf.h>

/* Files that contain the code of images. The files stay open until elf_files_close(). */
struct elf_files {
	struct nt_elf	**at;		/* array of @nr files, with room for @room, as NS_ARRAY has them */
	size_t		nr, room;
	struct binary	*binaries;	/* linked list of files that contain only code */
};

/*
 * Add the loaded segments of the ELF file "FILE" to an image. With "FILE@OFFSET", add OFFSET to the
 * addresses in the file. If a file with the name @arg exists, @arg is not split at the "@". *xlen
 * is set to 32 or 64. Return false if the file cannot be used, which was reported.
 */
bool elf_image_add_arg(struct elf_files *files, struct nt_image *image, const char *arg, unsigned int *xlen);

/*
 * Add the bytes of FILE in @arg, "FILE@ADDRESS", to an image at ADDRESS. FILE is not an ELF file,
 * but for example firmware or a page of the kernel's memory. Return false if the file cannot be
 * used, which was reported.
 */
bool elf_image_add_binary(struct elf_files *files, struct nt_image *image, const char *arg);

/* Close all files after their images were freed. */
void elf_files_close(struct elf_files *files);

/*
 * Open the ELF file in @arg, which is "FILE" or "FILE@OFFSET", and set *offset to OFFSET if it is
 * given. Return NULL after a reported error.
 */
struct nt_elf *elf_open_arg(const char *arg, uint64_t *offset);

#endif /* NTRACE_ELF_IMAGE_H */
