/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * libntrace-elf: code from ELF files for libntrace.
 *
 *	struct nt_elf *elf;
 *	int err = nt_elf_open("prog", &elf);
 *
 *	if (!err)
 *		err = nt_elf_add(elf, image, 0, 0);
 *	if (err)
 *		puts(nt_elf_error_text(err));
 *
 * Like libntrace, it prints nothing and has no global state but that of libelf. One nt_elf is
 * used by one thread at a time; the code that it added to an image is read by any.
 */
#ifndef NTRACE_ELF_H
#define NTRACE_ELF_H

#include <ntrace/ntrace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Name, number, sentence. Functions return these, or numbers of NT_ERRORS. */
#define NT_ELF_ERRORS(X)							\
	X(NT_ELF_E_READ,	-100, "the file cannot be read")		\
	X(NT_ELF_E_FORMAT,	-101, "not an ELF file")			\
	X(NT_ELF_E_DAMAGED,	-102, "the ELF file is truncated or damaged")	\
	X(NT_ELF_E_MACHINE,	-103, "not a RISC-V program")			\
	X(NT_ELF_E_NOT_LINKED,	-104, "has no segments: it is not linked to run") \
	X(NT_ELF_E_NO_BUILD_ID,	-105, "has no build-id")			\
	X(NT_ELF_E_BUILD_ID,	-106, "has another build-id: it is not the program that was executed")

enum nt_elf_error {
#define NT_ELF_ERROR_ENUM(name, number, text)	name = number,
	NT_ELF_ERRORS(NT_ELF_ERROR_ENUM)
#undef NT_ELF_ERROR_ENUM
};

/* The sentence of an error of either library; never NULL */
const char *nt_elf_error_text(int error);

#define NT_ELF_BUILD_ID_MAX	64

struct nt_elf_info {
	uint32_t	xlen;		/* 32 or 64 */
	uint32_t	isa;		/* NT_ISA_*, of the attribute that names the extensions */
	uint64_t	entry;
	uint64_t	low;		/* the code is at @low up to, not including, @high */
	uint64_t	high;
	uint32_t	type;		/* ET_EXEC, ET_DYN, ET_CORE */
	uint32_t	build_id_size;	/* bytes; 0: there is none */
	uint8_t		build_id[NT_ELF_BUILD_ID_MAX];
};

struct nt_elf;

/*
 * Open the file at @path, and set *elf. It stays mapped until nt_elf_close(): who overwrites
 * the file in place meanwhile changes the code, or ends the program by SIGBUS if it gets shorter.
 *
 * NT_OK; NT_E_NOMEM; NT_ELF_E_READ (errno says why); NT_ELF_E_FORMAT; NT_ELF_E_DAMAGED;
 * NT_ELF_E_MACHINE; NT_ELF_E_NOT_LINKED. *elf is NULL then.
 */
int nt_elf_open(const char *path, struct nt_elf **elf);

/* As nt_elf_open(), of an image in memory, as of a vDSO. @data stays the caller's. */
int nt_elf_open_memory(const void *data, size_t size, struct nt_elf **elf);

/* After nt_elf_remove(), or with the images that have its code. NULL is fine. */
void nt_elf_close(struct nt_elf *elf);

/* @size is sizeof(struct nt_elf_info): a later one may be longer. */
void nt_elf_info(const struct nt_elf *elf, struct nt_elf_info *info, size_t size);

/* What is loaded of the file. Parts that are zeros when the program starts are not in it. */
struct nt_elf_segment {
	uint64_t	addr;		/* as the file has it */
	uint64_t	size;
	const uint8_t	*data;		/* until nt_elf_close() */
	uint32_t	flags;		/* PF_R, PF_W, PF_X */
};

/* Segment @nr, from 0. @size is sizeof(struct nt_elf_segment). NT_OK; NT_E_NOT_FOUND */
int nt_elf_segment(const struct nt_elf *elf, size_t nr, struct nt_elf_segment *segment,
		   size_t size);

/*
 * Is it the program with that build-id? One of fewer bytes, as a recording may have it, is
 * compared as far as it goes. NT_OK; NT_ELF_E_NO_BUILD_ID; NT_ELF_E_BUILD_ID
 */
int nt_elf_check_build_id(const struct nt_elf *elf, const void *build_id, size_t size);

/*
 * Add the segments that are loaded to run, to address space @space of @image, @offset bytes
 * above their addresses in the file: 0 for a program that is not moved, the base of a library.
 * All of them, or none. They may be added to several spaces and at several offsets.
 *
 * NT_OK; NT_E_NOMEM; NT_E_INVALID: a segment wraps around the end of the addresses
 */
int nt_elf_add(const struct nt_elf *elf, struct nt_image *image, uint64_t space, uint64_t offset);

/* Remove what nt_elf_add() with the same arguments added: NT_OK; NT_E_NOT_FOUND */
int nt_elf_remove(const struct nt_elf *elf, struct nt_image *image, uint64_t space,
		  uint64_t offset);

#ifdef __cplusplus
}
#endif

#endif /* NTRACE_ELF_H */
