// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * CoreSight frames of 16 bytes, in which a trace formatter packs the bytes of several sources
 * (Arm CoreSight Architecture Specification, "Trace Formatter").
 *
 *	  byte 0  ...  14 (even)           1 ... 13 (odd)     15
 *	+---------------------------+---+ +--------------+ +------------------+
 *	| bits 7:1 of a data byte   | 0 | |  data byte   | | bit n is about   |
 *	| or an ID, from here on    | 1 | |              | | byte 2n          |
 *	+---------------------------+---+ +--------------+ +------------------+
 *
 * If even byte 2n is a data byte, bit n of byte 15 is its bit 0. If even byte 2n is an ID, bit n is
 * set if the byte after the ID still belongs to the previous ID. ID 0x7f is never used, so an even
 * byte is 0xff only in a synchronisation packet. A full packet is ff ff ff 7f between frames, and a
 * half packet is ff 7f at any even byte. Data cannot look like a full packet, because at least one of
 * three consecutive bytes ff would be an even byte of a frame.
 */
#include <stdlib.h>

#include "../plain.h"

#define LAST		(NT_FRAME_SIZE - 1)	/* index of the byte that has bit 0 of each even byte */
#define ID_UNKNOWN	0xff
/* Smallest reserved ID. All larger IDs are also reserved, except ID_FLUSH and ID_TRIGGER. */
#define ID_RESERVED	NT_FRAMES_IDS
#define ID_FLUSH	0x7b
#define ID_TRIGGER	0x7d
#define FULL_SYNC	0x7fffffffu
#define BARRIER		4	/* number of full synchronisation packets with which Linux marks an interruption */

/* Number of bytes that must be free in a buffer before a frame's bytes are stored, 16 at a time */
#define ROOM		(2 * NT_FRAME_SIZE)

#define EVEN_BYTES	0x5555
#define LANES		0x0001000100010001ULL	/* bit 0 of each even byte of 8 bytes */

struct nt_frames {
	uint8_t		id;		/* ID of the next byte */
	unsigned int	nr;		/* number of bytes in @buf */
	uint32_t	last;		/* last four bytes, the newest of which is in the high bits */
	unsigned int	nr_syncs;	/* number of full synchronisation packets in a row */
	bool		is_careful;	/* bytes of the last frame may begin a full synchronisation packet */
	uint8_t		buf[NT_FRAME_SIZE];	/* start of a frame */
	struct nt_frames_stats stats;
};

/*
 * The rest of a frame, whose next byte is the lowest byte of @low. The compiler keeps this structure
 * in registers. If it were in memory, each read of bytes would have to wait until the previous write
 * is complete.
 */
struct bytes {
	uint64_t	low;
	uint64_t	high;
};

void nt_frames_reset(struct nt_frames *frames)
{
	memset(frames, 0, sizeof(*frames));
	frames->id = ID_UNKNOWN;
}

struct nt_frames *nt_frames_new(void)
{
	struct nt_frames *frames = malloc(sizeof(*frames));

	if (frames)
		nt_frames_reset(frames);
	return frames;
}

void nt_frames_free(struct nt_frames *frames)
{
	free(frames);
}

void nt_frames_stats(const struct nt_frames *frames, struct nt_frames_stats *stats, size_t size)
{
	nt_copy_sized(stats, size, &frames->stats, sizeof(frames->stats));
}

/* ---- convert one frame ---- */

static __always_inline bool frames_is_reserved(uint8_t id)
{
	return id >= ID_RESERVED && id != ID_FLUSH && id != ID_TRIGGER;
}

static __always_inline struct nt_frames_out *frames_out(struct nt_frames_out *outs, uint8_t id)
{
	return id && id < NT_FRAMES_IDS && outs[id].data ? &outs[id] : NULL;
}

static __always_inline bool frames_has_room(struct nt_frames_out *outs, uint8_t id)
{
	const struct nt_frames_out *out = frames_out(outs, id);

	return !out || out->size - out->nr >= ROOM;
}

/* Count @nr bytes of @id, which are dropped. */
static void frames_drop(struct nt_frames *frames, uint8_t id, size_t nr)
{
	if (!id)
		frames->stats.padding += nr;
	else if (id == ID_UNKNOWN)
		frames->stats.unknown += nr;
	else if (id >= ID_RESERVED)
		frames->stats.triggers += nr;
}

/*
 * Store @v in little-endian order by memcpy(), which gcc compiles to one store. In the loops of this
 * file, gcc does not merge eight stores of single bytes.
 */
static __always_inline void store64(uint8_t *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	memcpy(p, &v, sizeof(v));
}

/* Remove the first @nr bytes from the rest of a frame. */
static __always_inline void frames_skip(struct bytes *bytes, unsigned int nr)
{
	unsigned int bits = 8 * nr & 63;
	uint64_t high = bytes->high;

	bytes->low = nr < 8 ? bytes->low >> bits | high << 1 << (63 - bits) : high >> bits;
	bytes->high = nr < 8 ? high >> bits : 0;
}

/* Store the next @nr bytes for @id. */
static __always_inline void frames_give(struct nt_frames *frames, struct nt_frames_out *outs,
					uint8_t id, struct bytes *bytes, unsigned int nr)
{
	struct nt_frames_out *out = frames_out(outs, id);

	if (likely(out)) {
		store64(out->data + out->nr, bytes->low);
		store64(out->data + out->nr + 8, bytes->high);
		out->nr += nr;
	} else {
		frames_drop(frames, id, nr);
	}
	frames_skip(bytes, nr);
}

/*
 * Move bits 0, 16, 32 and 48 of @v to the lowest four bits, and return them. frames_spread_lanes()
 * moves them back.
 */
static __always_inline unsigned int frames_pack_lanes(uint64_t v)
{
	return (v & LANES) * 0x0001000200040008ULL >> 48 & 15;
}

static __always_inline uint64_t frames_spread_lanes(unsigned int bits)
{
	return (bits & 15) * 0x0000200040008001ULL & LANES;
}

/* Return @bits with each bit n of its low byte moved to bit 2n. */
static __always_inline unsigned int frames_spread_bits(unsigned int bits)
{
	bits = (bits | bits << 4) & 0x0f0f;
	bits = (bits | bits << 2) & 0x3333;
	return (bits | bits << 1) & EVEN_BYTES;
}

enum verdict { FRAME_GOOD, FRAME_BAD, FRAME_NO_ROOM };

static __always_inline enum verdict frames_check_ids(const uint8_t *p, unsigned int ids,
						     struct nt_frames_out *outs)
{
	enum verdict verdict = FRAME_GOOD;

	for (; ids; ids &= ids - 1) {
		uint8_t id = p[2 * __builtin_ctz(ids)] >> 1;

		if (unlikely(frames_is_reserved(id)))
			return FRAME_BAD;
		if (unlikely(!frames_has_room(outs, id)))
			verdict = FRAME_NO_ROOM;
	}
	return verdict;
}

/* Remove byte @nr, from 0, from the rest of a frame. */
static __always_inline void frames_take_out(struct bytes *bytes, unsigned int nr)
{
	/* The masks @low and @high are parts of this array. Their first @nr bytes are all ones. */
	static const uint8_t ones[32] = {
		-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	};
	uint64_t low = load64(ones + 16 - nr), high = load64(ones + 24 - nr);
	struct bytes rest = *bytes;

	frames_skip(&rest, 1);
	bytes->low = (bytes->low & low) | (rest.low & ~low);
	bytes->high = (bytes->high & high) | (rest.high & ~high);
}

/*
 * Store the bytes of a frame. Bit n of @ids is set if byte 2n is an ID. The loop has few branches,
 * because the processor cannot predict the number of IDs.
 */
static __always_inline void frames_give_parts(struct nt_frames *frames, struct nt_frames_out *outs,
				       const uint8_t *p, struct bytes bytes, unsigned int ids)
{
	/* Ignore bit 7. It is about an ID in byte 14, after which the frame has no byte for the previous ID. */
	unsigned int late = p[LAST] & 0x7f;
	unsigned int at = 0;
	uint8_t id = frames->id;

	for (; ids; ids &= ids - 1) {
		unsigned int n = __builtin_ctz(ids), where = 2 * n;
		unsigned int is_late = late >> n & 1;

		frames_take_out(&bytes, where - at);
		frames_give(frames, outs, id, &bytes, where - at + is_late);
		at = where + 1 + is_late;
		id = p[where] >> 1;
	}
	frames->id = id;
	frames_give(frames, outs, id, &bytes, LAST - at);
}

/*
 * Convert a whole frame after checking that the buffer of each ID has room. If the result is not
 * FRAME_GOOD, nothing has changed. The frame is copied, because another process may change the trace
 * after the check.
 */
static enum verdict frames_take_frame(struct nt_frames *frames, const uint8_t *data,
				      struct nt_frames_out *outs)
{
	struct bytes bytes = { load64(data), load64(data + 8) };
	uint8_t p[NT_FRAME_SIZE];
	unsigned int ids = frames_pack_lanes(bytes.low) | frames_pack_lanes(bytes.high) << 4;
	enum verdict verdict;

	if (unlikely(!frames_has_room(outs, frames->id)))
		return FRAME_NO_ROOM;
	store64(p, bytes.low);
	store64(p + 8, bytes.high);
	bytes.low = (bytes.low & ~LANES) | frames_spread_lanes(p[LAST]);
	bytes.high = (bytes.high & ~LANES) | frames_spread_lanes(p[LAST] >> 4);
	if (!ids) {
		frames_give(frames, outs, frames->id, &bytes, LAST);
	} else {
		verdict = frames_check_ids(p, ids, outs);
		if (unlikely(verdict != FRAME_GOOD))
			return verdict;
		frames_give_parts(frames, outs, p, bytes, ids);
	}
	frames->stats.frames++;
	frames->nr_syncs = 0;
	return FRAME_GOOD;
}

/* ---- find synchronisation packets, which are between frames ---- */

/* Return true if an even byte is 0xff, which is a synchronisation packet or damage. */
static __always_inline bool frames_has_ff(const uint8_t *p)
{
	uint64_t low = ~load64(p) & (0xff * LANES), high = ~load64(p + 8) & (0xff * LANES);

	return ((low + 0xff * LANES) & (high + 0xff * LANES) & (LANES << 8)) != LANES << 8;
}

static int frames_lose(struct nt_frames *frames, unsigned int nr, int error)
{
	frames->stats.lost += nr;
	frames->nr = 0;
	frames->nr_syncs = 0;
	frames->id = ID_UNKNOWN;
	return error;
}

/*
 * Handle the last byte of a full synchronisation packet. The next byte begins a frame. An
 * incomplete frame before the packet is lost.
 */
static int frames_full_sync(struct nt_frames *frames)
{
	unsigned int nr = frames->nr;
	bool was_careful = frames->is_careful;

	frames->stats.syncs++;
	frames->last = 0;
	frames->is_careful = false;
	if (nr > 4)
		return frames_lose(frames, nr - 4, NT_E_FRAME_SYNC);
	frames->nr = 0;
	if (nr < 4 && !was_careful)
		return frames_lose(frames, 0, NT_E_FRAME_SYNC);
	if (++frames->nr_syncs < BARRIER)
		return NT_OK;
	frames->nr_syncs = 0;
	frames->id = ID_UNKNOWN;
	return 1;
}

static int frames_take_byte(struct nt_frames *frames, uint8_t byte)
{
	unsigned int nr;

	frames->buf[frames->nr++] = byte;
	frames->last = frames->last >> 8 | (uint32_t)byte << 24;
	if (frames->last == FULL_SYNC)
		return frames_full_sync(frames);
	nr = frames->nr;
	/*
	 * These two bytes are a half packet, ff 7f. The first half of a full synchronisation packet is ff ff, so it is
	 * not taken for one.
	 */
	if (!(nr & 1) && byte == 0x7f && frames->buf[nr - 2] == 0xff) {
		frames->nr -= 2;
		frames->nr_syncs = 0;
		frames->stats.syncs++;
	}
	return NT_OK;
}

/* ---- fast conversion of many frames in one call ---- */

/*
 * Number of frames whose bytes are prepared before the first of them is distributed, so that the
 * processor need not wait for the stores
 */
#define BUNCH		16
/* Minimum number of bytes for which it saves time to copy the positions in the buffers to struct lanes and back */
#define MIN_BUNCHES	(32 * NT_FRAME_SIZE)
#define NR_LANES	128
#define LANE_UNKNOWN	0x7f	/* index in lanes::lane of bytes with an unknown ID; no source has the ID 0x7f */

/*
 * The buffer of one ID, to which its bytes are copied. The next byte goes to @to + @nr, or always
 * to @to if the bytes are dropped.
 */
struct lane {
	uint8_t		*to;
	uint32_t	nr;
	uint32_t	mask;		/* all ones; or 0 if the bytes are dropped */
};

/*
 * Maximum number of frames that are converted before lane::nr is added to nt_frames_out::nr and cleared, so
 * that lane::nr, which has 32 bits, cannot overflow
 */
#define MAX_FRAMES	(1u << 20)

/*
 * The positions in the buffers of all IDs, which are copied from struct nt_frames_out (@are_open),
 * and copied back later. Both copies together take as long as to convert a hundred frames.
 * Therefore the positions are copied back only when nt_frames_convert() returns.
 */
struct lanes {
	struct lane	lane[NR_LANES];
	size_t		room;		/* number of frames that certainly fit, whatever their IDs are */
	bool		are_open;	/* the newest positions are in @lane, and not in nt_frames_out::nr */
	uint8_t		scratch[ROOM];
};

/* Prepared frames, in which bit 0 of each even byte is set to the bit of byte 15 that belongs to it */
struct bunch {
	uint8_t		bytes[BUNCH][NT_FRAME_SIZE];
	uint8_t		spare[NT_FRAME_SIZE];
	uint16_t	ids[BUNCH];			/* bit n is set if byte n is an ID */
};

/*
 * Return true if an even byte is an ID of 0x70 or above, which may also be a synchronisation
 * packet.
 */
static __always_inline bool frames_is_odd(uint64_t low, uint64_t high)
{
	low &= low << 1 & low << 2 & low << 7;
	high &= high << 1 & high << 2 & high << 7;
	return (low | high) & LANES << 7;
}

/*
 * Prepare up to @max frames, and stop before a frame with an ID of 0x70 or above. Return the number
 * of prepared frames.
 */
static __always_inline unsigned int frames_prepare(struct bunch *bunch, const uint8_t *p,
						   size_t max)
{
	unsigned int i, nr = max < BUNCH ? max : BUNCH;

	for (i = 0; i < nr; i++, p += NT_FRAME_SIZE) {
		uint64_t low = load64(p), high = load64(p + 8);

		if (unlikely(frames_is_odd(low, high)))
			break;
		bunch->ids[i] = plain_find_ends(p).field & EVEN_BYTES;
		store64(bunch->bytes[i], (low & ~LANES) | frames_spread_lanes(p[LAST]));
		store64(bunch->bytes[i] + 8, (high & ~LANES) | frames_spread_lanes(p[LAST] >> 4));
	}
	return i;
}

/*
 * Return the address to which the next byte of @lane is copied. Store several bytes relative to one
 * returned address. If this were called for each of these bytes, the compiler would have to read *lane
 * again each time, because it must assume that storing a byte changes *lane.
 */
static __always_inline uint8_t *lane_end(const struct lane *lane)
{
	return lane->to + (lane->nr & lane->mask);
}

/*
 * Copy the bytes of a prepared frame to the buffers of their IDs. The first byte belongs to @lane.
 * Return the struct lane of the last byte.
 */
static __always_inline struct lane *frames_share(struct lane *lanes, struct lane *lane,
						 const uint8_t *p, unsigned int ids)
{
	/* Bit n is set if byte n is an ID, but byte n + 1 still belongs to the ID before it. */
	unsigned int late = ids ? frames_spread_bits(p[LAST] & 0x7f) : 0, at = 0;

	for (; ids; ids &= ids - 1) {
		unsigned int n = __builtin_ctz(ids), is_late = late >> n & 1, nr = n - at;
		uint8_t *to = lane_end(lane);

		memcpy(to, p + at, NT_FRAME_SIZE);
		to[nr] = p[n + 1];
		lane->nr += nr + is_late;
		at = n + 1 + is_late;
		lane = &lanes[p[n] >> 1];
	}
	memcpy(lane_end(lane), p + at, NT_FRAME_SIZE);
	lane->nr += LAST - at;
	return lane;
}

static __always_inline struct lane *frames_lane(const struct nt_frames *frames, struct lanes *lanes)
{
	return &lanes->lane[frames->id == ID_UNKNOWN ? LANE_UNKNOWN : frames->id];
}

static __always_inline void frames_set_id(struct nt_frames *frames, const struct lanes *lanes,
					  const struct lane *lane)
{
	frames->id = lane == &lanes->lane[LANE_UNKNOWN] ? ID_UNKNOWN : lane - lanes->lane;
}

static void frames_close_lanes(struct nt_frames *frames, struct lanes *lanes,
			       struct nt_frames_out *outs)
{
	unsigned int id;

	if (!lanes->are_open)
		return;
	for (id = 0; id < NR_LANES; id++) {
		const struct lane *lane = &lanes->lane[id];

		if (lane->mask)
			outs[id].nr += lane->nr;
		else if (lane->nr)
			frames_drop(frames, id == LANE_UNKNOWN ? ID_UNKNOWN : id, lane->nr);
	}
	lanes->are_open = false;
	lanes->room = 0;
}

static void frames_open_lanes(struct nt_frames *frames, struct lanes *lanes,
			      struct nt_frames_out *outs)
{
	size_t room = SIZE_MAX;
	unsigned int id;

	frames_close_lanes(frames, lanes, outs);
	for (id = 0; id < NR_LANES; id++) {
		struct nt_frames_out *out = frames_out(outs, id);

		lanes->lane[id] = (struct lane){ .to = lanes->scratch };
		if (!out)
			continue;
		lanes->lane[id] = (struct lane){ .to = out->data + out->nr, .mask = UINT32_MAX };
		if (out->size - out->nr < room)
			room = out->size - out->nr;
	}
	room = room < ROOM ? 0 : (room - NT_FRAME_SIZE) / LAST;
	lanes->room = room < MAX_FRAMES ? room : MAX_FRAMES;
	lanes->are_open = true;
}

/* Convert many whole frames without IDs of 0x70 or above. Return the number of bytes consumed. */
static size_t frames_take_bunches(struct nt_frames *frames, const uint8_t *data, size_t size,
				  struct lanes *lanes)
{
	struct lane *lane = frames_lane(frames, lanes);
	size_t left = size / NT_FRAME_SIZE, done = 0;
	struct bunch bunch = { .spare = { 0 } };
	unsigned int i, nr = BUNCH;

	left = lanes->room < left ? lanes->room : left;
	for (; nr == BUNCH; done += nr) {
		nr = frames_prepare(&bunch, data + done * NT_FRAME_SIZE, left - done);
		for (i = 0; i < nr; i++)
			lane = frames_share(lanes->lane, lane, bunch.bytes[i], bunch.ids[i]);
	}
	frames_set_id(frames, lanes, lane);
	frames->stats.frames += done;
	lanes->room -= done;
	if (done)
		frames->nr_syncs = 0;
	return done * NT_FRAME_SIZE;
}

static bool frames_has_reserved(const uint8_t *p, unsigned int ids)
{
	for (; ids; ids &= ids - 1) {
		if (frames_is_reserved(p[__builtin_ctz(ids)] >> 1))
			return true;
	}
	return false;
}

/* Convert one frame with any IDs. If the result is not FRAME_GOOD, nothing has changed. */
static enum verdict frames_take_single(struct nt_frames *frames, const uint8_t *p,
				       struct lanes *lanes, struct nt_frames_out *outs)
{
	unsigned int ids = plain_find_ends(p).field & EVEN_BYTES;
	uint8_t bytes[ROOM] = { 0 };

	if (!lanes->room) {
		frames_close_lanes(frames, lanes, outs);
		return frames_take_frame(frames, p, outs);
	}
	if (frames_has_reserved(p, ids))
		return FRAME_BAD;
	store64(bytes, (load64(p) & ~LANES) | frames_spread_lanes(p[LAST]));
	store64(bytes + 8, (load64(p + 8) & ~LANES) | frames_spread_lanes(p[LAST] >> 4));
	frames_set_id(frames, lanes, frames_share(lanes->lane, frames_lane(frames, lanes), bytes, ids));
	lanes->room--;
	frames->stats.frames++;
	frames->nr_syncs = 0;
	return FRAME_GOOD;
}

/*
 * Number of frames that are converted one by one before the next attempt of frames_take_bunches()
 * to convert several at once
 */
#define SINGLES		16

/*
 * Convert up to @max frames one by one, and stop at a frame whose result is not FRAME_GOOD. Return
 * the number of bytes consumed.
 */
static size_t frames_take_singles(struct nt_frames *frames, const uint8_t *data, size_t max,
				  struct lanes *lanes, struct nt_frames_out *outs)
{
	size_t i;

	for (i = 0; i < max; i++) {
		const uint8_t *p = data + i * NT_FRAME_SIZE;

		if (frames_has_ff(p) || frames_take_single(frames, p, lanes, outs) != FRAME_GOOD)
			break;
	}
	return i * NT_FRAME_SIZE;
}

/* Convert whole frames without synchronisation packets. Return the number of bytes consumed. */
static size_t frames_take_frames(struct nt_frames *frames, const uint8_t *data, size_t size,
				 struct lanes *lanes, struct nt_frames_out *outs)
{
	size_t at = 0, nr, taken;

	do {
		if (!lanes->room && size - at >= MIN_BUNCHES)
			frames_open_lanes(frames, lanes, outs);
		if (lanes->room)
			at += frames_take_bunches(frames, data + at, size - at, lanes);
		nr = (size - at) / NT_FRAME_SIZE;
		nr = nr < SINGLES ? nr : SINGLES;
		taken = frames_take_singles(frames, data + at, nr, lanes, outs);
		at += taken;
	} while (nr == SINGLES && taken == SINGLES * NT_FRAME_SIZE);
	if (at)
		frames->last = load32(data + at - 4);
	return at;
}

/*
 * Convert the complete frame in @frames->buf. Set *room to true if the frame was converted or
 * dropped, and to false if @outs has no room for it.
 */
static int frames_end_frame(struct nt_frames *frames, struct lanes *lanes,
			    struct nt_frames_out *outs, bool *room)
{
	enum verdict verdict = frames_take_single(frames, frames->buf, lanes, outs);

	*room = verdict != FRAME_NO_ROOM;
	if (!*room)
		return NT_OK;
	frames->nr = 0;
	frames->is_careful = verdict == FRAME_BAD;
	if (verdict == FRAME_BAD)
		return frames_lose(frames, NT_FRAME_SIZE, NT_E_FRAME_ID);
	return NT_OK;
}

int nt_frames_convert(struct nt_frames *frames, const uint8_t *data, size_t size, size_t *used,
		      struct nt_frames_out *outs)
{
	struct lanes lanes;
	uint32_t last = frames->last;
	size_t at = 0;
	bool room;
	int ret = NT_OK;

	lanes.room = 0;
	lanes.are_open = false;
	while (!ret) {
		if (frames->nr == NT_FRAME_SIZE) {
			ret = frames_end_frame(frames, &lanes, outs, &room);
			if (room)
				continue;
			/* No room. Leave the last byte of the frame unused, so that the next call gets this byte. */
			frames->nr--;
			frames->last = last;
			at--;
			break;
		}
		if (!frames->nr && !frames->is_careful)
			at += frames_take_frames(frames, data + at, size - at, &lanes, outs);
		if (at == size)
			break;
		last = frames->last;
		ret = frames_take_byte(frames, data[at++]);
	}
	frames_close_lanes(frames, &lanes, outs);
	frames->stats.bytes += at;
	*used = at;
	return ret;
}

int nt_frames_end(struct nt_frames *frames)
{
	unsigned int nr = frames->nr;

	frames->last = 0;
	frames->is_careful = false;
	return nr ? frames_lose(frames, nr, NT_E_FRAME_SYNC) : NT_OK;
}
