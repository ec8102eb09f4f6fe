// SPDX-License-Identifier: GPL-2.0-only
/* Read code from the files that options name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf-image.h"
#include "session/array.h"
#include "session/file/whole-file.h"

/* A file that contains only code, without a format */
struct binary {
	struct binary	*next;
	void		*data;
	size_t		size;
};

static bool complain(const char *path, int err)
{
	fprintf(stderr, "ntrace: %s: %s\n", path,
		err == NT_ELF_E_READ ? strerror(errno) : nt_elf_error_text(err));
	return false;
}

static struct nt_elf *open_path(const char *path)
{
	int err, fd = whole_file_read(path);
	struct nt_elf *elf;

	if (fd >= 0)
		close(fd);
	err = nt_elf_open(path, &elf);
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

bool elf_image_add_arg(struct elf_files *files, struct nt_image *image, const char *arg, unsigned int *xlen)
{
	uint64_t offset = 0;
	struct nt_elf *elf = elf_open_arg(arg, &offset);
	struct nt_elf_info info;
	int err;

	if (!elf)
		return false;
	if (!ns_array_add(files, elf)) {
		nt_elf_close(elf);
		fprintf(stderr, "ntrace: out of memory\n");
		return false;
	}
	err = nt_elf_add(elf, image, 0, offset);
	if (err)
		return complain(arg, err);
	nt_elf_info(elf, &info, sizeof(info));
	*xlen = info.xlen;
	return true;
}

/* Open a file that contains only code. Return NULL if the file cannot be read, which was reported. */
static struct binary *open_binary(const char *path)
{
	struct binary *binary = calloc(1, sizeof(*binary));

	if (binary)
		binary->data = whole_file_map(path, &binary->size);
	if (binary && binary->data)
		return binary;
	fprintf(stderr, "ntrace: %s: %s\n", path, whole_file_strerror(errno));
	free(binary);
	return NULL;
}

bool elf_image_add_binary(struct elf_files *files, struct nt_image *image, const char *arg)
{
	const char *at = strrchr(arg, '@');
	struct binary *binary = NULL;
	uint64_t addr;
	char *path;
	int err;

	if (!at) {
		fprintf(stderr, "ntrace: --binary expects FILE@ADDRESS, but '%s' has no address\n", arg);
		return false;
	}
	path = strndup(arg, at - arg);
	if (path && parse_offset(at + 1, &addr))
		binary = open_binary(path);
	free(path);
	if (!binary)
		return false;
	binary->next = files->binaries;
	files->binaries = binary;
	err = nt_image_add(image, 0, addr, binary->data, binary->size);
	return !err || complain(arg, err);
}

void elf_files_close(struct elf_files *files)
{
	struct binary *binary;
	size_t i;

	for (i = 0; i < files->nr; i++)
		nt_elf_close(files->at[i]);
	free(files->at);
	while ((binary = files->binaries)) {
		files->binaries = binary->next;
		munmap(binary->data, binary->size);
		free(binary);
	}
}
