// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encode N-Trace as the text of the specification demands, and note what each message reports.
 * This encoder shares no code with the library or the board.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum {
	T_OWNERSHIP = 2, T_DIRECT_BRANCH = 3, T_INDIRECT_BRANCH = 4, T_ERROR = 8,
	T_PROG_TRACE_SYNC = 9, T_DIRECT_BRANCH_SYNC = 11, T_INDIRECT_BRANCH_SYNC = 12,
	T_RESOURCE_FULL = 27, T_INDIRECT_BRANCH_HIST = 28, T_INDIRECT_BRANCH_HIST_SYNC = 29,
	T_REPEAT_BRANCH = 30, T_REPEAT_INSN = 31, T_PROG_TRACE_CORRELATION = 33,
};

void *grow_array(void *array, size_t *room, size_t size)
{
	*room = *room ? *room * 2 : 16;
	array = realloc(array, *room * size);
	if (!array)
		abort();
	return array;
}

/* ------------------------------------------------------- fields in bytes (chapter 3) */

struct pack {
	uint8_t		mdo[4096];	/* MDO of each byte, 6 bits. MSEO results from @end */
	bool		end[4096];	/* true if the byte is the last one of a variable-length field */
	size_t		n;		/* number of bytes, of which the last may be incomplete */
	uint32_t	bits;		/* number of used bits in the MDO of the last byte */
};

static void pack_bit(struct pack *p, bool bit)
{
	if (!p->n || p->bits == 6) {
		p->mdo[p->n] = 0;
		p->end[p->n++] = false;
		p->bits = 0;
	}
	p->mdo[p->n - 1] |= bit << p->bits++;
}

static void pack_fixed(struct pack *p, uint64_t value, uint32_t bits)
{
	while (bits--) {
		pack_bit(p, value & 1);
		value >>= 1;
	}
}

/* End a variable-length field. The unused bits of its last byte are zeros. */
static void pack_end_field(struct pack *p)
{
	while (p->bits < 6)
		pack_bit(p, 0);
	p->end[p->n - 1] = true;
}

static void pack_variable(struct pack *p, uint64_t value, uint32_t padding)
{
	do {
		pack_bit(p, value & 1);
		value >>= 1;
	} while (value);
	while (padding--) {
		while (p->bits < 6)
			pack_bit(p, 0);
		pack_bit(p, 0);
	}
	pack_end_field(p);
}

/*
 * Append an address with sign extension (chapter 9.4). The field starts in a new byte. @bits is 63 or
 * 31. Send @padding more bytes than the address needs, or fewer if all bits are sent.
 */
static void pack_extended(struct pack *p, uint64_t value, uint32_t bits, uint32_t padding)
{
	uint32_t n = 6;

	for (; n < bits; n += 6) {
		bool top = value >> (n - 1) & 1;
		uint64_t rest = (top ? ~value : value) << (64 - bits) >> (64 - bits) >> n;

		if (!rest && !padding--)
			break;
	}
	pack_fixed(p, value, n < bits ? n : bits);
	pack_end_field(p);
}

static void pack_out(const struct pack *p, struct encoder *e)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		VEC_ADD(&e->bytes) = p->mdo[i] << 2 | (i + 1 == p->n ? 3 : p->end[i]);
}

/* -------------------------------------------------------- messages: chapter 7 */

struct out {
	uint8_t		tcode, sync, btype, code, cdf;
	bool		has_cdata;	/* true for ProgTraceCorrelation with HIST */
	uint32_t	icnt, hist;
	uint64_t	addr;		/* whole address, from which the sent field is derived */
	uint64_t	value, repeat;
};

static uint32_t padding(struct encoder *e)
{
	return rng_percent(&e->rng, e->opt->padding) ? rng_range(&e->rng, 1, 2) : 0;
}

static void put_var(struct encoder *e, struct pack *p, uint64_t value)
{
	uint32_t extra = padding(e);

	/* the field has at most 66 bits */
	if (value >> 48)
		extra = 0;
	pack_variable(p, value, extra);
}

static void put_addr(struct encoder *e, struct pack *p, uint64_t addr)
{
	uint32_t bits = e->opt->xlen - 1;

	if (e->opt->dev_addr && !e->opt->ext && bits == 63 && addr >> 63) {
		pack_variable(p, addr >> 1 | 1ULL << 63, 0);
		return;
	}
	addr = addr >> 1 & ((1ULL << bits) - 1);
	if (e->opt->ext)
		pack_extended(p, addr, bits, padding(e));
	else
		put_var(e, p, addr);
}

static bool is_sync(uint8_t tcode)
{
	return tcode == T_PROG_TRACE_SYNC || tcode == T_DIRECT_BRANCH_SYNC ||
	       tcode == T_INDIRECT_BRANCH_SYNC || tcode == T_INDIRECT_BRANCH_HIST_SYNC;
}

/* Append the fields of a message from table "Fields in Messages" */
static void put_fields(struct encoder *e, struct pack *p, const struct out *o)
{
	switch (o->tcode) {
	case T_OWNERSHIP:
		put_var(e, p, o->value);
		break;
	case T_DIRECT_BRANCH:
		put_var(e, p, o->icnt);
		break;
	case T_INDIRECT_BRANCH: case T_INDIRECT_BRANCH_HIST:
		pack_fixed(p, o->btype, 2);
		put_var(e, p, o->icnt);
		put_addr(e, p, o->addr ^ e->ref);
		if (o->tcode == T_INDIRECT_BRANCH_HIST)
			put_var(e, p, o->hist);
		break;
	case T_ERROR:
		pack_fixed(p, o->code, 4);
		if (e->opt->dev_ecode && e->opt->ts)
			pack_fixed(p, o->value, 8);
		else
			put_var(e, p, o->value);
		break;
	case T_PROG_TRACE_SYNC: case T_DIRECT_BRANCH_SYNC:
	case T_INDIRECT_BRANCH_SYNC: case T_INDIRECT_BRANCH_HIST_SYNC:
		pack_fixed(p, o->sync, 4);
		if (o->tcode == T_INDIRECT_BRANCH_SYNC || o->tcode == T_INDIRECT_BRANCH_HIST_SYNC)
			pack_fixed(p, o->btype, 2);
		put_var(e, p, o->icnt);
		put_addr(e, p, o->addr);
		if (o->tcode == T_INDIRECT_BRANCH_HIST_SYNC)
			put_var(e, p, o->hist);
		break;
	case T_RESOURCE_FULL:
		pack_fixed(p, o->code, 4);
		put_var(e, p, o->value);
		if (o->code == 2)
			put_var(e, p, o->repeat);
		break;
	case T_REPEAT_BRANCH:
		put_var(e, p, o->value);
		break;
	case T_REPEAT_INSN:
		put_var(e, p, o->value);
		put_var(e, p, o->icnt);
		put_var(e, p, o->hist);
		break;
	case T_PROG_TRACE_CORRELATION:
		pack_fixed(p, o->code, 4);
		pack_fixed(p, o->cdf, 2);
		put_var(e, p, o->icnt);
		if (o->has_cdata)
			put_var(e, p, o->hist);
		break;
	}
}

/* ------------------------------------------------------ timestamps: chapter 8.5 */

static uint64_t time_mask(const struct encoder *e)
{
	return e->opt->ts_bits < 64 ? (1ULL << e->opt->ts_bits) - 1 : ~0ULL;
}

static bool put_time(struct encoder *e, struct pack *p, bool sync)
{
	uint64_t now = *e->now;

	/* ECODE of 8 bits does not end a field, so TSTAMP must follow */
	if (!e->opt->ts || (!sync && p->end[p->n - 1] && !rng_percent(&e->rng, e->opt->ts_share)))
		return false;
	put_var(e, p, (sync ? now : now - e->last_time) & time_mask(e));
	e->last_time = now;
	if (!sync && !e->time_sure)
		return true;
	if (sync && !e->time_started)
		e->time_base = now & ~time_mask(e);
	if (sync)
		e->time_known = e->time_sure = e->time_started = true;
	e->sure_time = now;
	return true;
}

/* -------------------------------------------------------- sending of messages */

static struct message *add_message(struct encoder *e, struct pack *p, uint8_t tcode, bool has_time)
{
	struct message *message = &VEC_ADD(&e->messages);

	message->tcode = tcode;
	message->start = e->bytes.n;
	pack_out(p, e);
	message->length = e->bytes.n - message->start;
	message->has_time = has_time;
	message->known = e->time_known;
	message->sure = e->time_sure;
	message->time = *e->now - e->time_base;
	message->context = e->reported;
	return message;
}

/* Send a message. Return its index, or -1 if the message is lost because the FIFO is full. */
static int send(struct encoder *e, const struct out *o)
{
	struct pack pack;
	bool has_time;

	if (e->overrun) {
		e->lost = true;
		return -1;
	}
	pack.n = 0;
	pack_fixed(&pack, o->tcode, 6);
	pack_fixed(&pack, e->src, e->opt->src_bits);
	put_fields(e, &pack, o);
	has_time = put_time(e, &pack, is_sync(o->tcode));
	add_message(e, &pack, o->tcode, has_time);
	return e->messages.n - 1;
}

static struct xitem *add_item(struct encoder *e, enum xtype type, int message)
{
	struct xitem *item = &VEC_ADD(&e->items);

	memset(item, 0, sizeof(*item));
	item->type = type;
	item->message = message;
	return item;
}

/* ------------------------------------- ranges and items that messages report */

static uint8_t how_of(const struct insn *insn)
{
	switch (insn->kind) {
	case K_BRANCH:	return X_BRANCH;
	case K_JUMP:	return X_JUMP;
	case K_CALL:	return X_CALL;
	case K_CUSTOM:
	case K_IJUMP:	return X_INDIRECT_JUMP;
	case K_ICALL:	return X_INDIRECT_CALL;
	case K_RETURN:	return X_RETURN;
	case K_SWAP:	return X_SWAP;
	case K_XRET:	return X_TRAP_RETURN;
	default:	return X_LINEAR;
	}
}

static void open_range(struct encoder *e, uint64_t pc)
{
	e->open = (struct xrange){
		.start = pc, .end = pc, .last = pc, .early = -1, .late = -1,
	};
}

static void close_range(struct encoder *e, uint8_t how, uint64_t dest, bool taken, bool inferred)
{
	struct xrange *range = &e->open;

	range->how = how;
	range->dest = dest;
	range->has_dest = true;
	range->taken = taken;
	range->inferred = inferred;
	VEC_ADD(&e->pending) = *range;
	open_range(e, dest);
}

/* End the flow. The instructions after the last change of the PC are also a range. */
static void close_linear(struct encoder *e)
{
	if (e->open.insns)
		close_range(e, X_LINEAR, e->open.end, false, false);
}

/*
 * A ResourceFull @message reports I-CNT if @icnt, otherwise HIST. After it, a decoder may return all
 * pending ranges (I-CNT), or the pending ranges whose bit of HIST was sent (HIST).
 */
static void settle_early(struct encoder *e, int message, bool icnt)
{
	size_t i, n = icnt ? e->pending.n : 0;

	for (i = 0; i < e->pending.n; i++) {
		if (!icnt && e->pending.v[i].bit && e->pending.v[i].bit <= e->bits_sent)
			n = i + 1;
	}
	for (i = 0; i < n; i++) {
		if (e->pending.v[i].early < 0)
			e->pending.v[i].early = message;
	}
	e->open.part_known |= icnt && message >= 0 && e->open.insns;
}

/*
 * End the trace after messages were lost, or without a last message. No message reports the pending
 * ranges completely, but a decoder may know those that a ResourceFull has reported, and a part of the
 * last range.
 */
static void settle_lost(struct encoder *e)
{
	size_t i;

	if (e->open.part_known)
		close_linear(e);
	for (i = 0; i < e->pending.n; i++) {
		struct xrange *range = &e->pending.v[i];

		if (range->early < 0 && !range->part_known)
			break;
		range->any |= ANY_THERE | (range->part_known ? ANY_PART : 0);
		if (range->early < 0)
			range->early = 0;
		range->late = INT_MAX;
		VEC_ADD(&e->ranges) = *range;
	}
	e->pending.n = 0;
}

/* @message is the first one after a loss. Store that no message after @message reports the lost ranges. */
static void settle_until(struct encoder *e, int message)
{
	for (; e->settled < e->ranges.n; e->settled++) {
		if (e->ranges.v[e->settled].late == INT_MAX)
			e->ranges.v[e->settled].late = message;
	}
}

/* Store that @message reports I-CNT and HIST of all pending ranges. If @message is -1, it was lost. */
static void settle(struct encoder *e, int message)
{
	size_t i;

	if (message < 0) {
		settle_lost(e);
		return;
	}
	for (i = 0; i < e->pending.n; i++) {
		struct xrange *range = &e->pending.v[i];

		if (range->early < 0)
			range->early = message;
		range->late = message;
		VEC_ADD(&e->ranges) = *range;
	}
	e->pending.n = 0;
}

/* ----------------------------------------------- repeated messages, chapter 7.11 */

static void flush_self(struct encoder *e);

static void flush_repeat(struct encoder *e)
{
	struct out out = { .tcode = T_REPEAT_BRANCH };
	size_t i;
	int message;

	flush_self(e);
	out.value = e->repeat_count;
	if (!e->repeat_count)
		return;
	e->repeat_count = 0;
	message = send(e, &out);
	for (i = 0; i < e->repeated.n && message >= 0; i++) {
		struct xrange *range = &e->repeated.v[i];

		range->early = range->late = message;
		VEC_ADD(&e->ranges) = *range;
	}
	e->repeated.n = 0;
}

/* ----------------------------------------------------------- HIST, chapter 8.2 */

static void hist_reset(struct encoder *e)
{
	e->hist = 1;
	e->hist_len = 0;
}

static void send_hist(struct encoder *e, uint32_t hist, uint32_t len, uint32_t count)
{
	struct out out = { .tcode = T_RESOURCE_FULL, .value = hist, .code = 1 };
	int message;

	if (count > 1 || e->opt->hrep_one) {
		out.code = e->opt->rephist ? 2 : 1;
		out.repeat = count;
	}
	flush_repeat(e);
	e->last_valid = false;
	message = send(e, &out);
	e->bits_sent += (uint64_t)len * count;
	settle_early(e, message, false);
}

/* Return the shortest period of @hist, which has @len bits */
static uint32_t period(uint32_t hist, uint32_t len)
{
	uint32_t n, i;

	for (n = 1; n < len; n++) {
		if (len % n)
			continue;
		for (i = 0; i + n < len; i++) {
			if ((hist >> i & 1) != (hist >> (i + n) & 1))
				break;
		}
		if (i + n == len)
			return n;
	}
	return len;
}

/*
 * Report that HIST was full several times in succession with the same bits. Chapter 9.3 allows any
 * sequence of ResourceFull messages that together contain all these bits.
 */
static void flush_hrep(struct encoder *e)
{
	uint32_t hist = e->hrep_hist, len = e->hrep_len, count = e->hrep_count, part;

	e->hrep_count = 0;
	if (count > 1 && e->opt->hrep_first) {
		send_hist(e, hist, len, 1);
		count--;
	}
	if (count && e->opt->hrep_short && period(hist, len) < len) {
		part = period(hist, len);
		count *= len / part;
		len = part;
		hist = (hist & ((1U << len) - 1)) | 1U << len;
	}
	while (count) {
		part = count > e->opt->hrep_max ? e->opt->hrep_max : count;
		send_hist(e, hist, len, part);
		count -= part;
	}
}

static void flush_hist(struct encoder *e)
{
	if (!e->hist_len)
		return;
	if (!e->opt->rephist) {
		send_hist(e, e->hist, e->hist_len, 1);
	} else {
		/*
		 * Send RepeatBranch before the first bit of the new HIST, because RepeatBranch repeats
		 * older branches
		 */
		flush_repeat(e);
		e->last_valid = false;
		if (e->hrep_count && (e->hrep_hist != e->hist || e->hrep_len != e->hist_len ||
				      e->hrep_count >= e->opt->hrep_max))
			flush_hrep(e);
		e->hrep_hist = e->hist;
		e->hrep_len = e->hist_len;
		e->hrep_count++;
	}
	hist_reset(e);
}

static void add_bit(struct encoder *e, bool taken)
{
	if (e->opt->hist_before && (e->hist_len >= e->opt->hist_bits ||
				    (e->hist_len && rng_percent(&e->rng, e->opt->hist_early))))
		flush_hist(e);
	e->hist = e->hist << 1 | taken;
	e->hist_len++;
	e->open.bit = ++e->bits;
}

/* Report HIST if it is full. The range that the last branch ends must already be complete. */
static void hist_full(struct encoder *e)
{
	if (e->hist_len >= e->opt->hist_bits + e->opt->hist_before ||
	    (!e->opt->hist_before && rng_percent(&e->rng, e->opt->hist_early)))
		flush_hist(e);
}

/* --------------------------------------------------------- I-CNT, chapter 8.3 */

static void icnt_reset(struct encoder *e)
{
	e->icnt = 0;
	e->nr_icnt++;
	e->const_reg = 0;
}

static void send_icnt(struct encoder *e)
{
	struct out out = { .tcode = T_RESOURCE_FULL, .code = 0, .value = e->icnt };

	flush_repeat(e);
	e->last_valid = false;
	if (e->hrep_count && !rng_percent(&e->rng, e->opt->icnt_first))
		flush_hrep(e);
	settle_early(e, send(e, &out), true);
	icnt_reset(e);
}

/*
 * Report the repetitions of a branch to itself by RepeatInstruction of IEEE-ISTO 5001. Its I-CNT and HIST end with the
 * first execution of the branch.
 */
static void flush_self(struct encoder *e)
{
	struct out out = { .tcode = T_REPEAT_INSN, .value = e->self_count };

	if (!e->self_count)
		return;
	e->self = e->self_count = 0;
	flush_repeat(e);
	flush_hrep(e);
	e->last_valid = false;
	out.icnt = e->icnt;
	out.hist = e->hist;
	settle(e, send(e, &out));
	hist_reset(e);
	e->bits_sent = e->bits;
	icnt_reset(e);
}

void encoder_icnt_early(struct encoder *e)
{
	flush_self(e);
	if (e->on && e->icnt)
		send_icnt(e);
}

static void icnt_full(struct encoder *e)
{
	uint32_t limit = (1U << e->opt->icnt_bits) - 32;

	if (e->icnt < limit)
		return;
	if (!e->opt->htm && !e->opt->icnt_before && rng_percent(&e->rng, e->opt->icnt_sync))
		encoder_sync(e, 4, e->open.end);
	else
		send_icnt(e);
}

/* ------------------------------------------------ return stack, chapter 9.2 */

static void stack_reset(struct encoder *e)
{
	e->stack_nr = 0;
}

static void stack_push(struct encoder *e, uint64_t addr)
{
	uint32_t depth = e->opt->ir_depth;

	if (!e->opt->ir_mode || (e->stack_nr == depth && e->opt->ir_reject))
		return;
	e->stack_top = (e->stack_top + 1) % STACK_DEPTH;
	e->stack[e->stack_top].addr = addr;
	e->stack[e->stack_top].nr_icnt = e->nr_icnt;
	if (e->stack_nr < depth)
		e->stack_nr++;
}

/* Pop an address from the return stack. Return true if this address equals @addr. */
static bool stack_pop(struct encoder *e, uint64_t addr)
{
	uint32_t top = e->stack_top;

	if (!e->opt->ir_mode || !e->stack_nr)
		return false;
	e->stack_top = (top + STACK_DEPTH - 1) % STACK_DEPTH;
	e->stack_nr--;
	if (e->opt->ir_strict && e->stack[top].nr_icnt == e->nr_icnt)
		return false;
	return e->stack[top].addr == addr;
}

/*
 * If the encoder only counts calls (mode 1), a return must go to the top of the stack, because no message can report
 * another address. Return the address at the top, or 0 if a return may go to any address.
 */
uint64_t encoder_counted_return(const struct encoder *e)
{
	if (e->opt->ir_mode != 1 || !e->on || !e->stack_nr)
		return 0;
	return e->stack[e->stack_top].addr;
}

/* Return true if the decoder would infer the target of a return from its return stack */
bool encoder_infers_any(const struct encoder *e)
{
	return e->opt->ir_mode || e->opt->seq;
}

/* ------------------------------------------------------------ Ownership, chapter 7.1 */

static void send_process(struct encoder *e, uint32_t format, uint64_t context)
{
	struct out out = { .tcode = T_OWNERSHIP };
	struct xcontext old = e->reported;
	uint8_t priv = e->context.priv;
	int message;

	flush_repeat(e);
	/* PRV is in the low two bits, and V is in the next bit */
	out.value = context << 5 | priv << 2 | format;
	e->reported.priv = priv;
	e->reported.has_priv = true;
	if (format == 2) {
		e->reported.scontext = context;
		e->reported.has_scontext = true;
	} else if (format == 3) {
		e->reported.hcontext = context;
		e->reported.has_hcontext = true;
	}
	message = send(e, &out);
	if (message < 0)
		e->reported = old;
	else
		add_item(e, X_CONTEXT, message);
}

void encoder_context(struct encoder *e, bool scontext, bool hcontext)
{
	if (!e->opt->context || !e->on)
		return;
	if (hcontext && e->has_hcontext)
		send_process(e, 3, e->context.hcontext);
	if (scontext || (hcontext && e->has_hcontext))
		send_process(e, 2, e->context.scontext);
	else
		send_process(e, 0, 0);
}

/* ---------------------------------------------- synchronizing messages, chapter 8.4 */

static void after_sync(struct encoder *e, const struct out *out, int message, bool restart)
{
	struct xitem *item;

	settle(e, message);
	if (message >= 0)
		settle_until(e, message);
	/*
	 * An encoder may stop without a message with EVCODE 4. The next message with SYNC 5 is then
	 * the first sign of the stop.
	 */
	if (message >= 0 && e->undeclared) {
		item = add_item(e, X_STOP, message);
		item->reason = 4;
		item->any_addr = true;
	}
	e->undeclared = false;
	hist_reset(e);
	e->bits_sent = e->bits;
	icnt_reset(e);
	if (!e->opt->dev_stack || out->sync == 7)
		stack_reset(e);
	e->last_valid = e->disabled = false;
	e->self = e->sync_due = 0;
	e->ref = out->addr;
	open_range(e, out->addr);
	if (message >= 0) {
		item = add_item(e, X_SYNC, message);
		item->addr = out->addr;
		item->reason = out->sync;
		item->restart = restart || !e->started;
		e->started = true;
	}
	encoder_context(e, true, true);
}

/* Choose the message with SYNC to send in straight code, or at the start of trace. */
static void choose_sync(struct encoder *e, struct out *out, bool plain)
{
	out->tcode = T_PROG_TRACE_SYNC;
	if (e->opt->htm && e->hist_len && !rng_percent(&e->rng, e->opt->hist_first) &&
	    !(plain && e->last_kind == K_CUSTOM)) {
		flush_hrep(e);
		out->tcode = T_INDIRECT_BRANCH_HIST_SYNC;
		out->hist = e->hist;
		return;
	}
	flush_hist(e);
	flush_hrep(e);
	if (!e->opt->sync_any || plain)
		return;
	switch (rng_below(&e->rng, 4)) {
	case 1:
		if (!e->opt->htm && e->opt->sync_direct)
			out->tcode = T_DIRECT_BRANCH_SYNC;
		break;
	case 2:
		out->tcode = T_INDIRECT_BRANCH_SYNC;
		break;
	case 3:
		if (e->opt->htm)
			out->tcode = T_INDIRECT_BRANCH_HIST_SYNC;
		out->hist = 1;
		break;
	}
}

void encoder_sync(struct encoder *e, uint8_t sync, uint64_t pc)
{
	struct out out = { .sync = sync, .addr = pc };
	int message;

	if (!e->on)
		return;
	flush_repeat(e);
	/* after a custom instruction, IndirectBranchSync would mean that the instruction has jumped */
	choose_sync(e, &out, e->last_kind == K_CUSTOM || (e->any_taken && !e->open.insns));
	out.icnt = e->icnt;
	close_linear(e);
	if (e->pending.n)
		e->pending.v[e->pending.n - 1].any |= ANY_INFERRED |
			(e->any_taken && !e->opt->htm ? ANY_TAKEN : 0);
	message = send(e, &out);
	after_sync(e, &out, message, false);
}

void encoder_start(struct encoder *e, uint8_t sync, uint64_t pc)
{
	struct out out = { .tcode = T_PROG_TRACE_SYNC, .sync = sync, .addr = pc };

	e->on = true;
	e->btm_hist = 0;
	e->pending.n = 0;
	e->repeated.n = 0;
	e->repeat_count = e->hrep_count = e->self_count = 0;
	hist_reset(e);
	e->icnt = 0;
	e->last_kind = K_LINEAR;
	e->any_taken = false;
	open_range(e, pc);
	if (sync == 7 && e->opt->overrun_stale && rng_percent(&e->rng, 60)) {
		/*
		 * Report the restart by the SYNC of a branch message. Its I-CNT and HIST also report code
		 * whose messages were lost, so a decoder must ignore them
		 */
		out.icnt = rng_below(&e->rng, 500);
		out.hist = rng_range(&e->rng, 1, 0xffff);
		if (e->opt->htm)
			out.tcode = rng_percent(&e->rng, 70) ? T_INDIRECT_BRANCH_HIST_SYNC :
							       T_INDIRECT_BRANCH_SYNC;
		else
			out.tcode = rng_percent(&e->rng, 50) ? T_INDIRECT_BRANCH_SYNC :
							       T_DIRECT_BRANCH_SYNC;
		out.btype = out.tcode == T_DIRECT_BRANCH_SYNC ? 0 :
			    rng_percent(&e->rng, 30) ? (e->opt->btype1 ? 1 : 2) : 0;
	}
	after_sync(e, &out, send(e, &out), true);
}

/*
 * Report a reset with SYNC 1 or 9. I-CNT and HIST belong to the code before the reset. F-ADDR is the
 * address after the reset.
 */
void encoder_reset(struct encoder *e, uint8_t sync, uint64_t pc)
{
	struct out out = { .sync = sync, .addr = pc };
	int message;

	flush_repeat(e);
	choose_sync(e, &out, true);
	out.icnt = e->icnt;
	close_linear(e);
	if (e->pending.n)
		e->pending.v[e->pending.n - 1].any |= ANY_INFERRED | ANY_DEST;
	message = send(e, &out);
	e->last_kind = K_LINEAR;
	e->any_taken = false;
	after_sync(e, &out, message, true);
}

/* ------------------------------------------------------------- branch messages */

static void to_sync(struct encoder *e, struct out *out)
{
	struct xrange *range = &e->pending.v[e->pending.n - 1];

	range->any |= ANY_INFERRED;
	/*
	 * the message does not show whether the custom instruction jumped, because its target is the next instruction
	 */
	if (e->last_kind == K_CUSTOM && range->dest == range->end)
		range->any |= ANY_HOW;
	out->sync = e->sync_due - 1;
	if (e->opt->dev_xret && e->last_kind == K_XRET)
		out->btype = 3;
	if (out->tcode == T_DIRECT_BRANCH)
		out->tcode = T_DIRECT_BRANCH_SYNC;
	else if (out->tcode == T_INDIRECT_BRANCH)
		out->tcode = T_INDIRECT_BRANCH_SYNC;
	else
		out->tcode = T_INDIRECT_BRANCH_HIST_SYNC;
}

static bool is_repeated(const struct encoder *e, const struct out *out)
{
	bool direct = out->tcode == T_DIRECT_BRANCH;

	return e->opt->repeat && e->last_valid && !e->hrep_count &&
	       e->last.tcode == out->tcode && e->last.btype == out->btype &&
	       e->last.icnt == out->icnt && e->last.hist == out->hist &&
	       (e->last.addr == out->addr || (direct && e->opt->repeat_loose));
}

static void count_repeat(struct encoder *e)
{
	size_t i;

	for (i = 0; i < e->pending.n; i++)
		VEC_ADD(&e->repeated) = e->pending.v[i];
	e->pending.n = 0;
	if (++e->repeat_count >= e->opt->bcnt_max)
		flush_repeat(e);
}

/* Send a branch message. The range that the branch ends must already be complete. */
static void send_branch(struct encoder *e, struct out *out)
{
	int message;

	out->icnt = e->icnt;
	if (out->tcode == T_INDIRECT_BRANCH && e->opt->htm &&
	    (e->hist_len || !rng_percent(&e->rng, e->opt->ib_empty))) {
		out->tcode = T_INDIRECT_BRANCH_HIST;
		out->hist = e->hist;
	}
	if (!e->sync_due && is_repeated(e, out)) {
		count_repeat(e);
	} else {
		flush_repeat(e);
		flush_hrep(e);
		if (e->sync_due) {
			to_sync(e, out);
			after_sync(e, out, send(e, out), false);
			return;
		}
		message = send(e, out);
		settle(e, message);
		e->last_valid = message >= 0;
		e->last.tcode = out->tcode;
		e->last.btype = out->btype;
		e->last.icnt = out->icnt;
		e->last.hist = out->hist;
		e->last.addr = out->addr;
	}
	if (out->tcode != T_DIRECT_BRANCH)
		e->ref = out->addr;
	hist_reset(e);
	e->bits_sent = e->bits;
	icnt_reset(e);
}

static void send_direct(struct encoder *e, uint64_t target)
{
	struct out out = { .tcode = T_DIRECT_BRANCH, .addr = target };

	send_branch(e, &out);
}

static void send_indirect(struct encoder *e, uint8_t btype, uint64_t target)
{
	struct out out = { .tcode = T_INDIRECT_BRANCH, .btype = btype, .addr = target };

	send_branch(e, &out);
}

/* ----------------------------------------------------- execution by the hart */

static void count(struct encoder *e, const struct insn *insn)
{
	if (e->opt->icnt_before && e->icnt + insn->length / 2 >= (1U << e->opt->icnt_bits) - 32)
		send_icnt(e);
	e->icnt += insn->length / 2;
	e->open.insns++;
	e->open.last = insn->addr;
	e->open.end = insn->addr + insn->length;
}

/*
 * Update the return stack as table "Handling of 4-bit itype values" demands. Return true if @insn pops an
 * address that equals @next.
 */
static bool stack_action(struct encoder *e, const struct insn *insn, uint64_t next)
{
	bool fits = false;

	if (insn->kind == K_RETURN || insn->kind == K_SWAP)
		fits = stack_pop(e, next);
	if (insn->kind == K_CALL || insn->kind == K_ICALL || insn->kind == K_SWAP)
		stack_push(e, insn->addr + insn->length);
	return fits;
}

/*
 * Return true if the jump @insn is the second instruction of a pair (chapter 9.1), and its message also
 * counts the first instruction.
 */
static bool is_sequential(struct encoder *e, const struct insn *insn)
{
	return e->opt->seq && insn->paired && e->const_reg == insn->rs1 &&
	       !rng_percent(&e->rng, e->opt->seq_told);
}

/*
 * If SYNC is due in HTM, some encoders report a branch, jump or call by a message with SYNC, and do not add the branch
 * to HIST. Return true if the encoder does so.
 */
static bool retire_by_sync(struct encoder *e, const struct insn *insn, uint64_t next, bool taken)
{
	struct out out = { .tcode = T_DIRECT_BRANCH_SYNC, .addr = next };
	bool direct = e->opt->dev_direct && (!e->opt->dev_bit || rng_percent(&e->rng, 50));

	if (!e->opt->htm || !e->sync_due || !(e->opt->dev_direct || e->opt->dev_bit))
		return false;
	if (insn->kind != K_BRANCH)
		stack_action(e, insn, next);
	close_range(e, how_of(insn), next, taken, false);
	e->pending.v[e->pending.n - 1].any |= ANY_INFERRED |
		(insn->kind == K_BRANCH && next == insn->addr + insn->length ? ANY_TAKEN : 0);
	e->any_taken = false;
	flush_repeat(e);
	if (direct)
		flush_hist(e);
	flush_hrep(e);
	if (!direct)
		out.tcode = e->hist_len || rng_percent(&e->rng, 50) ? T_INDIRECT_BRANCH_HIST_SYNC :
			T_INDIRECT_BRANCH_SYNC;
	out.sync = e->sync_due - 1;
	out.icnt = e->icnt;
	out.hist = e->hist;
	after_sync(e, &out, send(e, &out), false);
	return true;
}

static void retire_branch(struct encoder *e, const struct insn *insn, uint64_t next, bool taken)
{
	bool any = insn->kind == K_BRANCH && !e->opt->htm && !taken &&
		   next == insn->addr + insn->length;

	if (retire_by_sync(e, insn, next, taken))
		return;
	if (e->opt->htm)
		add_bit(e, taken);
	if (insn->kind != K_BRANCH)
		stack_action(e, insn, next);
	close_range(e, how_of(insn), next, taken, false);
	e->any_taken = any;
	if (e->opt->htm)
		hist_full(e);
	else if (taken)
		send_direct(e, next);
}

static void retire_indirect(struct encoder *e, const struct insn *insn, uint64_t next)
{
	bool sequential = is_sequential(e, insn);
	bool inferred = stack_action(e, insn, next) || sequential;

	close_range(e, how_of(insn), next, true, inferred);
	if (!inferred)
		send_indirect(e, 0, next);
}

/* If a branch to itself executes again, only count this execution, and return true. */
static bool repeats_itself(struct encoder *e, const struct insn *insn, uint64_t next)
{
	if (!e->self || e->self != insn->addr || next != insn->addr || e->sync_due || e->overrun) {
		flush_self(e);
		return false;
	}
	e->open.insns++;
	e->open.last = insn->addr;
	e->open.end = insn->addr + insn->length;
	close_range(e, X_BRANCH, next, true, false);
	if (++e->self_count == 200000)
		flush_self(e);
	return true;
}

void encoder_retire(struct encoder *e, const struct insn *insn, uint64_t next, bool taken)
{
	uint32_t const_reg = insn->kind == K_CONST ? insn->rd : 0;

	if (!e->on || repeats_itself(e, insn, next))
		return;
	if (e->btm_hist == 0)
		e->btm_hist = insn->kind == K_BRANCH ? 2 + taken : 1;
	count(e, insn);
	/*
	 * If a decoder does not know the format of an instruction, it must assume that the
	 * instruction may have jumped
	 */
	e->last_kind = insn->form == FORM_LONG ? K_CUSTOM : insn->kind;
	e->any_taken = false;
	switch (insn->kind) {
	case K_BRANCH:
		retire_branch(e, insn, next, taken);
		break;
	case K_JUMP: case K_CALL:
		if (e->opt->all_jumps) {
			retire_branch(e, insn, next, true);
		} else if (!retire_by_sync(e, insn, next, true)) {
			stack_action(e, insn, next);
			close_range(e, how_of(insn), next, true, false);
		}
		break;
	case K_CUSTOM:
		if (!taken)
			break;
		/* fall through */
	case K_IJUMP: case K_ICALL: case K_RETURN: case K_SWAP: case K_XRET:
		retire_indirect(e, insn, next);
		break;
	}
	e->const_reg = const_reg;
	if (!e->opt->icnt_before)
		icnt_full(e);
	e->self = e->opt->dev_self && e->opt->htm && insn->kind == K_BRANCH && next == insn->addr ? next : 0;
}

/* Retire an indirect jump whose target is unknown, because trace stops after it, or a reset follows. */
void encoder_retire_unknown(struct encoder *e, const struct insn *insn)
{
	if (!e->on)
		return;
	flush_self(e);
	count(e, insn);
	e->last_kind = insn->kind;
	close_range(e, how_of(insn), 0, true, false);
	e->pending.v[e->pending.n - 1].has_dest = false;
	e->const_reg = 0;
}

void encoder_trap(struct encoder *e, uint64_t pc, uint64_t handler, bool interrupt)
{
	uint8_t btype = e->opt->btype1 ? 1 : interrupt ? 3 : 2;
	static const uint8_t how[] = { 0, X_TRAP, X_EXCEPTION, X_INTERRUPT };

	if (!e->on) {
		/* some encoders report a trap even while trace is stopped, and a decoder must skip this message */
		if (e->opt->dev_gap && e->disabled)
			send(e, &(struct out){ .tcode = e->opt->htm ? T_INDIRECT_BRANCH_HIST : T_INDIRECT_BRANCH,
					       .btype = btype, .hist = 1, .addr = handler });
		return;
	}
	flush_self(e);
	if (!e->open.insns)
		open_range(e, pc);
	/* in BTM, the trap implies that the branch before it was not taken */
	close_range(e, how[btype], handler, true, false);
	e->last_kind = K_LINEAR;
	e->any_taken = false;
	send_indirect(e, btype, handler);
}

/*
 * Stop trace. If @quiet, do not send ProgTraceCorrelation, so that a decoder does not know the code
 * that was executed since the last message.
 */
void encoder_stop(struct encoder *e, uint8_t evcode, uint64_t pc, bool quiet)
{
	struct out out = { .tcode = T_PROG_TRACE_CORRELATION, .code = evcode };
	struct xitem *item;
	int message;

	flush_repeat(e);
	if (!quiet)
		flush_hrep(e);
	e->hrep_count = 0;
	out.cdf = out.has_cdata = e->opt->htm ? !(e->opt->stop_cdf0 && !e->hist_len) : e->opt->dev_hist;
	out.icnt = e->icnt;
	out.hist = e->opt->htm ? e->hist : e->btm_hist ? e->btm_hist : 1;
	if (quiet || evcode == 4)
		stack_reset(e);
	e->undeclared = quiet && e->started;
	e->on = e->started = false;
	if (quiet) {
		settle_lost(e);
		return;
	}
	close_linear(e);
	if (e->pending.n && !e->pending.v[e->pending.n - 1].has_dest)
		pc = 0;
	message = send(e, &out);
	settle(e, message);
	if (message < 0)
		return;
	e->disabled = evcode == 4;
	item = add_item(e, X_STOP, message);
	item->reason = evcode;
	item->has_addr = pc;
	item->addr = pc;
}

/* Send the messages of rows "Trace starts disabled" and "Hart halted with trace disabled" in tables "Corner Cases" */
void encoder_disabled(struct encoder *e, uint8_t evcode)
{
	struct out out = {
		.tcode = T_PROG_TRACE_CORRELATION, .code = evcode, .hist = 1,
		.cdf = e->opt->htm, .has_cdata = e->opt->htm,
	};
	int message;

	if (e->on)
		return;
	message = send(e, &out);
	if (message >= 0)
		add_item(e, X_STOP, message)->reason = evcode;
}

/* ------------------------------------------------------------------ other messages */

static uint8_t foreign_tcode(struct encoder *e)
{
	static const uint8_t reserved[] = { 0, 1, 5, 6, 7, 10, 13, 20, 26, 31, 32, 34, 55, 63 };

	if (rng_percent(&e->rng, 60))
		return rng_range(&e->rng, 56, 62);
	return reserved[rng_below(&e->rng, sizeof(reserved))];
}

/* Send a vendor-defined or reserved message with random fields */
void encoder_vendor(struct encoder *e)
{
	uint32_t bytes = rng_range(&e->rng, 1, e->opt->vendor_bytes);
	/*
	 * Chapter 3 allows "Custom messages" of any length, but does not mention reserved messages.
	 * Therefore a long message has the TCODE of a custom message
	 */
	uint8_t tcode = bytes > 30 ? rng_range(&e->rng, 56, 62) : foreign_tcode(e);
	struct pack pack = { .n = 0 };
	struct message *message;
	struct xitem *item;
	bool has_time = false;

	if (e->overrun)
		return;
	if (rng_percent(&e->rng, 50))
		flush_repeat(e);
	pack_fixed(&pack, tcode, 6);
	pack_fixed(&pack, e->src, e->opt->src_bits);
	while (pack.n < bytes + 2) {
		pack_fixed(&pack, rng_next(&e->rng), 6);
		if (rng_percent(&e->rng, 30))
			pack_end_field(&pack);
	}
	pack_end_field(&pack);
	/* a decoder does not know if the last field of this message is a timestamp */
	if (e->opt->ts)
		e->time_sure = false;
	if (e->opt->vendor_ts)
		has_time = put_time(e, &pack, false);
	message = add_message(e, &pack, tcode, has_time);
	item = add_item(e, X_SKIPPED, e->messages.n - 1);
	item->reason = tcode;
	item->value = message->length;
}

void encoder_overrun(struct encoder *e)
{
	e->overrun = true;
}

/* Report lost messages when the FIFO has room again (chapter 7.4). */
void encoder_error(struct encoder *e)
{
	static const uint8_t ecodes[] = { 0, 4, 12, 4, 132 };
	struct out out = { .tcode = T_ERROR };
	struct xitem *item;
	int message;

	e->overrun = e->lost = false;
	out.value = ecodes[rng_below(&e->rng, sizeof(ecodes))];
	if (e->opt->error_vendor && rng_percent(&e->rng, 50))
		out.code = rng_range(&e->rng, 8, 15);
	/* the next timestamp may be relative to the last sent or to the last lost timestamp */
	e->time_sure = false;
	message = send(e, &out);
	settle_lost(e);
	settle_until(e, message);
	/* An Ownership message may be lost, so a decoder no longer knows the context */
	e->reported = (struct xcontext){ 0 };
	e->messages.v[message].context = e->reported;
	e->repeated.n = 0;
	e->repeat_count = e->hrep_count = e->self_count = 0;
	e->last_valid = e->started = e->undeclared = e->disabled = false;
	item = add_item(e, X_LOST, message);
	item->reason = out.code;
	item->value = out.value;
}

/* End the stream, even if code was not reported */
void encoder_end(struct encoder *e)
{
	settle_lost(e);
	settle_until(e, e->messages.n);
}

void encoder_recover(struct encoder *e, uint64_t pc)
{
	encoder_error(e);
	encoder_start(e, 7, pc);
}

void encoder_init(struct encoder *e, const struct options *opt, uint64_t seed, uint32_t hart,
		  uint64_t *now)
{
	memset(e, 0, sizeof(*e));
	e->opt = opt;
	e->rng = rng_new(seed, 200 + hart);
	e->now = now;
	hist_reset(e);
}

void encoder_free(struct encoder *e)
{
	free(e->bytes.v);
	free(e->messages.v);
	free(e->ranges.v);
	free(e->items.v);
	free(e->pending.v);
	free(e->repeated.v);
}
