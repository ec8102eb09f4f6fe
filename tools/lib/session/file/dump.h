/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A crash dump, which is raw physical memory, or an ELF core of physical memory such as /proc/vmcore
 * or a file of makedumpfile -E. Each byte of the dump may be damaged, and any page may be missing.
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
	const Elf64_Phdr *segments;	/* NULL: the dump is not an ELF file */
	size_t		nr;
};

/* A range of physical memory in the dump. @known is false if the dump has no ELF header with addresses. */
struct ns_dump_memory {
	const uint8_t	*at;
	uint64_t	size, address;
	bool		known;
};

/* Location of the kernel and of its page tables, from vmcoreinfo */
struct ns_dump_tables {
	uint64_t	image, image_end;	/* virtual addresses of the kernel image, which is contiguous */
	uint64_t	image_offset;	/* virtual address minus physical address of each byte of the image */
	uint64_t	root;		/* physical address of the top-level page table */
	int		levels;		/* Sv39: 3, Sv48: 4, Sv57: 5 */
};

/* Find the ranges of memory in a dump. @data must stay valid as long as @dump is used. */
void ns_dump_open(struct ns_dump *dump, const void *data, size_t size);

/* ns_dump_segment() - get range @nth of the dump->nr ranges. Return false if the range is not memory. */
bool ns_dump_segment(const struct ns_dump *dump, size_t nth, struct ns_dump_memory *memory);

/*
 * ns_dump_virtual() - find the bytes at a virtual address of the kernel
 * @left: Set to the number of bytes in the dump, up to the end of the 4 KiB page at most
 *
 * Return a pointer to the bytes, or NULL if the dump does not contain the address.
 */
const uint8_t *ns_dump_virtual(const struct ns_dump *dump, const struct ns_dump_tables *tables,
			       uint64_t address, uint64_t *left);

/* ns_dump_read() - copy @size bytes from a virtual address of the kernel. Return false if any byte is missing. */
bool ns_dump_read(const struct ns_dump *dump, const struct ns_dump_tables *tables,
		  uint64_t address, void *to, uint64_t size);

#endif /* NTRACE_SESSION_DUMP_H */
