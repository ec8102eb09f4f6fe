/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flip one bit of a stream and decode the stream. Check whether the decoded execution has changed, and
 * whether the library reports an error.
 */
#ifndef DIALECT_JUDGE_H
#define DIALECT_JUDGE_H

#include <stdint.h>
#include <stdio.h>

#include <ntrace/ntrace.h>

/* Summary of the decoded items of a stream */
struct result {
	uint64_t	hash;		/* hash of the decoded instructions */
	uint64_t	ranges;
	uint64_t	problems;	/* number of items that report an error or a loss */
	uint64_t	restarts;
	uint64_t	stops;
	uint64_t	lost;		/* number of messages that were not decoded, from the statistics */
};

struct verdicts {
	unsigned long	flips, detected, harmless, silent;
	unsigned long	legal;		/* number of flips in @silent that no decoder can notice (judge_is_legal()) */
};

/* A stream, and the bit of it to flip */
struct flip {
	const struct nt_config	*config;
	uint8_t			*data;
	size_t			size, at;
	uint8_t			bit;
};

static inline uint64_t judge_mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x100000001b3ULL;
}

static inline void judge_item(struct result *result, const struct nt_item *item)
{
	switch (item->type) {
	case NT_ITEM_ERROR:
	case NT_ITEM_GAP:
	case NT_ITEM_LOST:
	case NT_ITEM_SKIPPED:
		result->problems++;
		break;
	case NT_ITEM_STOP:
		result->stops++;
		break;
	case NT_ITEM_SYNC:
		result->restarts += item->sync.restart;
		break;
	}
}

static inline struct result judge_decode(const struct nt_config *config, struct nt_image *image,
					 const uint8_t *data, size_t size)
{
	struct nt_flow *flow = nt_flow_new(config, image);
	struct result result = { 0 };
	struct nt_batch batch;
	struct nt_stats stats;
	size_t i;

	nt_flow_feed(flow, data, size);
	nt_flow_end(flow);
	while (nt_flow_next_batch(flow, &batch) > 0) {
		for (i = 0; i < batch.nr; i++) {
			const struct nt_range *r = &batch.ranges[i];

			result.hash = judge_mix(judge_mix(result.hash, r->start), r->insns);
			result.ranges++;
		}
		if (!batch.nr)
			judge_item(&result, &batch.item);
	}
	nt_flow_stats(flow, &stats, sizeof(stats));
	result.lost = stats.lost_messages;
	nt_flow_free(flow);
	return result;
}

/* Read the message with the flipped bit. Return false if it cannot be read. */
static inline bool judge_message(const struct flip *flip, struct nt_message *msg)
{
	size_t at;
	int ret;

	for (at = 0; at < flip->size; at += msg->offset + msg->length) {
		ret = nt_message_decode(flip->config, flip->data + at, flip->size - at, msg);
		if (!ret)
			return false;
		if (at + msg->offset + msg->length > flip->at)
			return ret > 0;
	}
	return false;
}

/*
 * Return true if a decoder cannot notice the flip, because an encoder would send the flipped stream
 * for another execution. There are two cases. In the first case, a branch takes the other direction,
 * and both directions lead through code of the same length to the same address. I-CNT and the number
 * of bits in HIST are then right. In the second case, the flip turns a DirectBranch message of a loop
 * into an Ownership or DataAcquisition message. An encoder sends the flipped stream if the program
 * executes this loop once less, so that this DirectBranch message is not sent, and if software writes
 * a context or a value, so that the other message is sent in its place.
 */
static inline bool judge_is_legal(const struct flip *flip)
{
	struct nt_message was, is;
	bool is_read = judge_message(flip, &is);

	flip->data[flip->at] ^= flip->bit;
	is_read = judge_message(flip, &was) && is_read;
	flip->data[flip->at] ^= flip->bit;
	if (!is_read)
		return false;
	if (was.tcode == NT_TCODE_DIRECT_BRANCH && (is.tcode == NT_TCODE_OWNERSHIP ||
						    is.tcode == NT_TCODE_DATA_ACQUISITION))
		return true;
	return was.tcode == is.tcode && was.src == is.src && was.btype == is.btype &&
		was.icnt == is.icnt && was.addr == is.addr && was.hist && is.hist &&
		was.hist != is.hist && __builtin_clzll(was.hist) == __builtin_clzll(is.hist);
}

/* Flip the bit, decode, and update @verdicts. *good is the result of the undamaged stream. */
static inline void judge_flip(struct verdicts *verdicts, const struct flip *flip,
			      struct nt_image *image, const struct result *good)
{
	struct result result, *bad = &result;

	flip->data[flip->at] ^= flip->bit;
	result = judge_decode(flip->config, image, flip->data, flip->size);
	verdicts->flips++;
	if (bad->problems != good->problems || bad->restarts != good->restarts ||
	    bad->stops != good->stops || bad->lost != good->lost)
		verdicts->detected++;
	else if (bad->hash == good->hash && bad->ranges == good->ranges)
		verdicts->harmless++;
	else {
		verdicts->silent++;
		verdicts->legal += judge_is_legal(flip);
	}
	flip->data[flip->at] ^= flip->bit;
}

static inline void judge_print(const char *name, size_t size, const struct verdicts *verdicts)
{
	printf("%s: %zu bytes, %lu flips: %lu detected, %lu harmless, %lu silently wrong, %lu of which are legal\n",
	       name, size, verdicts->flips, verdicts->detected, verdicts->harmless,
	       verdicts->silent, verdicts->legal);
}

#endif /* DIALECT_JUDGE_H */
