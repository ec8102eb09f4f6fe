/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_LIB_CODE_H
#define TESTS_LIB_CODE_H

#include "raw/elf-image.h"

/* Add the code of an ELF file to @image. The file stays open until the program ends. */
static inline bool add_code(struct nt_image *image, const char *path, unsigned int *xlen)
{
	static struct elf_files files;

	return elf_image_add_arg(&files, image, path, xlen);
}

#endif /* TESTS_LIB_CODE_H */
