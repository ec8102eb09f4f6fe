// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Access the memory of a crash dump by physical addresses, and by virtual addresses of the kernel.
 */
#include <string.h>

#include "dump.h"

#define PAGE		4096ULL
#define PTE_V		(1U << 0)
#define PTE_RWX		(7U << 1)
#define PTE_N		(1ULL << 63)	/* Svnapot: the entry maps 16 pages */
#define PTE_PPN(pte)	((pte) >> 10 & ((1ULL << 44) - 1))

void ns_dump_open(struct ns_dump *d, const void *data, size_t size)
{
	const Elf64_Ehdr *head = data;

	*d = (struct ns_dump){ .data = data, .size = size, .nr = 1 };
	if (size < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
	    head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_type != ET_CORE ||
	    head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phoff % 8 || head->e_phoff > size ||
	    head->e_phnum > (size - head->e_phoff) / sizeof(Elf64_Phdr))
		return;
	d->segments = (const void *)(d->data + head->e_phoff);
	d->nr = head->e_phnum;
}

bool ns_dump_segment(const struct ns_dump *d, size_t nth, struct ns_dump_memory *m)
{
	const Elf64_Phdr *p;

	if (!d->segments) {
		*m = (struct ns_dump_memory){ .at = d->data, .size = d->size };
		return true;
	}
	p = d->segments + nth;
	if (p->p_type != PT_LOAD || p->p_offset > d->size || p->p_filesz > d->size - p->p_offset)
		return false;
	*m = (struct ns_dump_memory){ .at = d->data + p->p_offset, .size = p->p_filesz,
				      .address = p->p_paddr, .known = true };
	return true;
}

/* Find the bytes at a physical address, and set *left to their number. Return NULL if the dump lacks them. */
static const uint8_t *dump_physical(const struct ns_dump *d, uint64_t address, uint64_t *left)
{
	struct ns_dump_memory m;
	size_t i;

	for (i = 0; d->segments && i < d->nr; i++) {
		if (!ns_dump_segment(d, i, &m) || address - m.address >= m.size)
			continue;
		*left = m.size - (address - m.address);
		return m.at + (address - m.address);
	}
	return NULL;
}

/* Translate an address (privileged specification, "Virtual Address Translation Process"). Return false if it fails. */
static bool translate(const struct ns_dump *d, const struct ns_dump_tables *t, uint64_t va,
		      uint64_t *pa)
{
	uint64_t table = t->root, pte, left, mask;
	const uint8_t *at;
	int level, shift;

	/* subtract the known offset of the kernel image, because the dump may lack the page tables */
	if (va >= t->image && va < t->image_end) {
		*pa = va - t->image_offset;
		return true;
	}
	for (level = t->levels - 1; level >= 0; level--) {
		shift = 12 + 9 * level;
		at = dump_physical(d, table + (va >> shift & 511) * sizeof(pte), &left);
		if (!at || left < sizeof(pte))
			return false;
		memcpy(&pte, at, sizeof(pte));
		if (!(pte & PTE_V))
			return false;
		table = PTE_PPN(pte) << 12;
		if (!(pte & PTE_RWX))
			continue;
		mask = (1ULL << shift) - 1;
		if (!level && pte & PTE_N)
			mask = 16 * PAGE - 1;
		*pa = (table & ~mask) | (va & mask);
		return true;
	}
	return false;
}

const uint8_t *ns_dump_virtual(const struct ns_dump *d, const struct ns_dump_tables *t,
			       uint64_t address, uint64_t *left)
{
	uint64_t pa, in_page = PAGE - address % PAGE;
	const uint8_t *at;

	if (!translate(d, t, address, &pa))
		return NULL;
	at = dump_physical(d, pa, left);
	if (at && *left > in_page)
		*left = in_page;
	return at;
}

bool ns_dump_read(const struct ns_dump *d, const struct ns_dump_tables *t, uint64_t address,
		  void *to, uint64_t size)
{
	uint64_t done = 0, left;
	const uint8_t *at;

	while (done < size) {
		at = ns_dump_virtual(d, t, address + done, &left);
		if (!at)
			return false;
		if (left > size - done)
			left = size - done;
		memcpy((uint8_t *)to + done, at, left);
		done += left;
	}
	return true;
}
