// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Message layer: bytes to one struct nt_message.
 *
 * A byte carries six bits of the message and two that frame it (chapter 3):
 *
 *	  7   6   5   4   3   2   1   0
 *	+-----------------------+-------+
 *	|          MDO          | MSEO  |
 *	+-----------------------+-------+
 *
 * TCODE and the other fixed fields follow each other without a gap. The first
 * variable-length field begins right behind them; it and every later one ends
 * at a byte with MSEO 01, the last one at MSEO 11.
 */
#include "internal.h"

/* Fixed fields are at most TCODE[6] SRC[12] SYNC[4] B-TYPE[2]: four bytes. */
#define HEAD_BYTES	5

struct layout {
	uint8_t		known;
	uint8_t		sync;	/* bits of each fixed field, in this order */
	uint8_t		btype;
	uint8_t		code;
	uint8_t		cdf;
	uint8_t		nr_vars;
	uint16_t	code_field;
	uint32_t	vars[3];
};

/* Table "Fields in Messages", chapter 6.1 */
static const struct layout layouts[64] = {
	[NT_OWNERSHIP] = { .known = 1, .nr_vars = 1, .vars = { NT_FIELD_PROCESS } },
	[NT_DIRECT_BRANCH] = { .known = 1, .nr_vars = 1, .vars = { NT_FIELD_ICNT } },
	[NT_INDIRECT_BRANCH] = {
		.known = 1, .btype = 2, .nr_vars = 2,
		.vars = { NT_FIELD_ICNT, NT_FIELD_UADDR },
	},
	[NT_ERROR] = {
		.known = 1, .code = 4, .code_field = NT_FIELD_ETYPE,
		.nr_vars = 1, .vars = { NT_FIELD_ECODE },
	},
	[NT_PROG_TRACE_SYNC] = {
		.known = 1, .sync = 4, .nr_vars = 2,
		.vars = { NT_FIELD_ICNT, NT_FIELD_FADDR },
	},
	[NT_DIRECT_BRANCH_SYNC] = {
		.known = 1, .sync = 4, .nr_vars = 2,
		.vars = { NT_FIELD_ICNT, NT_FIELD_FADDR },
	},
	[NT_INDIRECT_BRANCH_SYNC] = {
		.known = 1, .sync = 4, .btype = 2, .nr_vars = 2,
		.vars = { NT_FIELD_ICNT, NT_FIELD_FADDR },
	},
	[NT_RESOURCE_FULL] = {
		.known = 1, .code = 4, .code_field = NT_FIELD_RCODE,
		.nr_vars = 1, .vars = { NT_FIELD_RDATA },
	},
	[NT_INDIRECT_BRANCH_HIST] = {
		.known = 1, .btype = 2, .nr_vars = 3,
		.vars = { NT_FIELD_ICNT, NT_FIELD_UADDR, NT_FIELD_HIST },
	},
	[NT_INDIRECT_BRANCH_HIST_SYNC] = {
		.known = 1, .sync = 4, .btype = 2, .nr_vars = 3,
		.vars = { NT_FIELD_ICNT, NT_FIELD_FADDR, NT_FIELD_HIST },
	},
	[NT_REPEAT_BRANCH] = { .known = 1, .nr_vars = 1, .vars = { NT_FIELD_BCNT } },
	[NT_PROG_TRACE_CORRELATION] = {
		.known = 1, .code = 4, .code_field = NT_FIELD_EVCODE, .cdf = 2,
		.nr_vars = 1, .vars = { NT_FIELD_ICNT },
	},
};

/* Bits of @len bytes behind the first @skip; -1: more than 64 */
static int read_var(const uint8_t *p, size_t len, unsigned int skip, uint64_t *value)
{
	unsigned int shift = 0;
	uint64_t v;
	size_t i;

	p += skip / MDO_BITS;
	len -= skip / MDO_BITS;
	skip %= MDO_BITS;
	v = p[0] >> (2 + skip);
	shift = MDO_BITS - skip;
	for (i = 1; i < len; i++) {
		uint64_t mdo = p[i] >> 2;

		if (shift >= 64 ? mdo : shift > 58 && mdo >> (64 - shift))
			return -1;
		if (shift < 64)
			v |= mdo << shift;
		shift += MDO_BITS;
	}
	*value = v;
	return 0;
}

/* F-ADDR and U-ADDR, chapters 8.1 and 9.4 */
static int set_addr(const struct nt_config *config, struct nt_message *msg,
		    uint64_t value, const uint8_t *last, unsigned int bits)
{
	if (value >> 63)
		return NT_E_OVERFLOW;
	if (config->extend_addr && *last & 0x80 && bits < 63)
		value |= ~0ULL << bits;
	msg->addr = value << 1;
	if (config->xlen == 32) {
		if (!config->extend_addr && msg->addr >> 32)
			return NT_E_OVERFLOW;
		msg->addr = (uint32_t)msg->addr;
	}
	return NT_OK;
}

/*
 * PROCESS, chapter 7.1
 *
 *	 x ... 5   4   3   2   1   0
 *	+-------+---+-------+-------+
 *	|CONTEXT| V |  PRV  |FORMAT |
 *	+-------+---+-------+-------+
 */
static void set_process(struct nt_message *msg, uint64_t value)
{
	msg->value = value;
	msg->format = value & 3;
	msg->priv = value >> 2 & 7;
	msg->context = value >> 5;
}

/* RDATA[0]: what it is depends on RCODE, chapter 7.8 */
static int set_rdata(struct nt_message *msg, uint64_t value)
{
	switch (msg->code) {
	case NT_RCODE_ICNT:
		msg->fields |= NT_FIELD_ICNT;
		msg->icnt = value;
		return value >> 30 ? NT_E_OVERFLOW : NT_OK;
	case NT_RCODE_HIST:
	case NT_RCODE_HIST_REPEAT:
		msg->fields |= NT_FIELD_HIST;
		msg->hist = value;
		if (!value)
			return NT_E_HIST_ZERO;
		return value >> 32 ? NT_E_OVERFLOW : NT_OK;
	}
	msg->fields |= NT_FIELD_RDATA;
	msg->value = value;
	return NT_OK;
}

/*
 * One variable-length field, with its maximum of table "Maximum Field Sizes".
 * I-CNT may have 30 bits: chapter 3 says so where it sums up the longest message.
 */
static int set_var(const struct nt_config *config, struct nt_message *msg,
		   uint32_t field, uint64_t value, const uint8_t *last, unsigned int bits)
{
	if (field != NT_FIELD_RDATA)
		msg->fields |= field;
	switch (field) {
	case NT_FIELD_ICNT:
		msg->icnt = value;
		return value >> 30 ? NT_E_OVERFLOW : NT_OK;
	case NT_FIELD_FADDR:
	case NT_FIELD_UADDR:
		return set_addr(config, msg, value, last, bits);
	case NT_FIELD_HIST:
		msg->hist = value;
		if (!value)
			return NT_E_HIST_ZERO;
		return value >> 32 ? NT_E_OVERFLOW : NT_OK;
	case NT_FIELD_PROCESS:
		set_process(msg, value);
		return NT_OK;
	case NT_FIELD_RDATA:
		return set_rdata(msg, value);
	case NT_FIELD_HREPEAT:
	case NT_FIELD_BCNT:
		msg->value = value;
		return value >> 18 ? NT_E_OVERFLOW : NT_OK;
	case NT_FIELD_TSTAMP:
		msg->tstamp = value;
		return NT_OK;
	}
	msg->value = value;	/* ECODE */
	return NT_OK;
}

/*
 * Which field is variable-length field number @nr? 0: none. It may depend on
 * the fixed fields before it, and TSTAMP may always follow.
 */
static uint32_t var_field(const struct nt_config *config, const struct layout *layout,
			  const struct nt_message *msg, unsigned int nr)
{
	unsigned int nr_vars = layout->nr_vars;

	if (nr < nr_vars)
		return layout->vars[nr];
	if (nr == 1 && msg->tcode == NT_RESOURCE_FULL && msg->code == NT_RCODE_HIST_REPEAT)
		return NT_FIELD_HREPEAT;
	if (nr == 1 && msg->tcode == NT_PROG_TRACE_CORRELATION && msg->cdf == 1)
		return NT_FIELD_HIST;
	if (config->timestamp && !(msg->fields & NT_FIELD_TSTAMP))
		return NT_FIELD_TSTAMP;
	return 0;
}

/* Are there fields that must come, and did not? */
static bool is_complete(const struct layout *layout, const struct nt_message *msg,
			unsigned int nr)
{
	if (nr < layout->nr_vars)
		return false;
	if (msg->tcode == NT_RESOURCE_FULL && msg->code == NT_RCODE_HIST_REPEAT)
		return msg->fields & NT_FIELD_HREPEAT;
	if (msg->tcode == NT_PROG_TRACE_CORRELATION && msg->cdf == 1)
		return msg->fields & NT_FIELD_HIST;
	return true;
}

/* Fixed fields are in @head. Returns their bits. */
static unsigned int set_fixed(const struct nt_config *config, const struct layout *layout,
			      struct nt_message *msg, uint32_t head)
{
	unsigned int at = MDO_BITS;

	if (config->src_bits) {
		msg->fields |= NT_FIELD_SRC;
		msg->src = head >> at & ((1u << config->src_bits) - 1);
		at += config->src_bits;
	}
	if (layout->sync) {
		msg->fields |= NT_FIELD_SYNC;
		msg->sync = head >> at & 15;
		at += layout->sync;
	}
	if (layout->btype) {
		msg->fields |= NT_FIELD_BTYPE;
		msg->btype = head >> at & 3;
		at += layout->btype;
	}
	if (layout->code) {
		msg->fields |= layout->code_field;
		msg->code = head >> at & 15;
		at += layout->code;
	}
	if (layout->cdf) {
		msg->fields |= NT_FIELD_CDF;
		msg->cdf = head >> at & 3;
		at += layout->cdf;
	}
	return at;
}

/* RCODE that is not known: any number of fields, the last may be TSTAMP. */
static bool is_open(const struct nt_message *msg)
{
	return msg->tcode == NT_RESOURCE_FULL && msg->code > NT_RCODE_HIST_REPEAT;
}

/* The variable-length fields of a message that is framed, from bit @skip on */
static int parse_vars(const struct nt_config *config, const struct layout *layout,
		      struct nt_message *msg, const uint8_t *p, unsigned int skip)
{
	const uint8_t *end = p + msg->length;
	unsigned int nr = 0;

	while (p < end) {
		const uint8_t *first = p;
		uint64_t value = 0;
		uint32_t field;
		int err;

		while (mseo(*p) == MSEO_MORE)
			p++;
		p++;
		field = var_field(config, layout, msg, nr);
		if (!field) {
			if (!is_open(msg))
				return NT_E_EXTRA;
			continue;
		}
		if (read_var(first, p - first, skip, &value))
			return NT_E_OVERFLOW;
		err = set_var(config, msg, field, value, p - 1,
			      (p - first) * MDO_BITS - skip);
		if (err)
			return err;
		skip = 0;
		nr++;
	}
	return is_complete(layout, msg, nr) ? NT_OK : NT_E_MISSING;
}

/* A message of @msg->length bytes, the last and only the last of which is MSEO 11 */
static int parse(const struct nt_config *config, const uint8_t *p, struct nt_message *msg)
{
	const struct layout *layout = &layouts[msg->tcode];
	uint32_t head = 0;
	unsigned int bits;
	unsigned int n;

	for (n = 0; n < HEAD_BYTES && n < msg->length; n++) {
		head |= (uint32_t)(p[n] >> 2) << (n * MDO_BITS);
		if (mseo(p[n]) != MSEO_MORE) {
			n++;
			break;
		}
	}
	bits = set_fixed(config, layout, msg, head);
	if (!layout->known)
		return n * MDO_BITS < bits ? NT_E_MISSING : NT_OK;
	/* the variable-length field behind them has one bit at least */
	if (n * MDO_BITS <= bits)
		return NT_E_MISSING;
	if (msg->fields & NT_FIELD_CDF && msg->cdf > 1)
		return NT_E_RESERVED;
	return parse_vars(config, layout, msg, p, bits);
}

/*
 * Find the end of the message at @p: the first byte with MSEO 11. Sets *length,
 * also in an error, to what is to be skipped.
 */
static int find_end(const uint8_t *p, size_t size, uint32_t *length)
{
	bool reserved = false;
	size_t i;

	for (i = 0; i < size; i++) {
		unsigned int m = mseo(p[i]);

		if (m == MSEO_RESERVED)
			reserved = true;
		else if (m == MSEO_END)
			break;
		if (i == NT_MESSAGE_MAX)
			break;
	}
	*length = i;
	if (i == size)
		return 0;
	if (i == NT_MESSAGE_MAX) {
		while (i < size && mseo(p[i]) != MSEO_END)
			i++;
		*length = i < size ? i + 1 : i;
		return NT_E_TOO_LONG;
	}
	*length = i + 1;
	/* transitions 11-01 and 11-11 with MDO other than all ones are none (table 3) */
	if (reserved || mseo(p[0]) != MSEO_MORE)
		return NT_E_MSEO;
	return 1;
}

int nt_message_decode(const struct nt_config *config, const uint8_t *data, size_t size,
		      struct nt_message *msg)
{
	size_t at = 0;
	int ret;

	memset(msg, 0, sizeof(*msg));
	while (at < size && data[at] == IDLE_BYTE)
		at++;
	msg->offset = at;
	if (at == size)
		return 0;
	ret = find_end(data + at, size - at, &msg->length);
	if (ret <= 0)
		return ret;
	msg->tcode = data[at] >> 2;
	ret = parse(config, data + at, msg);
	return ret ? ret : 1;
}
