// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The pin interface (chapter 3.1.4, "PIB Idle Cycles Explained").
 *
 * The encoder sends the bits of a message one after the other, the least significant first. It sends
 * any number of ones between two messages. The first zero after a message begins the next message.
 * If there are fewer than 8 pins, this zero may be any bit of a byte.
 */
#include <errno.h>
#include <stdlib.h>

#include "../internal.h"

/* Number of ones after which a message may begin, if the end of the last message is unknown */
#define MIN_IDLE	8

enum pins_state {
	PINS_IDLE,	/* the next bit is between two messages */
	PINS_MESSAGE,
	PINS_HUNT,	/* a byte was invalid; the bits up to an idle byte are skipped */
};

struct nt_pins {
	unsigned int	pins;
	enum pins_state	state;
	unsigned int	nr_bits;	/* number of bits in @byte */
	unsigned int	nr_ones;	/* number of ones in a row, between messages */
	uint8_t		byte;
};

struct nt_pins *nt_pins_new(unsigned int pins)
{
	struct nt_pins *p;

	if (pins != 1 && pins != 2 && pins != 4 && pins != 8 && pins != 16) {
		errno = EINVAL;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (p)
		p->pins = pins;
	return p;
}

void nt_pins_free(struct nt_pins *pins)
{
	free(pins);
}

/* Add one bit. Return true if it completes @pins->byte. */
static bool pins_take_bit(struct nt_pins *pins, unsigned int bit)
{
	if (pins->state != PINS_MESSAGE) {
		unsigned int ones = pins->nr_ones;

		pins->nr_ones = bit ? ones + 1 : 0;
		if (bit || (pins->state == PINS_HUNT && ones < MIN_IDLE))
			return false;
		pins->state = PINS_MESSAGE;
		pins->nr_bits = 0;
		pins->byte = 0;
	}
	pins->byte |= bit << pins->nr_bits++;
	return pins->nr_bits == 8;
}

/* Process a complete byte. Return true if the byte is invalid, so that the caller must end the message. */
static bool pins_end_byte(struct nt_pins *pins)
{
	unsigned int m = mseo(pins->byte);

	if (m == MSEO_END)
		pins->state = PINS_IDLE;
	else if (m == MSEO_RESERVED)
		pins->state = PINS_HUNT;
	pins->nr_ones = 0;
	pins->nr_bits = 0;
	pins->byte = 0;
	return pins->state == PINS_HUNT;
}

size_t nt_pins_convert(struct nt_pins *pins, const uint8_t *data, size_t size, size_t *used,
		       uint8_t *out, size_t out_size)
{
	size_t done = 0, at = 0;
	unsigned int i;

	if (pins->pins >= 8) {
		done = size < out_size ? size : out_size;
		memcpy(out, data, done);
		*used = done;
		return done;
	}
	for (at = 0; at < size && done + 2 <= out_size; at++) {
		for (i = 0; i < 8; i++) {
			if (!pins_take_bit(pins, data[at] >> i & 1))
				continue;
			out[done++] = pins->byte;
			if (pins_end_byte(pins))
				out[done++] = IDLE_BYTE;
		}
	}
	*used = at;
	return done;
}
