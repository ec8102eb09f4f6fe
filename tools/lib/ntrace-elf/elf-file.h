/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The structure of an open ELF file, which is private to the library */
#ifndef NTRACE_ELF_FILE_H
#define NTRACE_ELF_FILE_H

#include <gelf.h>
#include <ntrace/elf.h>

struct nt_elf {
	Elf			*elf;
	const uint8_t		*data;
	size_t			size;
	bool			is_mapped;
	struct nt_elf_segment	*segments;
	size_t			nr_segments;
	struct nt_elf_info	info;
};

/* Return NT_ISA_* from the section that names the extensions, or 0 if it is missing or damaged. */
uint32_t nt_elf_read_isa(const struct nt_elf *elf);

#endif /* NTRACE_ELF_FILE_H */
