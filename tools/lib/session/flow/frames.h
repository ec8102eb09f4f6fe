/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Stretches that a CoreSight ETR wrote: frames with the trace of several encoders in them, each
 * with a trace ID.
 */
#ifndef NTRACE_SESSION_FRAMES_H
#define NTRACE_SESSION_FRAMES_H

#include "trace.h"

/* ns_frames_has() - is the stretch one of frames? */
bool ns_frames_has(const struct ns_stretch *stretch);

/*
 * ns_frames_lost() - has the ETR run around in its window, so that trace of each encoder is missing before
 * what the stretch has?
 */
bool ns_frames_lost(const struct ns_stretch *stretch);

/*
 * ns_frames_join() - make one stream of whole messages, in the order in which they end
 * @cpu: only messages with the trace ID of this encoder, or all if it is NULL
 * @joined: it becomes @stretch with one piece, of as many bytes; idle bytes follow the last
 *	message. Free with ns_frames_free().
 *
 * Bytes that are missing become one that no message has, so that a decoder sees it.
 *
 * Return: 0; -1: out of memory.
 */
int ns_frames_join(const struct ns_stretch *stretch, const struct ns_setup *setup,
		   const struct ns_cpu *cpu, struct ns_stretch *joined);
void ns_frames_free(struct ns_stretch *joined);

#endif /* NTRACE_SESSION_FRAMES_H */
