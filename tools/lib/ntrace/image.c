// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The image layer, which finds code by address space and address.
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
	if (image) {
		free(image->sections);
		free(image->views);
	}
	free(image);
}

/* ---- views ---- */

/*
 * Return the number of views before the first view that begins after @addr of @space. Views are sorted
 * by space and address.
 */
static size_t image_count_views(const struct nt_image *image, uint64_t space, uint64_t addr)
{
	size_t low = 0, high = image->nr_views;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct nt_section *view = &image->views[middle];

		if (view->space < space || (view->space == space && view->addr <= addr))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t image_view_last(const struct nt_section *view)
{
	return view->addr + (view->size - 1);
}

/* Remove the first @n bytes of a view. */
static void image_cut_begin(struct nt_section *view, uint64_t n)
{
	view->addr += n;
	view->data += n;
	view->size -= n;
}

static void image_insert_view(struct nt_image *image, size_t at, const struct nt_section *view)
{
	memmove(&image->views[at + 1], &image->views[at],
		(image->nr_views - at) * sizeof(*image->views));
	image->views[at] = *view;
	image->nr_views++;
}

static void image_drop_views(struct nt_image *image, size_t from, size_t to)
{
	memmove(&image->views[from], &image->views[to],
		(image->nr_views - to) * sizeof(*image->views));
	image->nr_views -= to - from;
}

/*
 * Add a view of @section, and hide other views at its addresses. There must be room for two more
 * views.
 */
static void image_show_section(struct nt_image *image, const struct nt_section *section)
{
	size_t at = image_count_views(image, section->space, section->addr), to;
	uint64_t last = image_view_last(section);
	struct nt_section *before = at ? &image->views[at - 1] : NULL;

	if (before && before->space == section->space && image_view_last(before) >= section->addr) {
		struct nt_section rest = *before;

		before->size = section->addr - before->addr;
		if (image_view_last(&rest) > last) {
			image_cut_begin(&rest, last + 1 - rest.addr);
			image_insert_view(image, at, &rest);
		}
		if (!before->size) {
			at--;
			image_drop_views(image, at, at + 1);
		}
	}
	to = image_count_views(image, section->space, last);
	if (to > at && image_view_last(&image->views[to - 1]) > last) {
		to--;
		image_cut_begin(&image->views[to], last + 1 - image->views[to].addr);
	}
	if (to > at)
		image_drop_views(image, at, to);
	image_insert_view(image, at, section);
}

/* ---- sections ---- */

static int image_make_room(struct nt_image *image)
{
	size_t nr = image->nr_sections + 1;
	struct nt_section *more;

	/* Enlarge the arrays, to about twice the size, only if the number of sections is 0 or a power of two. */
	if (image->sections && image->nr_sections & (image->nr_sections - 1))
		return NT_OK;
	more = realloc(image->sections, 2 * nr * sizeof(*more));
	if (!more)
		return NT_E_NOMEM;
	image->sections = more;
	more = realloc(image->views, (4 * nr + 2) * sizeof(*more));
	if (!more)
		return NT_E_NOMEM;
	image->views = more;
	return NT_OK;
}

int nt_image_add(struct nt_image *image, uint64_t space, uint64_t addr,
		 const void *data, size_t size)
{
	struct nt_section section = { .space = space, .addr = addr, .size = size, .data = data };

	/* Check the last byte, because the address after a section may wrap around to 0. */
	if (!size || addr + (size - 1) < addr)
		return NT_E_INVALID;
	if (image_make_room(image))
		return NT_E_NOMEM;
	image->sections[image->nr_sections++] = section;
	image_show_section(image, &section);
	nt_image_invalidate_range(image, addr, size);
	return NT_OK;
}

int nt_image_remove(struct nt_image *image, uint64_t space, uint64_t addr, size_t size)
{
	size_t i = image->nr_sections, k;

	while (i-- > 0) {
		const struct nt_section *s = &image->sections[i];

		if (s->space == space && s->addr == addr && s->size == size)
			break;
	}
	if (i == SIZE_MAX)
		return NT_E_NOT_FOUND;
	image->nr_sections--;
	memmove(&image->sections[i], &image->sections[i + 1],
		(image->nr_sections - i) * sizeof(*image->sections));
	image->nr_views = 0;
	for (k = 0; k < image->nr_sections; k++)
		image_show_section(image, &image->sections[k]);
	nt_image_invalidate_range(image, addr, size);
	return NT_OK;
}

void nt_image_use_reader(struct nt_image *image, const struct nt_image_reader *reader)
{
	memset(&image->reader, 0, sizeof(image->reader));
	if (reader)
		image->reader = *reader;
	nt_image_invalidate(image);
}

static void image_add_change(struct nt_image *image, uint64_t addr, uint64_t last)
{
	image->generation++;
	image->changes[image->generation % NR_CHANGES] = (struct nt_change){ addr, last };
}

void nt_image_invalidate(struct nt_image *image)
{
	image_add_change(image, 0, UINT64_MAX);
}

void nt_image_invalidate_range(struct nt_image *image, uint64_t addr, uint64_t size)
{
	uint64_t last = addr + size - 1;

	if (size)
		image_add_change(image, addr, last < addr ? UINT64_MAX : last);
}

void nt_image_remap(struct nt_image *image)
{
	image_add_change(image, 1, 0);
}

/*
 * Return the code at @addr in @space, or, if @space has none, the code at @addr in space 0. Set
 * *size to the number of its bytes. If neither space has code at @addr, return NULL, and set *size
 * to the number of bytes from @addr without code.
 */
static const uint8_t *image_find_code(const struct nt_image *image, uint64_t space, uint64_t addr,
				      size_t *size)
{
	uint64_t room = UINT64_MAX;

	for (;;) {
		size_t next = image_count_views(image, space, addr);
		const struct nt_section *here = next ? &image->views[next - 1] : NULL;
		const struct nt_section *later =
			next < image->nr_views ? &image->views[next] : NULL;

		if (here && here->space == space && addr - here->addr < here->size) {
			uint64_t left = here->size - (addr - here->addr);

			*size = left < room ? left : room;
			return here->data + (addr - here->addr);
		}
		if (later && later->space == space && later->addr - addr < room)
			room = later->addr - addr;
		if (!space)
			break;
		space = 0;
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
		const uint8_t *data = image_find_code(image, space, addr + done, &n);

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
