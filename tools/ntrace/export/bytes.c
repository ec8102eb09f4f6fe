// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "cli/json-text.h"

bool bytes_room(struct bytes *b, size_t size)
{
	size_t room = 2 * (b->nr + size) + 256;
	void *at;

	if (b->room - b->nr >= size)
		return true;
	at = realloc(b->at, room);
	if (!at) {
		b->failed = true;
		return false;
	}
	b->at = at;
	b->room = room;
	return true;
}

void bytes_put(struct bytes *b, const void *bytes, size_t size)
{
	if (!size || !bytes_room(b, size))
		return;
	memcpy(b->at + b->nr, bytes, size);
	b->nr += size;
}

void bytes_varint(struct bytes *b, uint64_t number)
{
	if (!bytes_room(b, 10))
		return;
	for (; number >= 0x80; number >>= 7)
		b->at[b->nr++] = number | 0x80;
	b->at[b->nr++] = number;
}

void protobuf_number(struct bytes *b, unsigned int field, uint64_t number)
{
	bytes_varint(b, field << 3);
	bytes_varint(b, number);
}

static void protobuf_bytes(struct bytes *b, unsigned int field, const void *bytes, size_t size)
{
	bytes_varint(b, field << 3 | 2);
	bytes_varint(b, size);
	bytes_put(b, bytes, size);
}

void protobuf_string(struct bytes *b, unsigned int field, const char *text)
{
	size_t size = strlen(text);

	bytes_varint(b, field << 3 | 2);
	bytes_varint(b, size);
	if (!bytes_room(b, size))
		return;
	utf8_copy((char *)b->at + b->nr, text, size);
	b->nr += size;
}

void protobuf_message(struct bytes *b, unsigned int field, struct bytes *inner)
{
	protobuf_bytes(b, field, inner->at, inner->nr);
	b->failed |= inner->failed;
	inner->nr = 0;
}
