/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * State of a trace source that its messages alone decide, whatever code is executed: time, context
 * and trace mode. The flow keeps this state, and so does the code that looks for places to start
 * from.
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

/* A draft has this message, whose TSTAMP is absolute. */
#define NT_TCODE_MTIME_SYNC	16

/* Messages whose TSTAMP counts */
#define NT_TIMED_TCODES	(NT_BRANCH_TCODES | 1ULL << NT_TCODE_OWNERSHIP |	\
			 1ULL << NT_TCODE_ERROR | 1ULL << NT_TCODE_MTIME_SYNC)

/* Is TSTAMP of @msg not relative to the one before? */
static inline bool nt_time_is_absolute(const struct nt_message *msg)
{
	return nt_message_is_sync(msg) || msg->tcode == NT_TCODE_MTIME_SYNC;
}

/* The time after a message with SYNC at @tstamp or later, whose TSTAMP is @value */
uint64_t nt_time_sync(const struct nt_config *config, uint64_t tstamp, uint64_t value);

/*
 * The time that is sent as its XOR with @tstamp. Bits above the counter's are not sent. Time never
 * goes back, so a time before @tstamp means that the counter has wrapped.
 */
static inline uint64_t nt_time_xor(const struct nt_config *config, uint64_t tstamp, uint64_t value)
{
	unsigned int bits = config->tstamp_bits;
	uint64_t now = tstamp ^ value;

	return now < tstamp && bits && bits < 64 ? now + (1ULL << bits) : now;
}

/* TSTAMP, chapter 8.5: absolute with SYNC, relative to the last one otherwise. */
void nt_time_update(const struct nt_config *config, const struct nt_message *msg,
		    uint64_t *tstamp, bool *has_tstamp);

/*
 * Ownership, chapter 7.1. NT_OK; NT_E_RESERVED, NT_E_PRIV: a value is not valid, the context
 * stays as it is.
 */
int nt_context_update(struct nt_context *context, const struct nt_message *msg);

/* Error, chapter 7.4: does ECODE say that the flow, or the context, is not known any more? */
bool nt_error_loses_flow(const struct nt_message *msg);
bool nt_error_loses_context(const struct nt_message *msg);

/* Error: *context is not known any more, unless ECODE says that it is. */
void nt_context_lose(struct nt_context *context, const struct nt_message *msg);

/* The trace mode in which alone an encoder should send @msg; NT_MODE_AUTO: in any */
enum nt_mode nt_message_mode(const struct nt_message *msg);

/* Is no encoder known that sends @msg in the other mode? */
bool nt_message_shows_mode(const struct nt_message *msg);

#endif /* NTRACE_STATE_H */
