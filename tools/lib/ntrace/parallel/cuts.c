// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Find the places at which a buffer can be split for several threads, and the state of the trace
 * source there. The file cuts.h explains cuts, cells, effects and chaining.
 */
#include "cuts.h"
#include "../dialect.h"
#include "../plain.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include "../state.h"

/* Maximum number of messages after a message with SYNC that are examined for the trace mode */
#define MAX_AHEAD	16

#define MODE_BIT(mode)	(1u << (mode))
#define BLOCK		64

#define BOTH_MODES	(MODE_BIT(NT_MODE_BTM) | MODE_BIT(NT_MODE_HTM))

/*
 * The scan of a part of the buffer (cell) skips messages that change neither context nor time. The
 * first byte of these messages has one of NR_BORING values. The MSEO of this byte is 00, because
 * more fields follow the TCODE.
 */
#define NR_BORING	5

struct scan {
	const struct nt_cuts	*cuts;
	struct nt_cell		*cell;
	/*
	 * changes of the context and the time by all messages that were already scanned; the scan
	 * adds the changes by each further message
	 */
	struct nt_effect	*effect;
	/*
	 * search for a message with SYNC at which decoding can begin; false for the first cell,
	 * because its decoding begins at the start of the buffer
	 */
	bool			may_cut;
	bool			all;		/* scan every message, because any message may change context or time */
	uint32_t		src_mask;	/* mask of SRC in bytes 1 and 2 of a message; 0 if SRC is not checked */
	/* SRC of the messages of the scanned cell (a part of the buffer), at the bit positions of @src_mask */
	uint32_t		src_bytes;
	uint8_t			boring[NR_BORING];	/* first bytes of messages to skip */
};

void nt_cuts_init(struct nt_cuts *cuts, const struct nt_config *config, const uint8_t *data,
		  size_t size, unsigned int threads)
{
	unsigned int bits = config->tstamp_bits;
	size_t many = (size_t)threads * NT_MANY_CELLS;

	cuts->config = *config;
	cuts->data = data;
	cuts->size = size;
	cuts->cell_size = NT_CELL_SIZE;
	while (size / cuts->cell_size >= (cuts->cell_size < NT_LARGE_CELL_SIZE ? many : NT_MAX_CELLS))
		cuts->cell_size *= 2;
	cuts->nr_cells = (size + cuts->cell_size - 1) / cuts->cell_size;
	cuts->chains_time = config->timestamp && bits && bits < 64;
	cuts->keeps_stack = config->return_depth &&
		nt_deviations_accepted(config) & NT_DEV_BIT(NT_DEV_STACK_OVER_SYNC);
}

size_t nt_cuts_offset(const struct nt_cuts *cuts, size_t number)
{
	return number < cuts->nr_cells ? number * cuts->cell_size : cuts->size;
}

/* ---- scan of one cell for a message at which decoding can begin ---- */

static bool cuts_is_ours(const struct nt_cuts *cuts, const struct nt_message *msg)
{
	return cuts->config.src_id == NT_SRC_ANY || msg->src == cuts->config.src_id;
}

/*
 * Return true if the messages after a message with SYNC, which ends at offset @at, show the trace
 * mode. Then the next message that reports instructions exists in one mode only.
 */
static bool scan_is_mode_clear(const struct scan *scan, size_t at)
{
	const struct nt_cuts *cuts = scan->cuts;
	struct nt_message msg;
	unsigned int i;

	if (cuts->config.mode != NT_MODE_AUTO)
		return true;
	for (i = 0; i < MAX_AHEAD; i++) {
		if (nt_message_parse(&cuts->config, cuts->data + at, cuts->size - at, &msg) != 1)
			return false;
		at += msg.offset + msg.length;
		if (!cuts_is_ours(cuts, &msg))
			continue;
		if (msg.tcode == NT_TCODE_ERROR)
			return false;
		if (!(NT_BRANCH_TCODES >> msg.tcode & 1))
			continue;
		/*
		 * Record the mode in this cell (part of the buffer) even if the message that shows
		 * it is in the next cell.
		 */
		scan->cell->modes |= MODE_BIT(nt_message_mode(&msg));
		return nt_message_shows_mode(&msg);
	}
	return false;
}

/*
 * Return true if decoding can begin after @msg. If the messages after @msg do not show the trace mode, earlier
 * messages must show it. Otherwise trace must have stopped, because then even a flow that decodes all messages does
 * not know the mode. Earlier cells may show it, but these cells are not known yet.
 */
static bool scan_is_cut(const struct scan *scan, size_t at, const struct nt_message *msg)
{
	const struct nt_config *config = &scan->cuts->config;
	struct nt_cell *cell = scan->cell;

	if (!scan->may_cut || cell->has_cut || !nt_message_is_sync(msg) ||
	    (config->timestamp && !(msg->fields & NT_FIELD_TSTAMP)))
		return false;
	cell->needs_mode = !scan_is_mode_clear(scan, at + msg->length) &&
			   cell->before.mode != NT_EFFECT_STOPS;
	return !cell->needs_mode || cell->before.mode != NT_EFFECT_HIDES;
}

static void scan_add_cut(struct scan *scan, size_t at, const struct nt_message *msg)
{
	struct nt_cell *cell = scan->cell;

	cell->has_cut = true;
	cell->cut_tstamp = msg->tstamp;
	cell->entry = (struct nt_entry){
		.offset = at + msg->length, .addr = msg->addr, .src = msg->src,
		.has_tstamp = scan->cuts->config.timestamp,
	};
	scan->effect = &cell->after;
}

/* Handle an unreadable message. Its TSTAMP is unknown, so the time after the message is unknown. */
static void scan_add_damage(struct scan *scan)
{
	scan->effect->sets_known = true;
	scan->effect->is_known = false;
}

static void scan_add_time(struct scan *scan, const struct nt_message *msg)
{
	const struct nt_config *config = &scan->cuts->config;
	struct nt_effect *effect = scan->effect;
	bool is_known = true;

	if (effect->has_sync) {
		nt_time_update(config, msg, &effect->tstamp, &effect->is_known);
	} else if (!nt_time_is_absolute(msg)) {
		if (!effect->sets_known)
			nt_time_update(config, msg, &effect->delta, &is_known);
	} else if (msg->fields & NT_FIELD_TSTAMP) {
		effect->has_sync = true;
		effect->sets_known = true;
		effect->is_known = true;
		effect->sync = msg->tstamp;
		effect->tstamp = nt_time_sync(config, 0, msg->tstamp);
	}
}

static void scan_add_effect(struct scan *scan, const struct nt_message *msg)
{
	struct nt_effect *effect = scan->effect;

	if (nt_message_is_sync(msg) && effect->mode == NT_EFFECT_STOPS)
		effect->mode = NT_EFFECT_HIDES;
	if (NT_TIMED_TCODES >> msg->tcode & 1)
		scan_add_time(scan, msg);
	if (msg->tcode == NT_TCODE_OWNERSHIP)
		nt_context_update(&effect->context, msg);
	if (msg->tcode == NT_TCODE_ERROR) {
		nt_context_lose(&effect->context, msg);
		effect->loses_context |= nt_error_loses_context(msg);
	}
}

/*
 * Record the mode of @msg, so that the scan can skip other messages that show the same mode. After
 * ProgTraceCorrelation, no message is skipped until one shows the mode again. A trap may be reported
 * while trace is disabled (NT_DEV_TRAP_IN_GAP), so its message does not count.
 */
static void scan_add_mode(struct scan *scan, const struct nt_message *msg)
{
	scan->cell->modes |= MODE_BIT(nt_message_mode(msg));
	if (msg->tcode == NT_TCODE_PROG_TRACE_CORRELATION && !nt_message_has_others(msg)) {
		scan->effect->mode = NT_EFFECT_STOPS;
		memset(scan->boring + 2, IDLE_BYTE, NR_BORING - 2);
	}
	if (!nt_message_shows_mode(msg))
		return;
	if (msg->btype != NT_BTYPE_INDIRECT) {
		if (scan->effect->mode == NT_EFFECT_STOPS)
			scan->effect->mode = NT_EFFECT_HIDES;
		return;
	}
	scan->effect->mode = NT_EFFECT_SHOWS;
	if (scan->cell->modes & MODE_BIT(NT_MODE_BTM))
		scan->boring[2] = NT_TCODE_DIRECT_BRANCH << 2;
	if (scan->cell->modes & MODE_BIT(NT_MODE_HTM)) {
		scan->boring[3] = NT_TCODE_INDIRECT_BRANCH_HIST << 2;
		scan->boring[4] = NT_TCODE_RESOURCE_FULL << 2;
	}
}

/* Return SRC at its position in bytes 1 and 2 of a message. Byte 0 has only TCODE and MSEO (chapter 3). */
static uint32_t cuts_place_src(uint32_t src)
{
	return (src & 0x3f) << 2 | src >> 6 << 10;
}

static void scan_add_source(struct scan *scan, const struct nt_message *msg)
{
	uint32_t src = msg->src;

	if (scan->cell->src < 0) {
		scan->cell->src = src;
		scan->src_bytes = cuts_place_src(src) & scan->src_mask;
	} else if (src != (uint32_t)scan->cell->src) {
		scan->cell->must_join = true;
	}
}

/* Scan the message at @at. */
static void scan_message(struct scan *scan, size_t at)
{
	const struct nt_cuts *cuts = scan->cuts;
	struct nt_message msg;
	int ret = nt_message_parse(&cuts->config, cuts->data + at, cuts->size - at, &msg);

	if (ret < 0)
		scan_add_damage(scan);
	if (ret != 1 || !cuts_is_ours(cuts, &msg))
		return;
	if (msg.fields & NT_FIELD_CKSRC)
		scan->cell->must_join = true;
	scan_add_source(scan, &msg);
	scan_add_mode(scan, &msg);
	if (scan_is_cut(scan, at, &msg))
		scan_add_cut(scan, at, &msg);
	else
		scan_add_effect(scan, &msg);
}

static bool scan_is_boring(const struct scan *scan, uint8_t byte)
{
	unsigned int i;

	for (i = 0; i < NR_BORING; i++)
		if (byte == scan->boring[i])
			return true;
	return false;
}

/*
 * Return true if the message at @p has the SRC of the cell's source. SRC is in the two bytes after
 * the first byte of the message. These bytes may be beyond the end of the buffer.
 */
static bool scan_is_of_source(const struct scan *scan, const uint8_t *p)
{
	const uint8_t *end = scan->cuts->data + scan->cuts->size;

	return end - p > 2 && (load16(p + 1) & scan->src_mask) == scan->src_bytes;
}

/*
 * Return true if a message that may change context, time or mode begins at @p. @p is not the first
 * byte of the buffer.
 */
static bool scan_is_news(const struct scan *scan, const uint8_t *p)
{
	if (mseo(p[-1]) != MSEO_END || p[0] == IDLE_BYTE)
		return false;
	return scan->all || !scan_is_boring(scan, p[0]) || !scan_is_of_source(scan, p);
}

#if defined(__x86_64__)
/*
 * Return the offset of the first block of 64 bytes from @at that may contain a message with an
 * effect on context, time or mode. Stop before a block that does not fit before @end. All messages
 * must be from one source.
 */
__attribute__((target("avx2")))
static size_t scan_find_news_avx2(const struct scan *scan, size_t at, size_t end)
{
	const __m256i msg_end = _mm256_set1_epi8(MSEO_END);
	__m256i known[NR_BORING];
	unsigned int i, k;

	for (k = 0; k < NR_BORING; k++)
		known[k] = _mm256_set1_epi8(scan->boring[k]);
	for (; at + BLOCK <= end; at += BLOCK) {
		__m256i news = _mm256_setzero_si256();

		for (i = 0; i < BLOCK; i += 32) {
			const uint8_t *p = scan->cuts->data + at + i;
			__m256i v = _mm256_loadu_si256((const __m256i *)p);
			__m256i before = _mm256_loadu_si256((const __m256i *)(p - 1));
			__m256i starts = _mm256_cmpeq_epi8(_mm256_and_si256(before, msg_end),
							   msg_end);
			__m256i boring = _mm256_cmpeq_epi8(v, _mm256_set1_epi8(-1));

			for (k = 0; k < NR_BORING; k++)
				boring = _mm256_or_si256(boring, _mm256_cmpeq_epi8(v, known[k]));
			news = _mm256_or_si256(news, _mm256_andnot_si256(boring, starts));
		}
		if (!_mm256_testz_si256(news, news))
			break;
	}
	return at;
}

static bool cuts_has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}
#else
static size_t scan_find_news_avx2(const struct scan *scan, size_t at, size_t end)
{
	(void)scan;
	(void)end;
	return at;
}

static bool cuts_has_avx2(void)
{
	return false;
}
#endif

/* Scan the messages from @at to @end that may change context, time or mode. */
static void scan_bytes(struct scan *scan, size_t at, size_t end)
{
	for (; at < end; at++)
		if (scan_is_news(scan, scan->cuts->data + at))
			scan_message(scan, at);
}

/* Scan the next 64 bytes. */
static void scan_block(struct scan *scan, size_t at)
{
	const uint8_t *p = scan->cuts->data + at;
	unsigned int i;

	for (i = 0; i < BLOCK; i += WINDOW) {
		struct ends ends = plain_find_ends(p + i - 1);
		unsigned int starts = ends.field & ends.high;

		for (; starts; starts &= starts - 1) {
			unsigned int k = i + __builtin_ctz(starts);

			if (scan_is_news(scan, p + k))
				scan_message(scan, at + k);
		}
	}
}

void nt_cuts_scan(const struct nt_cuts *cuts, size_t number, struct nt_cell *cell)
{
	size_t at = nt_cuts_offset(cuts, number), end = nt_cuts_offset(cuts, number + 1);
	struct scan scan = {
		.cuts = cuts, .cell = cell, .effect = &cell->before, .may_cut = number,
		.all = cuts->chains_time,
		.boring = {
			NT_TCODE_INDIRECT_BRANCH << 2, NT_TCODE_REPEAT_BRANCH << 2,
			IDLE_BYTE, IDLE_BYTE, IDLE_BYTE,
		},
	};

	bool fast = !cuts->chains_time && cuts_has_avx2();

	memset(cell, 0, sizeof(*cell));
	cell->src = -1;
	if (cuts->config.src_bits && cuts->config.src_id == NT_SRC_ANY) {
		scan.src_mask = cuts_place_src((1u << cuts->config.src_bits) - 1);
		scan.src_bytes = UINT32_MAX;
		fast = false;
	}
	if (!at && cuts->size && cuts->data[at++] != IDLE_BYTE)
		scan_message(&scan, 0);
	/* The SRC of a message that begins in a block may be in the two bytes after this block. */
	while (at + BLOCK <= end && at + BLOCK + 2 <= cuts->size) {
		size_t next = fast ? scan_find_news_avx2(&scan, at, end) : at;

		if (next != at) {
			at = next;
			continue;
		}
		scan_block(&scan, at);
		at += BLOCK;
	}
	scan_bytes(&scan, at, end);
}

/* ---- state at the end of each cell, from the effects of all cells up to there ---- */

static void chain_apply_context(struct nt_context *context, const struct nt_effect *effect)
{
	const struct nt_context *set = &effect->context;

	if (effect->loses_context)
		memset(context, 0, sizeof(*context));
	if (set->has_priv) {
		context->priv = set->priv;
		context->has_priv = true;
	}
	if (set->has_scontext) {
		context->scontext = set->scontext;
		context->has_scontext = true;
	}
	if (set->has_hcontext) {
		context->hcontext = set->hcontext;
		context->has_hcontext = true;
	}
}

static void chain_apply(const struct nt_cuts *cuts, struct nt_chain *chain,
			const struct nt_effect *effect)
{
	const struct nt_config *config = &cuts->config;

	chain_apply_context(&chain->context, effect);
	if (effect->mode)
		chain->knows_mode = effect->mode == NT_EFFECT_SHOWS;
	if (chain->has_tstamp)
		chain->tstamp += effect->delta;
	if (effect->sets_known)
		chain->has_tstamp = effect->is_known;
	if (!effect->has_sync)
		return;
	/*
	 * The counter of the timestamps may have wrapped before the absolute TSTAMP @effect->sync. The scan
	 * did not know the time before this TSTAMP, so it calculated @effect->tstamp as if the counter had not wrapped.
	 * The earlier time is now known. If it shows that the counter has wrapped, @effect->sync and all later
	 * times are later by the same amount.
	 */
	chain->tstamp = nt_time_sync(config, chain->tstamp, effect->sync) +
			effect->tstamp - nt_time_sync(config, 0, effect->sync);
}

/*
 * Do not divide the rest of the buffer further if one flow must decode all of it. There are five
 * reasons.
 *
 * - The messages belong to two trace modes, and only the code shows which mode is right.
 * - The messages belong to two sources, and SYNC of one source does not reset the other source.
 * - There is in-circuit trace, whose reference address SYNC does not reset.
 * - Timestamps are XORed, so they cannot be added up.
 * - SYNC does not empty the return stack of the encoder.
 */
static void chain_join(const struct nt_cuts *cuts, struct nt_chain *chain,
			const struct nt_cell *cell)
{
	chain->modes |= cell->modes;
	if (cuts->config.mode == NT_MODE_AUTO && (chain->modes & BOTH_MODES) == BOTH_MODES)
		chain->broken = true;
	if (cuts->chains_time && nt_dialect_of(&cuts->config)->xor_time)
		chain->broken = true;
	if (cuts->keeps_stack)
		chain->broken = true;
	if (cell->must_join || (chain->src >= 0 && cell->src >= 0 && chain->src != cell->src))
		chain->broken = true;
	if (cell->src >= 0)
		chain->src = cell->src;
}

bool nt_chain_cell(const struct nt_cuts *cuts, struct nt_chain *chain, struct nt_cell *cell)
{
	bool is_possible;

	chain_join(cuts, chain, cell);
	if (chain->broken)
		return false;
	chain_apply(cuts, chain, &cell->before);
	if (!cell->has_cut)
		return false;
	if (cuts->config.timestamp) {
		chain->tstamp = nt_time_sync(&cuts->config, chain->tstamp, cell->cut_tstamp);
		chain->has_tstamp = true;
	}
	cell->entry.tstamp = chain->tstamp;
	cell->entry.context = chain->context;
	is_possible = !cell->needs_mode || chain->knows_mode;
	if (cell->needs_mode)
		cell->entry.mode = chain->modes & MODE_BIT(NT_MODE_HTM) ? NT_MODE_HTM : NT_MODE_BTM;
	chain_apply(cuts, chain, &cell->after);
	return is_possible;
}
