/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Find the encoders that share a buffer. The messages in a shared buffer are not in the order of
 * time, because each encoder has its own queue. The trace of each encoder is therefore decoded
 * separately. The messages of one encoder in one stretch (see trace.h) are called a part.
 */
#ifndef NTRACE_SESSION_SOURCES_H
#define NTRACE_SESSION_SOURCES_H

#include "session/session-priv.h"

/*
 * Return the stretch of part number @part. nt_consumer::begin() receives this number, which equals
 * the index of the stretch if encoders do not share buffers.
 */
static inline const struct ns_stretch *ns_part_stretch(const struct nt_session *session,
						       uint64_t part)
{
	return &session->trace.stretches.at[part / session->setup.parts];
}

/* ns_sources_own() - return the CPU of a stretch, or NULL if the recording does not describe the encoder of that CPU */
const struct ns_cpu *ns_sources_own(const struct nt_session *session,
				    const struct ns_stretch *stretch);

/*
 * ns_part_cpu() - return the CPU whose messages are in a part, or NULL if the recording does not
 * describe its encoder
 */
const struct ns_cpu *ns_part_cpu(const struct nt_session *session, uint64_t part);

/* ns_part_number() - return the number of the part with the messages of @cpu in the stretch */
uint64_t ns_part_number(const struct nt_session *session, const struct ns_stretch *stretch,
			const struct ns_cpu *cpu);

/* ns_sources_see() - set @seen[SRC] for each source that has a valid message in the stretch */
void ns_sources_see(const struct nt_session *session, const struct ns_stretch *stretch,
		    const struct nt_config *config, bool *seen);

/*
 * ns_sources_find() - find the encoders that have messages in each stretch (ns_stretch::cpus), and
 * the encoders that share a sink
 * @stretches: Indices of @nr stretches to search
 *
 * Return: 0, or -1 if out of memory.
 */
int ns_sources_find(struct nt_session *session, const size_t *stretches, size_t nr,
		    unsigned int threads);

#endif /* NTRACE_SESSION_SOURCES_H */
