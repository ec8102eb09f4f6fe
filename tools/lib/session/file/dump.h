/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A crash dump: an ELF core of physical memory, as /proc/vmcore and makedumpfile -E have it, or the
 * memory as it is. Each byte of it may be damaged, and any page may be left out.
 */
#ifndef NTRACE_SESSION_DUMP_H
#define NTRACE_SESSION_DUMP_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ns_dump {
	const uint8_t	*data;
	size_t		size;
	const Elf64_Phdr *segments;	/* NULL: it is not ELF */
	size_t		nr;
};

/* A stretch of physical memory in the dump; of one that is not ELF, nobody knows the address */
struct ns_dump_memory {
	const uint8_t	*at;
	uint64_t	size, address;
	bool		known;
};

/* Where the kernel is, and its page tables, as vmcoreinfo says it */
struct ns_dump_tables {
	uint64_t	image, image_end;	/* the kernel itself, which is in one piece: virtual addresses */
	uint64_t	image_offset;	/* ... less this are physical ones */
	uint64_t	root;		/* physical address of the table for all addresses */
	int		levels;		/* Sv39: 3, Sv48: 4, Sv57: 5 */
};

/* @data: must stay as long as the dump is used */
void ns_dump_open(struct ns_dump *dump, const void *data, size_t size);

/* ns_dump_segment() - the @nth of dump->nr stretches; false: it has no memory */
bool ns_dump_segment(const struct ns_dump *dump, size_t nth, struct ns_dump_memory *memory);

/*
 * ns_dump_physical() - bytes at a physical address
 * @left: set to how many there are
 *
 * Return: the bytes, which belong to the dump; NULL: the dump does not have them
 */
const uint8_t *ns_dump_physical(const struct ns_dump *dump, uint64_t address, uint64_t *left);

/* ns_dump_virtual() - the same at an address of the kernel, up to the end of its page of 4 KiB */
const uint8_t *ns_dump_virtual(const struct ns_dump *dump, const struct ns_dump_tables *tables,
			       uint64_t address, uint64_t *left);

/* ns_dump_read() - copy from an address of the kernel; false: not all of it is there */
bool ns_dump_read(const struct ns_dump *dump, const struct ns_dump_tables *tables,
		  uint64_t address, void *to, uint64_t size);

#endif /* NTRACE_SESSION_DUMP_H */
