// SPDX-License-Identifier: GPL-2.0-only
/* Check that each way to decode gives the same items, and that these items match the execution. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ntrace/ntrace.h>

#include "random.h"

/* ---------------------------------------------- comparison of two ways to decode */

static bool same_context(const struct xcontext *a, const struct xcontext *b)
{
	return a->has_priv == b->has_priv && a->has_scontext == b->has_scontext &&
	       a->has_hcontext == b->has_hcontext && a->priv == b->priv &&
	       a->scontext == b->scontext && a->hcontext == b->hcontext;
}

/*
 * Compare the message and the time of two items. If @b is a range of a batch, and not the last range of its
 * message, its offset may be that of a later message (@b->bound). Return the name of the different
 * field, or NULL.
 */
static const char *message_differs(const struct item *a, const struct item *b)
{
	if (b->bound ? a->offset > b->offset : a->offset != b->offset)
		return "offset";
	if (a->offset == b->offset && a->tcode != b->tcode)
		return "tcode";
	if (a->tstamp_kind != b->tstamp_kind)
		return "kind of time";
	if (a->tstamp != b->tstamp)
		return "time";
	return NULL;
}

static const char *differs(const struct item *a, const struct item *b)
{
	const char *what;

	if (a->type != b->type)
		return "type";
	if (a->src != b->src)
		return "source";
	what = message_differs(a, b);
	if (what)
		return what;
	if (!same_context(&a->context, &b->context))
		return "context";
	if (a->a != b->a || a->b != b->b || a->c != b->c)
		return "address, or a field";
	if (a->has_dest != b->has_dest || a->d != b->d)
		return "destination";
	if (a->how != b->how || a->error != b->error)
		return "how, or reason";
	if (a->taken != b->taken || a->inferred != b->inferred)
		return "taken, or inferred";
	if (a->insns != b->insns)
		return "number of instructions";
	if (a->restart != b->restart || a->has_addr != b->has_addr)
		return "restart, or address known";
	return NULL;
}

bool check_same(const char *name, const items_t *a, const items_t *b)
{
	size_t i, from, n = a->n < b->n ? a->n : b->n;
	const char *what = NULL;

	for (i = 0; i < n; i++) {
		what = differs(&a->v[i], &b->v[i]);
		if (what)
			break;
	}
	if (i == n && a->n == b->n)
		return true;
	printf("# %s: item %zu of %zu and %zu differs: %s\n", name, i, a->n, b->n,
	       what ? what : "there are more");
	for (from = i > 2 ? i - 2 : 0; from < i; from++)
		item_print("before", &a->v[from]);
	if (i < a->n)
		item_print("one way", &a->v[i]);
	if (i < b->n)
		item_print("another", &b->v[i]);
	return false;
}

void items_filter(items_t *to, const items_t *from, uint16_t src)
{
	size_t i;

	to->n = 0;
	for (i = 0; i < from->n; i++) {
		if (from->v[i].src == src)
			VEC_ADD(to) = from->v[i];
	}
}

/* --------------------------------------------- comparison with the executed code */

struct checker {
	const struct encoder *e;
	const struct options *opt;
	size_t		range, item;	/* indices of the next expected range and item */
	size_t		part;		/* number of items so far that were parts of the expected range */
	uint32_t	insns;		/* number of instructions so far in the parts of the expected range */
	uint64_t	at;		/* address at which the next part of the expected range starts */
	uint64_t	offset;		/* offset of the message of the previous item */
	bool		closed;		/* true if the previous item is not a range, and so ends its message */
};

static const uint8_t end_of[] = {
	[X_LINEAR] = NT_END_LINEAR, [X_BRANCH] = NT_END_BRANCH, [X_JUMP] = NT_END_JUMP,
	[X_CALL] = NT_END_CALL, [X_INDIRECT_JUMP] = NT_END_INDIRECT_JUMP,
	[X_INDIRECT_CALL] = NT_END_INDIRECT_CALL, [X_RETURN] = NT_END_RETURN,
	[X_SWAP] = NT_END_SWAP, [X_TRAP_RETURN] = NT_END_TRAP_RETURN, [X_TRAP] = NT_END_TRAP,
	[X_EXCEPTION] = NT_END_EXCEPTION, [X_INTERRUPT] = NT_END_INTERRUPT,
};

static void print_range(const struct xrange *x)
{
	printf("#   executed 0x%" PRIx64 "..0x%" PRIx64 " last 0x%" PRIx64 " %u insns %s%s%s",
	       x->start, x->end, x->last, x->insns, nt_end_name(end_of[x->how]),
	       x->taken ? " taken" : "", x->inferred ? " inferred" : "");
	if (x->has_dest)
		printf(" to 0x%" PRIx64, x->dest);
	printf(" any=%u messages %d..%d\n", x->any, x->early, x->late);
}

/* Return the index of the message that this source sent at @offset, or -1 if there is none */
static int message_at(const struct encoder *e, uint64_t offset)
{
	size_t low = 0, high = e->messages.n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (e->messages.v[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < e->messages.n && e->messages.v[low].offset == offset ? (int)low : -1;
}

/*
 * Check the time of an item that @m reports. An exact time must be the time of @m. A time from an
 * earlier message must not be later than that of @m. If @must, and @m has a timestamp, the item must
 * have the exact time.
 */
static const char *check_time(const struct checker *c, const struct item *item,
			      const struct message *m, bool must)
{
	if (!c->opt->ts)
		return item->tstamp_kind == NT_TSTAMP_NONE ? NULL : "a time, without timestamps";
	if (item->tstamp_kind == NT_TSTAMP_EXACT) {
		if (!m->known || !m->has_time)
			return "an exact time that no message reported";
		if (item->tstamp != m->time)
			return "time is not that of the message";
		return NULL;
	}
	if (item->tstamp_kind == NT_TSTAMP_CARRIED && item->tstamp > m->time)
		return "time is later than that of the message";
	if (must && m->sure && m->has_time)
		return "the message has a timestamp, and its time is not given";
	return NULL;
}

static const char *check_message(struct checker *c, const struct item *item, int *message)
{
	const struct message *m;

	*message = message_at(c->e, item->offset);
	if (*message < 0)
		return "no message of this source is at that offset";
	m = &c->e->messages.v[*message];
	if (m->tcode != item->tcode)
		return "tcode is not that of the message";
	if (item->offset < c->offset)
		return "offset is lower than that of the item before";
	return NULL;
}

static const char *check_end(const struct xrange *x, const struct item *item)
{
	if (item->b != x->end)
		return "range ends elsewhere";
	if (item->insns && item->c != x->last)
		return "last instruction is another";
	if (item->how != end_of[x->how] && !(x->any & ANY_HOW))
		return "range ended otherwise";
	if (x->how == X_BRANCH && item->taken != x->taken && !(x->any & ANY_TAKEN))
		return "branch went the other way";
	if (item->inferred != x->inferred && !(x->any & ANY_INFERRED))
		return "inferred, or not";
	if (!(x->any & ANY_DEST) && item->has_dest != x->has_dest)
		return "destination known, or not";
	if (!(x->any & ANY_DEST) && x->has_dest && item->d != x->dest)
		return "destination is another";
	return NULL;
}

static bool is_part(const struct xrange *x, const struct item *item)
{
	return item->how == NT_END_LINEAR && item->b <= x->end &&
	       (item->b < x->end || x->how != X_LINEAR) && item->has_dest && item->d == item->b;
}

/*
 * Return true if the decoder may have omitted the range @x, which is expected before @item. Before a loss of trace, the
 * decoder may omit a range that only ResourceFull has reported.
 */
static bool is_missing(const struct xrange *x, const struct item *item, int message)
{
	return x->any & ANY_THERE && (x->late < message || x->start != item->a);
}

static const char *check_range(struct checker *c, const struct item *item)
{
	const struct xrange *x;
	const char *wrong;
	int message;
	bool last;

	wrong = check_message(c, item, &message);
	if (wrong)
		return wrong;
	if (c->closed && item->offset == c->offset)
		return "range after the item that ends its message";
	while (c->range < c->e->ranges.n && !c->part && is_missing(&c->e->ranges.v[c->range], item, message))
		c->range++;
	if (c->range == c->e->ranges.n)
		return "nothing more was executed";
	x = &c->e->ranges.v[c->range];
	if (item->a != (c->part ? c->at : x->start))
		return "range starts elsewhere";
	if (!same_context(&item->context, &c->e->messages.v[message].context))
		return "context is not that of the message";
	if (message > x->late)
		return "range came with a later message than the one that reports it";
	last = !is_part(x, item) || (x->any & ANY_HOW && item->b == x->end);
	wrong = check_time(c, item, &c->e->messages.v[message],
			   message == x->late && last && (c->range + 1 == c->e->ranges.n ||
							  x[1].late != x->late));
	if (wrong)
		return wrong;
	c->insns += item->insns;
	c->at = item->b;
	c->part++;
	if (!last)
		return NULL;
	if (message < x->early)
		return "range came before the message that reports it";
	if (c->insns != x->insns)
		return "number of instructions is another";
	c->part = c->insns = 0;
	c->range++;
	return check_end(x, item);
}

/* Check that no expected range is missing before an item that ends the flow. Return an error or NULL. */
static const char *check_complete(struct checker *c, int message)
{
	const struct xrange *x;

	while (c->range < c->e->ranges.n) {
		x = &c->e->ranges.v[c->range];
		if (x->late > message)
			break;
		if (!(x->any & ANY_THERE) || (c->part && !(x->any & ANY_PART)))
			return "a range is missing before this";
		c->range++;
		c->part = c->insns = 0;
	}
	return NULL;
}

static const char *compare_item(const struct xitem *x, const struct item *item)
{
	static const uint8_t types[] = {
		[X_SYNC] = NT_ITEM_SYNC, [X_STOP] = NT_ITEM_STOP, [X_LOST] = NT_ITEM_LOST,
		[X_CONTEXT] = NT_ITEM_CONTEXT, [X_SKIPPED] = NT_ITEM_SKIPPED,
	};

	if (item->type != types[x->type])
		return "item is of another type";
	if (x->type != X_CONTEXT && item->how != x->reason)
		return "reason is another";
	if (x->type == X_SYNC && (item->a != x->addr || item->restart != x->restart))
		return "address or restart is another";
	if (x->type == X_SYNC && (item->c || item->d))
		return "messages were lost";
	if (x->type == X_STOP && !x->any_addr &&
	    (item->has_addr != x->has_addr || item->a != x->addr))
		return "address is another";
	if ((x->type == X_LOST || x->type == X_SKIPPED) && item->a != x->value)
		return "field is another";
	return NULL;
}

static const char *check_other(struct checker *c, const struct item *item)
{
	const struct xitem *x;
	const char *wrong;
	int message;

	if (item->type == NT_ITEM_ERROR || item->type == NT_ITEM_GAP)
		return "an error, though all is right";
	wrong = check_message(c, item, &message);
	if (wrong)
		return wrong;
	if (c->item == c->e->items.n)
		return "no more items are expected";
	x = &c->e->items.v[c->item++];
	if (x->message != message)
		return "item is of another message";
	wrong = compare_item(x, item);
	if (!wrong)
		wrong = check_complete(c, message);
	if (!wrong && x->type == X_CONTEXT &&
	    !same_context(&item->context, &c->e->messages.v[message].context))
		wrong = "context is another";
	if (!wrong)
		wrong = check_time(c, item, &c->e->messages.v[message], x->type != X_SKIPPED);
	return wrong;
}

static bool report(struct checker *c, const items_t *items, size_t i, const char *wrong)
{
	size_t from, range = c->range ? c->range - 1 : 0;

	printf("# executed and reported differ at item %zu: %s\n", i, wrong);
	for (from = i > 3 ? i - 3 : 0; from < i && from < items->n; from++)
		item_print("before", &items->v[from]);
	if (i < items->n)
		item_print("item", &items->v[i]);
	for (; range < c->range + 2 && range < c->e->ranges.n; range++)
		print_range(&c->e->ranges.v[range]);
	return false;
}

static bool check_source(const struct world *world, const struct encoder *e, const items_t *items)
{
	struct checker c = { .e = e, .opt = &world->opt };
	const char *wrong = NULL;
	size_t i;

	for (i = 0; i < items->n && !wrong; i++) {
		const struct item *item = &items->v[i];

		wrong = item_is_range(item) ? check_range(&c, item) : check_other(&c, item);
		c.closed = !item_is_range(item);
		c.offset = item->offset;
	}
	if (wrong)
		return report(&c, items, i - 1, wrong);
	if (c.item < e->items.n)
		return report(&c, items, i, "an item is missing at the end");
	wrong = check_complete(&c, e->messages.n);
	return !wrong || report(&c, items, i, wrong);
}

bool check_executed(const struct world *world, const struct trace *trace, const items_t *items)
{
	items_t own = { 0 };
	bool right = true;
	uint32_t i;

	for (i = 0; i < world->opt.harts && right; i++) {
		items_filter(&own, items, trace->encoders[i].src);
		right = check_source(world, &trace->encoders[i], &own);
	}
	free(own.v);
	return right;
}

/* ------------------------------------------------- deviations that are not known */

/*
 * Search the executed ranges from index @from on for the decoded range @item. Return the index of the first range that
 * contains @item and that was reported by @message or before it, or the number of ranges if there is none.
 */
static size_t find_range(const struct encoder *e, size_t from, const struct item *item, int message)
{
	size_t i;

	for (i = from; i < e->ranges.n && e->ranges.v[i].early <= message; i++) {
		if (e->ranges.v[i].start <= item->a && item->b <= e->ranges.v[i].end)
			return i;
	}
	return e->ranges.n;
}

static void check_unknown_source(const struct encoder *e, const items_t *items, struct unknown *unknown)
{
	const struct item *first = NULL;
	size_t i, at = 0, found;
	bool wrong = false;

	for (i = 0; i < e->ranges.n; i++)
		unknown->executed += e->ranges.v[i].insns;
	for (i = 0; i < items->n; i++) {
		const struct item *item = &items->v[i];

		if (!item_is_range(item)) {
			if (wrong && item->type == NT_ITEM_SYNC) {
				unknown->silent++;
				item_print("not executed, if deviations are not known", first);
			}
			wrong &= item->type != NT_ITEM_SYNC && item->type != NT_ITEM_ERROR &&
				item->type != NT_ITEM_GAP;
			continue;
		}
		found = find_range(e, at, item, message_at(e, item->offset));
		if (found == e->ranges.n) {
			if (!wrong)
				first = item;
			wrong = true;
			continue;
		}
		at = found + (item->b == e->ranges.v[found].end);
		unknown->decoded += item->insns;
	}
	unknown->silent += wrong;
	if (wrong)
		item_print("not executed, if deviations are not known", first);
}

void check_unknown(const struct world *world, const struct trace *trace, const items_t *items,
		   struct unknown *unknown)
{
	items_t own = { 0 };
	uint32_t i;

	for (i = 0; i < world->opt.harts; i++) {
		items_filter(&own, items, trace->encoders[i].src);
		check_unknown_source(&trace->encoders[i], &own, unknown);
	}
	free(own.v);
}
