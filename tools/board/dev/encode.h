/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of ntrace encode */
#ifndef NTRACE_DEV_ENCODE_H
#define NTRACE_DEV_ENCODE_H

#include <stdio.h>

#include "encoder.h"
#include "insn.h"
#include "raw/elf-image.h"
#include "truth.h"

#define BLOCK_MAX	512	/* instructions in a block */
#define IMAGES_MAX	16
#define SEGMENTS_MAX	64

struct segment {
	uint64_t	start, end;
	const uint8_t	*bytes;
	struct nb_insn	*insn;	/* decoded instruction at each half-word; its len is 0 before it is decoded */
};

struct code {
	struct nt_elf	*elf[IMAGES_MAX];
	unsigned int	n_images, n_segments;
	unsigned int	flags;		/* NB_INSN_* flags that select the instruction set */
	struct segment	segment[SEGMENTS_MAX];
	struct segment	*last;
};

enum trap_kind { TRAP_AUTO, TRAP_EXCEPTION, TRAP_INTERRUPT };

struct encode {
	struct code	code;
	struct nb_encoder_config cfg;
	struct nb_encoder enc;
	struct nb_truth_writer *truth;
	enum trap_kind	trap;
	uint64_t	scontext, step, time;
	uint64_t	only_start, only_end;	/* range of traced addresses; all are traced if only_end is 0 */
	bool		stats;
	const char	*pcs, *out, *truth_path;

	/* The block to which the next instruction is added */
	struct nb_ingress blk;
	uint64_t	wide[BLOCK_MAX / 64];
	uint64_t	n_pcs, n_traps, line;

	FILE		*out_file;
	bool		failed;
};

/* encode_add_code() - add the code of the ELF file FILE[@BASE]. Return 0, or print a message and return -1. */
int encode_add_code(struct code *code, const char *arg);

/* encode_parse() - read the options. Return -1 if the command must run, otherwise its exit status. */
int encode_parse(struct encode *e, int argc, char **argv);

#endif /* NTRACE_DEV_ENCODE_H */
