/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The fast path parses plain messages with these functions. A plain message is a branch message
 * without SYNC, or a ResourceFull with HIST. It has at most 16 bytes, and its values have at most 60
 * bits.
 */
#ifndef NTRACE_PLAIN_H
#define NTRACE_PLAIN_H

#include "internal.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Number of bytes that the fast path examines at once */
#define WINDOW		16

/* Bit masks of the next WINDOW bytes. Bit i of @field and of @high describes the MSEO of byte i. */
struct ends {
	unsigned int	field;		/* bytes whose MSEO has its lower bit set (01 or 11) */
	unsigned int	high;		/* bytes whose MSEO has its upper bit set (10 or 11) */
};

#if defined(__SSE2__)
static __always_inline struct ends plain_find_ends(const uint8_t *p)
{
	__m128i v = _mm_loadu_si128((const __m128i *)p);

	return (struct ends){
		.field = _mm_movemask_epi8(_mm_slli_epi16(v, 7)),
		.high = _mm_movemask_epi8(_mm_slli_epi16(v, 6)),
	};
}
#else
/* Return the lowest bits of the 8 bytes of @w. The multiplication moves bit 8i to bit 56 + i. */
static __always_inline unsigned int plain_low_bits(uint64_t w)
{
	return (w & 0x0101010101010101ULL) * 0x0102040810204080ULL >> 56;
}

static __always_inline struct ends plain_find_ends(const uint8_t *p)
{
	uint64_t w0 = load64(p), w1 = load64(p + 8);

	return (struct ends){
		.field = plain_low_bits(w0) | plain_low_bits(w1) << 8,
		.high = plain_low_bits(w0 >> 1) | plain_low_bits(w1 >> 1) << 8,
	};
}
#endif

/* Return the 8 bytes at @p, with zeros instead of bytes from byte @n on. @n is at most 16. */
static __always_inline uint64_t plain_first_bytes(const uint8_t *p, unsigned int n)
{
	static const uint8_t mask[24] = { -1, -1, -1, -1, -1, -1, -1, -1, };

	return n > 8 ? load64(p) : load64(p) & load64(mask + 8 - n);
}

/* Do the same as gather_mdo(). If @pext is set, use the processor's pext instruction. */
static __always_inline uint64_t plain_gather(uint64_t bytes, bool pext)
{
#if defined(__x86_64__)
	if (pext) {
		uint64_t v;

		asm("pext %2, %1, %0" : "=r"(v) : "r"(bytes), "r"(0xfcfcfcfcfcfcfcfcULL));
		return v;
	}
#else
	(void)pext;
#endif
	return gather_mdo(bytes);
}

/* The data bits (MDO) of up to 16 bytes of trace, which have 6 each, without their MSEO bits */
struct bits96 {
	uint64_t	low;	/* the first 48 bits */
	uint64_t	high;
};

/* Return the bits from @from up to, but not including, @to. There must be fewer than 60 bits. */
static __always_inline uint64_t plain_get_bits(const struct bits96 *bits, unsigned int from,
					       unsigned int to)
{
	uint64_t v;

	if (from >= 48)
		v = bits->high >> (from - 48);
	else
		v = bits->low >> from | bits->high << (48 - from);
	return v & ((1ULL << (to - from)) - 1);
}

/* Number of variable-length fields of a plain message, or 0 if the TCODE is never plain */
static const uint8_t nr_vars[64] = {
	[NT_TCODE_DIRECT_BRANCH]		= 1,
	[NT_TCODE_INDIRECT_BRANCH]		= 2,
	[NT_TCODE_INDIRECT_BRANCH_HIST]	= 3,
	[NT_TCODE_RESOURCE_FULL]		= 1,
};

/* The fields of a plain message */
struct plain {
	unsigned int	tcode;
	unsigned int	length;
	uint64_t	icnt;
	uint64_t	addr;
	uint64_t	hist;
	uint64_t	tstamp;
	bool		has_tstamp;
};

/* Read the field at bits @from..@to. Return false if it has more than @max bits. */
static __always_inline bool plain_get_field(const struct bits96 *bits, unsigned int from,
					    unsigned int to, unsigned int max, uint64_t *value)
{
	if (to - from >= 60)
		return false;
	*value = plain_get_bits(bits, from, to);
	return !(*value >> max);
}

/* Read U-ADDR, and extend its highest bit (chapter 9.4). Return false if engine.c must read it. */
static __always_inline bool plain_get_addr(const struct nt_config *config,
					   const struct bits96 *bits, unsigned int from,
					   unsigned int to, uint64_t *addr)
{
	uint64_t value;

	if (!plain_get_field(bits, from, to, 60, &value))
		return false;
	/* On RV32, leave bits from bit 31 up to engine.c. They are copies of the sign, or not valid. */
	if (config->xlen == 32 && value >> 31)
		return false;
	if (config->extend_addr && value >> (to - from - 1))
		value |= ~0ULL << (to - from);
	*addr = value << 1;
	if (config->xlen == 32)
		*addr = (uint32_t)*addr;
	return true;
}

/*
 * Find the first field end in *ends, and remove it from *ends. Return the index of the first MDO
 * bit after that field.
 */
static __always_inline unsigned int plain_next_end(unsigned int *ends)
{
	unsigned int end = MDO_BITS * (__builtin_ctz(*ends) + 1);

	*ends &= *ends - 1;
	return end;
}

/* A message whose fields are read one after the other */
struct parser {
	const struct nt_config	*config;
	struct bits96		bits;
	unsigned int		fields;		/* ends of the fields that are not yet read, see ends::field */
	unsigned int		at;		/* number of bits that were read */
};

static __always_inline unsigned int plain_take_fixed(struct parser *parser, unsigned int nr)
{
	parser->at += nr;
	return plain_get_bits(&parser->bits, parser->at - nr, parser->at);
}

/* Read the next variable-length field. Return false if it is missing, or longer than @max bits. */
static __always_inline bool plain_take_var(struct parser *parser, unsigned int max, uint64_t *value)
{
	unsigned int from = parser->at;

	if (!parser->fields)
		return false;
	parser->at = plain_next_end(&parser->fields);
	return parser->at > from && plain_get_field(&parser->bits, from, parser->at, max, value);
}

static __always_inline bool plain_take_addr(struct parser *parser, uint64_t *addr)
{
	unsigned int from = parser->at;

	if (!parser->fields)
		return false;
	parser->at = plain_next_end(&parser->fields);
	return plain_get_addr(parser->config, &parser->bits, from, parser->at, addr);
}

/* Read all fields before the timestamp (table "Fields in Messages"). Return false if a field is not plain. */
static __always_inline bool plain_take_fields(struct parser *parser, struct plain *msg)
{
	msg->hist = 1;
	switch (msg->tcode) {
	case NT_TCODE_RESOURCE_FULL:
		return plain_take_fixed(parser, 4) == NT_RCODE_HIST &&
			plain_take_var(parser, 32, &msg->hist);
	case NT_TCODE_DIRECT_BRANCH:
		return plain_take_var(parser, 30, &msg->icnt);
	}
	if (plain_take_fixed(parser, 2) != NT_BTYPE_INDIRECT ||
	    !plain_take_var(parser, 30, &msg->icnt) ||
	    !plain_take_addr(parser, &msg->addr))
		return false;
	return msg->tcode == NT_TCODE_INDIRECT_BRANCH || plain_take_var(parser, 32, &msg->hist);
}

/* Parse the message at @p. Return false if it is not plain. */
static __always_inline bool plain_parse(const struct nt_config *config, const uint8_t *p,
					struct ends e, uint16_t src, bool pext,
					struct plain *msg)
{
	struct parser parser = { .config = config, .at = MDO_BITS };
	unsigned int end = e.field & e.high;
	unsigned int in;

	if (!end || e.field & 1)
		return false;
	msg->length = __builtin_ctz(end) + 1;
	msg->tcode = p[0] >> 2;
	/* Consider only the bytes of this message. None of them may have the reserved MSEO. */
	in = (2u << (msg->length - 1)) - 1;
	if (!nr_vars[msg->tcode] || e.high & ~e.field & in)
		return false;
	parser.fields = e.field & in;
	parser.bits.low = plain_gather(load64(p), pext);
	parser.bits.high = msg->length > 8 ? plain_gather(load64(p + 8), pext) : 0;
	if (config->src_bits && plain_take_fixed(&parser, config->src_bits) != src)
		return false;
	if (!plain_take_fields(&parser, msg))
		return false;
	msg->has_tstamp = parser.fields;
	if (msg->has_tstamp &&
	    (!config->timestamp || !plain_take_var(&parser, 60, &msg->tstamp) || parser.fields))
		return false;
	return msg->hist;
}

#endif /* NTRACE_PLAIN_H */
