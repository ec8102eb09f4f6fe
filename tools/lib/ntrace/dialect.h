/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The differences between dialects. Code that depends on a difference tests the member for that
 * difference, and never the name of a dialect.
 */
#ifndef NTRACE_DIALECT_H
#define NTRACE_DIALECT_H

#include "internal.h"

/* The fields of a message, in the order in which they are sent */
struct nt_layout {
	uint8_t		known;	/* 1 if the dialect has this layout */
	uint8_t		sync;	/* number of bits of SYNC; the other fixed fields follow in this order */
	uint8_t		btype;
	uint8_t		code;
	uint8_t		cdf;
	uint8_t		nr_vars;
	uint32_t	code_field;
	uint32_t	cdf_field;
	uint32_t	cdf_var;	/* last variable-length field, which is present only if CDF is 1 */
	uint32_t	vars[4];
};

/*
 * A message that is not about the flow, and that N-Trace's drafts, IEEE-ISTO 5001 or a vendor
 * define. Only the text of the message depends on this structure.
 */
struct nt_other {
	const char	*name;		/* name of the message; NULL if only its length is known */
	const char	*fixed[2];	/* names of the fixed fields after SRC */
	uint8_t		bits[2];
	const char	*vars[NT_MESSAGE_OTHERS];
};

struct nt_dialect_table {
	const char		*name;		/* name of the encoder */
	const struct nt_layout	*layouts;	/* layouts of messages, by TCODE */
	const struct nt_other	*others;	/* messages that are not in @layouts, by TCODE */
	uint32_t		deviations;	/* possible deviations, 1 << enum nt_deviation */
	uint64_t		moves_pc;	/* mask of TCODEs whose messages change the PC, but are skipped */
	uint16_t		return_depth;	/* number of entries of the return stack */
	bool			drops_newest;	/* a full return stack ignores calls */
	bool			is_odd;		/* the fast path must check for differences from N-Trace 1.0 */
	uint8_t			addr_bits;	/* number of address bits of RV64, if nt_config::addr_bits is 0 */
	bool			xor_time;	/* TSTAMP without SYNC is XORed with the time, not added to it */
	bool			has_runs;	/* RCODE 8 and 9 report repeated branches */
	bool			has_events;	/* the encoder sends NT_TCODE_IN_CIRCUIT_TRACE */
	bool			opaque_owner;	/* software writes PROCESS, so its format may be invalid */
	bool			empty_cdf;	/* if CDF is 0, a message in HTM has no HIST */
	/* if HIST lacks the bit of the last branch, the address in SYNC is not that branch's destination */
	bool			sync_at_branch;
	bool			swap_is_call;	/* a co-routine swap in a message does not pop the return stack */
	bool			btm_all_jumps;	/* BTM reports direct jumps */
	bool			counts_returns;	/* the encoder counts calls to decide which returns to report */
	/* SYNC 15 reports a sample of the PC, which need not follow the previous instruction */
	bool			has_samples;
	uint8_t			max_btype;	/* largest B-TYPE that is not reserved */
};

extern const struct nt_dialect_table nt_dialect_tables[NT_DIALECT_MICROBLAZE_V + 1];

/* Return field @i of a message that is not about the flow, see nt_message::nr_others. */
static inline uint64_t *nt_message_other(struct nt_message *msg, unsigned int i)
{
	return (uint64_t *)((uint8_t *)msg + offsetof(struct nt_message, icnt)) + i;
}

/* Return the deviations that are accepted in a stream with this configuration. */
static inline uint32_t nt_deviations_accepted(const struct nt_config *config)
{
	const struct nt_dialect_table *dialect = &nt_dialect_tables[config->dialect];

	return config->strict ? 0 : ~NT_DEV_UNSURE | dialect->deviations | config->accept;
}

static inline const struct nt_dialect_table *nt_dialect_of(const struct nt_config *config)
{
	return &nt_dialect_tables[config->dialect < ARRAY_SIZE(nt_dialect_tables) ?
				  config->dialect : 0];
}

/* Return true if @msg reports no executed instructions. The decoder ignores its fields, except to print them. */
static inline bool nt_message_has_others(const struct nt_message *msg)
{
	return !nt_dialect_tables[msg->dialect].layouts[msg->tcode].known ||
		(msg->tcode == NT_TCODE_PROG_TRACE_CORRELATION && msg->cdf == NT_CDF_MARKER);
}

/*
 * Return the number of bits of an address that are sent, or 64 for all. The other bits are copies
 * of the highest bit that is sent.
 */
static inline unsigned int nt_addr_bits(const struct nt_config *config)
{
	if (config->xlen == 32)
		return 64;
	return config->addr_bits ? config->addr_bits : nt_dialect_of(config)->addr_bits;
}

/* Return @addr with all bits above the lowest @bits set to copies of its sign. */
static inline uint64_t nt_addr_extend(uint64_t addr, unsigned int bits)
{
	return bits < 64 ? (uint64_t)sign_extend(addr, bits) : addr;
}

/*
 * Return true if the bits of @addr above the lowest @bits can be copies of its sign. Encoders send
 * none, one or all of these copies. In an XOR of two addresses, the copies are ones if the signs of
 * the two addresses differ.
 */
static inline bool nt_addr_fits(uint64_t addr, unsigned int bits)
{
	uint64_t above = bits < 64 ? addr >> bits : 0;

	return !(above & (above + 1));
}

#endif /* NTRACE_DIALECT_H */
