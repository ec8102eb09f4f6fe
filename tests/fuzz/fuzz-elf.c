// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as an ELF file, and then as code.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ntrace/ntrace.h>

#include "elf-image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nt_image *image = nt_image_new();
	struct elf_map mapped = { NULL };
	unsigned int xlen = 64;
	uint8_t buf[64];
	char path[64];
	int fd = memfd_create("elf", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (elf_image_map(image, path, 0x1000, &xlen, &mapped)) {
		nt_image_read(image, 0, 0x1000, buf, sizeof(buf));
		nt_image_read(image, 0, 0x11000, buf, sizeof(buf));
	}
	nt_image_free(image);
	elf_image_unmap(&mapped);
	close(fd);
	return 0;
}
