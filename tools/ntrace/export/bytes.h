/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Growing arrays of bytes, and functions that write protobuf messages to them
 *
 *	field		a number, written as (number of the field << 3 | 0), and its value with 7 bits per byte
 *	message		a message, written as (number of the field << 3 | 2), its size, and its fields
 *
 * The size of a message precedes its fields. An inner message must therefore be complete before it
 * is written to the outer message.
 */
#ifndef NTRACE_TOOL_BYTES_H
#define NTRACE_TOOL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
	uint8_t	*at;
	size_t	nr, room;
	bool	failed;		/* out of memory */
};

/* bytes_room() - allocate memory for @size more bytes. Return false if out of memory */
bool bytes_room(struct bytes *b, size_t size);
void bytes_put(struct bytes *b, const void *bytes, size_t size);

/* bytes_varint() - append a number with 7 bits per byte */
void bytes_varint(struct bytes *b, uint64_t number);

void protobuf_number(struct bytes *b, unsigned int field, uint64_t number);

/* protobuf_string() - append a string. Protobuf requires UTF-8; each byte that is not UTF-8 becomes '?'. */
void protobuf_string(struct bytes *b, unsigned int field, const char *text);

/* protobuf_message() - append the message @inner, and make @inner empty */
void protobuf_message(struct bytes *b, unsigned int field, struct bytes *inner);

#endif /* NTRACE_TOOL_BYTES_H */
