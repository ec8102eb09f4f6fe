// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code from the ELF files that options name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf-image.h"

static bool complain(const char *path, int err)
{
	fprintf(stderr, "ntrace: %s: %s\n", path,
		err == NT_ELF_E_READ ? strerror(errno) : nt_elf_error_text(err));
	return false;
}

static struct nt_elf *open_path(const char *path)
{
	struct nt_elf *elf;
	int err = nt_elf_open(path, &elf);

	if (err)
		complain(path, err);
	return elf;
}

static bool parse_offset(const char *text, uint64_t *offset)
{
	char *end;

	errno = 0;
	*offset = strtoull(text, &end, 0);
	if (!errno && end != text && !*end && *text != '-')
		return true;
	fprintf(stderr, "ntrace: '%s' is not a number from 0 to %llu\n", text,
		(unsigned long long)UINT64_MAX);
	return false;
}

struct nt_elf *elf_open_arg(const char *arg, uint64_t *offset)
{
	const char *at = access(arg, F_OK) ? strrchr(arg, '@') : NULL;
	struct nt_elf *elf = NULL;
	char *path;

	if (!at)
		return open_path(arg);
	path = strndup(arg, at - arg);
	if (path && parse_offset(at + 1, offset))
		elf = open_path(path);
	free(path);
	return elf;
}

static bool add(struct nt_image *image, const char *path, struct nt_elf *elf, uint64_t offset,
		unsigned int *xlen)
{
	struct nt_elf_info info;
	int err;

	if (!elf)
		return false;
	err = nt_elf_add(elf, image, 0, offset);
	if (err) {
		nt_elf_close(elf);
		return complain(path, err);
	}
	nt_elf_info(elf, &info, sizeof(info));
	*xlen = info.xlen;
	return true;
}

bool elf_image_add(struct nt_image *image, const char *path, uint64_t offset, unsigned int *xlen)
{
	return add(image, path, open_path(path), offset, xlen);
}

bool elf_image_add_arg(struct nt_image *image, const char *arg, uint64_t offset,
		       unsigned int *xlen)
{
	struct nt_elf *elf = elf_open_arg(arg, &offset);

	return add(image, arg, elf, offset, xlen);
}
