// SPDX-License-Identifier: GPL-2.0-or-later
/* The formatter of a CoreSight trace sink, see CoreSight architecture specification, chapter D4. */
#include <string.h>

#include "coresight.h"

#define FLAGS		15	/* position of the byte with the flags */
#define NO_ID		0x7f	/* reserved ID, which means that no ID was sent */
#define NULL_ID		0	/* ID of the bytes that fill an incomplete frame */

void nb_formatter_init(struct nb_formatter *f, unsigned int id_every,
		       bool (*out)(void *opaque, const uint8_t frame[16]), void *opaque)
{
	memset(f, 0, sizeof(*f));
	f->id = NO_ID;
	f->id_every = id_every;
	f->out = out;
	f->out_opaque = opaque;
}

static void formatter_next(struct nb_formatter *f)
{
	if (++f->pos < FLAGS)
		return;
	f->out(f->out_opaque, f->frame);
	memset(f->frame, 0, sizeof(f->frame));
	f->pos = 0;
	if (f->id_every && ++f->frames >= f->id_every) {
		f->frames = 0;
		f->id = NO_ID;
	}
}

static void formatter_data(struct nb_formatter *f, uint8_t byte)
{
	if (f->pos & 1) {
		f->frame[f->pos] = byte;
	} else {
		f->frame[f->pos] = byte & ~1;
		f->frame[FLAGS] |= (byte & 1) << f->pos / 2;
	}
	formatter_next(f);
}

/* Store an ID change. If @late is true, the byte after it still belongs to the previous ID. */
static void formatter_id(struct nb_formatter *f, uint8_t id, bool late)
{
	f->frame[f->pos] = id << 1 | 1;
	f->frame[FLAGS] |= late << f->pos / 2;
	f->id = id;
	f->frames = 0;
	formatter_next(f);
}

/*
 * Store the data byte that nb_formatter_put() has held back. @next is the ID of the data byte after it. An
 * odd byte of the frame cannot be an ID change. If the byte after an odd byte has another ID, the ID
 * change is stored in the even byte before the odd byte. This is not possible in byte 14, because byte 15
 * contains flags.
 */
static void formatter_held(struct nb_formatter *f, uint8_t next)
{
	if (f->pos & 1) {
		formatter_data(f, f->held);
		return;
	}
	if (f->id != f->held_id)
		formatter_id(f, f->held_id, false);
	if (!(f->pos & 1) && next != f->held_id && f->pos < 14)
		formatter_id(f, next, true);
	formatter_data(f, f->held);
}

void nb_formatter_put(struct nb_formatter *f, uint8_t id, uint8_t byte)
{
	if (f->has_held)
		formatter_held(f, id);
	f->held_id = id;
	f->held = byte;
	f->has_held = true;
}

void nb_formatter_flush(struct nb_formatter *f)
{
	if (f->has_held)
		formatter_held(f, NULL_ID);
	f->has_held = false;
	if (f->pos && !(f->pos & 1) && f->id != NULL_ID)
		formatter_id(f, NULL_ID, false);
	while (f->pos)
		formatter_data(f, 0);
	f->id = NO_ID;
	f->frames = 0;
}
