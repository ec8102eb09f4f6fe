// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode with libntrace in each way that it offers, and store the items in the same form. Only this
 * file uses the interface of libntrace.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ntrace/ntrace.h>

#include "../lib/counted.h"
#include "random.h"

struct library {
	const struct world *world;
	struct nt_config config;
	struct nt_image	*image;
	bool		cut;		/* true if the stream ends inside a message */
	struct nt_stats	stats;		/* statistics of WAY_NEXT, which is the first way to decode */
};

static uint64_t space_of(void *ctx, const struct nt_context *context)
{
	const struct library *library = ctx;
	const struct world *world = library->world;
	uint32_t i;

	for (i = 0; i < world->nr_procs && context->has_scontext; i++) {
		if (world->programs[i].scontext == context->scontext)
			return i + 1;
	}
	return 0;
}

static void add_program(struct library *library, const struct program *program, uint64_t space)
{
	const struct world *world = library->world;

	nt_image_add(library->image, space, program->base, program->code, program->size);
	if (world->opt.zcmt && !program->kernel)
		nt_image_add(library->image, space, world->jvt, program->table,
			     TABLE_ENTRIES * world->opt.xlen / 8);
}

static void set_config(struct nt_config *config, const struct world *world)
{
	const struct options *opt = &world->opt;

	nt_config_init(config, sizeof(*config));
	config->xlen = opt->xlen;
	config->src_bits = opt->src_bits;
	config->mode = !opt->mode_given ? NT_MODE_AUTO : opt->htm ? NT_MODE_HTM : NT_MODE_BTM;
	config->timestamp = opt->ts;
	config->tstamp_bits = opt->ts_bits;
	config->return_depth = opt->ir_mode ? opt->ir_decoder : 0;
	if (opt->ir_reject) {
		config->return_full = NT_RETURN_DROP_NEWEST;
		config->return_depth = opt->ir_mode ? opt->ir_depth : 0;
	}
	config->sequential_jump = opt->seq;
	config->all_jumps = opt->all_jumps;
	config->extend_addr = opt->ext;
	if (opt->named) {
		config->dialect = opt->dev_self ? NT_DIALECT_ACCEMIC : NT_DIALECT_RATIFIED;
		config->accept = (opt->dev_bit ? NT_DEV_BIT(NT_DEV_SYNC_LACKS_BIT) : 0) |
			(opt->dev_hist ? NT_DEV_BIT(NT_DEV_HIST_IN_BTM) : 0) |
			(opt->dev_stack ? NT_DEV_BIT(NT_DEV_STACK_OVER_SYNC) : 0) |
			(opt->dev_gap ? NT_DEV_BIT(NT_DEV_TRAP_IN_GAP) : 0);
	}
	config->isa = (opt->zcmp ? NT_ISA_ZCMP : 0) | (opt->zcmt ? NT_ISA_ZCMT : 0);
	config->jvt = world->jvt;
}

struct library *library_new(const struct world *world, const struct trace *trace, int only_src)
{
	struct library *library = calloc(1, sizeof(*library));
	struct nt_image_reader reader = { .space = space_of, .ctx = library };
	uint32_t i;

	(void)trace;
	library->world = world;
	set_config(&library->config, world);
	if (only_src >= 0)
		library->config.src_id = only_src;
	library->image = nt_image_new();
	if (!library->image)
		abort();
	add_program(library, world->kernel, 0);
	for (i = 0; i < world->nr_procs; i++)
		add_program(library, &world->programs[i], world->nr_procs > 1 ? i + 1 : 0);
	if (world->nr_procs > 1)
		nt_image_set_reader(library->image, &reader);
	return library;
}

void library_free(struct library *library)
{
	nt_image_free(library->image);
	free(library);
}

/* ---------------------------------------------------------------- items and batches */

static struct xcontext context_of(const struct nt_context *c)
{
	return (struct xcontext){
		.scontext = c->has_scontext ? c->scontext : 0,
		.hcontext = c->has_hcontext ? c->hcontext : 0,
		.priv = c->has_priv ? c->priv : 0,
		.has_priv = c->has_priv,
		.has_scontext = c->has_scontext,
		.has_hcontext = c->has_hcontext,
	};
}

static void set_range(struct item *to, const struct nt_item *from)
{
	to->a = from->range.start;
	to->b = from->range.end_addr;
	to->c = from->range.insns ? from->range.last_addr : 0;
	to->has_dest = from->range.has_dest;
	to->d = to->has_dest ? from->range.dest : 0;
	to->taken = from->range.taken;
	to->inferred = from->range.inferred;
	to->how = from->range.how;
	to->insns = from->range.insns;
}

static void set_item(struct item *to, const struct nt_item *from)
{
	memset(to, 0, sizeof(*to));
	to->type = from->type;
	to->tstamp_kind = from->tstamp_kind;
	to->src = from->src;
	to->tcode = from->tcode;
	to->offset = from->offset;
	to->tstamp = from->tstamp_kind ? from->tstamp : 0;
	to->context = context_of(&from->context);
	switch (from->type) {
	case NT_ITEM_RANGE:
		set_range(to, from);
		break;
	case NT_ITEM_SYNC:
		to->a = from->sync.addr;
		to->how = from->sync.reason;
		to->restart = from->sync.restart;
		to->c = from->sync.lost_messages;
		to->d = from->sync.lost_bytes;
		break;
	case NT_ITEM_STOP:
		to->has_addr = from->stop.has_addr;
		to->a = to->has_addr ? from->stop.addr : 0;
		to->how = from->stop.reason;
		break;
	case NT_ITEM_LOST:
		to->how = from->lost.etype;
		to->a = from->lost.ecode;
		break;
	case NT_ITEM_SKIPPED:
		to->how = from->skipped.tcode;
		to->a = from->skipped.length;
		break;
	case NT_ITEM_ERROR:
	case NT_ITEM_GAP:
		to->error = from->error.code;
		to->has_addr = from->error.has_addr;
		to->a = to->has_addr ? from->error.addr : 0;
		break;
	}
}

/*
 * Set the message and time of range @i of a batch. A mark of a batch (struct nt_mark) is the position
 * of the end of a message. The last range before a mark has the exact time of that message, and other
 * ranges have the time of the previous mark.
 */
static const struct nt_mark *set_mark(struct item *to, const struct nt_batch *batch, size_t i,
				      const struct nt_mark *mark)
{
	const struct nt_mark *end = batch->marks + batch->nr_marks;
	const struct nt_mark *before;

	while (mark < end && mark->range <= i)
		mark++;
	before = mark > batch->marks ? mark - 1 : NULL;
	to->tstamp = before ? before->tstamp : batch->tstamp;
	to->tstamp_kind = before ? before->tstamp_kind : batch->tstamp_kind;
	if (to->tstamp_kind)
		to->tstamp_kind = NT_TSTAMP_CARRIED;
	else
		to->tstamp = 0;
	if (mark == end)
		return mark;
	to->offset = mark->offset;
	to->tcode = mark->tcode;
	to->bound = mark->range != i + 1;
	if (!to->bound && mark->tstamp_kind) {
		to->tstamp_kind = mark->tstamp_kind;
		to->tstamp = mark->tstamp;
	}
	return mark;
}

static void add_batch(items_t *items, const struct nt_batch *batch)
{
	const struct nt_mark *mark = batch->marks;
	struct item *item;
	size_t i;

	if (!batch->nr) {
		set_item(&VEC_ADD(items), &batch->item);
		return;
	}
	for (i = 0; i < batch->nr; i++) {
		const struct nt_range *r = &batch->ranges[i];

		item = &VEC_ADD(items);
		memset(item, 0, sizeof(*item));
		item->type = NT_ITEM_RANGE;
		item->src = batch->src;
		item->context = context_of(&batch->context);
		item->a = r->start;
		item->b = r->start + 2 * r->halfwords;
		item->c = r->insns ? item->b - 2 * r->last_len : 0;
		item->has_dest = i + 1 < batch->nr || batch->has_dest;
		if (item->has_dest)
			item->d = i + 1 < batch->nr ? r[1].start : batch->dest;
		item->how = r->how;
		item->insns = r->insns;
		item->taken = r->flags & NT_RANGE_TAKEN;
		item->inferred = r->flags & NT_RANGE_INFERRED;
		mark = set_mark(item, batch, i, mark);
	}
}

/* ----------------------------------------------------- decoding of one stream */

struct run {
	struct nt_flow	*flow;
	struct rng	rng;
	enum way	way;
	items_t		*items;
	size_t		most;
};

static int take(struct run *run)
{
	bool batch = run->way == WAY_BATCH || run->way == WAY_BATCH_PIECES ||
		     (run->way == WAY_MIXED && rng_below(&run->rng, 2));
	struct nt_batch b;
	struct nt_item item;
	int ret;

	if (batch) {
		ret = nt_flow_next_batch(run->flow, &b);
		if (ret > 0)
			add_batch(run->items, &b);
	} else {
		ret = nt_flow_next(run->flow, &item);
		if (ret > 0)
			set_item(&VEC_ADD(run->items), &item);
	}
	return ret;
}

static int take_all(struct run *run)
{
	int ret;

	while ((ret = take(run)) > 0) {
		if (run->items->n >= run->most)
			return 0;
	}
	return ret;
}

static size_t piece_size(struct run *run, uint32_t usual)
{
	if (run->way == WAY_NEXT || run->way == WAY_BATCH)
		return SIZE_MAX;
	return rng_percent(&run->rng, 30) ? rng_range(&run->rng, 1, 3000) : usual;
}

static int feed_all(struct run *run, const uint8_t *data, size_t size)
{
	static const uint32_t usual[] = { 1, 2, 7, 16, 33, 100, 1000, 3000 };
	uint32_t piece = usual[rng_below(&run->rng, 8)];
	size_t at = 0, n;
	int ret;

	while (at < size && run->items->n < run->most) {
		uint8_t *copy;

		n = piece_size(run, piece);
		n = n > size - at ? size - at : n;
		/*
		 * Use a copy, so that the sanitizer detects reads beyond the end of the copy, or after
		 * the copy was freed
		 */
		copy = malloc(n);
		memcpy(copy, data + at, n);
		ret = nt_flow_feed(run->flow, copy, n);
		if (!ret)
			ret = take_all(run);
		if (run->items->n >= run->most)
			nt_flow_restart(run->flow, 0, false);
		free(copy);
		if (ret)
			return ret;
		at += n;
	}
	if (run->items->n >= run->most)
		return 0;
	nt_flow_end(run->flow);
	return take_all(run);
}

static int consume(void *ctx, const struct nt_batch *batch)
{
	struct run *run = ctx;

	if (run->items->n < run->most)
		add_batch(run->items, batch);
	return 0;
}

static const char *check_stats(struct library *library, enum way way,
			       const struct nt_stats *stats, const items_t *items, size_t most)
{
	uint64_t syncs = 0, restarts = 0, errors = 0, gaps = 0, skipped = 0;
	size_t i;

	if (items->n >= most)
		return NULL;
	if (way == WAY_NEXT)
		library->stats = *stats;
	if (memcmp(stats, &library->stats, sizeof(*stats)))
		return "statistics are not those of nt_flow_next()";
	for (i = 0; i < items->n; i++) {
		const struct item *item = &items->v[i];

		syncs += item->type == NT_ITEM_SYNC;
		restarts += item->type == NT_ITEM_SYNC && item->restart;
		errors += item->type == NT_ITEM_ERROR;
		gaps += item->type == NT_ITEM_GAP;
		if (item->type == NT_ITEM_GAP && !nt_error_is_gap(item->error))
			return "an error of the trace is said to be a gap";
		if (item->type == NT_ITEM_ERROR && nt_error_is_gap(item->error))
			return "a gap is said to be an error of the trace";
		skipped += item->type == NT_ITEM_SKIPPED;
	}
	if (stats->syncs != syncs)
		return "statistics: syncs are not the items of that type";
	if (stats->restarts != restarts)
		return "statistics: restarts are not the items that say so";
	if (stats->gaps != gaps)
		return "statistics: gaps are not the items of that type";
	if (stats->errors != errors)
		return "statistics: errors are not the items of that type";
	if (stats->skipped != skipped)
		return "statistics: skipped messages are not the items of that type";
	return NULL;
}

static const char *run_parallel(struct library *library, const uint8_t *data, size_t size,
				struct run *run)
{
	struct nt_stats stats;
	int ret;

	ret = nt_parallel_decode(&library->config, library->image, data, size,
				 rng_range(&run->rng, 1, 3), consume, run, &stats);
	if (ret)
		return "nt_parallel_decode() failed";
	return check_stats(library, WAY_PARALLEL, &stats, run->items, run->most);
}

const char *library_run(struct library *library, const uint8_t *data, size_t size, enum way way,
			uint64_t seed, items_t *items, size_t most)
{
	struct run run = {
		.rng = rng_new(seed, 600 + way), .way = way, .items = items, .most = most,
	};
	struct nt_stats stats;
	const char *wrong;

	items->n = 0;
	if (way == WAY_PARALLEL)
		return run_parallel(library, data, size, &run);
	run.flow = nt_flow_new(&library->config, library->image);
	if (!run.flow)
		return "nt_flow_new() failed";
	wrong = feed_all(&run, data, size) ? "a call failed" : NULL;
	nt_flow_stats(run.flow, &stats, sizeof(stats));
	if (!wrong)
		wrong = check_stats(library, way, &stats, items, most);
	nt_flow_free(run.flow);
	return wrong;
}

/* ------------------------------------------------------------------------- counts */

/* Count the ranges that nt_flow_next() returns. Return false if there are @most items or more. */
static bool count_ranges(struct library *library, const uint8_t *data, size_t size,
			 struct counted *counted, size_t most)
{
	struct nt_flow *flow = nt_flow_new(&library->config, library->image);
	struct nt_item item;
	size_t nr = 0;
	int ended;

	nt_flow_feed(flow, data, size);
	for (ended = 0; ended < 2 && nr < most; ended++) {
		while (nr < most && nt_flow_next(flow, &item) > 0) {
			counted_add_item(counted, &item);
			nr++;
		}
		nt_flow_end(flow);
	}
	nt_flow_free(flow);
	counted_fold(counted);
	return nr < most;
}

/*
 * Count the ranges in the fed bytes by nt_flow_count(). If @mixed, sometimes call nt_flow_next() instead, and add the
 * returned range to @counts. Return 0, or a negative error.
 */
static int count_some(struct run *run, struct nt_counts *counts, bool mixed)
{
	struct nt_item item;
	int ret;

	do {
		if (mixed && rng_percent(&run->rng, 40)) {
			ret = nt_flow_next(run->flow, &item);
			if (ret > 0 && nt_counts_add_item(counts, &item))
				return NT_E_NOMEM;
		} else {
			ret = nt_flow_count(run->flow, &item);
		}
		if (mixed && rng_percent(&run->rng, 10) && nt_counts_take(counts, run->flow))
			return NT_E_NOMEM;
	} while (ret > 0);
	return ret;
}

static int count_flow(struct run *run, const uint8_t *data, size_t size, struct nt_counts *counts,
		      bool mixed)
{
	size_t at, n;
	int ret = 0;

	for (at = 0; at < size && !ret; at += n) {
		n = mixed ? piece_size(run, 700) : SIZE_MAX;
		n = n > size - at ? size - at : n;
		ret = nt_flow_feed(run->flow, data + at, n);
		if (!ret)
			ret = count_some(run, counts, mixed);
	}
	nt_flow_end(run->flow);
	if (!ret)
		ret = count_some(run, counts, mixed);
	return ret ? ret : nt_counts_take(counts, run->flow);
}

static bool is_counted(struct library *library, const uint8_t *data, size_t size, uint64_t seed,
		       bool mixed, const struct counted *counted)
{
	struct run run = { .rng = rng_new(seed, 650 + mixed), .way = WAY_MIXED };
	struct nt_counts *counts = nt_counts_new();
	bool right;

	run.flow = nt_flow_new(&library->config, library->image);
	right = !count_flow(&run, data, size, counts, mixed) && counted_is(counted, counts);
	nt_flow_free(run.flow);
	nt_counts_free(counts);
	return right;
}

static bool is_counted_by_threads(struct library *library, const uint8_t *data, size_t size,
				  unsigned int threads, const struct counted *counted)
{
	struct nt_counts *counts = nt_counts_new();
	bool right = !nt_parallel_count(&library->config, library->image, data, size, threads,
					counts, NULL) && counted_is(counted, counts);

	nt_counts_free(counts);
	return right;
}

bool library_counts(struct library *library, const uint8_t *data, size_t size, uint64_t seed,
		    size_t most)
{
	struct counted counted = { 0 };
	bool right = true;

	if (count_ranges(library, data, size, &counted, most)) {
		if (!is_counted(library, data, size, seed, false, &counted))
			right = !printf("# counts\n");
		else if (!is_counted(library, data, size, seed, true, &counted))
			right = !printf("# counts, mixed with nt_flow_next()\n");
		else if (!is_counted_by_threads(library, data, size, 1 + seed % 5, &counted))
			right = !printf("# counts by %u threads\n", (unsigned int)(1 + seed % 5));
	}
	counted_free(&counted);
	return right;
}

const char *way_name(enum way way)
{
	static const char * const names[] = {
		"next", "batch", "next in pieces", "batch in pieces", "mixed", "parallel",
	};

	return names[way];
}

bool item_is_range(const struct item *item)
{
	return item->type == NT_ITEM_RANGE;
}

bool item_says_wrong(const struct item *item)
{
	return item->type == NT_ITEM_ERROR || item->type == NT_ITEM_LOST ||
	       item->type == NT_ITEM_GAP ||
	       item->type == NT_ITEM_SKIPPED || item->type == NT_ITEM_STOP ||
	       (item->type == NT_ITEM_SYNC && item->restart);
}

static void print_what(const struct item *item)
{
	static const char * const types[] = {
		"?", "range", "sync", "stop", "lost", "context", "skipped", "error",
		"data", "event", "gap",
	};

	printf("%s", item->type < 11 ? types[item->type] : "?");
	if (item->type == NT_ITEM_RANGE) {
		printf(" 0x%" PRIx64 "..0x%" PRIx64 " last 0x%" PRIx64 " %u insns %s%s%s", item->a,
		       item->b, item->c, item->insns, nt_end_name(item->how),
		       item->taken ? " taken" : "", item->inferred ? " inferred" : "");
		if (item->has_dest)
			printf(" to 0x%" PRIx64, item->d);
	} else if (item->type == NT_ITEM_ERROR || item->type == NT_ITEM_GAP) {
		printf(" %s%s 0x%" PRIx64, nt_error_name(item->error),
		       item->has_addr ? " at" : "", item->a);
	} else {
		printf(" %u a=0x%" PRIx64 "%s c=%" PRIu64 " d=%" PRIu64 "%s", item->how, item->a,
		       item->has_addr ? " (known)" : "", item->c, item->d,
		       item->restart ? " restart" : "");
	}
}

void item_print(const char *label, const struct item *item)
{
	const struct xcontext *c = &item->context;

	printf("#   %-9s src %u offset %" PRIu64 " tcode %u ", label, item->src, item->offset,
	       item->tcode);
	print_what(item);
	printf(" time %s%" PRIu64, item->tstamp_kind == NT_TSTAMP_EXACT ? "=" :
	       item->tstamp_kind == NT_TSTAMP_CARRIED ? ">" : "-", item->tstamp);
	printf(" ctx");
	if (c->has_priv)
		printf(" priv=%u", c->priv);
	if (c->has_scontext)
		printf(" scontext=0x%" PRIx64, c->scontext);
	if (c->has_hcontext)
		printf(" hcontext=0x%" PRIx64, c->hcontext);
	printf("\n");
}
