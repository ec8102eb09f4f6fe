// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The reader splits a stream that arrives in pieces into messages.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

int nt_reader_init(struct nt_reader *reader, const struct nt_config *config)
{
	memset(reader, 0, sizeof(*reader));
	if (config && nt_config_check(config))
		return NT_E_INVALID;
	return nt_config_copy(&reader->config, config);
}

struct nt_reader *nt_reader_new(const struct nt_config *config)
{
	struct nt_reader *reader = malloc(sizeof(*reader));

	if (!reader)
		return NULL;
	if (!nt_reader_init(reader, config))
		return reader;
	free(reader);
	errno = EINVAL;
	return NULL;
}

void nt_reader_free(struct nt_reader *reader)
{
	free(reader);
}

int nt_reader_feed(struct nt_reader *reader, const uint8_t *data, size_t size)
{
	if (reader->data != reader->end)
		return NT_E_BUSY;
	reader->data = data;
	reader->end = size ? data + size : data;
	return NT_OK;
}

void nt_reader_seek(struct nt_reader *reader, uint64_t offset, bool middle)
{
	reader->data = NULL;
	reader->end = NULL;
	reader->offset = offset;
	reader->skip = middle;
	reader->nr_carry = 0;
	reader->nr_more = 0;
	reader->more_reserved = false;
}

static void reader_advance(struct nt_reader *reader, size_t size)
{
	if (!size)	/* @reader->data may be NULL */
		return;
	reader->data += size;
	reader->offset += size;
}

/* Skip all bytes up to and including the next byte with MSEO 11. Return false if no byte has it. */
static bool reader_skip_to_end(struct nt_reader *reader)
{
	const uint8_t *p = reader->data;

	while (p < reader->end && mseo(*p) != MSEO_END)
		p++;
	reader->skip = p == reader->end;
	reader_advance(reader, p - reader->data + !reader->skip);
	return !reader->skip;
}

/* Copy the next @size bytes, which belong to an incomplete message. */
static void reader_carry(struct nt_reader *reader, size_t size)
{
	size_t room = sizeof(reader->carry) - reader->nr_carry;
	size_t n = size < room ? size : room;

	memcpy(reader->carry + reader->nr_carry, reader->data, n);
	reader->nr_carry += n;
	reader->nr_more += size - n;
	reader_advance(reader, size);
}

/* Decode the complete message in @reader->carry. Return 1 or an error. */
static int reader_decode_carried(struct nt_reader *reader, struct nt_message *msg)
{
	uint64_t length = reader->nr_carry + reader->nr_more;
	int ret;

	/* Decode only the copied bytes of a vendor's long message, and end the message after them. */
	if (reader->nr_more && nt_message_is_vendor(reader->carry[0]))
		reader->carry[reader->nr_carry - 1] |= MSEO_END;
	ret = nt_message_parse(&reader->config, reader->carry, reader->nr_carry, msg);
	if (ret > 0 && reader->more_reserved) {
		/* The copied bytes are valid, but a later byte of the message has the reserved MSEO. */
		memset(msg, 0, sizeof(*msg));
		ret = NT_E_MSEO;
	}
	/* If another process changed the last byte before it was copied, the copied message has no end. */
	ret = ret ? ret : NT_E_MSEO;
	msg->length = length < UINT32_MAX ? length : UINT32_MAX;
	msg->offset = reader->offset - length;
	reader->nr_carry = 0;
	reader->nr_more = 0;
	reader->more_reserved = false;
	return ret;
}

/* Continue a message that began in previously fed bytes. Return 1, an error, or 0 if it is not complete. */
static int reader_next_carried(struct nt_reader *reader, struct nt_message *msg)
{
	size_t size = reader->end - reader->data;
	bool reserved = false;
	size_t n = size ? nt_message_end(reader->data, size, &reserved) : 0;

	reader->more_reserved |= reserved;
	if (size)
		reader_carry(reader, n ? n : size);
	return n ? reader_decode_carried(reader, msg) : 0;
}

int nt_reader_read(struct nt_reader *reader, struct nt_message *msg)
{
	int ret;

	if (reader->skip && !reader_skip_to_end(reader))
		return 0;
	if (reader->nr_carry)
		return reader_next_carried(reader, msg);
	ret = nt_message_parse(&reader->config, reader->data, reader->end - reader->data, msg);
	reader_advance(reader, msg->offset);
	msg->offset = reader->offset;
	if (ret && mseo(reader->data[msg->length - 1]) == MSEO_END) {
		reader_advance(reader, msg->length);
		return ret;
	}
	return reader->data == reader->end ? 0 : reader_next_carried(reader, msg);
}

int nt_reader_finish(struct nt_reader *reader, struct nt_message *msg)
{
	bool long_one = reader->nr_carry > NT_MESSAGE_MAX &&
		!nt_message_is_vendor(reader->carry[0]);
	struct nt_message cut;

	memset(msg, 0, sizeof(*msg));
	if (!reader->nr_carry)
		return NT_OK;
	if (nt_message_source(&reader->config, reader->carry, reader->nr_carry, &msg->src))
		msg->fields = NT_FIELD_SRC;
	reader_decode_carried(reader, &cut);
	msg->offset = cut.offset;
	msg->length = cut.length;
	return long_one ? NT_E_TOO_LONG : NT_E_TRUNCATED;
}
