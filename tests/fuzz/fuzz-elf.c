// SPDX-License-Identifier: GPL-2.0-only
/*
 * Load any bytes as an ELF file. The bytes of each loaded section must lie within the file. The library
 * must also be able to remove all sections of the file from the image.
 */
#include <stdlib.h>
#include <string.h>

#include <ntrace/elf.h>

#include "nomem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read all loaded bytes. Return their sum, so that the compiler cannot omit a read. */
static unsigned int read_all(const struct nt_elf *elf)
{
	struct nt_elf_segment segment;
	unsigned int sum = 0;
	size_t i, k;

	for (i = 0; !nt_elf_segment(elf, i, &segment, sizeof(segment)); i++)
		for (k = 0; k < segment.size; k++)
			sum += segment.data[k];
	return sum;
}

static void use(const struct nt_elf *elf)
{
	struct nt_image *image = nt_image_new();
	struct nt_elf_info info;
	uint8_t buf[64];

	nt_elf_info(elf, &info, sizeof(info));
	if (info.xlen != 32 && info.xlen != 64)
		abort();
	if (info.build_id_size &&
	    nt_elf_check_build_id(elf, info.build_id, info.build_id_size) != NT_OK)
		abort();
	if (read_all(elf) == 1)
		buf[0] = 0;
	if (nt_elf_add(elf, image, 1, 0x1000) == NT_OK) {
		nt_image_read(image, 1, info.low + 0x1000, buf, sizeof(buf));
		nt_image_read(image, 1, info.high + 0xfff, buf, sizeof(buf));
		if (nt_elf_remove(elf, image, 1, 0x1000) != NT_OK)
			abort();
	}
	if (nt_image_read(image, 1, info.low + 0x1000, buf, sizeof(buf)))
		abort();
	nt_image_free(image);
}

/* Open the file while an allocation fails. The library must return an error and must not crash. */
static void open_without_memory(const uint8_t *data, size_t size)
{
	struct nt_elf *elf;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		int err;

		nomem_begin(i, 1);
		err = nt_elf_open_memory(data, size, &elf);
		if (nomem_end() ? err != NT_E_NOMEM || elf : false)
			abort();
		nt_elf_close(elf);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* use a copy of exactly @size bytes, so that the sanitizer detects reads beyond its end */
	uint8_t *copy = malloc(size ? size : 1);
	struct nt_elf *elf;

	memcpy(copy, data, size);
	if (nt_elf_open_memory(copy, size, &elf) == NT_OK)
		use(elf);
	else if (elf)
		abort();
	nt_elf_close(elf);
	open_without_memory(copy, size);
	free(copy);
	return 0;
}
