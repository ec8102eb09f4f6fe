// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * This file finds the start of CoreSight frames in a stream that may begin anywhere.
 *
 * Hardly anything in a frame shows its start. If a frame is read at an offset that is wrong by an
 * even number of bytes, its IDs still look like IDs. However, a wrong byte then supplies the lowest
 * bits of its data bytes, which belong to MSEO. Therefore nt_frames_find() tries each offset, and
 * counts the bytes up to the first byte that cannot belong to a message.
 */
#include <stdlib.h>

#include "../internal.h"

#define STEP		16	/* number of bytes that are converted at once */
#define ROOM		64	/* size of the buffer of one ID */
/* The best offset must have this number of valid bytes more than the second best offset. */
#define MARGIN		256
/* Maximum number of bytes that are examined */
#define MAX_SIZE	(64u << 10)

/* State of the check of one ID's bytes */
struct check {
	bool		in_step;	/* the end of a message was found */
	bool		at_begin;	/* the next byte begins a message, or is idle */
	unsigned int	length;		/* length of the current message in bytes */
	uint8_t		first;		/* first byte of the current message */
};

struct finder {
	struct nt_frames	*frames;
	struct nt_frames_out	outs[NT_FRAMES_IDS];
	struct check		checks[NT_FRAMES_IDS];
	uint8_t			bytes[NT_FRAMES_IDS][ROOM];
};

/* Check one more byte of an ID. Return false if it is not valid (chapter 3.1, tables 3 and 4). */
static bool find_check_byte(struct check *check, uint8_t byte)
{
	unsigned int m = mseo(byte);

	if (m == MSEO_RESERVED)
		return false;
	if (!check->in_step) {
		check->in_step = m == MSEO_END;
		check->at_begin = true;
		return true;
	}
	if (check->at_begin) {
		if (byte == IDLE_BYTE)
			return true;
		check->first = byte;
		check->length = 0;
		if (m != MSEO_MORE)
			return false;
	}
	check->at_begin = m == MSEO_END;
	return ++check->length <= NT_MESSAGE_MAX || nt_message_is_vendor(check->first);
}

static bool find_check_outs(struct finder *finder)
{
	unsigned int id;
	size_t i;

	for (id = 1; id < NT_FRAMES_IDS; id++) {
		struct nt_frames_out *out = &finder->outs[id];

		for (i = 0; i < out->nr; i++) {
			if (!find_check_byte(&finder->checks[id], out->data[i]))
				return false;
		}
		out->nr = 0;
	}
	return true;
}

/* Return the number of valid bytes if a frame begins at the first byte. */
static size_t find_good_bytes(struct finder *finder, const uint8_t *data, size_t size)
{
	size_t at = 0, used;
	unsigned int id;

	for (id = 1; id < NT_FRAMES_IDS; id++)
		finder->outs[id].nr = 0;
	memset(finder->checks, 0, sizeof(finder->checks));
	while (at < size) {
		size_t n = size - at < STEP ? size - at : STEP;
		int ret = nt_frames_convert(finder->frames, data + at, n, &used, finder->outs);

		if (ret < 0 || !find_check_outs(finder))
			break;
		/* After the mark of an interruption, the bytes may begin inside a message. */
		if (ret)
			memset(finder->checks, 0, sizeof(finder->checks));
		at += used;
	}
	nt_frames_reset(finder->frames);
	return at;
}

static int find_best(struct finder *finder, const uint8_t *data, size_t size, size_t *offset)
{
	size_t best = 0, next = 0, k;

	for (k = 0; k < NT_FRAME_SIZE && k < size; k++) {
		size_t good = find_good_bytes(finder, data + k, size - k) + k;

		if (good > best) {
			next = best;
			best = good;
			*offset = k;
		} else if (good > next) {
			next = good;
		}
	}
	return best >= next + MARGIN ? NT_OK : NT_E_NOT_FOUND;
}

int nt_frames_find(const uint8_t *data, size_t size, size_t *offset)
{
	struct finder *finder = calloc(1, sizeof(*finder));
	unsigned int id;
	int ret = NT_E_NOMEM;

	if (!finder)
		return NT_E_NOMEM;
	for (id = 1; id < NT_FRAMES_IDS; id++)
		finder->outs[id] = (struct nt_frames_out){ finder->bytes[id], ROOM, 0 };
	finder->frames = nt_frames_new();
	if (finder->frames)
		ret = find_best(finder, data, size < MAX_SIZE ? size : MAX_SIZE, offset);
	nt_frames_free(finder->frames);
	free(finder);
	return ret;
}
