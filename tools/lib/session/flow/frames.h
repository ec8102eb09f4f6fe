/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * If the sink is a CoreSight ETR, a stretch (see trace.h) consists of frames, which contain the
 * trace of several encoders, each with a trace ID. These functions unpack the frames.
 */
#ifndef NTRACE_SESSION_FRAMES_H
#define NTRACE_SESSION_FRAMES_H

#include "trace.h"

/* ns_frames_has() - return true if the stretch consists of frames */
bool ns_frames_has(const struct ns_stretch *stretch);

/*
 * ns_frames_lost() - return true if the ETR's memory was too small, and the newest trace overwrote the oldest
 *
 * In this case, each encoder has lost trace before the stretch.
 */
bool ns_frames_lost(const struct ns_stretch *stretch);

/*
 * ns_frames_join() - unpack the frames of a stretch into one stream of whole messages, in the order
 * in which the messages end
 * @cpu: Encoder whose messages are copied, or NULL to copy the messages of all encoders
 * @joined: Set to a copy of @stretch whose frames are replaced by the unpacked messages. They are
 *	in one piece, which idle bytes fill up to the size of the frames. Free it with
 *	ns_frames_free().
 *
 * If bytes are missing between two frames, the function writes one byte there that no valid message
 * contains. The decoder then reports an error at this byte.
 *
 * Return: 0, or -1 if out of memory.
 */
int ns_frames_join(const struct ns_stretch *stretch, const struct ns_setup *setup,
		   const struct ns_cpu *cpu, struct ns_stretch *joined);
void ns_frames_free(struct ns_stretch *joined);

#endif /* NTRACE_SESSION_FRAMES_H */
