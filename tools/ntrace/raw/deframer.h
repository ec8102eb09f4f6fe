/* SPDX-License-Identifier: GPL-2.0-only */
/* Unpack the CoreSight frames of a file into pieces of bytes of each trace ID. */
#ifndef NTRACE_DEFRAMER_H
#define NTRACE_DEFRAMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEFRAMER_ANY	0	/* an ID that sources cannot have */

struct deframer;

/* Create a deframer for @id, or for all IDs with DEFRAMER_ANY. Return NULL if out of memory. */
struct deframer *deframer_new(unsigned int id);
void deframer_free(struct deframer *deframer);

/*
 * Add the next bytes of the file. They must stay valid until deframer_next() has returned 0. If
 * @more bytes follow soon, deframer_next() may collect the bytes of an ID until there are many.
 */
void deframer_put(struct deframer *deframer, const uint8_t *data, size_t size, bool more);

/*
 * Get the next bytes of an ID, which stay valid until the next call. Return 0 if more input is
 * needed.
 */
size_t deframer_next(struct deframer *deframer, const uint8_t **data);

/* End the file. Return false if deframer_next() has collected bytes; call this again after it. */
bool deframer_end(struct deframer *deframer);

/* Return the ID of the last bytes of deframer_next(). */
unsigned int deframer_id(const struct deframer *deframer);

/* Return the number of places where bytes are missing, summed over all trace IDs. */
unsigned int deframer_breaks(const struct deframer *deframer);

/* Return the number of errors. */
uint64_t deframer_errors(const struct deframer *deframer);

#endif /* NTRACE_DEFRAMER_H */
