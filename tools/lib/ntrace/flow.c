// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What the caller sees of the flow: items and batches.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "memo.h"

struct nt_flow *nt_flow_new(const struct nt_config *config, struct nt_image *image)
{
	struct nt_flow *flow = calloc(1, sizeof(*flow));

	if (!flow)
		return NULL;
	if (nt_reader_init(&flow->reader, config))
		goto fail;
	flow->config = flow->reader.config;
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
	return NULL;
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

void nt_flow_stats(const struct nt_flow *flow, struct nt_stats *stats, size_t size)
{
	memset(stats, 0, size);
	memcpy(stats, &flow->stats, size < sizeof(*stats) ? size : sizeof(*stats));
}

/* Nothing is left of what was decoded: make room, and decode more. 0: no more bytes */
static int refill(struct nt_flow *flow, bool single)
{
	int error = 0;

	flow->nr_ranges = 0;
	flow->nr_marks = 0;
	flow->nr_events = 0;
	flow->at = 0;
	flow->at_mark = 0;
	flow->at_event = 0;
	nt_engine_run(flow, single, &error);
	if (flow->nr_ranges || flow->nr_events)
		return 1;
	return error;
}

static int have_items(struct nt_flow *flow, bool single)
{
	if (flow->at < flow->nr_ranges || flow->at_event < flow->nr_events)
		return 1;
	return refill(flow, single);
}

/* Where the last range of the batch led to */
static bool batch_dest(const struct nt_flow *flow, uint64_t *dest)
{
	const struct nt_source *src = flow->batch_src;
	const struct nt_item *event = &flow->events[0];

	*dest = src->pc;
	if (!flow->nr_events)
		return src->state == NT_STATE_LIVE;
	switch (event->type) {
	case NT_ITEM_STOP:
		*dest = event->stop.addr;
		return event->stop.has_addr;
	case NT_ITEM_ERROR:
		*dest = flow->error_pc;
		return event->error.has_addr;
	case NT_ITEM_SYNC:
		*dest = event->sync.addr;
		return true;
	}
	return src->state == NT_STATE_LIVE;
}

/* When range number @at was executed */
static void set_time(struct nt_flow *flow, struct nt_item *item)
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
	item->tstamp = tstamp;
	item->tstamp_kind = has_tstamp ? NT_TSTAMP_CARRIED : NT_TSTAMP_NONE;
	if (flow->at_mark == flow->nr_marks)
		return;
	item->offset = mark->offset;
	item->tcode = mark->tcode;
	if (flow->at + 1 == mark->range && mark->tstamp_kind == NT_TSTAMP_EXACT) {
		item->tstamp = mark->tstamp;
		item->tstamp_kind = NT_TSTAMP_EXACT;
	}
}

static void next_range(struct nt_flow *flow, struct nt_item *item)
{
	const struct nt_range *range = &flow->ranges[flow->at];

	memset(item, 0, sizeof(*item));
	item->type = NT_ITEM_RANGE;
	item->src = flow->batch_src->id;
	item->context = flow->batch_context;
	set_time(flow, item);
	item->range.start = range->start;
	item->range.end = nt_flow_mask(flow, nt_range_end(range));
	item->range.last = nt_flow_mask(flow, nt_range_end(range) - 2 * range->last);
	item->range.insns = range->insns;
	item->range.how = range->end;
	item->range.taken = range->flags & NT_RANGE_TAKEN;
	item->range.inferred = range->flags & NT_RANGE_INFERRED;
	if (++flow->at < flow->nr_ranges) {
		item->range.has_dest = true;
		item->range.dest = range[1].start;
	} else {
		item->range.has_dest = batch_dest(flow, &item->range.dest);
	}
}

int nt_flow_next(struct nt_flow *flow, struct nt_item *item)
{
	int ret = have_items(flow, true);

	if (ret <= 0)
		return ret;
	if (flow->at < flow->nr_ranges)
		next_range(flow, item);
	else
		*item = flow->events[flow->at_event++];
	return 1;
}

int nt_flow_next_batch(struct nt_flow *flow, struct nt_batch *batch)
{
	int ret = have_items(flow, false);

	if (ret <= 0)
		return ret;
	memset(batch, 0, sizeof(*batch));
	if (flow->at < flow->nr_ranges) {
		batch->ranges = flow->ranges + flow->at;
		batch->nr = flow->nr_ranges - flow->at;
		batch->marks = flow->marks;
		batch->nr_marks = flow->nr_marks;
		batch->src = flow->batch_src->id;
		batch->context = flow->batch_context;
		batch->has_dest = batch_dest(flow, &batch->dest);
		flow->at = flow->nr_ranges;
		return 1;
	}
	batch->item = flow->events[flow->at_event++];
	batch->src = batch->item.src;
	batch->context = batch->item.context;
	return 1;
}

static void add_range(struct text *text, const struct nt_item *item)
{
	nt_text_add(text, "0x%" PRIx64 "..0x%" PRIx64 " %u insn%s, %s", item->range.start,
		    item->range.end, item->range.insns, item->range.insns == 1 ? "" : "s",
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

static void add_context(struct text *text, const struct nt_context *context)
{
	nt_text_add(text, "context %s", nt_priv_name(context->priv));
	if (context->has_scontext)
		nt_text_add(text, " scontext=0x%" PRIx64, context->scontext);
	if (context->has_hcontext)
		nt_text_add(text, " hcontext=0x%" PRIx64, context->hcontext);
}

static void add_sync(struct text *text, const struct nt_item *item)
{
	nt_text_add(text, "%s at 0x%" PRIx64 ": %s", item->sync.restart ? "start" : "sync",
		    item->sync.addr, nt_sync_name(item->sync.reason));
	if (item->sync.lost_messages)
		nt_text_add(text,
			    ", %" PRIu64 " messages (%" PRIu64 " bytes) before it not decoded",
			    item->sync.lost_messages, item->sync.lost_bytes);
}

static void add_error(struct text *text, const struct nt_item *item)
{
	nt_text_add(text, "error %s: %s", nt_error_name(item->error.code),
		    nt_error_text(item->error.code));
	if (item->error.has_addr)
		nt_text_add(text, ", at 0x%" PRIx64, item->error.addr);
	nt_text_add(text, ", source %u, offset %" PRIu64, item->src, item->offset);
}

int nt_item_desc(const struct nt_item *item, char *buf, size_t size)
{
	struct text text;

	nt_text_init(&text, buf, size);
	switch (item->type) {
	case NT_ITEM_RANGE:
		add_range(&text, item);
		break;
	case NT_ITEM_SYNC:
		add_sync(&text, item);
		break;
	case NT_ITEM_STOP:
		nt_text_add(&text, "stop");
		if (item->stop.has_addr)
			nt_text_add(&text, " at 0x%" PRIx64, item->stop.addr);
		nt_text_add(&text, ": %s", nt_evcode_name(item->stop.reason));
		break;
	case NT_ITEM_LOST:
		nt_text_add(&text, "lost messages: %s, ", nt_etype_name(item->lost.etype));
		nt_text_add_ecode(&text, item->lost.ecode);
		break;
	case NT_ITEM_CONTEXT:
		add_context(&text, &item->context);
		break;
	case NT_ITEM_SKIPPED:
		nt_text_add(&text, "skipped message: %s TCODE=%u, %u bytes",
			    nt_tcode_name(item->skipped.tcode), item->skipped.tcode,
			    item->skipped.length);
		break;
	case NT_ITEM_ERROR:
		add_error(&text, item);
		break;
	}
	return nt_text_end(&text);
}
