/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What libelf says of an object whose file is mapped. Each call returns NULL, or why not. */
#ifndef NTRACE_SESSION_ELFFILE_H
#define NTRACE_SESSION_ELFFILE_H

#include "object.h"

/* It is an ELF file of RISC-V, and has the build id that the recording names, if it does */
const char *ns_elf_check(const struct ns_object *object);

/* Its PT_LOAD segments, as far as they are in the file */
const char *ns_elf_segments(struct ns_object *object);

/* Its functions, by .symtab, else by .dynsym; without any it is no error */
const char *ns_elf_symbols(struct ns_object *object);

#endif /* NTRACE_SESSION_ELFFILE_H */
