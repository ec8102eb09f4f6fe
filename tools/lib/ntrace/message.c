// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The message layer converts bytes to one struct nt_message.
 *
 * A byte carries six bits of the message and two framing bits (chapter 3):
 *
 *	  7   6   5   4   3   2   1   0
 *	+-----------------------+-------+
 *	|          MDO          | MSEO  |
 *	+-----------------------+-------+
 *
 * TCODE and the other fixed fields follow each other without a gap. The first variable-length field
 * begins right after the fixed fields. Each variable-length field ends with a byte whose MSEO is 01,
 * and the last one ends with a byte whose MSEO is 11.
 */
#include "dialect.h"
#include "state.h"

/* Messages that are neither about the flow nor vendor defined */
#define NT_EXTRA_TCODES							\
	(1ULL << NT_TCODE_OWNERSHIP | 1ULL << NT_TCODE_DATA_ACQUISITION |	\
	 1ULL << NT_TCODE_AUX_ACCESS_WRITE | 1ULL << NT_TCODE_IN_CIRCUIT_TRACE |	\
	 1ULL << NT_TCODE_IN_CIRCUIT_TRACE_SYNC)

/*
 * All fixed fields are in the first five bytes. At most, these fields are TCODE[6] SRC[12] SYNC[4]
 * B-TYPE[2].
 */
#define HEAD_BYTES	5

#define ECODE_BITS	8

/* A variable-length field. Only an address may have more than 64 bits. */
struct var {
	uint64_t	value;
	uint64_t	high;	/* bits 64..127 of the field */
	unsigned int	bits;	/* number of bits sent, including padding to whole bytes */
};

/*
 * Read the MDO of @len bytes, except its first @skip bits, which are fewer than six. Return false if a
 * bit after the first 128 bits is not 0.
 */
static __always_inline bool message_read_var(const uint8_t *p, size_t len, unsigned int skip, struct var *var)
{
	unsigned int shift = 0;
	size_t i;

	var->bits = len * MDO_BITS - skip;
	var->value = p[0] >> (2 + skip);
	var->high = 0;
	shift = MDO_BITS - skip;
	for (i = 1; i < len; i++, shift += MDO_BITS) {
		uint64_t mdo = p[i] >> 2;

		if (shift < 64)
			var->value |= mdo << shift;
		if (shift >= 64 && shift < 128)
			var->high |= mdo << (shift - 64);
		else if (shift < 64 && shift > 58)
			var->high |= mdo >> (64 - shift);
		if (shift >= 128 ? mdo : shift > 122 && mdo >> (128 - shift))
			return false;
	}
	return true;
}

/*
 * Return true if the bits of an address beyond its width are copies of its sign, or all zero. The
 * SpacemiT K3 shifts the PC right arithmetically, so that a kernel address has bits above its bit
 * 63. Zeros may follow, which pad the field to whole bytes.
 */
static bool message_is_sign_copied(const struct var *var, unsigned int width)
{
	uint64_t surplus = var->value >> width | var->high << (64 - width);
	unsigned int padding = var->bits - width;

	if (var->high >> width)
		return false;
	if (!surplus)
		return true;
	if (!(var->value >> (width - 1) & 1) || surplus & (surplus + 1))
		return false;
	while (surplus) {
		surplus >>= 1;
		padding--;
	}
	return padding < MDO_BITS;
}

/* Return true if a bit of @var above @width is not 0. */
static bool message_has_surplus(const struct var *var, unsigned int width)
{
	return var->bits > width && (var->value >> width || var->high);
}

/* Set the address from F-ADDR or U-ADDR, which are sent without bit 0. Return NT_OK or NT_E_OVERFLOW. */
static int message_set_addr(const struct nt_config *config, struct nt_message *msg,
			    const struct var *var, const uint8_t *last)
{
	unsigned int width = config->xlen - 1;
	uint64_t value = var->value;

	if (message_has_surplus(var, width)) {
		if (config->strict || !message_is_sign_copied(var, width))
			return NT_E_OVERFLOW;
		msg->deviations |= NT_DEV_BIT(NT_DEV_ADDR_BITS);
	}
	if (config->extend_addr && *last & 0x80 && var->bits < width)
		value |= ~0ULL << var->bits;
	msg->addr = value << 1;
	if (config->xlen == 32)
		msg->addr = (uint32_t)msg->addr;
	return nt_addr_fits(msg->addr, nt_addr_bits(config)) ? NT_OK : NT_E_OVERFLOW;
}

/*
 * Split PROCESS (chapter 7.1) into its parts:
 *
 *	 x ... 5   4   3   2   1   0
 *	+-------+---+-------+-------+
 *	|CONTEXT| V |  PRV  |FORMAT |
 *	+-------+---+-------+-------+
 */
static void message_set_process(struct nt_message *msg, uint64_t value)
{
	msg->value = value;
	msg->format = value & 3;
	msg->priv = value >> 2 & 7;
	msg->context = value >> 5;
}

/*
 * Set RDATA of a message that counts branches in a row that were all taken, or all not taken. Only
 * some dialects have this message. Return NT_OK or NT_E_OVERFLOW.
 */
static int message_set_run(struct nt_message *msg, uint64_t value)
{
	msg->fields |= NT_FIELD_HIST | NT_FIELD_HREPEAT;
	msg->hist = msg->code == NT_RCODE_TAKEN ? 3 : 2;
	msg->value = value;
	return value >> 32 ? NT_E_OVERFLOW : NT_OK;
}

static bool message_is_run(const struct nt_message *msg)
{
	return nt_dialect_tables[msg->dialect].has_runs &&
		(msg->code == NT_RCODE_NOT_TAKEN || msg->code == NT_RCODE_TAKEN);
}

/* Set RDATA[0], whose meaning depends on RCODE (chapter 7.8). Return NT_OK or an error. */
static int message_set_rdata(struct nt_message *msg, uint64_t value)
{
	if (message_is_run(msg))
		return message_set_run(msg, value);
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
 * Set one variable-length field, and check its maximum in table "Maximum Field Sizes". But let I-CNT
 * have up to 30 bits, because chapter 3 assumes 30 bits in the length of the longest message. Return
 * NT_OK or an error.
 */
static int message_set_var(const struct nt_config *config, struct nt_message *msg,
			   uint32_t field, const struct var *var, const uint8_t *last)
{
	uint64_t value = var->value;
	int err;

	if (field != NT_FIELD_RDATA)
		msg->fields |= field;
	if (var->high && !(field & (NT_FIELD_FADDR | NT_FIELD_UADDR)))
		return NT_E_OVERFLOW;
	switch (field) {
	case NT_FIELD_ICNT:
		msg->icnt = value;
		return value >> 30 ? NT_E_OVERFLOW : NT_OK;
	case NT_FIELD_FADDR:
		err = message_set_addr(config, msg, var, last);
		msg->addr = nt_addr_extend(msg->addr, nt_addr_bits(config));
		return err;
	case NT_FIELD_UADDR:
		return message_set_addr(config, msg, var, last);
	case NT_FIELD_HIST:
		msg->hist = value;
		if (!value)
			return NT_E_HIST_ZERO;
		return value >> 32 ? NT_E_OVERFLOW : NT_OK;
	case NT_FIELD_PROCESS:
		message_set_process(msg, value);
		return NT_OK;
	case NT_FIELD_RDATA:
		return message_set_rdata(msg, value);
	case NT_FIELD_HREPEAT:
	case NT_FIELD_BCNT:
	case NT_FIELD_RCNT:
		msg->value = value;
		return value >> 18 ? NT_E_OVERFLOW : NT_OK;
	case NT_FIELD_TSTAMP:
		msg->tstamp = value;
		return NT_OK;
	case NT_FIELD_DQDATA:
	case NT_FIELD_AUX_DATA:
	case NT_FIELD_CKDATA1:
		msg->data = value;
		return NT_OK;
	}
	msg->value = value;	/* the field is ECODE, IDTAG, AUX_ADDR or CKDATA0 */
	return NT_OK;
}

/*
 * Return true if @msg is a ResourceFull with an unknown RCODE. Such a message may have any number of
 * fields. If it has several fields, the last one may be TSTAMP.
 */
bool nt_message_is_open(const struct nt_message *msg)
{
	return msg->tcode == NT_TCODE_RESOURCE_FULL && msg->code > NT_RCODE_HIST_REPEAT &&
		!message_is_run(msg);
}

/*
 * Return the type of variable-length field number @nr, or 0 if the message cannot have this field.
 * The type may depend on the fixed fields. TSTAMP may be the last field of each message.
 */
static uint32_t message_var_field(const struct nt_config *config, const struct nt_layout *layout,
				  const struct nt_message *msg, unsigned int nr)
{
	unsigned int nr_vars = layout->nr_vars;

	if (nr < nr_vars)
		return layout->vars[nr];
	if (nr == 1 && msg->tcode == NT_TCODE_RESOURCE_FULL && msg->code == NT_RCODE_HIST_REPEAT)
		return NT_FIELD_HREPEAT;
	if (nr == 1 && msg->cdf == 1)
		return layout->cdf_var;
	if (config->timestamp &&
	    (nt_message_is_open(msg) || !(msg->fields & NT_FIELD_TSTAMP)))
		return NT_FIELD_TSTAMP;
	return 0;
}

/* Return true if the message has all required fields. */
static bool message_is_complete(const struct nt_layout *layout, const struct nt_message *msg,
				unsigned int nr)
{
	if (nr < layout->nr_vars)
		return false;
	if (msg->tcode == NT_TCODE_RESOURCE_FULL && msg->code == NT_RCODE_HIST_REPEAT)
		return msg->fields & NT_FIELD_HREPEAT;
	if (msg->cdf == 1)
		return msg->fields & layout->cdf_var;
	return true;
}

/* Set the fixed fields from @head, the first bits of the message. Return their number of bits. */
static unsigned int message_set_fixed(const struct nt_config *config,
				      const struct nt_layout *layout, struct nt_message *msg,
				      uint32_t head)
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
		msg->fields |= layout->cdf_field;
		msg->cdf = head >> at & 3;
		at += layout->cdf;
	}
	return at;
}

/* Split ECODE after 8 bits, because some encoders send TSTAMP right above them. */
static void message_split_ecode(const struct nt_config *config, struct nt_message *msg)
{
	if (msg->tcode != NT_TCODE_ERROR || !config->timestamp || config->strict ||
	    msg->fields & NT_FIELD_TSTAMP || !(msg->value >> ECODE_BITS))
		return;
	msg->fields |= NT_FIELD_TSTAMP;
	msg->tstamp = msg->value >> ECODE_BITS;
	msg->value &= (1u << ECODE_BITS) - 1;
	msg->deviations |= NT_DEV_BIT(NT_DEV_ECODE_BITS);
}

/*
 * Return the end of the field at @p, which is at most @end. Do not rely on the MSEO of the last byte
 * before @end, because another process may change the trace while it is decoded.
 */
static const uint8_t *message_field_end(const uint8_t *p, const uint8_t *end)
{
	while (p < end - 1 && mseo(*p) == MSEO_MORE)
		p++;
	return p + 1;
}

/* Parse the variable-length fields, which begin at bit @skip of a message. Return NT_OK or an error. */
static int message_parse_vars(const struct nt_config *config, const struct nt_layout *layout,
			      struct nt_message *msg, const uint8_t *p, unsigned int skip)
{
	const uint8_t *end = p + msg->length;
	unsigned int nr = 0;

	p += skip / MDO_BITS;
	skip %= MDO_BITS;
	while (p < end) {
		const uint8_t *first = p;
		struct var var;
		uint32_t field;
		int err;

		p = message_field_end(p, end);
		field = message_var_field(config, layout, msg, nr);
		if (!field) {
			if (!nt_message_is_open(msg))
				return NT_E_EXTRA;
			continue;
		}
		if (!message_read_var(first, p - first, skip, &var) ||
		    (var.high && nt_message_is_open(msg))) {
			if (!nt_message_is_open(msg))
				return NT_E_OVERFLOW;
			/* A field of a vendor's message may have any size (chapter 3). */
			msg->fields &= ~(uint32_t)NT_FIELD_TSTAMP;
			skip = 0;
			nr++;
			continue;
		}
		err = message_set_var(config, msg, field, &var, p - 1);
		if (err)
			return err;
		skip = 0;
		nr++;
	}
	message_split_ecode(config, msg);
	return message_is_complete(layout, msg, nr) ? NT_OK : NT_E_MISSING;
}

/* Parse the fields from bit @skip, which is after SRC, of a message that is not about the flow. */
static void message_parse_others(const struct nt_other *other, struct nt_message *msg,
				 const uint8_t *p, unsigned int skip, uint32_t head,
				 bool timestamp)
{
	unsigned int bits = other->bits[0] + other->bits[1];
	/*
	 * If a vendor's message was fed in several pieces, the reader has copied at most this number
	 * of bytes.
	 */
	size_t size = msg->length < NT_MESSAGE_MAX + 1 ? msg->length : NT_MESSAGE_MAX + 1;
	const uint8_t *end = p + size, *first;
	struct var var;

	msg->other_fixed = head >> skip & ((1u << bits) - 1);
	skip += bits;
	p += skip / MDO_BITS;
	skip %= MDO_BITS;
	for (; p < end && msg->nr_others < UINT8_MAX; skip = 0) {
		first = p;
		p = message_field_end(p, end);
		message_read_var(first, p - first, skip, &var);
		if (msg->nr_others < NT_MESSAGE_OTHERS)
			*nt_message_other(msg, msg->nr_others) = var.value;
		msg->nr_others++;
	}
	if (msg->tcode != NT_TCODE_MTIME_SYNC || msg->nr_others != 2 || !timestamp)
		return;
	msg->fields |= NT_FIELD_TSTAMP;
	msg->tstamp = *nt_message_other(msg, 1);
}

/*
 * Return true for a ProgTraceCorrelation of a draft specification, which does not stop trace and
 * has no I-CNT.
 */
static bool message_is_marker(const struct nt_message *msg)
{
	return msg->tcode == NT_TCODE_PROG_TRACE_CORRELATION && msg->cdf == NT_CDF_MARKER &&
		!nt_dialect_tables[msg->dialect].has_events;
}

/* Parse a message of @msg->length bytes, of which only the last has MSEO 11. Return NT_OK or an error. */
static int message_parse(const struct nt_config *config, const uint8_t *p, struct nt_message *msg)
{
	const struct nt_layout *layout = &nt_dialect_of(config)->layouts[msg->tcode];
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
	bits = message_set_fixed(config, layout, msg, head);
	if (!layout->known || message_is_marker(msg)) {
		if (n * MDO_BITS < bits)
			return NT_E_MISSING;
		message_parse_others(&nt_dialect_of(config)->others[msg->tcode], msg, p, bits, head,
				     config->timestamp);
		return NT_OK;
	}
	/* The variable-length field after the fixed fields has at least one bit. */
	if (n * MDO_BITS <= bits)
		return NT_E_MISSING;
	if (msg->cdf > 1 || msg->btype > nt_dialect_of(config)->max_btype)
		return NT_E_RESERVED;
	if (config->flow_only && NT_EXTRA_TCODES >> msg->tcode & 1)
		return NT_E_KIND;
	return message_parse_vars(config, layout, msg, p, bits);
}

/* Get SRC from the first @size bytes of a message. Return false if SRC is not complete in them. */
bool nt_message_source(const struct nt_config *config, const uint8_t *p, size_t size, uint16_t *src)
{
	size_t nr = (MDO_BITS + config->src_bits + MDO_BITS - 1) / MDO_BITS, n;
	uint32_t head = 0;

	if (!config->src_bits || size < nr)
		return false;
	for (n = 0; n < nr; n++)
		head |= (uint32_t)(p[n] >> 2) << (n * MDO_BITS);
	*src = head >> MDO_BITS & ((1u << config->src_bits) - 1);
	return true;
}

/*
 * Return the number of bytes up to and including the first byte with MSEO 11, or 0 if no byte has
 * it. Set *reserved if a byte before it has a reserved MSEO.
 */
size_t nt_message_end(const uint8_t *p, size_t size, bool *reserved)
{
	size_t i;

	for (i = 0; i < size; i++) {
		unsigned int m = mseo(p[i]);

		if (m == MSEO_END)
			return i + 1;
		if (m == MSEO_RESERVED)
			*reserved = true;
	}
	return 0;
}

/*
 * Find the end of the message at @p. Set *length to the length of the message, or, if it is not
 * complete, to @size. Return 1, 0 if the message is not complete, or an error. Messages have a
 * maximum length, except a vendor's message (chapter 3).
 */
static int message_find_end(const uint8_t *p, size_t size, uint32_t *length)
{
	bool reserved = false;
	size_t end = nt_message_end(p, size, &reserved);
	bool long_one = (end ? end : size) > NT_MESSAGE_MAX;

	*length = end ? end : size;
	if (long_one && !nt_message_is_vendor(p[0]))
		return NT_E_TOO_LONG;
	if (!end)
		return 0;
	/* After MSEO 11, a byte that is not idle must have MSEO 00 (table 3). */
	if (reserved || mseo(p[0]) != MSEO_MORE)
		return NT_E_MSEO;
	return 1;
}

int nt_message_parse(const struct nt_config *config, const uint8_t *data, size_t size,
		      struct nt_message *msg)
{
	struct nt_config copy;
	size_t at = 0;
	int ret;

	if (unlikely(config->size < sizeof(copy)) && !nt_config_copy(&copy, config))
		config = &copy;
	memset(msg, 0, sizeof(*msg));
	msg->dialect = config->dialect;
	while (at < size && data[at] == IDLE_BYTE)
		at++;
	msg->offset = at;
	if (at == size)
		return 0;
	ret = message_find_end(data + at, size - at, &msg->length);
	if (ret <= 0)
		return ret;
	msg->tcode = data[at] >> 2;
	ret = message_parse(config, data + at, msg);
	return ret ? ret : 1;
}
