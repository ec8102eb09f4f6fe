// SPDX-License-Identifier: GPL-2.0
/*
 * Convert the frames that a CoreSight ETR writes to messages (CoreSight Architecture Specification,
 * chapter D4). A frame has 16 bytes. If bit 0 of an even byte is 0, the byte contains data. If bit 0 is
 * 1, the byte changes the trace id. Byte 15 has one bit for each even byte. For data, it is bit 0 of the
 * data. For a change of the id, it is 1 if the next byte still belongs to the previous id.
 */
#include <string.h>

#include "trace.h"

#define FRAME	16
#define IDLE	0xff

/* The bytes of a message that is not complete yet */
struct pending {
	uint8_t		bytes[64];
	unsigned int	nr;
};

struct frames {
	struct pending	ids[128];
	unsigned int	id;
	uint8_t		*to;
};

static void put(struct frames *f, uint8_t byte)
{
	struct pending *p = &f->ids[f->id];

	/* the bytes of id 0 are padding */
	if (!f->id)
		return;
	p->bytes[p->nr++] = byte;
	if ((byte & 3) != 3 && p->nr < sizeof(p->bytes))
		return;
	memcpy(f->to, p->bytes, p->nr);
	f->to += p->nr;
	p->nr = 0;
}

static void take_frame(struct frames *f, const uint8_t *frame)
{
	unsigned int i, next;

	for (i = 0; i < 15; i++) {
		unsigned int bit = frame[15] >> (i / 2) & 1;

		if (i & 1 || !(frame[i] & 1)) {
			put(f, i & 1 ? frame[i] : frame[i] | bit);
			continue;
		}
		next = frame[i] >> 1;
		if (bit && i < 14)
			put(f, frame[++i]);
		f->id = next;
	}
}

void frames_to_messages(uint8_t *buf, size_t size)
{
	static struct frames f;
	uint8_t *end = buf + size, *frame, copy[FRAME];

	memset(&f, 0, sizeof(f));
	f.to = buf;
	for (frame = buf; frame + FRAME <= end; frame += FRAME) {
		memcpy(copy, frame, FRAME);
		take_frame(&f, copy);
	}
	memset(f.to, IDLE, end - f.to);
}
