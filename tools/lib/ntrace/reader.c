// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Messages from a stream that arrives in pieces.
 */
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

	if (reader && nt_reader_init(reader, config)) {
		free(reader);
		return NULL;
	}
	return reader;
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
}

static void advance(struct nt_reader *reader, size_t size)
{
	if (!size)	/* there may be no data at all */
		return;
	reader->data += size;
	reader->offset += size;
}

/* Past the next byte with MSEO 11. Returns false if there is none. */
static bool skip_to_end(struct nt_reader *reader)
{
	const uint8_t *p = reader->data;

	while (p < reader->end && mseo(*p) != MSEO_END)
		p++;
	reader->skip = p == reader->end;
	advance(reader, p - reader->data + !reader->skip);
	return !reader->skip;
}

/* The message began in bytes that were fed before */
static int next_carried(struct nt_reader *reader, struct nt_message *msg)
{
	uint64_t start = reader->offset - reader->nr_carry;
	int ret;

	while (reader->nr_carry < sizeof(reader->carry)) {
		if (reader->data == reader->end)
			return 0;
		reader->carry[reader->nr_carry] = *reader->data;
		advance(reader, 1);
		if (mseo(reader->carry[reader->nr_carry++]) == MSEO_END)
			break;
	}
	ret = nt_message_decode(&reader->config, reader->carry, reader->nr_carry, msg);
	reader->skip = mseo(reader->carry[reader->nr_carry - 1]) != MSEO_END;
	reader->nr_carry = 0;
	msg->offset = start;
	return ret;
}

int nt_reader_next(struct nt_reader *reader, struct nt_message *msg)
{
	size_t size;
	int ret;

	if (reader->skip && !skip_to_end(reader))
		return 0;
	if (reader->nr_carry)
		return next_carried(reader, msg);
	size = reader->end - reader->data;
	ret = nt_message_decode(&reader->config, reader->data, size, msg);
	advance(reader, msg->offset);
	msg->offset = reader->offset;
	if (ret) {
		size = msg->length;
		reader->skip = mseo(reader->data[size - 1]) != MSEO_END;
		advance(reader, size);
		return ret;
	}
	reader->nr_carry = reader->end - reader->data;
	if (reader->nr_carry)
		memcpy(reader->carry, reader->data, reader->nr_carry);
	advance(reader, reader->nr_carry);
	return 0;
}

int nt_reader_end(struct nt_reader *reader, struct nt_message *msg)
{
	size_t nr = reader->nr_carry;

	memset(msg, 0, sizeof(*msg));
	reader->nr_carry = 0;
	if (!nr)
		return NT_OK;
	msg->offset = reader->offset - nr;
	msg->length = nr;
	return NT_E_TRUNCATED;
}
