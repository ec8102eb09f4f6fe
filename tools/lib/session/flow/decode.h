/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Decode some bytes of one part of a recording. A part is the messages of one encoder in one
 * stretch (see sources.h). This header is not for users of the library.
 */
#ifndef NTRACE_SESSION_DECODE_H
#define NTRACE_SESSION_DECODE_H

#include "session/session.h"

struct ns_decoder;

/* ns_decoder_new() - create a decoder. Call nt_session_decode() before. Return NULL if out of memory. */
struct ns_decoder *ns_decoder_new(struct nt_session *session);
void ns_decoder_free(struct ns_decoder *decoder);

/*
 * ns_decoder_run() - decode some bytes of a part
 * @part: Number of the part, as nt_consumer::begin() received it
 * @from: Offset in the AUX buffer at which the part or one of its messages with SYNC begins
 * @to: Offset in the AUX buffer of the first byte that is not decoded; UINT64_MAX for the end of
 *	the part
 *
 * Return: 0, -1, or the value that a function of the consumer returned.
 */
int ns_decoder_run(struct ns_decoder *decoder, uint64_t part, uint64_t from, uint64_t to,
		   const struct nt_consumer *consumer, void *ctx);

#endif /* NTRACE_SESSION_DECODE_H */
