// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Functions with structures that the caller allocates. The caller's structures may be shorter or
 * longer than the structures of this library, because the caller may have been built with another
 * version of the header. If a structure lacks a member, the library reads or writes the value 0.
 */
#include "counts/counts.h"
#include "flow.h"

void nt_copy_sized(void *to, size_t to_size, const void *from, size_t from_size)
{
	memcpy(to, from, to_size < from_size ? to_size : from_size);
	if (to_size > from_size)
		memset((uint8_t *)to + from_size, 0, to_size - from_size);
}

/* Check and copy the caller's configuration. Return NT_OK or NT_E_INVALID. */
static int api_take_config(struct nt_config *config, const struct nt_config *from)
{
	return nt_config_check(from) ? NT_E_INVALID : nt_config_copy(config, from);
}

int nt_message_decode_sized(const struct nt_config *config, const uint8_t *data, size_t size,
			    struct nt_message *msg, size_t msg_size)
{
	struct nt_message full = { 0 };
	struct nt_config copy;
	int ret = api_take_config(&copy, config);

	if (!ret)
		ret = nt_message_parse(&copy, data, size, &full);
	nt_copy_sized(msg, msg_size, &full, sizeof(full));
	return ret;
}

int nt_message_desc_sized(const struct nt_message *msg, size_t msg_size, char *buf, size_t size)
{
	struct nt_message full;

	nt_copy_sized(&full, sizeof(full), msg, msg_size);
	return nt_message_write(&full, buf, size);
}

int nt_reader_next_sized(struct nt_reader *reader, struct nt_message *msg, size_t msg_size)
{
	struct nt_message full = { 0 };
	int ret = nt_reader_read(reader, &full);

	nt_copy_sized(msg, msg_size, &full, sizeof(full));
	return ret;
}

int nt_reader_end_sized(struct nt_reader *reader, struct nt_message *msg, size_t msg_size)
{
	struct nt_message full = { 0 };
	int ret = nt_reader_finish(reader, &full);

	nt_copy_sized(msg, msg_size, &full, sizeof(full));
	return ret;
}

int nt_insn_decode_sized(const struct nt_config *config, const uint8_t *code, size_t size,
			 struct nt_insn *insn, size_t insn_size)
{
	struct nt_insn full = { 0 };
	struct nt_config copy;
	int ret = api_take_config(&copy, config);

	if (!ret)
		ret = nt_insn_parse(&copy, code, size, &full);
	nt_copy_sized(insn, insn_size, &full, sizeof(full));
	return ret;
}

int nt_insn_read_sized(const struct nt_config *config, const struct nt_image *image,
		       uint64_t space, uint64_t addr, uint8_t code[NT_INSN_MAX],
		       struct nt_insn *insn, size_t insn_size)
{
	size_t have = nt_image_read(image, space, addr, code, 2), length;
	struct nt_insn head;

	if (have < 2)
		return nt_insn_decode_sized(config, code, 0, insn, insn_size);
	/* The low bits of an instruction's first two bytes encode the length of the instruction. */
	nt_insn_parse(&(struct nt_config){ .xlen = 64 }, code, 2, &head);
	length = (code[0] & 3) == 3 && head.length < 4 ? 4 : head.length;
	have += nt_image_read(image, space, addr + 2, code + 2, length - 2);
	if (have < length)
		have = 0;
	return nt_insn_decode_sized(config, code, have, insn, insn_size);
}

void nt_image_set_reader_sized(struct nt_image *image, const struct nt_image_reader *reader,
			       size_t reader_size)
{
	struct nt_image_reader full = { 0 };

	if (reader)
		nt_copy_sized(&full, sizeof(full), reader, reader_size);
	nt_image_use_reader(image, reader ? &full : NULL);
}

int nt_flow_next_sized(struct nt_flow *flow, struct nt_item *item, size_t item_size)
{
	struct nt_item full;
	int ret;

	if (item_size == sizeof(*item))
		return nt_flow_take_item(flow, item);
	ret = nt_flow_take_item(flow, &full);
	if (ret > 0)
		nt_copy_sized(item, item_size, &full, sizeof(full));
	return ret;
}

int nt_flow_next_batch_sized(struct nt_flow *flow, struct nt_batch *batch, size_t batch_size)
{
	struct nt_batch full;
	int ret;

	if (batch_size == sizeof(*batch))
		return nt_flow_take_batch(flow, batch);
	ret = nt_flow_take_batch(flow, &full);
	if (ret > 0)
		nt_copy_sized(batch, batch_size, &full, sizeof(full));
	return ret;
}

int nt_flow_count_sized(struct nt_flow *flow, struct nt_item *item, size_t item_size)
{
	struct nt_item full;
	int ret = nt_flow_take_counted(flow, &full);

	if (ret > 0)
		nt_copy_sized(item, item_size, &full, sizeof(full));
	return ret;
}

int nt_counts_add_item_sized(struct nt_counts *counts, const struct nt_item *item,
			     size_t item_size)
{
	struct nt_item full;

	nt_copy_sized(&full, sizeof(full), item, item_size);
	return nt_counts_add_range(counts, &full);
}

int nt_counts_add_sized(struct nt_counts *counts, const struct nt_count *count, size_t count_size)
{
	struct nt_count full;

	nt_copy_sized(&full, sizeof(full), count, count_size);
	if (nt_counts_reserve(counts, 1))
		return NT_E_NOMEM;
	nt_counts_put(counts, &full);
	return NT_OK;
}

int nt_counts_next_sized(const struct nt_counts *counts, uint64_t *at, struct nt_count *count,
			 size_t count_size)
{
	if (*at >= counts->nr)
		return 0;
	nt_copy_sized(count, count_size, &counts->entries[(*at)++], sizeof(*count));
	return 1;
}

int nt_item_desc_sized(const struct nt_item *item, size_t item_size, char *buf, size_t size)
{
	struct nt_item full;

	nt_copy_sized(&full, sizeof(full), item, item_size);
	return nt_item_write(&full, buf, size);
}
