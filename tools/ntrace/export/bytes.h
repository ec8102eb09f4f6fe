/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bytes that grow, and messages of protobuf in them
 *
 *	field		a number: (number of the field << 3 | 0), then the value, 7 bits per byte
 *	message		(number of the field << 3 | 2), its size, its fields
 *
 * A message that contains others is complete when they are.
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

/* bytes_room() - make room for @size more bytes. Return false if out of memory */
bool bytes_room(struct bytes *b, size_t size);
void bytes_put(struct bytes *b, const void *bytes, size_t size);

/* bytes_varint() - put a number, 7 bits per byte */
void bytes_varint(struct bytes *b, uint64_t number);

void protobuf_number(struct bytes *b, unsigned int field, uint64_t number);
void protobuf_bytes(struct bytes *b, unsigned int field, const void *bytes, size_t size);

/* protobuf_string() - put a string; bytes that are not UTF-8, which protobuf requires, become '?' */
void protobuf_string(struct bytes *b, unsigned int field, const char *text);

/* protobuf_message() - put @inner, and make @inner empty */
void protobuf_message(struct bytes *b, unsigned int field, struct bytes *inner);

#endif /* NTRACE_TOOL_BYTES_H */
