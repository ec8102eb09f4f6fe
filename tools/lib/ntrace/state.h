/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Time, context and trace mode of a source depend only on its messages, and not on the executed
 * code. The functions of this file calculate them for the flow, and for parallel/cuts.c, which
 * looks for places at which decoding can start.
 */
#ifndef NTRACE_STATE_H
#define NTRACE_STATE_H

#include "internal.h"

/* Messages that report executed instructions */
#define NT_BRANCH_TCODES						\
	(1ULL << NT_TCODE_DIRECT_BRANCH | 1ULL << NT_TCODE_INDIRECT_BRANCH |	\
	 1ULL << NT_TCODE_PROG_TRACE_SYNC | 1ULL << NT_TCODE_DIRECT_BRANCH_SYNC |	\
	 1ULL << NT_TCODE_INDIRECT_BRANCH_SYNC | 1ULL << NT_TCODE_RESOURCE_FULL |	\
	 1ULL << NT_TCODE_INDIRECT_BRANCH_HIST |				\
	 1ULL << NT_TCODE_INDIRECT_BRANCH_HIST_SYNC |				\
	 1ULL << NT_TCODE_REPEAT_BRANCH | 1ULL << NT_TCODE_REPEAT_INSN |	\
	 1ULL << NT_TCODE_REPEAT_INSN_SYNC | 1ULL << NT_TCODE_PROG_TRACE_CORRELATION)

/* A draft of the specification has this message, whose TSTAMP is absolute. */
#define NT_TCODE_MTIME_SYNC	16

/* Messages whose TSTAMP changes the time */
#define NT_TIMED_TCODES	(NT_BRANCH_TCODES | 1ULL << NT_TCODE_OWNERSHIP |	\
			 1ULL << NT_TCODE_ERROR | 1ULL << NT_TCODE_MTIME_SYNC)

/* Return true if TSTAMP of @msg is not relative to the previous TSTAMP. */
static inline bool nt_time_is_absolute(const struct nt_message *msg)
{
	return nt_message_is_sync(msg) || msg->tcode == NT_TCODE_MTIME_SYNC;
}

/*
 * Return the time of a message with SYNC whose TSTAMP is @value. It is not before @tstamp, the time
 * of the previous message.
 */
uint64_t nt_time_sync(const struct nt_config *config, uint64_t tstamp, uint64_t value);

/*
 * Return the time whose XOR with the previous time @tstamp is the TSTAMP @value. The encoder sends
 * only the bits of its counter. Time never decreases. Therefore, if the result is before @tstamp, the
 * counter has wrapped.
 */
static inline uint64_t nt_time_xor(const struct nt_config *config, uint64_t tstamp, uint64_t value)
{
	unsigned int bits = config->tstamp_bits;
	uint64_t now = tstamp ^ value;

	return now < tstamp && bits && bits < 64 ? now + (1ULL << bits) : now;
}

/* Update *tstamp by TSTAMP (chapter 8.5), which is relative to it unless the message has SYNC. */
void nt_time_update(const struct nt_config *config, const struct nt_message *msg,
		    uint64_t *tstamp, bool *has_tstamp);

/*
 * Update the context from Ownership (chapter 7.1). Return NT_OK; or, if a value is not valid,
 * NT_E_RESERVED or NT_E_PRIV, and do not change the context.
 */
int nt_context_update(struct nt_context *context, const struct nt_message *msg);

/* Return true if ECODE of the Error message @msg (chapter 7.4) shows that the flow, or the context, is lost. */
bool nt_error_loses_flow(const struct nt_message *msg);
bool nt_error_loses_context(const struct nt_message *msg);

/* Clear *context after the Error message @msg, unless ECODE shows that the context is not lost. */
void nt_context_lose(struct nt_context *context, const struct nt_message *msg);

/* Return the trace mode to which @msg should belong, or NT_MODE_AUTO if it may belong to both modes. */
enum nt_mode nt_message_mode(const struct nt_message *msg);

/* Return true if all known encoders send @msg in the same trace mode. */
bool nt_message_shows_mode(const struct nt_message *msg);

#endif /* NTRACE_STATE_H */
