// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Interpret messages that report values that software wrote into the trace, or events of in-circuit
 * trace. These messages do not report instructions. Some dialects have these messages, but N-Trace
 * 1.0 does not.
 */
#include "engine.h"
#include "state.h"

static void event_add_data(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_item *item = nt_engine_event(flow, src, NT_ITEM_DATA);

	item->data.id = flow->msg.value;
	item->data.value = flow->msg.data;
	item->data.has_id = true;
}

void nt_event_owner(struct nt_flow *flow, struct nt_source *src)
{
	nt_engine_event(flow, src, NT_ITEM_DATA)->data.value = flow->msg.value;
}

/* Return true if the decoder knows the address to which the next U-ADDR is relative. */
static bool event_has_reference(const struct nt_source *src)
{
	return src->has_ref || src->state == NT_STATE_LIVE || src->state == NT_STATE_NO_PC;
}

/*
 * Set nt_source::ref, to which the next address is relative, to the address in CKDATA0. In a message
 * with SYNC, CKDATA0 is the address. Otherwise it is the XOR of this and the previous address. Return
 * false if the previous address is not known.
 */
static bool event_move_reference(struct nt_flow *flow, struct nt_source *src)
{
	uint64_t addr = flow->msg.value << 1;

	if (flow->msg.tcode == NT_TCODE_IN_CIRCUIT_TRACE_SYNC) {
		src->ref = nt_flow_dest(flow, 0, addr);
		src->has_ref = true;
		return true;
	}
	if (!event_has_reference(src))
		return false;
	src->ref = nt_flow_dest(flow, src->ref, addr);
	return true;
}

/*
 * Add an event of in-circuit trace. The PC and the return stack do not change, because the message
 * has no I-CNT that shows at which instruction the event occurred.
 */
static void event_add_event(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_message *msg = &flow->msg;
	bool is_code = msg->code == NT_CKSRC_CONTROL && !msg->cdf;
	bool has_addr = !is_code && event_move_reference(flow, src);
	struct nt_item *item = nt_engine_event(flow, src, NT_ITEM_EVENT);

	item->event.source = msg->code;
	item->event.has_addr = has_addr;
	item->event.addr = has_addr ? src->ref : 0;
	item->event.has_data = is_code || msg->cdf;
	item->event.data = is_code ? msg->value : msg->data;
	if (msg->code != NT_CKSRC_CALL || !msg->cdf)
		return;
	/* The message reports a call at src->ref. Its data encodes the target. The next address is relative to that. */
	item->event.has_data = has_addr;
	if (!has_addr)
		return;
	src->ref = nt_flow_dest(flow, src->ref, msg->data << 1);
	item->event.data = src->ref;
}

bool nt_event_begin(struct nt_flow *flow, struct nt_source *src)
{
	switch (flow->msg.tcode) {
	case NT_TCODE_DATA_ACQUISITION:
	case NT_TCODE_AUX_ACCESS_WRITE:
	case NT_TCODE_IN_CIRCUIT_TRACE:
	case NT_TCODE_IN_CIRCUIT_TRACE_SYNC:
		break;
	default:
		return false;
	}
	nt_time_update(&flow->config, &flow->msg, &src->tstamp, &src->has_tstamp);
	if (flow->msg.fields & NT_FIELD_CKSRC)
		event_add_event(flow, src);
	else
		event_add_data(flow, src);
	return true;
}
