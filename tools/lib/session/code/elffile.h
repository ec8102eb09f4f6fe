/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Read an object whose file is mapped with libelf. Each function returns NULL, or the reason for an
 * error.
 */
#ifndef NTRACE_SESSION_ELFFILE_H
#define NTRACE_SESSION_ELFFILE_H

#include "object.h"

/* Check that it is an ELF file for RISC-V with the build id in the recording, if that has one. */
const char *ns_elf_check(const struct ns_object *object);

/* Read its PT_LOAD segments, as far as they are in the file. */
const char *ns_elf_segments(struct ns_object *object);

/* Read its functions from .symtab, else from .dynsym. Having none is not an error. */
const char *ns_elf_symbols(struct ns_object *object);

#endif /* NTRACE_SESSION_ELFFILE_H */
