/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * libntrace-elf reads code from ELF files for libntrace.
 *
 *	struct nt_elf *elf;
 *	int err = nt_elf_open("prog", &elf);
 *
 *	if (!err)
 *		err = nt_elf_add(elf, image, 0, 0);
 *	if (err)
 *		puts(nt_elf_error_text(err));
 *
 * Like libntrace, this library prints nothing. It has no global state except libelf's. One thread at
 * a time may use a struct nt_elf. Any thread may read the code that nt_elf_add() has added to an
 * image.
 */
#ifndef NTRACE_ELF_H
#define NTRACE_ELF_H

#include <ntrace/ntrace.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The errors of this library, with name, number and sentence. Its functions return one of these
 * numbers, or an error of libntrace, which NT_ERRORS in <ntrace/ntrace.h> lists.
 */
#define NT_ELF_ERRORS(X)							\
	X(NT_ELF_E_READ,	-100, "the file cannot be read")		\
	X(NT_ELF_E_FORMAT,	-101, "not an ELF file")			\
	X(NT_ELF_E_DAMAGED,	-102, "the ELF file is truncated or damaged")	\
	X(NT_ELF_E_MACHINE,	-103, "not a RISC-V program")			\
	X(NT_ELF_E_NOT_LINKED,	-104, "has no segments, so it cannot be executed") \
	X(NT_ELF_E_NO_BUILD_ID,	-105, "has no build-id")			\
	X(NT_ELF_E_BUILD_ID,	-106, "has another build-id: it is not the program that was executed")

enum nt_elf_error {
#define NT_ELF_ERROR_ENUM(name, number, text)	name = number,
	NT_ELF_ERRORS(NT_ELF_ERROR_ENUM)
#undef NT_ELF_ERROR_ENUM
};

/* Return the sentence of an error of either library. Never NULL. */
const char *nt_elf_error_text(int error);

#define NT_ELF_BUILD_ID_MAX	64

struct nt_elf_info {
	uint32_t	xlen;		/* 32 or 64, for nt_config::xlen */
	uint32_t	isa;		/* NT_ISA_* from the attribute that names the extensions, for nt_config::isa */
	uint64_t	entry;		/* address of the first instruction to execute */
	uint64_t	low;		/* lowest address of the loaded segments */
	uint64_t	high;		/* address after the last byte of the loaded segments */
	uint32_t	type;		/* ET_EXEC, ET_DYN, ET_CORE */
	uint32_t	build_id_size;	/* number of bytes of @build_id; 0 if the file has no build-id */
	uint8_t		build_id[NT_ELF_BUILD_ID_MAX];
};

struct nt_elf;

/*
 * Open the file at @path, and set *elf. The file stays mapped until nt_elf_close(). If another
 * program overwrites the file before that, the mapped code changes. If the file becomes shorter,
 * SIGBUS may end the process.
 *
 * Return NT_OK; NT_E_NOMEM; NT_ELF_E_READ, with the reason in errno; NT_ELF_E_FORMAT;
 * NT_ELF_E_DAMAGED; NT_ELF_E_MACHINE; or NT_ELF_E_NOT_LINKED. After an error, *elf is NULL.
 */
int nt_elf_open(const char *path, struct nt_elf **elf);

/* Do the same as nt_elf_open() for an image in memory, such as a vDSO. The caller owns @data. */
int nt_elf_open_memory(const void *data, size_t size, struct nt_elf **elf);

/*
 * Close @elf. First remove its code from images by nt_elf_remove(), or stop using these images.
 * NULL is accepted.
 */
void nt_elf_close(struct nt_elf *elf);

/* Fill in *info. @size is sizeof(struct nt_elf_info), because the structure may become longer. */
void nt_elf_info(const struct nt_elf *elf, struct nt_elf_info *info, size_t size);

/* A loaded part of the file, without memory that the loader fills with zeros */
struct nt_elf_segment {
	uint64_t	addr;		/* address in the file */
	uint64_t	size;
	const uint8_t	*data;		/* valid until nt_elf_close() */
	uint32_t	flags;		/* PF_R, PF_W, PF_X */
};

/*
 * Get segment @nr, from 0. @size is sizeof(struct nt_elf_segment). Return NT_OK or NT_E_NOT_FOUND.
 */
int nt_elf_segment(const struct nt_elf *elf, size_t nr, struct nt_elf_segment *segment,
		   size_t size);

/*
 * Check that the file has the build-id @build_id, which has @size bytes. If the file's build-id is
 * longer, only the first @size bytes are compared, because a recording may contain only the first
 * bytes of a build-id. Return NT_OK, NT_ELF_E_NO_BUILD_ID or NT_ELF_E_BUILD_ID.
 */
int nt_elf_check_build_id(const struct nt_elf *elf, const void *build_id, size_t size);

/*
 * Add the loadable segments to address space @space of @image, @offset bytes above their
 * addresses in the file. @offset is 0 for a program that is not relocated, and the base address for
 * a library. Either all segments are added, or none of them. The segments may be added to several
 * spaces and at several offsets.
 *
 * Return NT_OK; NT_E_NOMEM; or NT_E_INVALID if a segment wraps around the end of the addresses.
 */
int nt_elf_add(const struct nt_elf *elf, struct nt_image *image, uint64_t space, uint64_t offset);

/*
 * Remove the segments that nt_elf_add() added with the same arguments. Return NT_OK or
 * NT_E_NOT_FOUND.
 */
int nt_elf_remove(const struct nt_elf *elf, struct nt_image *image, uint64_t space,
		  uint64_t offset);

#ifdef __cplusplus
}
#endif

#endif /* NTRACE_ELF_H */
