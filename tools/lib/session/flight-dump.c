// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The record of a flight recorder in a crash dump. Each byte of the dump may be damaged. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "flight.h"

#define PAGE		4096
#define MAX_RECORD	(1ULL << 30)

/* A stretch of physical memory in the dump; one that is not ELF is one, whose address nobody knows */
struct memory {
	const uint8_t	*at;
	uint64_t	size, address;
	bool		known;
};

struct dump {
	const uint8_t	*data;
	size_t		size;
	const Elf64_Phdr *segments;	/* NULL: the dump is not ELF */
	size_t		nr;
};

static void open_dump(struct dump *d, const void *data, size_t size)
{
	const Elf64_Ehdr *head = data;

	*d = (struct dump){ .data = data, .size = size, .nr = 1 };
	if (size < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
	    head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_type != ET_CORE ||
	    head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phoff % 8 || head->e_phoff > size ||
	    head->e_phnum > (size - head->e_phoff) / sizeof(Elf64_Phdr))
		return;
	d->segments = (const void *)(d->data + head->e_phoff);
	d->nr = head->e_phnum;
}

/* False: the segment has no memory */
static bool memory_of(const struct dump *d, size_t nth, struct memory *m)
{
	const Elf64_Phdr *p;

	if (!d->segments) {
		*m = (struct memory){ .at = d->data, .size = d->size };
		return true;
	}
	p = d->segments + nth;
	if (p->p_type != PT_LOAD || p->p_offset > d->size || p->p_filesz > d->size - p->p_offset)
		return false;
	*m = (struct memory){ .at = d->data + p->p_offset, .size = p->p_filesz,
			      .address = p->p_paddr, .known = true };
	return true;
}

/* The part of @m that is in the record */
static void copy_memory(const struct memory *m, uint64_t address, uint8_t *record, uint64_t size)
{
	uint64_t from = m->address > address ? m->address - address : 0;
	uint64_t skip = m->address > address ? 0 : address - m->address, n;

	if (from >= size || skip >= m->size)
		return;
	n = m->size - skip < size - from ? m->size - skip : size - from;
	memcpy(record + from, m->at + skip, n);
}

static int copy_record(const struct dump *d, const struct memory *first, uint64_t at,
		       uint8_t **record, size_t *size)
{
	struct ntrace_flight_header head;
	struct memory m;
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
		if (memory_of(d, i, &m))
			copy_memory(&m, head.address, *record, *size);
	}
	return 0;
}

/* The driver has its record at the begin of a page, and the header says of which */
static bool is_record(const struct memory *m, uint64_t at)
{
	struct ntrace_flight_header head;

	if (!ns_flight_is_header(m->at + at))
		return false;
	memcpy(&head, m->at + at, sizeof(head));
	return !m->known || head.address == m->address + at;
}

int ns_flight_find(const void *data, size_t size, uint8_t **record, size_t *record_size)
{
	struct memory m;
	struct dump d;
	uint64_t at;
	size_t i;

	open_dump(&d, data, size);
	for (i = 0; i < d.nr; i++) {
		if (!memory_of(&d, i, &m))
			continue;
		at = -m.address % PAGE;
		for (; at < m.size && m.size - at >= sizeof(struct ntrace_flight_header); at += PAGE) {
			if (is_record(&m, at))
				return copy_record(&d, &m, at, record, record_size);
		}
	}
	return 1;
}
