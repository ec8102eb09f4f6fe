// SPDX-License-Identifier: GPL-2.0-only
/* Unpack the CoreSight frames of a file, which contain the trace of several encoders, each with a trace ID. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <ntrace/ntrace.h>

#include "deframer.h"

/*
 * Size of the pieces in which the bytes of one trace ID are returned. Pieces are large, because
 * each trace ID has its own decoder, which needs the processor's caches for itself.
 */
#define OUT_SIZE	(256 << 10)
#define MAX_PRINTED	10	/* maximum number of errors to print, because a file without frames has many errors */

struct deframer {
	struct nt_frames	*frames;
	const uint8_t		*data;		/* bytes of the file that are not yet unpacked */
	size_t			size;
	uint64_t		offset;		/* offset of @data in the file */
	unsigned int		at;		/* trace ID whose bytes in @outs are returned next */
	unsigned int		id;
	unsigned int		breaks;
	bool			is_broken;	/* bytes of the file are missing after the bytes that @outs has */
	bool			more;		/* the next bytes of the file can be read without waiting */
	uint64_t		errors;
	struct nt_frames_out	outs[NT_FRAMES_IDS];
	uint8_t			bytes[];
};

struct deframer *deframer_new(unsigned int id)
{
	unsigned int nr = id == DEFRAMER_ANY ? NT_FRAMES_IDS : 1;
	struct deframer *d = calloc(1, sizeof(*d) + (size_t)nr * OUT_SIZE);
	unsigned int i;

	if (!d)
		return NULL;
	d->frames = nt_frames_new();
	if (!d->frames) {
		free(d);
		return NULL;
	}
	for (i = 0; i < NT_FRAMES_IDS; i++) {
		if (id != DEFRAMER_ANY && i != id)
			continue;
		d->outs[i].data = d->bytes + (size_t)(nr == 1 ? 0 : i) * OUT_SIZE;
		d->outs[i].size = OUT_SIZE;
	}
	d->at = NT_FRAMES_IDS;
	return d;
}

void deframer_free(struct deframer *d)
{
	if (d)
		nt_frames_free(d->frames);
	free(d);
}

/* Skip the bytes before the first complete frame, because the file may begin inside a frame. */
static void skip_to_frame(struct deframer *d)
{
	size_t skip;

	if (nt_frames_find(d->data, d->size, &skip) || !skip)
		return;
	fprintf(stderr, "ntrace: the file begins inside a frame: %zu bytes are left out\n", skip);
	d->data += skip;
	d->size -= skip;
	d->offset += skip;
	/* report that bytes are missing, because the first bytes of a trace ID may be the end of a message */
	d->breaks++;
}

void deframer_put(struct deframer *d, const uint8_t *data, size_t size, bool more)
{
	d->more = more;
	d->data = data;
	d->size = size;
	if (!d->offset)
		skip_to_frame(d);
}

static void report(struct deframer *d, int error)
{
	if (d->errors++ >= MAX_PRINTED)
		return;
	fprintf(stderr, "ntrace: error %s: %s, before byte %" PRIu64 " of the file\n",
		nt_error_name(error), nt_error_text(error), d->offset);
	if (d->errors == 1)
		fprintf(stderr, "ntrace: hint: %s\n", nt_error_hint(error));
	if (d->errors == MAX_PRINTED)
		fprintf(stderr, "ntrace: further errors in CoreSight frames are counted, but not printed\n");
}

/* Unpack frames until the buffer of a trace ID is full, or until bytes are missing. */
static void convert(struct deframer *d)
{
	size_t used;
	int ret = nt_frames_convert(d->frames, d->data, d->size, &used, d->outs);

	d->data += used;
	d->size -= used;
	d->offset += used;
	d->is_broken = ret != NT_OK;
	/*
	 * let deframer_next() return the unpacked bytes of all trace IDs if a buffer in @outs is full,
	 * if bytes are missing, or if no more bytes of the file follow soon
	 */
	if (d->is_broken || d->size || !d->more)
		d->at = 0;
	if (ret < 0)
		report(d, ret);
}

size_t deframer_next(struct deframer *d, const uint8_t **data)
{
	for (;;) {
		for (; d->at < NT_FRAMES_IDS; d->at++) {
			size_t nr = d->outs[d->at].nr;

			if (!nr)
				continue;
			d->outs[d->at].nr = 0;
			*data = d->outs[d->at].data;
			d->id = d->at++;
			return nr;
		}
		d->breaks += d->is_broken;
		d->is_broken = false;
		if (!d->size)
			return 0;
		convert(d);
	}
}

static bool has_kept(const struct deframer *d)
{
	unsigned int i;

	for (i = 0; i < NT_FRAMES_IDS; i++) {
		if (d->outs[i].nr)
			return true;
	}
	return false;
}

bool deframer_end(struct deframer *d)
{
	int ret;

	if (has_kept(d)) {
		d->at = 0;
		return false;
	}
	ret = nt_frames_end(d->frames);
	if (ret)
		report(d, ret);
	if (d->errors > MAX_PRINTED)
		fprintf(stderr, "ntrace: %" PRIu64 " errors in CoreSight frames\n", d->errors);
	return true;
}

unsigned int deframer_id(const struct deframer *d)
{
	return d->id;
}

unsigned int deframer_breaks(const struct deframer *d)
{
	return d->breaks;
}

uint64_t deframer_errors(const struct deframer *d)
{
	return d->errors;
}
