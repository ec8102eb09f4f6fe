// SPDX-License-Identifier: GPL-2.0-only
/*
 * An encoder of SiFive's pre-ratified messages, for tests.
 */
#include <stdlib.h>
#include <string.h>

#include "encoder.h"

enum {
	OWNERSHIP = 2, DIRECT = 3, INDIRECT = 4, DATA = 7, SYNC = 9, DIRECT_SYNC = 11,
	INDIRECT_SYNC = 12, AUX_WRITE = 23, FULL = 27, HIST = 28, HIST_SYNC = 29, CORRELATION = 33,
	EVENT = 34, EVENT_SYNC = 35,
};

uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1dULL >> 16;
}

static unsigned int pick(struct encoder *e, unsigned int n)
{
	return next_random(&e->random) % n;
}

/* ---- the bytes of one message ---- */

/* A message under construction, with six bits in each byte */
struct message {
	uint64_t	bits;		/* bits that are not yet in @bytes */
	unsigned int	nr_bits;
	uint8_t		bytes[80];
	unsigned int	nr;
};

static void fixed(struct message *m, uint64_t value, unsigned int bits)
{
	m->bits |= value << m->nr_bits;
	m->nr_bits += bits;
	while (m->nr_bits >= 6) {
		m->bytes[m->nr++] = (m->bits & 63) << 2;
		m->bits >>= 6;
		m->nr_bits -= 6;
	}
}

/* Append a variable-length field. Omit the leading zeros of @value, but send at least one bit. */
static void variable(struct message *m, uint64_t value)
{
	unsigned int bits = value ? 64 - __builtin_clzll(value) : 1;

	while (bits) {
		unsigned int n = bits < 32 ? bits : 32;

		fixed(m, value & ((1ULL << n) - 1), n);
		value >>= n;
		bits -= n;
	}
	if (m->nr_bits)
		fixed(m, 0, 6 - m->nr_bits);
	m->bytes[m->nr - 1] |= 1;
}

static void *grow(void *array, size_t *max, size_t nr, size_t size)
{
	if (nr < *max)
		return array;
	*max = nr * 2 + 64;
	array = realloc(array, *max * size);
	if (!array)
		abort();
	return array;
}

static void put(struct stream *stream, const struct message *m)
{
	stream->data = grow(stream->data, &stream->max, stream->size + m->nr + 8, 1);
	memcpy(stream->data + stream->size, m->bytes, m->nr);
	stream->size += m->nr;
}

/* ---- messages ---- */

static struct message begin(struct encoder *e, unsigned int tcode)
{
	struct message m = { .nr = 0 };

	fixed(&m, tcode, 6);
	fixed(&m, e->src, e->setup->src_bits);
	return m;
}

static void end(struct encoder *e, struct message *m, bool sync, unsigned int tcode)
{
	const struct setup *setup = e->setup;
	struct stream *stream = e->stream;
	uint64_t mask = setup->tstamp_bits < 64 ? (1ULL << setup->tstamp_bits) - 1 : ~0ULL;
	bool has_time = setup->timestamp && (sync || !setup->some_timestamps || pick(e, 3));

	e->time += 1 + pick(e, pick(e, 20) ? 40 : 5000);
	if (has_time) {
		variable(m, sync ? e->time & mask : setup->k3 ? e->time - e->sent_time :
			 (e->time ^ e->sent_time) & mask);
		e->sent_time = e->time;
	}
	m->bytes[m->nr - 1] |= 3;
	stream->sent = grow(stream->sent, &stream->max_sent, stream->nr_sent,
			    sizeof(*stream->sent));
	stream->sent[stream->nr_sent++] = (struct sent){ stream->size, e->time, has_time, tcode };
	stream->tcodes[tcode]++;
	put(stream, m);
	e->messages++;
	while (!pick(e, 50)) {
		struct message idle = { .nr = 1, .bytes = { 0xff } };

		put(stream, &idle);
	}
}

/*
 * Append an address that was shifted right with copies of its sign. Omit the leading zeros of a
 * positive address, and send all 66 bits of a negative one.
 */
static void signed_addr(struct message *m, uint64_t addr)
{
	uint64_t value = (int64_t)addr >> 1;

	if (!(addr >> 63)) {
		variable(m, value);
		return;
	}
	fixed(m, value & 0xffffffff, 32);
	fixed(m, value >> 32, 32);
	fixed(m, 3, 2);
	m->bytes[m->nr - 1] |= 1;
}

static uint64_t sent_bits(const struct encoder *e, uint64_t addr)
{
	return (addr & ((1ULL << e->setup->addr_bits) - 1)) >> 1;
}

static void full_addr(struct encoder *e, struct message *m, uint64_t addr)
{
	if (e->setup->k3)
		signed_addr(m, addr);
	else
		variable(m, sent_bits(e, addr));
	e->ref = addr;
}

static void update_addr(struct encoder *e, struct message *m, uint64_t addr)
{
	if (e->setup->k3)
		signed_addr(m, addr ^ e->ref);
	else
		variable(m, sent_bits(e, addr ^ e->ref));
	e->ref = addr;
}

static void resource_full(struct encoder *e, unsigned int rcode, uint64_t data)
{
	struct message m = begin(e, FULL);

	fixed(&m, rcode, 4);
	variable(&m, data);
	e->stream->rcodes[rcode]++;
	end(e, &m, false, FULL);
}

/* ---- branch history ---- */

static void clear_hist(struct encoder *e)
{
	e->hist = 1;
	e->nr_bits = 0;
}

static void flush_run(struct encoder *e)
{
	if (!e->run)
		return;
	resource_full(e, e->run_bit ? 9 : 8, e->run);
	e->run = 0;
}

/* Return true if all bits of HIST are @bit */
static bool is_run(const struct encoder *e, bool bit)
{
	uint64_t ones = (1ULL << e->nr_bits) - 1;

	return (e->hist & ones) == (bit ? ones : 0);
}

static void add_branch(struct encoder *e, bool bit)
{
	const struct setup *setup = e->setup;

	if (e->run && e->run_bit == bit) {
		e->run++;
		return;
	}
	flush_run(e);
	if (e->nr_bits == setup->hist_max) {
		resource_full(e, 1, e->hist);
		clear_hist(e);
	}
	e->hist = e->hist << 1 | bit;
	e->nr_bits++;
	if (setup->run_min && e->nr_bits >= setup->run_min && is_run(e, bit)) {
		e->run = e->nr_bits;
		e->run_bit = bit;
		clear_hist(e);
	}
}

static void add_icnt(struct encoder *e, unsigned int halfwords)
{
	if (e->icnt + halfwords > e->setup->icnt_max) {
		resource_full(e, 0, e->icnt);
		e->icnt = 0;
	}
	e->icnt += halfwords;
}

/* ---- messages that report the executed code ---- */

static void reset(struct encoder *e)
{
	e->icnt = 0;
	clear_hist(e);
	e->run = 0;
	e->calls = 0;
	e->must_sync = false;
	e->messages = 0;
}

/* Send an Ownership message, whose field PROCESS contains the context, the privilege S and the format. */
static void send_context(struct encoder *e, unsigned int format, uint64_t context)
{
	struct message m = begin(e, OWNERSHIP);

	variable(&m, context << 5 | 1 << 2 | format);
	end(e, &m, false, OWNERSHIP);
}

static void send_sync(struct encoder *e, unsigned int tcode, unsigned int sync,
		      unsigned int btype, uint64_t addr)
{
	struct message m;

	flush_run(e);
	if (tcode == HIST_SYNC && e->hist == 1 && pick(e, 2))
		tcode = INDIRECT_SYNC;
	m = begin(e, tcode);
	fixed(&m, sync, 4);
	if (tcode == HIST_SYNC || tcode == INDIRECT_SYNC)
		fixed(&m, btype, 2);
	variable(&m, e->icnt);
	full_addr(e, &m, addr);
	if (tcode == HIST_SYNC)
		variable(&m, e->hist);
	end(e, &m, true, tcode);
	reset(e);
	if (!e->setup->k3)
		return;
	send_context(e, 3, 0);
	send_context(e, 2, 1000 + e->src);
}

static bool sync_is_due(const struct encoder *e)
{
	return e->must_sync || (e->setup->sync_period && e->messages >= e->setup->sync_period);
}

/* Send a jump to an address that the decoder cannot infer */
static void send_indirect(struct encoder *e, unsigned int btype, uint64_t addr)
{
	struct message m;
	unsigned int tcode;

	if (sync_is_due(e)) {
		send_sync(e, e->setup->btm ? INDIRECT_SYNC : HIST_SYNC, 2, btype, addr);
		return;
	}
	flush_run(e);
	tcode = e->setup->btm || e->hist == 1 ? INDIRECT : HIST;
	m = begin(e, tcode);
	fixed(&m, btype, 2);
	variable(&m, e->icnt);
	update_addr(e, &m, addr);
	if (tcode == HIST)
		variable(&m, e->hist);
	end(e, &m, false, tcode);
	e->icnt = 0;
	clear_hist(e);
}

static void send_direct(struct encoder *e, uint64_t addr)
{
	struct message m;

	if (sync_is_due(e)) {
		send_sync(e, DIRECT_SYNC, 2, 0, addr);
		return;
	}
	m = begin(e, DIRECT);
	variable(&m, e->icnt);
	end(e, &m, false, DIRECT);
	e->icnt = 0;
}

/* Add a branch to HIST in HTM. Send a message if a sync is due, or if HIST is full. */
static void branch(struct encoder *e, bool taken, uint64_t next)
{
	bool lacks = !e->run && e->nr_bits == e->setup->hist_max;

	if (!sync_is_due(e) || pick(e, 4)) {
		add_branch(e, taken);
		return;
	}
	if (lacks)
		e->stream->at_branch++;
	else
		add_branch(e, taken);
	send_sync(e, HIST_SYNC, 2, 0, next);
}

static void sync_on_straight_code(struct encoder *e, uint64_t next)
{
	if (!sync_is_due(e) || pick(e, 8))
		return;
	flush_run(e);
	if (e->setup->btm || e->hist == 1)
		send_sync(e, SYNC, pick(e, 2) ? 2 : 6, 0, next);
	else
		send_sync(e, HIST_SYNC, 2, 0, next);
}

static void call(struct encoder *e, uint64_t link)
{
	if (!e->setup->implicit_return)
		return;
	e->top = (e->top + 1) % MAX_CALLS;
	e->links[e->top] = link;
	e->calls += e->calls < MAX_CALLS;
}

/*
 * Return true if a return needs no message. A swap (jalr t0, ra) is also a return. The hardware only
 * counts calls, and does not store return addresses. Therefore it also sends no message for a return that
 * does not go to the address after its call, and the trace is wrong. To avoid this, users set a trigger
 * that sends a SYNC at this return. Here, @must_sync makes the encoder send this SYNC.
 */
static bool is_implicit(struct encoder *e, uint64_t next)
{
	uint64_t link = e->links[e->top];

	if (!e->setup->implicit_return || !e->calls)
		return false;
	e->calls--;
	e->top = (e->top + MAX_CALLS - 1) % MAX_CALLS;
	if (link == next)
		return true;
	e->must_sync = true;
	return false;
}

/* ---- messages that do not belong to the flow ---- */

static void add_extra(struct encoder *e, struct extra extra)
{
	e->extra = grow(e->extra, &e->max_extra, e->nr_extra, sizeof(*e->extra));
	e->extra[e->nr_extra++] = extra;
}

static void send_pair(struct encoder *e, unsigned int tcode)
{
	struct message m = begin(e, tcode);
	uint64_t first = tcode == DATA ? pick(e, 128) : next_random(&e->random) & 0xffffffff;
	uint64_t second = next_random(&e->random) >> pick(e, 40) & 0xffffffff;

	variable(&m, first);
	variable(&m, second);
	add_extra(e, (struct extra){ .first = first, .second = second });
	end(e, &m, false, tcode);
}

static void send_owner(struct encoder *e)
{
	struct message m = begin(e, OWNERSHIP);
	uint64_t value = next_random(&e->random) & 0xffffffff;
	unsigned int format = value & 3, priv = value >> 2 & 7;

	variable(&m, value);
	/*
	 * The library returns Ownership messages with these values of FORMAT and PRV as items.
	 * Ownership messages with other values set the context.
	 */
	if (format == 1 || priv == 2 || priv > 5)
		add_extra(e, (struct extra){ .second = value });
	end(e, &m, false, OWNERSHIP);
}

/*
 * Send an event message, which reports for example a trigger. The address in the next message of the flow
 * is relative to the address in this message.
 */
static void send_event(struct encoder *e, uint64_t pc)
{
	static const uint8_t sources[] = { 0, 8, 9, 10, 11, 13, 14, 15 };
	bool sync = pick(e, 2);
	struct message m = begin(e, sync ? EVENT_SYNC : EVENT);
	struct extra extra = { .is_event = true, .source = sources[pick(e, 8)], .first = pc };
	bool is_code = !extra.source;
	bool two = !is_code && pick(e, 2);

	fixed(&m, extra.source, 4);
	fixed(&m, two, 2);
	if (is_code) {
		extra.second = pick(e, 1000);
		variable(&m, extra.second);
		extra.first = 0;
	} else if (sync) {
		full_addr(e, &m, pc);
	} else {
		update_addr(e, &m, pc);
	}
	if (two && extra.source == 9) {
		extra.second = pc + 2 * pick(e, 1000);
		update_addr(e, &m, extra.second);
	} else if (two) {
		extra.second = pick(e, 1 << 20);
		variable(&m, extra.second);
	}
	add_extra(e, extra);
	end(e, &m, sync, sync ? EVENT_SYNC : EVENT);
}

static void send_extras(struct encoder *e, uint64_t pc)
{
	if (!e->setup->extras || pick(e, 300))
		return;
	switch (pick(e, 4)) {
	case 0:
		send_pair(e, DATA);
		break;
	case 1:
		send_pair(e, AUX_WRITE);
		break;
	case 2:
		send_owner(e);
		break;
	default:
		send_event(e, pc);
	}
}

/* ---- functions that the hart calls when it executes code ---- */

void encoder_start(struct encoder *e, uint64_t pc)
{
	reset(e);
	send_sync(e, SYNC, 5, 0, pc);
}

void encoder_stop(struct encoder *e)
{
	struct message m;
	bool has_hist;

	flush_run(e);
	has_hist = !e->setup->btm && e->hist != 1;
	m = begin(e, CORRELATION);
	fixed(&m, 4, 4);
	fixed(&m, has_hist, 2);
	variable(&m, e->icnt);
	if (has_hist)
		variable(&m, e->hist);
	end(e, &m, false, CORRELATION);
	reset(e);
}

void encoder_retire(struct encoder *e, uint64_t pc, enum kind kind, unsigned int halfwords,
		    bool taken, uint64_t next)
{
	uint64_t link = pc + 2 * halfwords;
	bool btm = e->setup->btm;

	send_extras(e, next);
	add_icnt(e, halfwords);
	switch (kind) {
	case LINEAR:
		sync_on_straight_code(e, next);
		break;
	case BRANCH:
		if (!btm)
			branch(e, taken, next);
		else if (taken)
			send_direct(e, next);
		break;
	case CALL:
		call(e, link);
		/* fall through */
	case JUMP:
		if (btm && !e->setup->k3)
			send_direct(e, next);
		break;
	case INDIRECT_CALL:
		call(e, link);
		send_indirect(e, 0, next);
		break;
	case RETURN:
		if (!is_implicit(e, next))
			send_indirect(e, 0, next);
		break;
	case SWAP:
		if (e->setup->swap_is_call || !is_implicit(e, next)) {
			call(e, link);
			send_indirect(e, 0, next);
		} else {
			call(e, link);
		}
		break;
	default:
		send_indirect(e, 0, next);
	}
}

void encoder_trap(struct encoder *e, uint64_t handler)
{
	send_indirect(e, 1 + !pick(e, 8), handler);
}
