/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read all items of a flow. nt_flow_next(), nt_flow_next_batch() and any mixture of their calls must
 * return the same items. The size of the pieces in which the stream is fed must not matter.
 */
#ifndef TESTS_LIB_ITEMS_H
#define TESTS_LIB_ITEMS_H

#include <stdlib.h>
#include <string.h>

#include <ntrace/ntrace.h>

/* Parameters with which a stream is decoded */
struct items_way {
	size_t		piece;		/* number of bytes that are fed at a time */
	uint32_t	batches;	/* If bit N modulo 32 is set, call N gets a batch, else one item */
	bool		middle;		/* true if the stream may begin inside a message */
};

struct items {
	const struct nt_config	*config;
	struct nt_flow		*flow;
	const uint8_t		*data;
	size_t			size;
	size_t			at;		/* number of bytes that were fed */
	size_t			limit;		/* offset at which feeding stops, or SIZE_MAX to feed all */
	struct items_way	way;
	uint64_t		calls;
	bool			ended;
	struct nt_batch		batch;
	size_t			next;		/* index of the next range in @batch */
	size_t			mark;
	int			error;		/* error of the last call, which ends the list of items, or 0 */
};

static inline bool items_begin(struct items *items, const struct nt_config *config,
			       struct nt_image *image, const uint8_t *data, size_t size,
			       struct items_way way)
{
	*items = (struct items){
		.config = config, .data = data, .size = size, .limit = SIZE_MAX, .way = way,
		.flow = nt_flow_new(config, image),
	};
	if (items->flow && way.middle)
		nt_flow_restart(items->flow, 0, true);
	return items->flow;
}

static inline void items_end(struct items *items)
{
	nt_flow_free(items->flow);
}

/* Set the time of *item, which is range number @next of the batch. struct nt_mark documents the times of a batch. */
static inline void items_set_time(struct items *items, struct nt_item *item)
{
	const struct nt_batch *batch = &items->batch;
	const struct nt_mark *mark;

	while (items->mark < batch->nr_marks && batch->marks[items->mark].range <= items->next)
		items->mark++;
	mark = batch->marks + items->mark;
	item->tstamp = batch->tstamp;
	item->tstamp_kind = batch->tstamp_kind;
	if (items->mark) {
		item->tstamp = mark[-1].tstamp;
		item->tstamp_kind = mark[-1].tstamp_kind;
	}
	if (item->tstamp_kind == NT_TSTAMP_EXACT)
		item->tstamp_kind = NT_TSTAMP_CARRIED;
	if (items->mark == batch->nr_marks)
		return;
	item->offset = mark->offset;
	item->tcode = mark->tcode;
	if (items->next + 1 == mark->range && mark->tstamp_kind) {
		item->tstamp = mark->tstamp;
		item->tstamp_kind = mark->tstamp_kind;
	}
}

/* Fill in range number @next of the current batch */
static inline void items_take_range(struct items *items, struct nt_item *item)
{
	uint64_t mask = items->config->xlen == 32 ? UINT32_MAX : UINT64_MAX;
	const struct nt_batch *batch = &items->batch;
	const struct nt_range *range = &batch->ranges[items->next];
	uint64_t end = range->start + 2ULL * range->halfwords;
	bool last = items->next + 1 == batch->nr;

	memset(item, 0, sizeof(*item));
	item->type = NT_ITEM_RANGE;
	item->src = batch->src;
	item->context = batch->context;
	item->space = batch->space;
	items_set_time(items, item);
	item->range.start = range->start;
	item->range.end_addr = end & mask;
	item->range.last_addr = (end - 2 * range->last_len) & mask;
	item->range.dest = last ? batch->dest : range[1].start;
	item->range.has_dest = !last || batch->has_dest;
	item->range.taken = range->flags & NT_RANGE_TAKEN;
	item->range.inferred = range->flags & NT_RANGE_INFERRED;
	item->range.how = range->how;
	item->range.insns = range->insns;
	items->next++;
}

/*
 * Call nt_flow_next() or nt_flow_next_batch(), or take a range from the current batch. Return 1 if
 * *item is filled in, 0 if the flow needs more bytes, or a negative error.
 */
static inline int items_call(struct items *items, struct nt_item *item)
{
	int ret;

	if (items->next < items->batch.nr) {
		items_take_range(items, item);
		return 1;
	}
	if (!(items->way.batches >> (items->calls++ % 32) & 1))
		return nt_flow_next(items->flow, item);
	items->next = 0;
	items->mark = 0;
	ret = nt_flow_next_batch(items->flow, &items->batch);
	if (ret <= 0) {
		items->batch.nr = 0;
		return ret;
	}
	if (items->batch.nr)
		items_take_range(items, item);
	else
		*item = items->batch.item;
	return 1;
}

/* Get the next item of the stream. Return false at the end, or at @items->limit. */
static inline bool items_next(struct items *items, struct nt_item *item)
{
	size_t end = items->limit < items->size ? items->limit : items->size;

	for (;;) {
		int ret = items_call(items, item);
		size_t n = end - items->at;

		if (ret > 0)
			return true;
		if (ret < 0) {
			items->error = ret;
			return false;
		}
		if (n) {
			n = n < items->way.piece ? n : items->way.piece;
			items->error = nt_flow_feed(items->flow, items->data + items->at, n);
			if (items->error)
				return false;
			items->at += n;
		} else if (!items->ended && end == items->size) {
			nt_flow_end(items->flow);
			items->ended = true;
		} else {
			return false;
		}
	}
}

static inline uint64_t items_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

static inline uint64_t items_hash_context(uint64_t hash, const struct nt_context *context)
{
	hash = items_mix(hash, context->scontext);
	hash = items_mix(hash, context->hcontext);
	return items_mix(hash, context->priv | context->has_priv << 8 |
			 context->has_scontext << 9 | context->has_hcontext << 10);
}

static inline uint64_t items_hash_range(uint64_t hash, const struct nt_item *item)
{
	hash = items_mix(hash, item->range.start);
	hash = items_mix(hash, item->range.end_addr);
	hash = items_mix(hash, item->range.last_addr);
	hash = items_mix(hash, item->range.has_dest ? item->range.dest : 1);
	return items_mix(hash, item->range.has_dest | item->range.taken << 1 |
			 item->range.inferred << 2 | item->range.how << 8 |
			 (uint64_t)item->range.insns << 16);
}

/* Add all fields of an item to a hash, and return it. Omit the message that reported a range. */
static inline uint64_t items_hash(uint64_t hash, const struct nt_item *item)
{
	bool range = item->type == NT_ITEM_RANGE;

	hash = items_mix(hash, item->type | item->tstamp_kind << 8 | item->src << 16 |
			 (uint64_t)(range ? 0 : item->tcode) << 32);
	hash = items_mix(hash, range ? 0 : item->offset);
	hash = items_mix(hash, item->tstamp);
	hash = items_mix(hash, item->space);
	hash = items_hash_context(hash, &item->context);
	switch (item->type) {
	case NT_ITEM_RANGE:
		return items_hash_range(hash, item);
	case NT_ITEM_SYNC:
		hash = items_mix(hash, item->sync.addr);
		hash = items_mix(hash, item->sync.reason | item->sync.restart << 8);
		hash = items_mix(hash, item->sync.lost_messages);
		return items_mix(hash, item->sync.lost_bytes);
	case NT_ITEM_STOP:
		hash = items_mix(hash, item->stop.has_addr ? item->stop.addr : 1);
		return items_mix(hash, item->stop.reason | item->stop.has_addr << 8);
	case NT_ITEM_LOST:
		return items_mix(items_mix(hash, item->lost.etype), item->lost.ecode);
	case NT_ITEM_SKIPPED:
		return items_mix(items_mix(hash, item->skipped.tcode), item->skipped.length);
	case NT_ITEM_GAP:
	case NT_ITEM_ERROR:
		hash = items_mix(hash, item->error.has_addr ? item->error.addr : 1);
		return items_mix(hash, item->error.code | (uint64_t)item->error.has_addr << 32);
	case NT_ITEM_DATA:
		hash = items_mix(hash, item->data.has_id ? item->data.id : 1);
		return items_mix(hash, item->data.value ^ (uint64_t)item->data.has_id << 63);
	case NT_ITEM_EVENT:
		hash = items_mix(hash, item->event.has_addr ? item->event.addr : 1);
		hash = items_mix(hash, item->event.has_data ? item->event.data : 1);
		return items_mix(hash, item->event.source | item->event.has_addr << 8 |
				 item->event.has_data << 9);
	}
	return hash;
}

/*
 * Return true if @item equals @one. nt_flow_next() returned @one, and any function may have returned
 * @item. Without timestamps, an item of a batch must name a message, but this message may be later than
 * the message that reported the range.
 */
static inline bool items_are_same(const struct nt_config *config, const struct nt_item *one,
				  const struct nt_item *item)
{
	if (items_hash(0, one) != items_hash(0, item) || item->offset < one->offset)
		return false;
	if (config->timestamp || item->offset == one->offset)
		return item->offset == one->offset && item->tcode == one->tcode;
	return item->tcode;
}

#endif /* TESTS_LIB_ITEMS_H */
