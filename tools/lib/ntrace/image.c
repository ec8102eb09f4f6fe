// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Image layer: code by address space and address.
 */
#include <stdlib.h>

#include "internal.h"
#include "image.h"

struct nt_image *nt_image_new(void)
{
	struct nt_image *image = calloc(1, sizeof(*image));

	if (image)
		image->generation = 1;
	return image;
}

void nt_image_free(struct nt_image *image)
{
	if (image)
		free(image->sections);
	free(image);
}

int nt_image_add(struct nt_image *image, uint64_t space, uint64_t addr,
		 const void *data, size_t size)
{
	struct nt_section *sections;

	/* the last byte may be the last there is */
	if (!size || addr + (size - 1) < addr)
		return NT_E_INVALID;
	sections = realloc(image->sections, (image->nr_sections + 1) * sizeof(*sections));
	if (!sections)
		return NT_E_NOMEM;
	image->sections = sections;
	sections[image->nr_sections++] = (struct nt_section){
		.space = space, .addr = addr, .size = size, .data = data,
	};
	nt_image_invalidate_range(image, addr, size);
	return NT_OK;
}

void nt_image_set_reader(struct nt_image *image, const struct nt_image_reader *reader)
{
	memset(&image->reader, 0, sizeof(image->reader));
	if (reader)
		image->reader = *reader;
	nt_image_invalidate(image);
}

static void add_change(struct nt_image *image, uint64_t addr, uint64_t last)
{
	image->generation++;
	image->changes[image->generation % NR_CHANGES] = (struct nt_change){ addr, last };
}

void nt_image_invalidate(struct nt_image *image)
{
	add_change(image, 0, UINT64_MAX);
}

void nt_image_invalidate_range(struct nt_image *image, uint64_t addr, uint64_t size)
{
	uint64_t last = addr + size - 1;

	if (size)
		add_change(image, addr, last < addr ? UINT64_MAX : last);
}

void nt_image_remap(struct nt_image *image)
{
	add_change(image, 1, 0);
}

/*
 * The section that has @addr: the last one that was added, and one of @space
 * before one of space 0. *size is how far it is seen from @addr on.
 */
static const uint8_t *find_section(const struct nt_image *image, uint64_t space,
				   uint64_t addr, size_t *size)
{
	uint64_t room = UINT64_MAX;
	unsigned int pass;
	size_t i;

	for (pass = 0; pass < 2; pass++) {
		uint64_t wanted = pass ? 0 : space;

		if (pass && !space)
			break;
		for (i = image->nr_sections; i-- > 0;) {
			const struct nt_section *s = &image->sections[i];

			if (s->space != wanted)
				continue;
			if (addr - s->addr < s->size) {
				uint64_t left = s->size - (addr - s->addr);

				*size = left < room ? left : room;
				return s->data + (addr - s->addr);
			}
			if (s->addr > addr && s->addr - addr < room)
				room = s->addr - addr;
		}
	}
	*size = room > SIZE_MAX ? SIZE_MAX : room;
	return NULL;
}

size_t nt_image_read(const struct nt_image *image, uint64_t space, uint64_t addr,
		     void *buf, size_t size)
{
	const struct nt_image_reader *reader = &image->reader;
	uint8_t *out = buf;
	size_t done = 0;

	while (done < size) {
		size_t n;
		const uint8_t *data = find_section(image, space, addr + done, &n);

		if (n > size - done)
			n = size - done;
		if (data) {
			memcpy(out + done, data, n);
		} else {
			int ret = reader->read ? reader->read(reader->ctx, space, addr + done,
							      out + done, n) : 0;

			if (ret <= 0)
				break;
			n = (size_t)ret < n ? (size_t)ret : n;
		}
		done += n;
	}
	return done;
}
