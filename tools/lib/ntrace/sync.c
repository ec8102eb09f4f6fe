// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * This file finds places in a buffer where decoding can start.
 */
#include "internal.h"

/* Return true if @msg is a message with SYNC from a decoded source. */
static bool sync_is_start(const struct nt_config *config, const struct nt_message *msg)
{
	return nt_message_is_sync(msg) &&
	       (config->src_id == NT_SRC_ANY || msg->src == config->src_id);
}

int nt_sync_find(const struct nt_config *config, const uint8_t *data, size_t size,
		 bool middle, uint64_t nth, size_t *offset)
{
	struct nt_reader reader;
	struct nt_message msg;
	int ret;

	if (nt_reader_init(&reader, config))
		return NT_E_INVALID;
	nt_reader_seek(&reader, 0, middle);
	nt_reader_feed(&reader, data, size);
	while ((ret = nt_reader_read(&reader, &msg)) != 0) {
		if (ret < 0 || !sync_is_start(&reader.config, &msg))
			continue;
		if (!nth--) {
			*offset = msg.offset;
			return NT_OK;
		}
	}
	return NT_E_NOT_FOUND;
}

/*
 * Return true if a message with SYNC begins at @at. A message begins after an MSEO of 11 (chapter
 * 3.1.1).
 */
static bool sync_begins_at(const struct nt_config *config, const uint8_t *data, size_t size,
			   bool middle, size_t at)
{
	struct nt_message msg;

	if (at ? mseo(data[at - 1]) != MSEO_END : middle)
		return false;
	return data[at] != IDLE_BYTE &&
	       nt_message_parse(config, data + at, size - at, &msg) == 1 &&
	       sync_is_start(config, &msg);
}

/* Find a message with SYNC from @at on. @step is 1 to search forwards, or SIZE_MAX (-1) to search backwards. */
static int sync_search(const struct nt_config *config, const uint8_t *data, size_t size, bool middle,
		       size_t at, size_t step, size_t *offset)
{
	struct nt_config copy;

	if (nt_config_check(config) || nt_config_copy(&copy, config))
		return NT_E_INVALID;
	for (; at < size; at += step) {
		if (!sync_begins_at(&copy, data, size, middle, at))
			continue;
		*offset = at;
		return NT_OK;
	}
	return NT_E_NOT_FOUND;
}

int nt_sync_next(const struct nt_config *config, const uint8_t *data, size_t size, bool middle,
		 size_t from, size_t *offset)
{
	return sync_search(config, data, size, middle, from, 1, offset);
}

int nt_sync_previous(const struct nt_config *config, const uint8_t *data, size_t size,
		     bool middle, size_t before, size_t *offset)
{
	return sync_search(config, data, size, middle, (before < size ? before : size) - 1, SIZE_MAX, offset);
}
