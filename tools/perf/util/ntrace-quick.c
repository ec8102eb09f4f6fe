// SPDX-License-Identifier: GPL-2.0-only
/*
 * The quick modes (--itrace=q, qq). No code is read or decoded, so samples contain only the
 * information in the messages.
 *
 *   q	 a sample for each address in a message. Messages of indirect branches and traps encode
 *	 their address relative to the previous address, starting with the full address of a
 *	 synchronising message (chapter 8.1)
 *   qq	 samples for the addresses of synchronising messages only
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "ntrace-priv.h"

/* State of the encoder of a queue */
struct ntrace_quick_source {
	u64			addr;		/* last address that a message has reported */
	u64			change;		/* U-ADDR of the last branch message; 0: the message had no U-ADDR */
	u64			tstamp;
	struct nt_context	context;
	bool			live;		/* @addr is known, and trace was neither stopped nor lost after it */
	bool			has_tstamp;
	bool			waiting;	/* the sample for @addr is delivered later, when its thread is known */
};

struct ntrace_quick {
	struct nt_reader		*reader;
	struct ntrace_quick_source	source;
};

int ntrace_quick_init(struct ntrace_queue *q)
{
	if (!q->nt->synth_opts.quick)
		return 0;
	q->quick = zalloc(sizeof(*q->quick));
	if (!q->quick)
		return -ENOMEM;
	q->quick->reader = nt_reader_new(&q->config);
	return q->quick->reader ? 0 : -ENOMEM;
}

void ntrace_quick_exit(struct ntrace_queue *q)
{
	if (q->quick)
		nt_reader_free(q->quick->reader);
	zfree(&q->quick);
}

static struct nt_item ntrace_quick_item(struct ntrace_quick_source *src,
					const struct nt_message *msg, int type)
{
	struct nt_item item = {
		.type = type,
		.src = msg->src,
		.tcode = msg->tcode,
		.offset = msg->offset,
		.tstamp = src->tstamp,
		.context = src->context,
	};

	item.tstamp_kind = src->has_tstamp ? NT_TSTAMP_EXACT : NT_TSTAMP_NONE;
	return item;
}

static int ntrace_quick_tell(struct ntrace_queue *q, struct ntrace_quick_source *src,
			     const struct nt_message *msg)
{
	struct nt_item item = ntrace_quick_item(src, msg, NT_ITEM_CONTEXT);
	int err;

	src->waiting = false;
	/* Leave the time unchanged, because the message that reported @src->addr has already set it */
	item.tstamp_kind = NT_TSTAMP_NONE;
	err = ntrace_synth_item(q, &item);
	return err ? : ntrace_synth_address(q, src->addr);
}

static void ntrace_quick_time(struct ntrace_queue *q, struct ntrace_quick_source *src,
			      const struct nt_message *msg)
{
	if (!(msg->fields & NT_FIELD_TSTAMP))
		return;
	if (nt_message_is_sync(msg)) {
		src->tstamp = msg->tstamp;
		src->has_tstamp = true;
	} else {
		src->tstamp = ntrace_next_tstamp(q->info, src->tstamp, msg->tstamp);
	}
}

/* Handle an Ownership message (chapter 7.1), which reports the new context */
static int ntrace_quick_ownership(struct ntrace_queue *q, struct ntrace_quick_source *src,
				  const struct nt_message *msg)
{
	struct nt_context *context = &src->context;
	struct nt_item item;
	int err;

	context->priv = msg->priv;
	context->has_priv = true;
	if (msg->format == NT_FORMAT_SCONTEXT) {
		context->scontext = msg->context;
		context->has_scontext = true;
	} else if (msg->format == NT_FORMAT_HCONTEXT) {
		context->hcontext = msg->context;
		context->has_hcontext = true;
	}
	item = ntrace_quick_item(src, msg, NT_ITEM_CONTEXT);
	err = ntrace_synth_item(q, &item);
	/* The encoder sends hcontext before scontext, so the thread is known only after scontext */
	if (!err && src->waiting && msg->format != NT_FORMAT_HCONTEXT)
		err = ntrace_quick_tell(q, src, msg);
	return err;
}

static int ntrace_quick_sync(struct ntrace_queue *q, struct ntrace_quick_source *src,
			     const struct nt_message *msg)
{
	struct nt_item item = ntrace_quick_item(src, msg, NT_ITEM_SYNC);

	item.sync.addr = msg->addr;
	item.sync.reason = msg->sync;
	item.sync.restart = !src->live;
	src->addr = msg->addr;
	src->change = 0;
	src->live = true;
	src->waiting = true;
	return ntrace_synth_item(q, &item);
}

static int ntrace_quick_address(struct ntrace_queue *q, struct ntrace_quick_source *src,
				const struct nt_message *msg, u64 change)
{
	struct nt_item item = ntrace_quick_item(src, msg, NT_ITEM_CONTEXT);
	int err;

	src->addr = ntrace_whole_addr(q->info, src->addr ^ change);
	if (!src->live || q->nt->synth_opts.quick > 1)
		return 0;
	err = ntrace_synth_item(q, &item);
	return err ? : ntrace_synth_address(q, src->addr);
}

static int ntrace_quick_flow(struct ntrace_queue *q, struct ntrace_quick_source *src,
			     const struct nt_message *msg)
{
	struct nt_item item;

	if (nt_message_is_sync(msg))
		return ntrace_quick_sync(q, src, msg);
	if (msg->fields & NT_FIELD_UADDR) {
		src->change = msg->addr;
		return ntrace_quick_address(q, src, msg, msg->addr);
	}
	switch (msg->tcode) {
	case NT_TCODE_DIRECT_BRANCH:
		src->change = 0;
		return 0;
	case NT_TCODE_REPEAT_BRANCH:
		/* The branch repeats B-CNT times. Each time XORs its U-ADDR to the address, and two XORs cancel out. */
		return src->change ? ntrace_quick_address(q, src, msg, msg->value & 1 ?
							  src->change : 0) : 0;
	case NT_TCODE_PROG_TRACE_CORRELATION:
		src->live = false;
		item = ntrace_quick_item(src, msg, NT_ITEM_STOP);
		return ntrace_synth_item(q, &item);
	case NT_TCODE_ERROR:
		src->live = false;
		item = ntrace_quick_item(src, msg, NT_ITEM_LOST);
		item.lost.etype = msg->code;
		item.lost.ecode = msg->value;
		return ntrace_synth_item(q, &item);
	default:
		return 0;
	}
}

static int ntrace_quick_damaged(struct ntrace_queue *q, const struct nt_message *msg, int error)
{
	struct nt_item item = { .type = NT_ITEM_ERROR, .offset = msg->offset };

	/* The damaged message may have been from this source, so the address is not valid any more */
	q->quick->source.live = false;
	item.error.code = error;
	return ntrace_synth_item(q, &item);
}

static int ntrace_quick_message(struct ntrace_queue *q, const struct nt_message *msg)
{
	struct ntrace_quick_source *src = &q->quick->source;
	int err = 0;

	if (ntrace_queue_is_other(q, msg))
		return 0;
	if (src->waiting && msg->tcode != NT_TCODE_OWNERSHIP)
		err = ntrace_quick_tell(q, src, msg);
	if (err)
		return err;
	ntrace_quick_time(q, src, msg);
	if (msg->tcode == NT_TCODE_OWNERSHIP)
		return ntrace_quick_ownership(q, src, msg);
	return ntrace_quick_flow(q, src, msg);
}

int ntrace_quick_feed(struct ntrace_queue *q, const u8 *data, size_t size)
{
	struct nt_message msg;
	int ret, err = 0;

	nt_reader_feed(q->quick->reader, data, size);
	while (!err && (ret = nt_reader_next(q->quick->reader, &msg)) != 0)
		err = ret > 0 ? ntrace_quick_message(q, &msg) : ntrace_quick_damaged(q, &msg, ret);
	return err;
}

int ntrace_quick_end(struct ntrace_queue *q)
{
	struct nt_message msg = { .offset = 0 };
	int err = 0, ret;

	if (q->quick->source.waiting)
		err = ntrace_quick_tell(q, &q->quick->source, &msg);
	if (err)
		return err;
	ret = nt_reader_end(q->quick->reader, &msg);
	return ret ? ntrace_quick_damaged(q, &msg, ret) : 0;
}

void ntrace_quick_restart(struct ntrace_queue *q, u64 offset, bool middle)
{
	nt_reader_seek(q->quick->reader, offset, middle);
	memset(&q->quick->source, 0, sizeof(q->quick->source));
}
