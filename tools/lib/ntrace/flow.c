// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The public part of the flow, which returns items and batches.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "engine.h"
#include "counts/tally.h"

struct nt_flow *nt_flow_new(const struct nt_config *config, struct nt_image *image)
{
	struct nt_flow *flow = calloc(1, sizeof(*flow));

	if (!flow)
		return NULL;
	if (nt_reader_init(&flow->reader, config)) {
		nt_flow_free(flow);
		errno = EINVAL;
		return NULL;
	}
	flow->config = flow->reader.config;
	flow->dialect = nt_dialect_of(&flow->config);
	flow->accepted = nt_deviations_accepted(&flow->config);
	if (flow->dialect->drops_newest && flow->config.return_depth)
		flow->config.return_full = NT_RETURN_DROP_NEWEST;
	flow->addr_bits = nt_addr_bits(&flow->config);
	flow->is_odd = flow->dialect->is_odd || flow->addr_bits < 64 ||
		flow->config.return_full == NT_RETURN_DROP_NEWEST;
	flow->image = image;
	flow->ranges = flow->own_ranges;
	flow->marks = flow->own_marks;
	flow->nr_sources = 1u << flow->config.src_bits;
	flow->sources = calloc(flow->nr_sources, sizeof(flow->sources[0]));
	if (!flow->sources)
		goto fail;
	if (nt_code_init(&flow->code, &flow->config, image))
		goto fail;
	return flow;
fail:
	nt_flow_free(flow);
	errno = ENOMEM;
	return NULL;
}

/* Return true if all bytes that were fed are decoded, and all items are returned to the caller. */
static bool flow_is_drained(const struct nt_flow *flow)
{
	return flow->reader.data == flow->reader.end && !flow->has_msg && !flow->walk.active &&
	       flow->at >= flow->nr_ranges && flow->at_event >= flow->nr_events;
}

static bool flow_copy_source(struct nt_flow *to, const struct nt_flow *from, uint32_t id)
{
	size_t size = sizeof(struct nt_source) +
		      from->config.return_depth * sizeof(struct nt_return);
	struct nt_source *src;

	if (!from->sources[id])
		return true;
	src = nt_flow_source(to, id);
	if (!src)
		return false;
	memcpy(src, from->sources[id], size);
	/* Forget the copied block indices, because @to numbers its blocks differently from @from. */
	nt_source_forget_blocks(to, src);
	return true;
}

struct nt_flow *nt_flow_clone(const struct nt_flow *flow)
{
	struct nt_flow *clone;
	uint32_t i;

	if (!flow_is_drained(flow)) {
		errno = EBUSY;
		return NULL;
	}
	clone = nt_flow_new(&flow->config, flow->image);
	if (!clone)
		return NULL;
	clone->reader = flow->reader;
	clone->reader.data = NULL;
	clone->reader.end = NULL;
	clone->stats = flow->stats;
	clone->ending = flow->ending;
	for (i = 0; i < flow->nr_sources; i++) {
		if (flow_copy_source(clone, flow, i))
			continue;
		nt_flow_free(clone);
		errno = ENOMEM;
		return NULL;
	}
	return clone;
}

void nt_flow_free(struct nt_flow *flow)
{
	uint32_t i;

	if (!flow)
		return;
	for (i = 0; flow->sources && i < flow->nr_sources; i++)
		free(flow->sources[i]);
	free(flow->sources);
	nt_memo_free(flow->memo);
	nt_tally_free(flow->tally);
	nt_code_exit(&flow->code);
	free(flow);
}

int nt_flow_feed(struct nt_flow *flow, const uint8_t *data, size_t size)
{
	int ret = nt_reader_feed(&flow->reader, data, size);

	if (!ret)
		flow->stats.bytes += size;
	return ret;
}

void nt_flow_end(struct nt_flow *flow)
{
	flow->ending = true;
}

void nt_flow_restart(struct nt_flow *flow, uint64_t offset, bool middle)
{
	uint32_t i;

	nt_reader_seek(&flow->reader, offset, middle);
	flow->ending = false;
	flow->has_msg = false;
	flow->walk.active = false;
	flow->repeat = 0;
	flow->nr_ranges = 0;
	flow->at = 0;
	flow->nr_events = 0;
	flow->at_event = 0;
	for (i = 0; i < flow->nr_sources; i++) {
		struct nt_source *src = flow->sources[i];
		uint64_t tstamp;

		if (!src)
			continue;
		tstamp = src->tstamp;
		memset(src, 0, sizeof(*src));
		src->id = i;
		src->space = -1;
		src->mode = flow->config.mode;
		src->tstamp = tstamp;
	}
}

void nt_flow_set_buffer(struct nt_flow *flow, struct nt_range *ranges)
{
	flow->ranges = ranges ? ranges : flow->own_ranges;
}

int nt_flow_enter(struct nt_flow *flow, const struct nt_entry *entry)
{
	struct nt_source *src = nt_flow_source(flow, entry->src);

	if (!src)
		return NT_E_NOMEM;
	nt_flow_restart(flow, entry->offset, false);
	src->state = NT_STATE_LIVE;
	if (entry->mode)
		src->mode = entry->mode;
	src->pc = entry->addr;
	src->ref = entry->addr;
	src->context = entry->context;
	src->tstamp = entry->tstamp;
	src->has_tstamp = entry->has_tstamp;
	return NT_OK;
}

void nt_flow_stats(const struct nt_flow *flow, struct nt_stats *stats, size_t size)
{
	nt_copy_sized(stats, size, &flow->stats, sizeof(flow->stats));
}

/*
 * Remove all items, which were returned to the caller, and decode more. If @single is set, decode
 * only one message. Return 1 if there are items, 0 if all bytes are used, or an error.
 */
static int flow_refill(struct nt_flow *flow, bool single)
{
	int error;

	flow->nr_ranges = 0;
	flow->nr_marks = 0;
	flow->nr_events = 0;
	flow->has_noted = false;
	flow->at = 0;
	flow->at_mark = 0;
	flow->at_event = 0;
	error = nt_engine_run(flow, single);
	if (flow->nr_ranges || flow->nr_events)
		return 1;
	return error;
}

static int flow_have_items(struct nt_flow *flow, bool single)
{
	if (flow->at < flow->nr_ranges || flow->at_event < flow->nr_events)
		return 1;
	return flow_refill(flow, single);
}

/* Get the destination of the last range of the batch. Return false if it is not known. */
static bool flow_batch_dest(const struct nt_flow *flow, uint64_t *dest)
{
	const struct nt_source *src = flow->batch_src;
	bool live = src->state == NT_STATE_LIVE;

	if (flow->has_noted) {
		*dest = flow->dest;
		return flow->has_dest;
	}
	*dest = live ? src->pc : 0;
	return live;
}

/* Set the time, offset and TCODE of the item for range number nt_flow::at. */
static void flow_set_time(struct nt_flow *flow, struct nt_item *item)
{
	const struct nt_mark *mark = flow->marks;
	uint64_t tstamp = flow->batch_tstamp;
	bool has_tstamp = flow->batch_has_tstamp;

	while (flow->at_mark < flow->nr_marks && mark[flow->at_mark].range <= flow->at)
		flow->at_mark++;
	mark += flow->at_mark;
	if (flow->at_mark) {
		tstamp = mark[-1].tstamp;
		has_tstamp = mark[-1].tstamp_kind != NT_TSTAMP_NONE;
	}
	item->tstamp = has_tstamp ? tstamp : 0;
	item->tstamp_kind = has_tstamp ? NT_TSTAMP_CARRIED : NT_TSTAMP_NONE;
	if (flow->at_mark == flow->nr_marks)
		return;
	item->offset = mark->offset;
	item->tcode = mark->tcode;
	if (flow->at + 1 == mark->range && mark->tstamp_kind) {
		item->tstamp = mark->tstamp;
		item->tstamp_kind = mark->tstamp_kind;
	}
}

static void flow_next_range(struct nt_flow *flow, struct nt_item *item)
{
	const struct nt_range *range = &flow->ranges[flow->at];

	memset(item, 0, sizeof(*item));
	item->type = NT_ITEM_RANGE;
	item->src = flow->batch_src->id;
	item->dialect = flow->config.dialect;
	item->context = flow->batch_context;
	item->space = flow->batch_space;
	flow_set_time(flow, item);
	item->range.start = range->start;
	item->range.end_addr = nt_flow_mask(flow, nt_range_end(range));
	item->range.last_addr = nt_flow_mask(flow, nt_range_end(range) - 2 * range->last_len);
	item->range.insns = range->insns;
	item->range.how = range->how;
	item->range.taken = range->flags & NT_RANGE_TAKEN;
	item->range.inferred = range->flags & NT_RANGE_INFERRED;
	if (++flow->at < flow->nr_ranges) {
		item->range.has_dest = true;
		item->range.dest = range[1].start;
	} else {
		item->range.has_dest = flow_batch_dest(flow, &item->range.dest);
	}
}

int nt_flow_take_item(struct nt_flow *flow, struct nt_item *item)
{
	int ret = flow_have_items(flow, true);

	if (ret <= 0)
		return ret;
	if (flow->at < flow->nr_ranges)
		flow_next_range(flow, item);
	else
		*item = flow->events[flow->at_event++];
	return 1;
}

/*
 * Set the time and the marks of a batch with the ranges that were not yet returned to the caller. Make
 * nt_mark::range relative to the first of these ranges.
 */
static void flow_set_batch_marks(struct nt_flow *flow, struct nt_batch *batch)
{
	struct nt_mark *mark = flow->marks, *end = flow->marks + flow->nr_marks;

	batch->tstamp = flow->batch_has_tstamp ? flow->batch_tstamp : 0;
	batch->tstamp_kind = flow->batch_has_tstamp ? NT_TSTAMP_CARRIED : NT_TSTAMP_NONE;
	for (; mark < end && mark->range <= flow->at && flow->at; mark++) {
		batch->tstamp = mark->tstamp;
		batch->tstamp_kind = mark->tstamp_kind ? NT_TSTAMP_CARRIED : NT_TSTAMP_NONE;
	}
	batch->marks = mark;
	batch->nr_marks = end - mark;
	for (; flow->at && mark < end; mark++)
		mark->range -= flow->at;
}

/* Fill in a batch with all ranges that were not returned. */
static void flow_set_batch(struct nt_flow *flow, struct nt_batch *batch)
{
	flow_set_batch_marks(flow, batch);
	batch->ranges = flow->ranges + flow->at;
	batch->nr = flow->nr_ranges - flow->at;
	batch->src = flow->batch_src->id;
	batch->context = flow->batch_context;
	batch->space = flow->batch_space;
	batch->has_dest = flow_batch_dest(flow, &batch->dest);
	flow->at = flow->nr_ranges;
}

int nt_flow_take_batch(struct nt_flow *flow, struct nt_batch *batch)
{
	int ret = flow_have_items(flow, false);

	if (ret <= 0)
		return ret;
	memset(batch, 0, sizeof(*batch));
	if (flow->at < flow->nr_ranges) {
		flow_set_batch(flow, batch);
		return 1;
	}
	batch->item = flow->events[flow->at_event++];
	batch->src = batch->item.src;
	batch->context = batch->item.context;
	return 1;
}

/* Count the next range. Unlike flow_next_range(), fill in only the members that counting needs. */
static void flow_count_range(struct nt_flow *flow)
{
	const struct nt_range *range = &flow->ranges[flow->at];
	struct nt_item item;

	item.space = flow->batch_space;
	item.range.start = range->start;
	item.range.end_addr = nt_flow_mask(flow, nt_range_end(range));
	item.range.last_addr = nt_flow_mask(flow, nt_range_end(range) - 2 * range->last_len);
	item.range.insns = range->insns;
	item.range.how = range->how;
	item.range.taken = range->flags & NT_RANGE_TAKEN;
	item.range.has_dest = true;
	if (++flow->at < flow->nr_ranges)
		item.range.dest = range[1].start;
	else
		item.range.has_dest = flow_batch_dest(flow, &item.range.dest);
	nt_counts_put_range(&flow->tally->counts, &item);
}

int nt_flow_count_ranges(struct nt_flow *flow)
{
	size_t nr = flow->nr_ranges - flow->at;

	if (flow->at >= flow->nr_ranges)
		return NT_OK;
	if (nt_counts_reserve(&flow->tally->counts, nr * NT_RANGE_COUNTS))
		return NT_E_NOMEM;
	while (flow->at < flow->nr_ranges)
		flow_count_range(flow);
	flow->at = 0;
	flow->nr_ranges = 0;
	flow->nr_marks = 0;
	return NT_OK;
}

/*
 * Decode and count ranges up to an item that is not a range. Return 1 if there is such an item, 0 if
 * all bytes are used, or NT_E_NOMEM.
 */
static int flow_count(struct nt_flow *flow)
{
	int ret;

	for (;;) {
		if (nt_flow_count_ranges(flow))
			return NT_E_NOMEM;
		if (flow->at_event < flow->nr_events)
			return 1;
		ret = flow_refill(flow, false);
		if (ret <= 0)
			return ret;
	}
}

int nt_flow_take_counted(struct nt_flow *flow, struct nt_item *item)
{
	int ret;

	if (!flow->tally)
		flow->tally = nt_tally_new();
	if (!flow->tally)
		return NT_E_NOMEM;
	flow->counting = true;
	ret = flow_count(flow);
	flow->counting = false;
	if (ret > 0)
		*item = flow->events[flow->at_event++];
	return ret;
}

int nt_counts_take(struct nt_counts *counts, struct nt_flow *flow)
{
	struct nt_counts *from;

	if (!flow->tally)
		return NT_OK;
	from = &flow->tally->counts;
	if (nt_tally_flush(flow->tally, &flow->code) || nt_counts_merge(counts, from))
		return NT_E_NOMEM;
	nt_counts_clear(from);
	return NT_OK;
}

static void flow_add_range(struct text *text, const struct nt_item *item)
{
	nt_text_add(text, "0x%" PRIx64 "..0x%" PRIx64 " %u insn%s, %s", item->range.start,
		    item->range.end_addr, item->range.insns, item->range.insns == 1 ? "" : "s",
		    nt_end_name(item->range.how));
	if (item->range.how == NT_END_BRANCH)
		nt_text_add(text, item->range.taken ? " taken" : " not taken");
	if (item->range.inferred)
		nt_text_add(text, " (inferred)");
	if (!item->range.taken)
		return;
	if (item->range.has_dest)
		nt_text_add(text, " to 0x%" PRIx64, item->range.dest);
	else
		nt_text_add(text, " to an unknown address");
}

static void flow_add_context(struct text *text, const struct nt_context *context)
{
	nt_text_add(text, "context %s", nt_priv_name(context->priv));
	if (context->has_scontext)
		nt_text_add(text, " scontext=0x%" PRIx64, context->scontext);
	if (context->has_hcontext)
		nt_text_add(text, " hcontext=0x%" PRIx64, context->hcontext);
}

static void flow_add_sync(struct text *text, const struct nt_item *item)
{
	nt_text_add(text, "%s at 0x%" PRIx64 ": %s", item->sync.restart ? "start" : "sync",
		    item->sync.addr, nt_dialect_sync_name(item->dialect, item->sync.reason));
	if (item->sync.lost_messages)
		nt_text_add(text,
			    ", %" PRIu64 " messages (%" PRIu64 " bytes) before it not decoded",
			    item->sync.lost_messages, item->sync.lost_bytes);
}

static void flow_add_problem(struct text *text, const struct nt_item *item, const char *what,
			     const struct nt_problem *problem)
{
	nt_text_add(text, "%s %s: %s", what, nt_error_name(problem->code),
		    nt_error_text(problem->code));
	if (problem->has_addr)
		nt_text_add(text, ", at 0x%" PRIx64, problem->addr);
	nt_text_add(text, ", source %u, offset %" PRIu64, item->src, item->offset);
}

static void flow_add_data(struct text *text, const struct nt_item *item)
{
	nt_text_add(text, "data");
	if (item->data.has_id)
		nt_text_add(text, " to 0x%" PRIx64, item->data.id);
	nt_text_add(text, ": 0x%" PRIx64, item->data.value);
}

static void flow_add_trace_event(struct text *text, const struct nt_item *item)
{
	nt_text_add(text, "event: %s", nt_cksrc_name(item->event.source));
	if (item->event.has_addr)
		nt_text_add(text, " at 0x%" PRIx64, item->event.addr);
	if (item->event.has_data)
		nt_text_add(text, item->event.source == NT_CKSRC_CALL ? " to 0x%" PRIx64 :
			    ", 0x%" PRIx64, item->event.data);
}

int nt_item_write(const struct nt_item *item, char *buf, size_t size)
{
	struct text text;

	nt_text_init(&text, buf, size);
	switch (item->type) {
	case NT_ITEM_RANGE:
		flow_add_range(&text, item);
		break;
	case NT_ITEM_SYNC:
		flow_add_sync(&text, item);
		break;
	case NT_ITEM_STOP:
		nt_text_add(&text, item->tcode == NT_TCODE_PROG_TRACE_CORRELATION ?
			    "stop" : "stop without a message");
		if (item->stop.has_addr)
			nt_text_add(&text, " at 0x%" PRIx64, item->stop.addr);
		nt_text_add(&text, ": %s", nt_dialect_evcode_name(item->dialect, item->stop.reason));
		break;
	case NT_ITEM_LOST:
		nt_text_add(&text, "lost messages: %s, ", nt_etype_name(item->lost.etype));
		nt_text_add_ecode(&text, item->lost.ecode);
		break;
	case NT_ITEM_CONTEXT:
		flow_add_context(&text, &item->context);
		break;
	case NT_ITEM_SKIPPED:
		nt_text_add(&text, "skipped message: %s TCODE=%u, %u bytes",
			    nt_tcode_name(item->skipped.tcode), item->skipped.tcode,
			    item->skipped.length);
		break;
	case NT_ITEM_ERROR:
		flow_add_problem(&text, item, "error", &item->error);
		break;
	case NT_ITEM_GAP:
		flow_add_problem(&text, item, "gap", &item->gap);
		break;
	case NT_ITEM_DATA:
		flow_add_data(&text, item);
		break;
	case NT_ITEM_EVENT:
		flow_add_trace_event(&text, item);
		break;
	}
	return nt_text_end(&text);
}
