// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Check and copy the parts of a record of the flight recorder. Each byte of a part may be damaged. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flight.h"

int ns_flight_fail(struct ns_flight *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->error, sizeof(f->error), fmt, ap);
	va_end(ap);
	return -1;
}

/* Return the CRC-32 that zlib defines. The loop needs no table, because a record is read only once. */
static uint32_t crc32(const void *data, size_t size)
{
	const uint8_t *byte = data;
	uint32_t crc = ~0U;
	int i;

	while (size--) {
		crc ^= *byte++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

bool ns_flight_is_header(const void *data)
{
	const uint64_t magic = NTRACE_FLIGHT_MAGIC;
	struct ntrace_flight_header head;

	if (memcmp(data, &magic, sizeof(magic)))
		return false;
	memcpy(&head, data, sizeof(head));
	return head.size == sizeof(head) &&
	       crc32(&head, offsetof(struct ntrace_flight_header, crc)) == head.crc;
}

int ns_flight_check_header(struct ns_flight *f)
{
	struct ntrace_flight_header *h = &f->head;

	if (f->size < sizeof(*h))
		return ns_flight_fail(f, "this is not a record of a flight recorder: it has only %zu bytes", f->size);
	memcpy(h, f->data, sizeof(*h));
	if (h->magic == NTRACE_FLIGHT_MAGIC_WRITING)
		return ns_flight_fail(f, "this record has no trace, because the machine was reset while the recorder wrote the header");
	if (h->magic != NTRACE_FLIGHT_MAGIC)
		return ns_flight_fail(f, "this is not a record of a flight recorder");
	if (crc32(h, offsetof(struct ntrace_flight_header, crc)) != h->crc) {
		if (h->version >> 16 != NTRACE_FLIGHT_VERSION_MAJOR || h->size != sizeof(*h))
			return ns_flight_fail(f, "the record is damaged, or of version %u, which this program does not know",
				    h->version >> 16);
		return ns_flight_fail(f, "the record is damaged: its header has a wrong CRC");
	}
	if (h->region > f->size)
		return ns_flight_fail(f, "the record was cut short: it has %zu of %llu bytes", f->size,
			    (unsigned long long)h->region);
	if (h->data_offset > h->region || h->nr_parts > NTRACE_FLIGHT_MAX_PARTS)
		return ns_flight_fail(f, "the record is damaged: its sizes contradict each other");
	f->size = h->region;
	return 0;
}

const struct ntrace_flight_part *ns_flight_part(const struct ns_flight *f, uint32_t type, size_t entry)
{
	const struct ntrace_flight_part *p = f->head.parts;

	for (; p < f->head.parts + f->head.nr_parts; p++) {
		if (p->type == type && p->entry >= entry && p->offset <= f->head.data_offset &&
		    p->size <= f->head.data_offset - p->offset)
			return p;
	}
	return NULL;
}

void *ns_flight_copy_part(struct ns_flight *f, uint32_t type, size_t entry, size_t *nr)
{
	const struct ntrace_flight_part *p = ns_flight_part(f, type, entry);
	uint8_t *copy;
	size_t i;

	*nr = p ? p->size / p->entry : 0;
	copy = calloc(*nr + 1, entry);
	for (i = 0; copy && i < *nr; i++)
		memcpy(copy + i * entry, f->data + p->offset + i * p->entry, entry);
	if (!copy)
		ns_flight_fail(f, "out of memory");
	return copy;
}

void *ns_flight_copy_sealed(struct ns_flight *f, uint32_t type, size_t entry, size_t *nr, const char *what)
{
	const struct ntrace_flight_part *p = ns_flight_part(f, type, entry);

	if (!p) {
		ns_flight_fail(f, "the record has no %s", what);
		return NULL;
	}
	if (crc32(f->data + p->offset, p->size) != p->crc) {
		ns_flight_fail(f, "the record is damaged: its %s has a wrong CRC", what);
		return NULL;
	}
	return ns_flight_copy_part(f, type, entry, nr);
}

bool ns_flight_entry_is_good(struct ns_flight *f, const void *entry, size_t size, uint32_t type,
			     size_t nth)
{
	uint32_t check;

	memcpy(&check, (const char *)entry + size - sizeof(check), sizeof(check));
	if (ntrace_flight_check(entry, size, NTRACE_FLIGHT_SEED(type, nth)) == check)
		return true;
	for (; size; size--) {
		if (((const char *)entry)[size - 1]) {
			f->damaged++;
			break;
		}
	}
	return false;
}

void *ns_flight_read_entries(struct ns_flight *f, uint32_t type, size_t entry, size_t *nr, uint32_t *where)
{
	uint8_t *all = ns_flight_copy_part(f, type, entry, nr);
	size_t i, good = 0;

	for (i = 0; all && i < *nr; i++) {
		if (!ns_flight_entry_is_good(f, all + i * entry, entry, type, i))
			continue;
		if (where)
			where[good] = i;
		memmove(all + good++ * entry, all + i * entry, entry);
	}
	*nr = good;
	return all;
}
