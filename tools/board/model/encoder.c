// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The N-Trace encoder of RISC-V N-Trace 1.0.
 *
 * The target of a jump or trap is the address of the next block. The encoder stores
 * the type of the message in @pending, and sends the message at the next block ("An
 * address emitted is known at the next valid ingress port cycle").
 */
#include <string.h>

#include "encoder.h"

#define ICNT_BITS_MAX	22	/* maximum width of I-CNT, NTRACE_MAX_ICNT in the specification */
#define HIST_BITS_MAX	32	/* maximum width of HIST with its stop-bit, NTRACE_MAX_HIST in the specification */
#define HREPEAT_MAX	((1U << 18) - 1)
#define BCNT_MAX	((1U << 18) - 1)
#define RUN_MAX		(1U << 30)
#define ETYPE_FIFO_OVERRUN	0
#define ECODE_PROGRAM		(1U << 2)
#define ECODE_OWNERSHIP		(1U << 3)
#define RCODE_ICNT		0
#define RCODE_HIST		1
#define RCODE_HIST_REPEAT	2
#define RCODE_RUN		8	/* reports a number of branches that were not taken; 9 reports taken ones */
#define FORMAT_PRIV		0
#define FORMAT_SCONTEXT		2
#define FORMAT_HCONTEXT		3
/* Number of address bits that mode 2 of implicit return compares by default */
#define STACK_BITS		17
/* Cycles before the next attempt to send a refused message */
#define RETRY_CYCLES		1024

/* Average number of blocks between two random entries to Debug Mode, and between two random triggers (variants) */
#define DEBUG_BLOCKS	4000
#define TRIGGER_BLOCKS	500

const struct nb_dialect nb_dialect_ratified = {
	.addr_bits = 63, .stack_max = NB_STACK_MAX,
};

/* SiFive's trace encoders of version 0, such as in the P550 */
const struct nb_dialect nb_dialect_sifive0 = {
	.addr_bits = 48, .stack_max = 1023, .xor_time = true, .empty_cdf = true,
	.swap_reported = true, .sync_at_branch = true,
};

enum pending {
	PENDING_NONE,
	PENDING_DIRECT,		/* a taken branch that a synchronising message reports */
	PENDING_INDIRECT,
	PENDING_RETURN,		/* a return, which needs no message if its target is pending_addr */
};

/* ---- Messages (chapter "N-Trace Transmission Protocol") ---- */

#define MSEO_END_FIELD		1
#define MSEO_END_MESSAGE	3

/*
 * A message that is being encoded. Each byte has 6 bits of data (MDO) and 2 bits that
 * mark the end of a field or message (MSEO).
 *
 * bits:  7 ....... 2  1 .. 0
 *       | MDO[5:0]   | MSEO |
 *
 * @fixed contains the @nbits bits of fixed fields that are not yet in @bytes. The
 * variable field after these fields starts at the next bit.
 */
struct message {
	uint8_t		bytes[NB_MESSAGE_MAX];
	unsigned int	n;
	uint32_t	fixed;
	unsigned int	nbits;
	uint8_t		tcode;
	bool		pad;		/* variable fields are longer than necessary (variant PAD) */
};

static bool has_variant(const struct nb_encoder *enc, enum nb_variant variant)
{
	return NB_UNLIKELY(enc->cfg.variant & variant);
}

/* Return true for about one call in @n if @variant is on. The same seed causes the same results. */
static bool now_and_then(struct nb_encoder *enc, enum nb_variant variant, unsigned int n)
{
	if (!has_variant(enc, variant))
		return false;
	enc->chance = enc->chance * 1664525 + 1013904223;
	return (enc->chance >> 8) % n == 0;
}

uint64_t nb_variant_find(const char *name)
{
	static const char *const names[] = {
#define X(id, name, text) name,
		NB_VARIANTS(X)
		NB_DEVIATIONS(X)
#undef X
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return 1ULL << i;
	return 0;
}

static void put_fixed(struct message *m, uint32_t value, unsigned int width)
{
	m->fixed |= value << m->nbits;
	m->nbits += width;
}

/* Distribute 48 bits to the MDO fields of 8 bytes. The lowest bits are in the first byte. */
static uint64_t spread(uint64_t value)
{
	uint64_t x = (value & 0xffffff) | (value >> 24 & 0xffffff) << 32;

	x = (x & 0x00000fff00000fff) | (x & 0x00fff00000fff000) << 4;
	x = (x & 0x003f003f003f003f) | (x & 0x0fc00fc00fc00fc0) << 2;
	return x << 2;
}

static void store8(uint8_t *to, uint64_t bytes)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	bytes = __builtin_bswap64(bytes);
#endif
	memcpy(to, &bytes, sizeof(bytes));
}

/*
 * Store @value in as few whole MDOs as possible, at least one. The function always writes 8 or 16 bytes, and
 * adds only the number of used bytes to m->n. A loop would be slower, because the CPU could not predict its end.
 */
static void put_groups(struct message *m, uint64_t value)
{
	unsigned int n = (63 - __builtin_clzll(value | 1)) / 6;
	uint8_t *p = m->bytes + m->n;
	uint64_t end = MSEO_END_FIELD;

	if (NB_LIKELY(n < 8)) {
		store8(p, spread(value) | end << 8 * n);
	} else {
		store8(p, spread(value));
		store8(p + 8, spread(value >> 48) | end << 8 * (n - 8));
	}
	m->n += n + 1;
}

static void put_var(struct message *m, uint64_t value)
{
	unsigned int fixed;

	for (; m->nbits >= 6; m->nbits -= 6) {
		m->bytes[m->n++] = (m->fixed & 63) << 2;
		m->fixed >>= 6;
	}
	fixed = m->fixed;
	if (NB_UNLIKELY(m->nbits && value >> (64 - m->nbits))) {
		m->bytes[m->n++] = ((fixed | value << m->nbits) & 63) << 2;
		put_groups(m, value >> (6 - m->nbits));
	} else {
		put_groups(m, fixed | value << m->nbits);
	}
	m->fixed = 0;
	m->nbits = 0;
	if (NB_UNLIKELY(m->pad)) {
		m->bytes[m->n - 1] &= ~MSEO_END_FIELD;
		m->bytes[m->n++] = MSEO_END_FIELD;
	}
}

/*
 * Store an address of @width bits in whole MDOs, and omit the highest bits if
 * they are equal to the last stored bit, as chapter "Virtual Addresses
 * Optimization" describes. The address starts at a byte because it follows a
 * variable field.
 */
static void put_addr_extended(struct message *m, uint64_t value, unsigned int width)
{
	int64_t rest = (int64_t)(value << (64 - width)) >> (64 - width);
	unsigned int left = width;
	bool more = m->pad;

	for (;;) {
		unsigned int mdo = rest & 63;

		if (left < 6)	/* this MDO has the highest bits; its unused bits are 0, not copies of the sign */
			mdo &= (1U << left) - 1;
		rest >>= 6;
		m->bytes[m->n++] = mdo << 2;
		if (left <= 6 || (rest == (mdo & 32 ? -1 : 0) && !more))
			break;
		more &= rest != (mdo & 32 ? -1 : 0);
		left -= 6;
	}
	m->bytes[m->n - 1] |= MSEO_END_FIELD;
}

static void put_addr(const struct nb_encoder *enc, struct message *m, uint64_t addr)
{
	/* Messages do not contain bit 0 of an address, because it is always 0 */
	unsigned int width = enc->cfg.xlen == 64 ? enc->cfg.dialect->addr_bits : 31;
	uint64_t value = addr >> 1 & ((1ULL << width) - 1);

	if (enc->cfg.extend_addr)
		put_addr_extended(m, value, width);
	else if (enc->cfg.variant & NB_VARIANT_SIGN_COPIES && width == 63)
		put_var(m, (int64_t)addr >> 1);	/* SpacemiT's K3 copies bit 63 when it shifts the address */
	else
		put_var(m, value);
}

static void begin_message(struct nb_encoder *enc, struct message *m, unsigned int tcode)
{
	m->pad = now_and_then(enc, NB_VARIANT_PAD, 3);
	m->n = 0;
	m->fixed = 0;
	m->nbits = 0;
	m->tcode = tcode;
	put_fixed(m, tcode, 6);
	put_fixed(m, enc->cfg.src_id, enc->cfg.src_bits);
}

/* ---- Messages that are due ---- */

static bool sync_is_due(const struct nb_encoder *enc)
{
	return enc->due.sync != NB_SYNC_NONE;
}

/* A periodic sync must not replace a sync that is already due. */
static void make_periodic_due(struct nb_encoder *enc)
{
	if (!sync_is_due(enc))
		enc->due.sync = NB_SYNC_PERIODIC;
}

/*
 * Set the I-CNT and cycle limits after which a block needs nb_encoder_full(), because I-CNT is full
 * or a periodic sync is due.
 */
static void set_stops(struct nb_encoder *enc)
{
	uint64_t period = 1ULL << (enc->cfg.sync_max + 4);

	enc->icnt_stop = enc->due.sync == NB_SYNC_SEQUENTIAL ? UINT64_MAX : enc->icnt_limit;
	enc->cycles_stop = UINT64_MAX;
	if (sync_is_due(enc))
		return;
	if (enc->cfg.sync_mode == 3) {
		uint64_t left = enc->sync_base < period ? period - enc->sync_base : 0;

		if (left < enc->icnt_stop)
			enc->icnt_stop = left;
	} else if (enc->cfg.sync_mode == 2) {
		enc->cycles_stop = enc->sync_start + period;
	}
}

/* Update the limits and @attention after a message became due or was sent. */
static void settle(struct nb_encoder *enc)
{
	set_stops(enc);
	enc->attention = !enc->running || enc->pending || sync_is_due(enc) || enc->due.context ||
			 enc->qualify;
}

/* ---- The FIFO, and loss of messages and stall of the hart when it is full ---- */

static void drain_fifo(struct nb_encoder *enc)
{
	uint64_t drained = (enc->cycles - enc->fifo_cycles) * enc->cfg.fifo_rate;

	enc->fifo_level -= drained < enc->fifo_level ? drained : enc->fifo_level;
	enc->fifo_cycles = enc->cycles;
}

/*
 * Return true if the FIFO has room for @len bytes. With trTeInstStallEna, the hart waits for this room, which
 * increases enc->cycles.
 */
static bool fifo_room(struct nb_encoder *enc, unsigned int len)
{
	uint64_t depth = (uint64_t)enc->cfg.fifo_depth << 8, need = (uint64_t)len << 8;
	uint64_t wait;

	if (!depth)
		return true;
	drain_fifo(enc);
	if (enc->fifo_level + need <= depth || (!enc->fifo_level && need > depth))
		return true;
	if (!enc->cfg.stall || !enc->cfg.fifo_rate)
		return false;
	wait = (enc->fifo_level + need - depth + enc->cfg.fifo_rate - 1) / enc->cfg.fifo_rate;
	enc->cycles += wait;
	enc->stats.stall_cycles += wait;
	drain_fifo(enc);
	if (enc->stalled)
		enc->stalled(enc->stalled_opaque, false);
	return true;
}

static uint32_t fifo_size(const struct nb_encoder *enc)
{
	if (!enc->cfg.fifo_depth)
		return NB_FIFO_DEFAULT;
	return enc->cfg.fifo_depth < NB_FIFO_MAX ? enc->cfg.fifo_depth : NB_FIFO_MAX;
}

/* Offer the messages that the output has refused again, the oldest first. */
static void give_held(struct nb_encoder *enc)
{
	uint32_t done = 0;

	while (done < enc->n_held &&
	       enc->out(enc->opaque, enc->held + done + 1, enc->held[done]))
		done += 1 + enc->held[done];
	enc->n_held -= done;
	memmove(enc->held, enc->held + done, enc->n_held);
	enc->stalls &= enc->n_held > fifo_size(enc);
}

/* Store a refused message in the FIFO. Return false if the FIFO is full. */
static bool hold(struct nb_encoder *enc, const struct message *m)
{
	uint32_t size = fifo_size(enc), need = enc->n_held + 1 + m->n;

	if (need > (enc->cfg.stall ? sizeof(enc->held) : size))
		return false;
	enc->held[enc->n_held] = m->n;
	memcpy(enc->held + enc->n_held + 1, m->bytes, m->n);
	enc->n_held = need;
	if (need > size && !enc->stalls) {
		enc->stalls = true;
		if (enc->stalled)
			enc->stalled(enc->stalled_opaque, false);
	}
	return true;
}

static bool deliver(struct nb_encoder *enc, const struct message *m)
{
	if (NB_UNLIKELY(enc->n_held))
		give_held(enc);
	if (NB_LIKELY(!enc->n_held && enc->out(enc->opaque, m->bytes, m->n)))
		return true;
	return hold(enc, m);
}

/* Return true if a message without SYNC has a TSTAMP, see chapter "Timestamp Reporting". */
static bool has_tstamp(struct nb_encoder *enc, const struct message *m)
{
	if (enc->cfg.no_tstamp >> m->tcode & 1)
		return false;
	return !has_variant(enc, NB_VARIANT_TSTAMP_SOME) || now_and_then(enc, NB_VARIANT_TSTAMP_SOME, 3);
}

static uint64_t tstamp_since(const struct nb_encoder *enc, uint64_t now, uint64_t mask)
{
	return enc->cfg.dialect->xor_time ? now ^ enc->time : (now - enc->time) & mask;
}

static bool transmit(struct nb_encoder *enc, struct message *m, bool sync)
{
	uint64_t mask = enc->cfg.ts_width < 64 ? (1ULL << enc->cfg.ts_width) - 1 : ~0ULL;
	uint64_t now = enc->time;
	/*
	 * Call has_tstamp() even without timestamps, so that traces with and without timestamps use the same random
	 * numbers, and are equal except for the timestamps
	 */
	bool has = sync || has_tstamp(enc, m);

	if (enc->cfg.timestamp && has) {
		now = (enc->now ? enc->now(enc->now_opaque) : 0) & mask;
		put_var(m, sync ? now : tstamp_since(enc, now, mask));
	} else if (m->nbits) {
		put_var(m, 0);	/* end the field that begins with ECODE (variant ECODE_BITS) */
	}
	m->bytes[m->n - 1] |= MSEO_END_MESSAGE;
	while (now_and_then(enc, NB_VARIANT_IDLE, 3) && m->n < NB_MESSAGE_MAX)
		m->bytes[m->n++] = 0xff;
	if (!fifo_room(enc, m->n) || !deliver(enc, m))
		return false;
	enc->time = now;
	if (enc->cfg.fifo_depth)
		enc->fifo_level += (uint64_t)m->n << 8;
	enc->stats.bytes += m->n;
	enc->stats.messages[m->tcode]++;
	enc->n_messages++;
	return true;
}

static void end_session(struct nb_encoder *enc, uint8_t evcode)
{
	if (!enc->running)
		return;
	enc->running = false;
	enc->pending = PENDING_NONE;
	enc->due.context = NB_CONTEXT_NONE;
	enc->due.sync = NB_SYNC_NONE;
	enc->state.session = 0;
	enc->state.evcode_before = enc->state.evcode;
	enc->state.evcode = evcode;
	enc->state.stamp++;
	settle(enc);
}

/* Record that message @m was lost, and end the session, because the decoder cannot follow the program. */
static void lose(struct nb_encoder *enc, const struct message *m)
{
	enc->lost = true;
	enc->lost_ecode |= m->tcode == NB_TCODE_OWNERSHIP ? ECODE_OWNERSHIP : ECODE_PROGRAM;
	enc->retry_cycles = enc->cycles;
	enc->stats.overflows++;
	end_session(enc, NB_ENDED_LOST);
	if (enc->stalled)
		enc->stalled(enc->stalled_opaque, true);
}

static void vendor_message(struct nb_encoder *enc)
{
	struct message m;

	begin_message(enc, &m, 56 + enc->n_messages % 7);
	put_var(&m, enc->chance);
	put_var(&m, enc->n_messages);
	transmit(enc, &m, false);
}

/* Send a message. If it is lost, send no other until recover() sends an Error and a SYNC, and return false. */
static bool send(struct nb_encoder *enc, struct message *m, bool sync)
{
	uint64_t period = 1ULL << (enc->cfg.sync_max + 4);

	if (enc->lost)
		return false;
	if (now_and_then(enc, NB_VARIANT_VENDOR, 5))
		vendor_message(enc);
	if (!transmit(enc, m, sync)) {
		lose(enc, m);
		return false;
	}
	if (enc->cfg.sync_mode == 1 && enc->n_messages - enc->sync_start >= period &&
	    enc->running)
		make_periodic_due(enc);
	return true;
}

/*
 * Send the Error message "as soon as space is available", which is when half of the FIFO is free. Return false
 * if the message was not sent.
 */
static bool recover(struct nb_encoder *enc)
{
	struct message m;

	if (enc->cycles < enc->retry_cycles)
		return false;
	give_held(enc);
	if (enc->n_held * 2 > fifo_size(enc)) {
		enc->retry_cycles = enc->cycles + RETRY_CYCLES;
		return false;
	}
	if (enc->cfg.fifo_depth) {
		drain_fifo(enc);
		if (enc->fifo_level * 2 > (uint64_t)enc->cfg.fifo_depth << 8)
			return false;
	}
	begin_message(enc, &m, NB_TCODE_ERROR);
	put_fixed(&m, has_variant(enc, NB_VARIANT_ETYPE_VENDOR) ? 8 : ETYPE_FIFO_OVERRUN, 4);
	if (has_variant(enc, NB_VARIANT_ECODE_BITS))
		put_fixed(&m, enc->lost_ecode, 8);
	else
		put_var(&m, has_variant(enc, NB_VARIANT_ECODE_ZERO) ? 0 : enc->lost_ecode);
	if (!transmit(enc, &m, false)) {
		enc->retry_cycles = enc->cycles + RETRY_CYCLES;
		return false;
	}
	enc->lost = false;
	enc->lost_ecode = 0;
	enc->start_sync = NB_SYNC_FIFO_OVERRUN;
	return true;
}

/* ---- Fields I-CNT and HIST, and messages that report a full HIST ---- */

/* Return I-CNT for a message. "The I-CNT counter is reset after its value has been transmitted" */
static uint64_t take_icnt(struct nb_encoder *enc)
{
	uint64_t icnt = enc->icnt;

	enc->stats.half_words += icnt;
	enc->sync_base += icnt;
	enc->icnt = 0;
	enc->reports++;
	set_stops(enc);
	return icnt;
}

static uint32_t take_hist(struct nb_encoder *enc)
{
	uint32_t hist = enc->hist;

	enc->hist = 1;
	if (has_variant(enc, NB_VARIANT_HIST_ANY)) {
		now_and_then(enc, NB_VARIANT_HIST_ANY, 1);
		enc->hist_full = 1U << (1 + (enc->chance >> 8) % (enc->cfg.hist_bits - 1));
	}
	return hist;
}

/*
 * Send rep_count, the number of successive branches with outcome rep_hist. If the oldest branches in HIST
 * have the same outcome, remove them from HIST and add their number. HIST is {1, oldest, ..., newest}.
 */
static void flush_run(struct nb_encoder *enc)
{
	unsigned int n = 31 - __builtin_clz(enc->hist);
	struct message m;

	for (; n && (enc->hist >> (n - 1) & 1) == enc->rep_hist; n--) {
		enc->hist = (enc->hist & ((1U << (n - 1)) - 1)) | 1U << (n - 1);
		enc->rep_count++;
	}
	begin_message(enc, &m, NB_TCODE_RESOURCE_FULL);
	put_fixed(&m, RCODE_RUN + enc->rep_hist, 4);
	put_var(&m, enc->rep_count);
	enc->rep_count = 0;
	send(enc, &m, false);
}

static void flush_history(struct nb_encoder *enc)
{
	bool repeat = enc->rep_count > 1 || enc->rep_open ||
		      (has_variant(enc, NB_VARIANT_HREPEAT_ONE) && enc->cfg.repeated_history);
	struct message m;

	enc->rep_open = false;
	if (!enc->rep_count)
		return;
	if (enc->cfg.runs) {
		flush_run(enc);
		return;
	}
	begin_message(enc, &m, NB_TCODE_RESOURCE_FULL);
	put_fixed(&m, repeat ? RCODE_HIST_REPEAT : RCODE_HIST, 4);
	put_var(&m, enc->rep_hist);
	if (repeat)
		put_var(&m, enc->rep_count);
	enc->rep_count = 0;
	send(enc, &m, false);
}

static void flush_branches(struct nb_encoder *enc)
{
	struct message m;

	if (!enc->rep.count)
		return;
	begin_message(enc, &m, NB_TCODE_REPEAT_BRANCH);
	put_var(&m, enc->rep.count);
	enc->rep.count = 0;
	send(enc, &m, false);
}

/* Send the counts of repetitions (HREPEAT and B-CNT), because the next message ends the repetitions. */
static void flush_repeats(struct nb_encoder *enc)
{
	flush_history(enc);
	flush_branches(enc);
	enc->rep.valid = false;
}

/* ---- Functions that send the different messages ---- */

static void ownership(struct nb_encoder *enc, unsigned int format)
{
	uint64_t context = format == FORMAT_HCONTEXT ? enc->hcontext : enc->scontext;
	struct message m;

	if (!enc->cfg.context || !enc->running)
		return;
	flush_repeats(enc);
	begin_message(enc, &m, NB_TCODE_OWNERSHIP);
	/* PROCESS is {CONTEXT, V, PRV[1:0], FORMAT[1:0]}, and enum nb_priv is {V, PRV} */
	put_var(&m, (format == FORMAT_PRIV ? 0 : context << 5) | enc->priv << 2 | format);
	send(enc, &m, false);
}

/* Send hcontext, if the hart has it, and scontext in Ownership messages. */
static void ownership_full(struct nb_encoder *enc)
{
	enc->due.context = enc->due.context == NB_CONTEXT_WRITTEN ? NB_CONTEXT_WRITTEN : NB_CONTEXT_NONE;
	if (enc->cfg.hcontext)
		ownership(enc, FORMAT_HCONTEXT);
	ownership(enc, FORMAT_SCONTEXT);
}

/*
 * Send a message with SYNC. It resets the state of the optimisations, and has an absolute time. Ownership
 * messages follow it (chapter "Synchronizing Messages").
 */
static void sync_message(struct nb_encoder *enc, enum nb_tcode tcode, enum nb_sync sync,
			 unsigned int btype, uint64_t addr)
{
	struct message m;

	begin_message(enc, &m, tcode);
	put_fixed(&m, sync == NB_SYNC_PERIODIC && has_variant(enc, NB_VARIANT_VENDOR_CODES) ? 14 : sync, 4);
	if (tcode == NB_TCODE_INDIRECT_BRANCH_SYNC || tcode == NB_TCODE_INDIRECT_BRANCH_HIST_SYNC)
		put_fixed(&m, btype, 2);
	put_var(&m, take_icnt(enc));
	put_addr(enc, &m, addr);
	if (tcode == NB_TCODE_INDIRECT_BRANCH_HIST_SYNC)
		put_var(&m, take_hist(enc));
	if (!send(enc, &m, true))
		return;
	enc->ref = addr;
	if (!has_variant(enc, NB_VARIANT_STACK_OVER_SYNC) || sync == NB_SYNC_FIFO_OVERRUN ||
	    sync == NB_SYNC_TRACE_ENABLE)
		enc->stack_n = 0;
	enc->due.sync = NB_SYNC_NONE;
	enc->due.sync_forced = false;
	enc->sync_base = 0;
	enc->sync_start = enc->cfg.sync_mode == 1 ? enc->n_messages : enc->cycles;
	set_stops(enc);
	enc->state.syncs++;
	enc->state.sync = sync;
	enc->state.stamp++;
	ownership_full(enc);
}

static void history_full(struct nb_encoder *enc);

/* Send HIST in a separate message, before a message with SYNC. Return false if it was lost. */
static bool send_history(struct nb_encoder *enc)
{
	if (enc->hist == 1)
		return true;
	history_full(enc);
	flush_repeats(enc);
	return enc->running;
}

/*
 * Send a synchronising message in linear code. ProgTraceSync has no HIST field, so it is only possible if HIST
 * is empty.
 */
static void linear_sync(struct nb_encoder *enc, uint64_t addr)
{
	bool htm = enc->cfg.mode == NB_MODE_HTM;
	enum nb_tcode tcode = NB_TCODE_PROG_TRACE_SYNC;

	flush_repeats(enc);
	if (htm && has_variant(enc, NB_VARIANT_HIST_FLUSH) && !send_history(enc))
		return;
	/* Remove the branch that filled HIST, because F-ADDR reports its outcome */
	if (enc->cfg.dialect->sync_at_branch && enc->hist >= enc->hist_full)
		enc->hist >>= 1;
	if (htm && (enc->hist != 1 || enc->cfg.hist_always))
		tcode = NB_TCODE_INDIRECT_BRANCH_HIST_SYNC;
	else if (has_variant(enc, NB_VARIANT_LINEAR_INDIRECT))
		tcode = NB_TCODE_INDIRECT_BRANCH_SYNC;
	else if (has_variant(enc, NB_VARIANT_LINEAR_DIRECT) && !htm)
		tcode = NB_TCODE_DIRECT_BRANCH_SYNC;
	sync_message(enc, tcode, enc->due.sync, 0, addr);
}

/* If a branch message would repeat the previous one, count it and return true. */
static bool repeated(struct nb_encoder *enc, enum nb_tcode tcode, unsigned int btype,
		     uint64_t target)
{
	if (!enc->cfg.repeat_branch)
		return false;
	if (!enc->rep.valid || enc->rep.tcode != tcode || enc->rep.btype != btype ||
	    enc->rep.icnt != enc->icnt || enc->rep.target != target) {
		flush_branches(enc);
		enc->rep.valid = true;
		enc->rep.tcode = tcode;
		enc->rep.btype = btype;
		enc->rep.icnt = enc->icnt;
		enc->rep.target = target;
		return false;
	}
	take_icnt(enc);
	if (++enc->rep.count == BCNT_MAX)
		flush_branches(enc);
	return true;
}

/* Report a taken branch in BTM. @end is the address after the branch, which identifies the branch. */
static void direct_branch(struct nb_encoder *enc, uint64_t end)
{
	struct message m;

	if (repeated(enc, NB_TCODE_DIRECT_BRANCH, 0, end))
		return;
	begin_message(enc, &m, NB_TCODE_DIRECT_BRANCH);
	put_var(&m, take_icnt(enc));
	send(enc, &m, false);
}

/* Return true if the message of a jump has a HIST field, which reports the branches before the jump in HTM. */
static bool sends_hist(const struct nb_encoder *enc)
{
	return enc->cfg.mode == NB_MODE_HTM && (enc->hist != 1 || enc->cfg.hist_always);
}

static void indirect_branch_sync(struct nb_encoder *enc, uint64_t addr)
{
	flush_repeats(enc);
	sync_message(enc, sends_hist(enc) ? NB_TCODE_INDIRECT_BRANCH_HIST_SYNC : NB_TCODE_INDIRECT_BRANCH_SYNC,
		     enc->due.sync, enc->pending_btype, addr);
}

/*
 * Report a jump to @addr. The type of the message depends on HIST, which flush_history() may have sent in a
 * message of equal branches.
 */
static void indirect_branch(struct nb_encoder *enc, uint64_t addr)
{
	struct message m;
	bool hist;

	if (sync_is_due(enc)) {
		indirect_branch_sync(enc, addr);
		return;
	}
	flush_history(enc);
	hist = sends_hist(enc);
	if (hist)
		flush_repeats(enc);
	else if (repeated(enc, NB_TCODE_INDIRECT_BRANCH, enc->pending_btype, addr))
		return;
	begin_message(enc, &m, hist ? NB_TCODE_INDIRECT_BRANCH_HIST : NB_TCODE_INDIRECT_BRANCH);
	put_fixed(&m, enc->pending_btype, 2);
	put_var(&m, take_icnt(enc));
	put_addr(enc, &m, addr ^ enc->ref);
	if (hist)
		put_var(&m, take_hist(enc));
	enc->ref = addr;
	send(enc, &m, false);
}

static void correlation(struct nb_encoder *enc, enum nb_evcode evcode)
{
	bool cdf = enc->cfg.mode == NB_MODE_HTM;
	struct message m;

	flush_repeats(enc);
	cdf &= !(enc->cfg.dialect->empty_cdf || has_variant(enc, NB_VARIANT_NO_HIST)) || enc->hist != 1;
	cdf |= enc->cfg.mode == NB_MODE_BTM && has_variant(enc, NB_VARIANT_HIST_IN_BTM);
	begin_message(enc, &m, NB_TCODE_PROG_TRACE_CORRELATION);
	put_fixed(&m, evcode == NB_EVCODE_DISABLED && has_variant(enc, NB_VARIANT_VENDOR_CODES) ? 8 : evcode, 4);
	put_fixed(&m, cdf, 2);	/* the field CDF is 1 if the field HIST follows, otherwise 0 */
	put_var(&m, take_icnt(enc));
	if (cdf)
		put_var(&m, take_hist(enc));
	send(enc, &m, false);
}

/* ---- Return stack of the "Implicit Return Optimization" ---- */

static bool same_return(const struct nb_encoder *enc, uint64_t a, uint64_t b)
{
	unsigned int unused = enc->cfg.implicit_return == 2 ? 64 - enc->cfg.stack_bits : 0;

	return (a ^ b) << unused == 0;
}

static void push(struct nb_encoder *enc, const struct nb_ingress *blk)
{
	if (!enc->cfg.implicit_return)
		return;
	if (enc->stack_n == enc->cfg.stack_depth && has_variant(enc, NB_VARIANT_STACK_STOPS)) {
		return;
	}
	enc->stack_reports[enc->stack_top % NB_STACK_MAX] = enc->reports;
	enc->stack[enc->stack_top++ % NB_STACK_MAX] = blk->iaddr + 2ULL * blk->iretire;
	if (enc->stack_n < enc->cfg.stack_depth)
		enc->stack_n++;
}

/*
 * Remove the last call from the return stack. Return true if the target of a return can be implicit. Mode 1
 * does not compare the target with the stack.
 */
static bool pop(struct nb_encoder *enc)
{
	if (!enc->cfg.implicit_return || !enc->stack_n)
		return false;
	enc->stack_n--;
	enc->pending_addr = enc->stack[--enc->stack_top % NB_STACK_MAX];
	/* Returns are implicit "only ... if the associated call has already been reported in an earlier message" */
	return !has_variant(enc, NB_VARIANT_RETURN_STRICT) ||
	       enc->stack_reports[enc->stack_top % NB_STACK_MAX] != enc->reports;
}

/* ---- The end of a block ---- */

static void set_pending(struct nb_encoder *enc, enum pending pending, unsigned int btype)
{
	enc->pending = pending;
	enc->pending_btype = btype;
}

/*
 * Return true if the target of a jump follows from the instruction before it. Chapter
 * "Sequential Jump Optimization" requires that one message reports both instructions,
 * so I-CNT must also contain the instruction before the jump.
 */
static bool inferable_jump(struct nb_encoder *enc, const struct nb_ingress *blk)
{
	return enc->cfg.sequential_jump && blk->sijump && enc->icnt > blk->ilastsize;
}

static void return_jump(struct nb_encoder *enc, const struct nb_ingress *blk)
{
	bool foreseen;

	if (inferable_jump(enc, blk)) {
		/*
		 * The instruction before the return has set the link register to a constant. The
		 * specification does not define whether a decoder removes a call from its return stack
		 * for this return, so empty the stack.
		 */
		enc->stack_n = 0;
		return;
	}
	foreseen = !(blk->itype == NB_ITYPE_SWAP && enc->cfg.dialect->swap_reported) && pop(enc);
	if (blk->itype == NB_ITYPE_SWAP)
		push(enc, blk);
	if (foreseen && enc->cfg.implicit_return == 1)
		return;
	set_pending(enc, foreseen ? PENDING_RETURN : PENDING_INDIRECT, 0);
}

static void taken_branch(struct nb_encoder *enc, const struct nb_ingress *blk)
{
	bool htm = enc->cfg.mode == NB_MODE_HTM;

	if (sync_is_due(enc) && (!htm || has_variant(enc, NB_VARIANT_SYNC_LACKS_BIT | NB_VARIANT_DIRECT_SYNC)))
		set_pending(enc, PENDING_DIRECT, 0);
	else if (htm)
		enc->hist = enc->hist << 1 | 1;
	else
		direct_branch(enc, blk->iaddr + 2ULL * blk->iretire);
}

static void trap(struct nb_encoder *enc, bool interrupt)
{
	unsigned int btype = enc->cfg.btype_extended ? 2 + interrupt : 1;

	set_pending(enc, PENDING_INDIRECT, btype);
}

static void icnt_full(struct nb_encoder *enc);

/* Handle the end of a block as defined by table "Handling of 4-bit itype values". */
static void account(struct nb_encoder *enc, const struct nb_ingress *blk)
{
	if (has_variant(enc, NB_VARIANT_FULL_BEFORE) && enc->icnt &&
	    enc->icnt + blk->iretire >= enc->icnt_limit)
		icnt_full(enc);
	enc->icnt += blk->iretire;
	switch (blk->itype) {
	case NB_ITYPE_EXCEPTION:
	case NB_ITYPE_INTERRUPT:
		trap(enc, blk->itype == NB_ITYPE_INTERRUPT);
		break;
	case NB_ITYPE_NOT_TAKEN:
		if (enc->cfg.mode == NB_MODE_HTM)
			enc->hist <<= 1;
		break;
	case NB_ITYPE_TAKEN:
		taken_branch(enc, blk);
		break;
	case NB_ITYPE_DIRECT_CALL:
		push(enc, blk);
		/* fall through */
	case NB_ITYPE_DIRECT_JUMP:
	case NB_ITYPE_OTHER_DIRECT:
		if (enc->cfg.all_jumps)
			taken_branch(enc, blk);
		break;
	case NB_ITYPE_SWAP:
	case NB_ITYPE_RETURN:
		return_jump(enc, blk);
		break;
	case NB_ITYPE_INDIRECT_CALL:
		push(enc, blk);
		/* fall through */
	case NB_ITYPE_INDIRECT_JUMP:
	case NB_ITYPE_OTHER_INDIRECT:
		if (inferable_jump(enc, blk))
			break;
		/* fall through */
	case NB_ITYPE_TRAP_RETURN:
		set_pending(enc, PENDING_INDIRECT, blk->itype == NB_ITYPE_TRAP_RETURN && sync_is_due(enc) &&
			    has_variant(enc, NB_VARIANT_XRET_INTERRUPT) ? 3 : 0);
		break;
	}
	if (enc->due.context == NB_CONTEXT_WRITTEN)
		enc->due.context = NB_CONTEXT_RETIRED;
}

/* Return true if the next message makes a periodic sync due. */
static bool last_before_sync(const struct nb_encoder *enc)
{
	return enc->cfg.sync_mode == 1 &&
	       enc->n_messages + 1 - enc->sync_start >= 1ULL << (enc->cfg.sync_max + 4);
}

/* Handle a full HIST. If all its branches are equal, only add their number to rep_count. */
static void history_full_runs(struct nb_encoder *enc)
{
	uint32_t all = enc->hist_full - 1, bits = enc->hist & all, bit = bits & 1;

	if (enc->rep_count && (enc->rep_hist != bit || enc->rep_count >= RUN_MAX || (bits && bits != all)))
		flush_run(enc);
	if (enc->hist < enc->hist_full)
		return;		/* flush_run() has removed some branches from HIST */
	if (bits && bits != all) {
		struct message m;

		begin_message(enc, &m, NB_TCODE_RESOURCE_FULL);
		put_fixed(&m, RCODE_HIST, 4);
		put_var(&m, take_hist(enc));
		send(enc, &m, false);
		return;
	}
	take_hist(enc);
	enc->rep_hist = bit;
	enc->rep_count += enc->cfg.hist_bits - 1;
}

/* Handle a full HIST. Send it, or count it if it is equal to the previous full HIST. */
static void history_full_repeats(struct nb_encoder *enc)
{
	uint32_t hist = take_hist(enc);

	if (!(enc->rep_count || enc->rep_open) || enc->rep_hist != hist ||
	    enc->rep_count == HREPEAT_MAX)
		flush_history(enc);
	enc->rep_hist = hist;
	enc->rep_count++;
	if (!enc->cfg.repeated_history) {
		flush_history(enc);
	} else if (has_variant(enc, NB_VARIANT_HREPEAT_SPLIT) && !enc->rep_open && enc->rep_count == 1) {
		flush_history(enc);
		enc->rep_open = true;
	}
}

/*
 * Return true if a synchronising message replaces the message for a full HIST. The synchronising message is
 * already due, or the message for a full HIST would make it due.
 */
static bool takes_branch(const struct nb_encoder *enc)
{
	return enc->cfg.dialect->sync_at_branch && !enc->pending &&
	       (sync_is_due(enc) || last_before_sync(enc));
}

static void history_full(struct nb_encoder *enc)
{
	if (takes_branch(enc))
		make_periodic_due(enc);
	else if (enc->cfg.runs)
		history_full_runs(enc);
	else
		history_full_repeats(enc);
	enc->due.sync_forced = sync_is_due(enc);
}

static void icnt_full(struct nb_encoder *enc)
{
	struct message m;

	if (enc->cfg.mode == NB_MODE_BTM && enc->cfg.icnt_sync) {
		if (!sync_is_due(enc) || enc->due.sync == NB_SYNC_PERIODIC)
			enc->due.sync = NB_SYNC_SEQUENTIAL;
		return;
	}
	flush_repeats(enc);
	begin_message(enc, &m, NB_TCODE_RESOURCE_FULL);
	put_fixed(&m, RCODE_ICNT, 4);
	put_var(&m, take_icnt(enc));
	send(enc, &m, false);
	enc->due.sync_forced = sync_is_due(enc);
}

/*
 * Handle full counters, and make a periodic sync due if its period has ended, after account() has processed a
 * block. If the jump of this block is pending, the message of the jump will report I-CNT. If a loss has ended
 * the session, HIST and I-CNT are not sent. Synchronising messages that become due here are sent with the next
 * block.
 */
void nb_encoder_full(struct nb_encoder *enc)
{
	uint64_t period = 1ULL << (enc->cfg.sync_max + 4);

	if (enc->hist >= enc->hist_full && !has_variant(enc, NB_VARIANT_ICNT_FIRST))
		history_full(enc);
	/* A pending message will report I-CNT, so a message for a full I-CNT is not needed */
	if (enc->running && enc->icnt >= enc->icnt_limit && !enc->pending)
		icnt_full(enc);
	if (enc->hist >= enc->hist_full)
		history_full(enc);
	if (enc->running &&
	    ((enc->cfg.sync_mode == 3 && enc->sync_base + enc->icnt >= period) ||
	     (enc->cfg.sync_mode == 2 && enc->cycles - enc->sync_start >= period)))
		make_periodic_due(enc);
	settle(enc);
}

/* Send the most frequent message of BTM, without the checks of nb_encoder_slow(). */
void nb_encoder_direct(struct nb_encoder *enc, uint64_t end)
{
	direct_branch(enc, end);
	if (NB_UNLIKELY(enc->icnt >= enc->icnt_stop || enc->cycles >= enc->cycles_stop ||
			sync_is_due(enc) || !enc->running))
		nb_encoder_full(enc);
}

void nb_encoder_jump(struct nb_encoder *enc, uint32_t iretire, uint32_t ninsn, uint64_t next)
{
	enc->icnt += iretire;
	enc->cycles += ninsn;
	set_pending(enc, PENDING_INDIRECT, 0);
	if (NB_UNLIKELY(enc->icnt >= enc->icnt_stop || enc->cycles >= enc->cycles_stop ||
			last_before_sync(enc))) {
		nb_encoder_full(enc);
		return;
	}
	enc->pending = PENDING_NONE;
	indirect_branch(enc, next);
}

/* ---- Start and stop of the trace at the beginning of a block ---- */

static bool qualified(struct nb_encoder *enc, const struct nb_ingress *blk)
{
	if (enc->cfg.priv_mask && !(enc->cfg.priv_mask >> blk->priv & 1))
		return false;
	return !enc->qualify || enc->qualify(enc->qualify_opaque, blk);
}

/* Start a session with ProgTraceSync and I-CNT 0, as rule 1 of "Detailed Rules" requires. */
static void begin_session(struct nb_encoder *enc, const struct nb_ingress *blk)
{
	enum nb_tcode tcode = NB_TCODE_PROG_TRACE_SYNC;
	bool htm = enc->cfg.mode == NB_MODE_HTM;
	uint32_t syncs = enc->state.syncs;

	if (enc->lost && !recover(enc)) {
		enc->stats.blocks_lost++;
		return;
	}
	enc->icnt = 0;
	enc->hist = 1;
	enc->pending = PENDING_NONE;
	enc->due.context = NB_CONTEXT_NONE;
	enc->rep_count = 0;
	enc->rep_open = false;
	enc->rep.count = 0;
	enc->rep.valid = false;
	enc->priv = blk->priv;
	enc->running = true;
	enc->state.session = ++enc->sessions;
	if (enc->start_sync == NB_SYNC_FIFO_OVERRUN && has_variant(enc, NB_VARIANT_OVERRUN_BRANCH)) {
		/* In this variant, the message has I-CNT and HIST from before the overflow. Invent their values. */
		enc->icnt = 1 + enc->n_messages % 50;
		enc->hist = 2 + enc->n_messages % 30;
		tcode = htm ? NB_TCODE_INDIRECT_BRANCH_HIST_SYNC :
			enc->n_messages & 1 ? NB_TCODE_INDIRECT_BRANCH_SYNC : NB_TCODE_DIRECT_BRANCH_SYNC;
	}
	sync_message(enc, tcode, enc->start_sync, 0, blk->iaddr);
	enc->state.starts += enc->state.syncs != syncs;
	enc->hist = 1;
	enc->start_sync = NB_SYNC_TRACE_ENABLE;
}

/* Send the pending message, whose address is known now. */
static void resolve(struct nb_encoder *enc, uint64_t addr)
{
	enum pending pending = enc->pending;

	enc->pending = PENDING_NONE;
	if (pending == PENDING_RETURN && same_return(enc, addr, enc->pending_addr)) {
		if (sync_is_due(enc))
			linear_sync(enc, addr);
		else if (enc->icnt >= enc->icnt_stop)
			nb_encoder_full(enc);
	} else if (pending == PENDING_DIRECT) {
		flush_repeats(enc);
		if (has_variant(enc, NB_VARIANT_DIRECT_SYNC) && !send_history(enc))
			return;
		sync_message(enc, sends_hist(enc) && !has_variant(enc, NB_VARIANT_DIRECT_SYNC) ?
			     NB_TCODE_INDIRECT_BRANCH_HIST_SYNC : NB_TCODE_DIRECT_BRANCH_SYNC, enc->due.sync, 0, addr);
	} else {
		indirect_branch(enc, addr);
	}
}

static void continue_session(struct nb_encoder *enc, const struct nb_ingress *blk)
{
	bool priv_changed = blk->priv != enc->priv;
	uint32_t syncs = enc->state.syncs;

	enc->priv = blk->priv;
	if (enc->pending)
		resolve(enc, blk->iaddr);
	else if (sync_is_due(enc) &&
		 (!enc->cfg.sync_delayed || enc->due.sync_forced || enc->due.sync != NB_SYNC_PERIODIC))
		linear_sync(enc, blk->iaddr);
	if (!enc->running || enc->state.syncs != syncs)
		return;
	if (enc->due.context == NB_CONTEXT_RETIRED)
		ownership_full(enc);
	else if (priv_changed)
		ownership(enc, FORMAT_PRIV);
	else if (now_and_then(enc, NB_VARIANT_OWNERSHIP, 50))
		ownership(enc, enc->n_messages & 1 ? FORMAT_PRIV : FORMAT_SCONTEXT);
}

/*
 * End a session, and send the trace up to the last block. The message of a taken branch needs no address. The
 * message of a pending jump is not sent, because its address is not known.
 */
static void halt(struct nb_encoder *enc, enum nb_evcode evcode)
{
	if (enc->pending == PENDING_DIRECT && enc->cfg.mode == NB_MODE_HTM)
		enc->hist = enc->hist << 1 | 1;
	else if (enc->pending == PENDING_DIRECT)
		direct_branch(enc, 0);
	enc->pending = PENDING_NONE;
	if (evcode == NB_EVCODE_DISABLED && has_variant(enc, NB_VARIANT_NO_STOP)) {
		end_session(enc, NB_ENDED_SILENT);
		return;
	}
	if (enc->running)
		correlation(enc, evcode);
	end_session(enc, evcode);
}

/* Report a trap of code that is not traced. A decoder has no use for the message. */
static void trap_in_gap(struct nb_encoder *enc, const struct nb_ingress *blk)
{
	bool htm = enc->cfg.mode == NB_MODE_HTM;
	struct message m;

	if (blk->itype != NB_ITYPE_EXCEPTION && blk->itype != NB_ITYPE_INTERRUPT)
		return;
	begin_message(enc, &m, htm ? NB_TCODE_INDIRECT_BRANCH_HIST : NB_TCODE_INDIRECT_BRANCH);
	put_fixed(&m, blk->itype == NB_ITYPE_INTERRUPT ? 3 : 2, 2);
	put_var(&m, 0);
	put_addr(enc, &m, blk->iaddr ^ enc->ref);
	if (htm)
		put_var(&m, 1);
	send(enc, &m, false);
}

static void unqualified(struct nb_encoder *enc, const struct nb_ingress *blk)
{
	if (enc->pending && has_variant(enc, NB_VARIANT_TRAP_FILTERED))
		resolve(enc, blk->iaddr);
	halt(enc, NB_EVCODE_DISABLED);
	if (enc->lost)
		recover(enc);
	if (enc->sessions && enc->state.evcode == NB_EVCODE_DISABLED && has_variant(enc, NB_VARIANT_TRAP_IN_GAP))
		trap_in_gap(enc, blk);
}

/* End the session because the hart continues after a wfi, which was the last traced instruction. */
static void wake(struct nb_encoder *enc)
{
	enc->asleep = false;
	if (!enc->running)
		return;
	halt(enc, NB_EVCODE_LOW_POWER);
	enc->start_sync = NB_SYNC_EXIT_POWERDOWN;
}

/* Cause the events of the variants wfi, debug and trigger before a block. */
static void act_up(struct nb_encoder *enc)
{
	if (enc->asleep)
		wake(enc);
	if (!enc->running)
		return;
	if (now_and_then(enc, NB_VARIANT_DEBUG, DEBUG_BLOCKS)) {
		nb_encoder_debug(enc, true);
		nb_encoder_debug(enc, false);
	}
	if (now_and_then(enc, NB_VARIANT_TRIGGER, TRIGGER_BLOCKS))
		nb_encoder_notify(enc, enc->chance & 1 << 20 ? NB_SYNC_TRACE_EVENT : NB_SYNC_EXT_TRIGGER);
}

static bool ends_with_wfi(const struct nb_ingress *blk)
{
	static const uint8_t wfi[4] = { 0x73, 0x00, 0x50, 0x10 };

	return blk->code && blk->itype == NB_ITYPE_NONE && blk->ilastsize == 2 && blk->iretire >= 2 &&
	       !memcmp(blk->code + 2 * blk->iretire - 4, wfi, 4);
}

/* Return the number of cycles of a block. An instruction takes one cycle, except in the variant CYCLES. */
static uint64_t cycles_of(const struct nb_encoder *enc, const struct nb_ingress *blk)
{
	if (!has_variant(enc, NB_VARIANT_CYCLES))
		return blk->ninsn;
	return 3 * blk->ninsn + (blk->itype != NB_ITYPE_NONE ? 7 : 0) +
	       (ends_with_wfi(blk) ? 1000 : 0);
}

void nb_encoder_slow(struct nb_encoder *enc, const struct nb_ingress *blk)
{
	if (enc->enabled) {
		if (NB_UNLIKELY(enc->cfg.variant))
			act_up(enc);
		if (!qualified(enc, blk))
			unqualified(enc, blk);
		else if (enc->running)
			continue_session(enc, blk);
		else
			begin_session(enc, blk);
	}
	enc->cycles += cycles_of(enc, blk);
	if (!enc->running)
		return;
	account(enc, blk);
	if (enc->icnt >= enc->icnt_stop || enc->hist >= enc->hist_full ||
	    enc->cycles >= enc->cycles_stop || sync_is_due(enc))
		nb_encoder_full(enc);
	else
		settle(enc);
	enc->asleep = has_variant(enc, NB_VARIANT_WFI) && ends_with_wfi(blk);
}

/* ---- Configuration, start and stop of the encoder ---- */

static uint8_t clamp(unsigned int value, unsigned int low, unsigned int high)
{
	return value < low ? low : value > high ? high : value;
}

static void legalise(struct nb_encoder_config *cfg)
{
	if (cfg->mode != NB_MODE_BTM)
		cfg->mode = NB_MODE_HTM;
	cfg->xlen = cfg->xlen == 32 ? 32 : 64;
	cfg->ts_width = cfg->ts_width ? clamp(cfg->ts_width, 1, 64) : 64;
	cfg->sync_mode &= 3;
	cfg->sync_max &= 15;
	cfg->src_bits = clamp(cfg->src_bits, 0, 12);
	cfg->src_id &= (1U << cfg->src_bits) - 1;
	cfg->implicit_return &= 3;
	if (!cfg->dialect)
		cfg->dialect = &nb_dialect_ratified;
	if (!cfg->stack_depth || cfg->stack_depth > cfg->dialect->stack_max)
		cfg->stack_depth = cfg->dialect->stack_max;
	/* A return stack of more calls than NB_STACK_MAX only counts calls, and contains no addresses (mode 1) */
	if (cfg->stack_depth > NB_STACK_MAX && cfg->implicit_return)
		cfg->implicit_return = 1;
	cfg->stack_bits = cfg->stack_bits ? clamp(cfg->stack_bits, 2, 63) : STACK_BITS;
	cfg->icnt_bits = cfg->icnt_bits ? clamp(cfg->icnt_bits, 4, ICNT_BITS_MAX) : ICNT_BITS_MAX;
	cfg->hist_bits = cfg->hist_bits ? clamp(cfg->hist_bits, 2, HIST_BITS_MAX) : HIST_BITS_MAX;
	/*
	 * A HIST of 31 bits contains 30 branches. 30 is a multiple of 1, 2, 3, 5 and 6, so
	 * that each full HIST of a loop with 1, 2, 3, 5 or 6 branches is equal. The example of
	 * the specification also has 30 branches.
	 */
	if (cfg->repeated_history && cfg->hist_bits == HIST_BITS_MAX)
		cfg->hist_bits = 31;
	/* RepeatBranch "cannot be used in HTM mode" */
	if (cfg->mode == NB_MODE_HTM)
		cfg->repeat_branch = false;
	else
		cfg->repeated_history = cfg->runs = false;
}

static void set_actions(struct nb_encoder *enc)
{
	static const uint8_t jumps[] = {
		NB_ITYPE_INDIRECT_CALL, NB_ITYPE_INDIRECT_JUMP, NB_ITYPE_SWAP, NB_ITYPE_RETURN,
		NB_ITYPE_OTHER_INDIRECT,
	};
	bool htm = enc->cfg.mode == NB_MODE_HTM;
	uint8_t taken = htm ? NB_ACT_SHIFT | NB_ACT_ONE : NB_ACT_DIRECT;
	uint8_t jump = enc->cfg.all_jumps ? taken : 0;
	unsigned int i;

	memset(enc->action, NB_ACT_SLOW, sizeof(enc->action));
	if (enc->cfg.variant)
		return;
	enc->action[NB_ITYPE_NONE] = 0;
	enc->action[NB_ITYPE_NOT_TAKEN] = htm ? NB_ACT_SHIFT : 0;
	enc->action[NB_ITYPE_TAKEN] = taken;
	enc->action[NB_ITYPE_DIRECT_JUMP] = jump;
	enc->action[NB_ITYPE_OTHER_DIRECT] = jump;
	enc->action[NB_ITYPE_DIRECT_CALL] = enc->cfg.implicit_return ? NB_ACT_SLOW : jump;
	if (enc->cfg.implicit_return || enc->cfg.sequential_jump || enc->cfg.repeated_history ||
	    enc->cfg.runs || enc->cfg.repeat_branch || enc->cfg.fifo_depth)
		return;
	for (i = 0; i < sizeof(jumps); i++)
		enc->action[jumps[i]] |= NB_ACT_JUMP;
}

void nb_encoder_configure(struct nb_encoder *enc, const struct nb_encoder_config *cfg)
{
	enc->cfg = *cfg;
	legalise(&enc->cfg);
	set_actions(enc);
	enc->icnt_limit = 1ULL << (enc->cfg.icnt_bits - 1);
	enc->hist_full = 1U << (enc->cfg.hist_bits - 1);
	enc->hist = 1;
	enc->icnt = 0;
	settle(enc);
}

void nb_encoder_init(struct nb_encoder *enc, const struct nb_encoder_config *cfg,
		     nb_out_fn out, void *opaque)
{
	memset(enc, 0, sizeof(*enc));
	enc->out = out;
	enc->opaque = opaque;
	enc->due.sync = NB_SYNC_NONE;
	enc->chance = cfg->seed;
	nb_encoder_configure(enc, cfg);
}

void nb_encoder_start(struct nb_encoder *enc, enum nb_sync sync)
{
	if (enc->enabled)
		return;
	enc->enabled = true;
	enc->start_sync = sync;
	if (has_variant(enc, NB_VARIANT_EARLY_STOP)) {
		enc->icnt = 0;
		enc->hist = 1;
		correlation(enc, NB_EVCODE_DISABLED);
	}
	settle(enc);
}

void nb_encoder_stop(struct nb_encoder *enc, enum nb_evcode evcode)
{
	if (!enc->enabled)
		return;
	halt(enc, evcode);
	/* Stopping flushes the FIFO. If trace was lost, the "Error Message will be the last message" */
	enc->fifo_level = 0;
	enc->retry_cycles = 0;
	enc->enabled = false;
	nb_encoder_drain(enc);
	settle(enc);
}

void nb_encoder_drain(struct nb_encoder *enc)
{
	give_held(enc);
	if (!enc->lost || enc->enabled)
		return;
	/* Send the Error message here, because a stopped encoder processes no more blocks that would send it */
	enc->retry_cycles = 0;
	recover(enc);
}

void nb_encoder_drop(struct nb_encoder *enc)
{
	enc->n_held = 0;
	enc->stalls = false;
	enc->lost = false;
	enc->lost_ecode = 0;
}

void nb_encoder_context(struct nb_encoder *enc, uint64_t scontext, uint64_t hcontext)
{
	enc->scontext = scontext;
	enc->hcontext = hcontext;
	if (enc->running && enc->cfg.context)
		enc->due.context = NB_CONTEXT_WRITTEN;
	settle(enc);
}

void nb_encoder_notify(struct nb_encoder *enc, enum nb_sync sync)
{
	if (enc->running)
		enc->due.sync = sync;
	settle(enc);
}

void nb_encoder_debug(struct nb_encoder *enc, bool enter)
{
	if (!enc->enabled)
		return;
	if (!enter) {
		enc->start_sync = NB_SYNC_EXIT_DEBUG;
		return;
	}
	if (enc->running) {
		halt(enc, NB_EVCODE_DEBUG);
		return;
	}
	enc->icnt = 0;	/* no traced code was executed after the last message (table "Corner Cases") */
	enc->hist = 1;
	correlation(enc, NB_EVCODE_DEBUG);
}
