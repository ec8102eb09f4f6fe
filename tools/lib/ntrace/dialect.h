/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The differences between dialects. Code tests the one difference that it depends on, never the
 * name of a dialect.
 */
#ifndef NTRACE_DIALECT_H
#define NTRACE_DIALECT_H

#include "internal.h"

/* The fields of a message, in the order in which they are sent */
struct nt_layout {
	uint8_t		known;
	uint8_t		sync;	/* bits of each fixed field, in this order */
	uint8_t		btype;
	uint8_t		code;
	uint8_t		cdf;
	uint8_t		nr_vars;
	uint32_t	code_field;
	uint32_t	cdf_field;
	uint32_t	cdf_var;	/* variable-length field after the others, if that is 1 */
	uint32_t	vars[3];
};

struct nt_dialect_table {
	const struct nt_layout	*layouts;	/* by TCODE */
	uint8_t			addr_bits;	/* of RV64, if the configuration does not say */
	bool			xor_time;	/* TSTAMP without SYNC is XORed, not added */
	bool			has_runs;	/* RCODE 8 and 9 */
	bool			has_events;	/* the encoder sends NT_TCODE_IN_CIRCUIT_TRACE */
	bool			opaque_owner;	/* PROCESS may be anything that software wrote */
	bool			empty_cdf;	/* CDF=0 in HTM: there is no HIST */
	bool			sync_at_branch;	/* HIST may lack the branch that a SYNC stands at */
	bool			swap_is_call;	/* a swap that is reported pops no return */
	bool			btm_all_jumps;	/* BTM reports direct jumps */
	bool			counts_returns;	/* if returns to calls are implicit, nearly all are */
	bool			has_samples;	/* SYNC 15 is where the PC was, and no flow leads there */
	uint8_t			max_btype;	/* values above are reserved */
};

extern const struct nt_dialect_table nt_dialect_tables[2];

static inline const struct nt_dialect_table *nt_dialect_of(const struct nt_config *config)
{
	return &nt_dialect_tables[config->dialect < ARRAY_SIZE(nt_dialect_tables) ?
				  config->dialect : 0];
}

/* Bits of an address that are sent, the others are copies of the highest; 64: all */
static inline unsigned int nt_addr_bits(const struct nt_config *config)
{
	if (config->xlen == 32)
		return 64;
	return config->addr_bits ? config->addr_bits : nt_dialect_of(config)->addr_bits;
}

/* @addr with the bits above @bits restored, which the message may or may not have */
static inline uint64_t nt_addr_extend(uint64_t addr, unsigned int bits)
{
	return bits < 64 ? (uint64_t)sign_extend(addr, bits) : addr;
}

/*
 * Is there no bit above @bits that could not be a copy of a sign? Encoders send none, one or all
 * of the copies; those of an XOR are ones if the signs differ.
 */
static inline bool nt_addr_fits(uint64_t addr, unsigned int bits)
{
	uint64_t above = bits < 64 ? addr >> bits : 0;

	return !(above & (above + 1));
}

#endif /* NTRACE_DIALECT_H */
