// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Places in a buffer where decoding can start.
 */
#include "internal.h"

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
	while ((ret = nt_reader_next(&reader, &msg)) != 0) {
		if (ret < 0 || !nt_message_is_sync(&msg))
			continue;
		if (reader.config.src_id != NT_SRC_ANY && msg.src != reader.config.src_id)
			continue;
		if (!nth--) {
			*offset = msg.offset;
			return NT_OK;
		}
	}
	return NT_E_NOT_FOUND;
}
