/* SPDX-License-Identifier: GPL-2.0-only */
/* Unpack the CoreSight frames of a file, which contain the trace of several encoders, each with a trace ID. */
#ifndef NTRACE_DEFRAMER_H
#define NTRACE_DEFRAMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEFRAMER_ANY	0	/* all trace IDs; 0 is not a valid trace ID */

struct deframer;

/* Create a deframer for the trace ID @id, or for all trace IDs if @id is DEFRAMER_ANY. Return NULL if out of memory. */
struct deframer *deframer_new(unsigned int id);
void deframer_free(struct deframer *deframer);

/*
 * Add the next bytes of the file, which must stay valid until deframer_next() has returned 0. If
 * @more is true, the caller adds more bytes soon, and deframer_next() may collect bytes until it
 * has many of one trace ID.
 */
void deframer_put(struct deframer *deframer, const uint8_t *data, size_t size, bool more);

/*
 * Get the next bytes of one trace ID, which stay valid until the next call. Return their number, or
 * 0 if the caller must add more bytes of the file.
 */
size_t deframer_next(struct deframer *deframer, const uint8_t **data);

/*
 * End the file. Return false if there are collected bytes. In this case, get them with
 * deframer_next(), and repeat the call.
 */
bool deframer_end(struct deframer *deframer);

/* Return the trace ID of the bytes that deframer_next() returned last. */
unsigned int deframer_id(const struct deframer *deframer);

/*
 * Return the number of places in the file so far at which bytes of frames are missing. Each of them
 * interrupts all trace IDs.
 */
unsigned int deframer_breaks(const struct deframer *deframer);

/* Return the number of errors in the frames so far. */
uint64_t deframer_errors(const struct deframer *deframer);

#endif /* NTRACE_DEFRAMER_H */
