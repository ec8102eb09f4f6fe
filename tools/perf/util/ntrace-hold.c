// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of a recording that cannot be read twice.
 *
 * Code must be read as it was at the time of the trace, so an event may only be delivered after all
 * trace that is older than the event. From a file, PERF_RECORD_AUX and the index, which show the age
 * of the trace, are read in advance. From a pipe or after perf record -z, they arrive among the other
 * events, and trace may arrive long after younger events, because the kernel reports the position
 * of trace only after the encoder was stopped. So all events are held until the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/list.h>

#include "debug.h"
#include "ntrace-priv.h"
#include "session.h"

struct ntrace_held {
	struct list_head	list;
	struct ordered_event	event;
	union perf_event	copy[];	/* copy of the event, whose header contains its size */
};

/* Hold a copy of an event until the end. perf calls this for each event, in the order of time. */
static int ntrace_hold(struct ordered_events *oe, struct ordered_event *event)
{
	struct perf_session *session = container_of(oe, struct perf_session, ordered_events);
	struct ntrace *nt = container_of(session->auxtrace, struct ntrace, auxtrace);
	struct ntrace_held *held;
	int err;

	held = malloc(sizeof(*held) + event->event->header.size);
	if (!held)
		return -ENOMEM;
	held->event = *event;
	held->event.event = held->copy;
	memcpy(held->copy, event->event, event->event->header.size);
	list_add_tail(&held->list, &nt->held);
	err = ntrace_collect_event(nt, held->copy);
	return err ? : ntrace_collect_sample(nt, held->copy);
}

void ntrace_hold_begin(struct ntrace *nt)
{
	struct ordered_events *oe = &nt->session->ordered_events;

	nt->deliver = oe->deliver;
	oe->deliver = ntrace_hold;
}

static void ntrace_hold_forget(struct ntrace_held *held)
{
	list_del(&held->list);
	free(held);
}

/* Deliver the held events, because all trace is available. Return 0 or an error. */
int ntrace_hold_end(struct ntrace *nt)
{
	struct ordered_events *oe = &nt->session->ordered_events;
	struct ntrace_held *held, *next;
	int err;

	if (!nt->deliver)
		return 0;
	oe->deliver = nt->deliver;
	/* No event is held if the command, such as perf inject, skips compressed events and does not decompress them */
	if (list_empty(&nt->held))
		pr_warning("N-Trace: this command does not decompress events, which the trace needs. Record without -z\n");
	list_for_each_entry_safe(held, next, &nt->held, list) {
		err = oe->deliver(oe, &held->event);
		if (err)
			return err;
		ntrace_hold_forget(held);
	}
	return 0;
}

void ntrace_hold_free(struct ntrace *nt)
{
	struct ntrace_held *held, *next;

	list_for_each_entry_safe(held, next, &nt->held, list)
		ntrace_hold_forget(held);
}
