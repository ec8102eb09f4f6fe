/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Encoders that share a buffer. Their messages are not in the order of time, as each encoder has a
 * queue of its own. So each encoder is decoded by itself: its trace in a stretch is a part.
 */
#ifndef NTRACE_SESSION_SOURCES_H
#define NTRACE_SESSION_SOURCES_H

#include "session/session-priv.h"

/*
 * The number of a part is the one that a consumer gets. If no encoders share a buffer, it is the
 * number of the stretch.
 */
static inline const struct ns_stretch *ns_part_stretch(const struct nt_session *session,
						       uint64_t part)
{
	return &session->trace.stretches.at[part / session->setup.parts];
}

/* ns_sources_own() - whose stretch it is; NULL: nothing says how it was encoded */
const struct ns_cpu *ns_sources_own(const struct nt_session *session,
				    const struct ns_stretch *stretch);

/* ns_part_cpu() - the encoder of a part; NULL: nothing says how it was encoded */
const struct ns_cpu *ns_part_cpu(const struct nt_session *session, uint64_t part);

/* ns_part_number() - of an encoder that has messages in the stretch */
uint64_t ns_part_number(const struct nt_session *session, const struct ns_stretch *stretch,
			const struct ns_cpu *cpu);

/*
 * ns_sources_find() - set ns_stretch::cpus of those stretches that several encoders share, and find out
 *	which encoders share a sink
 * @stretches: their numbers, @nr of them
 *
 * Return: 0; -1: out of memory.
 */
int ns_sources_find(struct nt_session *session, const size_t *stretches, size_t nr,
		    unsigned int threads);

#endif /* NTRACE_SESSION_SOURCES_H */
