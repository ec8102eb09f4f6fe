/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CoreSight frames of a file: the bytes of each trace ID, piece by piece.
 */
#ifndef NTRACE_DEFRAMER_H
#define NTRACE_DEFRAMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEFRAMER_ANY	0	/* no source has that ID */

struct deframer;

/* @id: only that one, or DEFRAMER_ANY. NULL: out of memory */
struct deframer *deframer_new(unsigned int id);
void deframer_free(struct deframer *deframer);

/*
 * The next bytes of the file. They must stay until deframer_next() has returned 0. @more: more of them
 * follow soon, so that deframer_next() may keep those of an ID until there are many.
 */
void deframer_put(struct deframer *deframer, const uint8_t *data, size_t size, bool more);

/* The next bytes of an ID, at *data until the next call. 0: put more in. */
size_t deframer_next(struct deframer *deframer, const uint8_t **data);

/* The file ends here. False: deframer_next() has kept bytes, so call this again after it. */
bool deframer_end(struct deframer *deframer);

/* The ID of the bytes that deframer_next() has returned last */
unsigned int deframer_id(const struct deframer *deframer);

/* How many interruptions there were, of any ID */
unsigned int deframer_breaks(const struct deframer *deframer);

/* Errors that were printed */
uint64_t deframer_errors(const struct deframer *deframer);

#endif /* NTRACE_DEFRAMER_H */
