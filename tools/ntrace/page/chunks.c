// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "chunks.h"

#define CHUNK_ITEMS	8192

/* ---- Write base64 ---- */

static size_t encode(char *out, const uint8_t *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *at = out;
	uint32_t three;
	size_t i;

	for (i = 0; i < size; i += 3) {
		three = bytes[i] << 16;
		if (i + 1 < size)
			three |= bytes[i + 1] << 8;
		if (i + 2 < size)
			three |= bytes[i + 2];
		*at++ = digits[three >> 18];
		*at++ = digits[three >> 12 & 63];
		*at++ = i + 1 < size ? digits[three >> 6 & 63] : '=';
		*at++ = i + 2 < size ? digits[three & 63] : '=';
	}
	return at - out;
}

bool base64_write(FILE *file, const uint8_t *bytes, size_t size)
{
	char text[4096];
	size_t at, n, len;

	for (at = 0; at < size; at += n) {
		n = size - at < sizeof(text) / 4 * 3 ? size - at : sizeof(text) / 4 * 3;
		len = encode(text, bytes + at, n);
		if (fwrite(text, 1, len, file) != len)
			return false;
	}
	return true;
}

/* ---- Chunks ---- */

static int close_chunk(struct chunks *chunks, unsigned int level)
{
	struct pending_chunk *p = &chunks->pending[level];
	FILE *file = level >= chunks->near_level ? chunks->near : chunks->far;

	if (!p->chunk.nr)
		return 0;
	fprintf(file, "<script type=\"application/octet-stream\" id=\"c%zu\">", chunks->index.nr);
	if (!base64_write(file, p->bytes.at, p->bytes.nr) || fputs("</script>\n", file) < 0 ||
	    !ns_array_add(&chunks->index, p->chunk))
		return -1;
	p->chunk.nr = 0;
	p->bytes.nr = 0;
	return 0;
}

static void open_chunk(struct chunks *chunks, struct pending_chunk *p, unsigned int level,
		       uint64_t begin)
{
	p->chunk = (struct chunk){
		.track = chunks->track, .level = level, .first = begin, .from = begin,
		.last = begin, .to = begin,
	};
	p->before = begin;
}

static void extend(struct chunk *chunk, uint64_t begin, uint64_t end)
{
	if (begin < chunk->from)
		chunk->from = begin;
	if (begin > chunk->last)
		chunk->last = begin;
	if (end > chunk->to)
		chunk->to = end;
	chunk->nr++;
}

static uint8_t *add_number(uint8_t *at, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		*at++ = number | 0x80;
	*at++ = number;
	return at;
}

static bool add_item(struct pending_chunk *p, const struct level_item *item, uint64_t begin)
{
	uint8_t bytes[6 * 10], *at = bytes;
	int64_t delta = begin - p->before;
	size_t room;
	void *grown;

	at = add_number(at, delta < 0 ? ~(uint64_t)delta << 1 | 1 : (uint64_t)delta << 1);
	at = add_number(at, item->ns);
	at = add_number(at, (uint64_t)item->depth << 1 | !!item->made);
	at = add_number(at, item->name);
	at = add_number(at, item->n);
	at = add_number(at, item->made ? item->made : item->kind);
	if (p->bytes.room - p->bytes.nr < sizeof(bytes)) {
		room = 2 * p->bytes.room + 4096;
		grown = realloc(p->bytes.at, room);
		if (!grown)
			return false;
		p->bytes.at = grown;
		p->bytes.room = room;
	}
	memcpy(p->bytes.at + p->bytes.nr, bytes, at - bytes);
	p->bytes.nr += at - bytes;
	p->before = begin;
	return true;
}

int chunks_put(void *ctx, unsigned int level, const struct level_item *item)
{
	struct chunks *chunks = ctx;
	struct pending_chunk *p = &chunks->pending[level];
	uint64_t begin = item->begin - chunks->start;

	if (!p->chunk.nr)
		open_chunk(chunks, p, level, begin);
	extend(&p->chunk, begin, begin + item->ns);
	if (!add_item(p, item, begin))
		return -1;
	return p->chunk.nr < CHUNK_ITEMS ? 0 : close_chunk(chunks, level);
}

int chunks_end(struct chunks *chunks)
{
	unsigned int level;
	int err = 0;

	for (level = 0; !err && level < LEVELS; level++)
		err = close_chunk(chunks, level);
	return err;
}

void chunks_free(struct chunks *chunks)
{
	unsigned int level;

	for (level = 0; level < LEVELS; level++)
		free(chunks->pending[level].bytes.at);
	free(chunks->index.at);
}
