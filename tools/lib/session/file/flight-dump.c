// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Find the record of a flight recorder in a crash dump. Each byte of the dump may be damaged. */
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "flight.h"

#define PAGE		4096
#define MAX_RECORD	(1ULL << 30)

/* Copy the bytes of memory range @m that belong to the record, which begins at physical address @address. */
static void copy_memory(const struct ns_dump_memory *m, uint64_t address, uint8_t *record, uint64_t size)
{
	uint64_t from = m->address > address ? m->address - address : 0;
	uint64_t skip = m->address > address ? 0 : address - m->address, n;

	if (from >= size || skip >= m->size)
		return;
	n = m->size - skip < size - from ? m->size - skip : size - from;
	memcpy(record + from, m->at + skip, n);
}

static int copy_record(const struct ns_dump *d, const struct ns_dump_memory *first, uint64_t at,
		       uint8_t **record, size_t *size)
{
	struct ntrace_flight_header head;
	struct ns_dump_memory m;
	size_t i;

	memcpy(&head, first->at + at, sizeof(head));
	*size = head.region < MAX_RECORD ? head.region : MAX_RECORD;
	if (!first->known && first->size - at < *size)
		*size = first->size - at;
	if (*size < sizeof(head))
		*size = sizeof(head);
	*record = calloc(1, *size);
	if (!*record)
		return -1;
	if (!first->known)
		memcpy(*record, first->at + at, *size);
	for (i = 0; first->known && i < d->nr; i++) {
		if (ns_dump_segment(d, i, &m))
			copy_memory(&m, head.address, *record, *size);
	}
	return 0;
}

/*
 * Return true if a record begins at offset @at of memory range @m. The driver places a record at the
 * start of a page, and the header of the record contains the physical address of this page.
 */
static bool is_record(const struct ns_dump_memory *m, uint64_t at)
{
	struct ntrace_flight_header head;

	if (!ns_flight_is_header(m->at + at))
		return false;
	memcpy(&head, m->at + at, sizeof(head));
	return !m->known || head.address == m->address + at;
}

int ns_flight_find(const void *data, size_t size, uint8_t **record, size_t *record_size)
{
	struct ns_dump_memory m;
	struct ns_dump d;
	uint64_t at;
	size_t i;

	ns_dump_open(&d, data, size);
	for (i = 0; i < d.nr; i++) {
		if (!ns_dump_segment(&d, i, &m))
			continue;
		at = -m.address % PAGE;
		for (; at < m.size && m.size - at >= sizeof(struct ntrace_flight_header); at += PAGE) {
			if (is_record(&m, at))
				return copy_record(&d, &m, at, record, record_size);
		}
	}
	return 1;
}
