// SPDX-License-Identifier: GPL-2.0-only
/*
 * Try sets of options on the first part of a trace. The best set has the fewest messages that are
 * invalid, contradict the code or cannot be decoded. Of several equally good sets, use the one with
 * the fewest options, which is usually right.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/option.h"
#include "ntrace.h"
#include "raw/deframer.h"
#include "raw/detect.h"
#include "session/file/whole-file.h"

#define FIRST_PART	(8u << 10)	/* number of bytes on which all sets of options are tried */
#define LARGE_PART	(256u << 10)	/* number of bytes on which the best sets of options are tried */
#define SEAM_MAX	(32u << 20)	/* maximum size in bytes of a file in which find_seam() searches */
#define MAX_SEAMS	8
#define UNSURE		50	/* minimum percentage of messages that fit the code of the traced program */
#define MAX_BAD		400		/* number of errors above which a set of options is abandoned */
#define PIECE		1024u		/* number of bytes that are decoded together */
#define MAX_INSNS	(4u << 20)	/* maximum number of instructions that are decoded from a piece */
/* a set of options is abandoned if more pieces than this number have more than MAX_INSNS instructions */
#define MAX_BREAKS	8

/* Options to try in addition to SRC and timestamps, as bits of a set. Sets are tried in the order of their numbers. */
enum { TRY_RETURNS = 1, TRY_ALL_JUMPS = 2, TRY_EXTEND = 4, TRY_SEQUENTIAL = 8, TRY_END = 16 };

static const struct {
	uint32_t dialect, accept;
} encoders[] = {
	{ NT_DIALECT_RATIFIED, 0 },
	{ NT_DIALECT_ACCEMIC, 0 },
	{ NT_DIALECT_RATIFIED, NT_DEV_UNSURE },
	{ NT_DIALECT_SIFIVE0, 0 },
};
#define NR_ENCODERS	(sizeof(encoders) / sizeof(encoders[0]))

struct detect {
	struct nt_config	base;		/* settings that describe the code, such as its width */
	struct nt_image		*image;
	const uint8_t		*data;
	size_t			size;
	bool			middle;
	uint64_t		wrapped_at;
	struct nt_config	best;
	struct detected		score;		/* result of decoding with @best */
	uint64_t		max_bad;	/* number of errors after which a set of options is abandoned */
	/*
	 * number of options that @best sets, plus twice the index in encoders[] of its encoder. Of two results with
	 * the same score, that with the lower penalty is used, because it needs fewer assumptions.
	 */
	unsigned int		penalty;
};

/*
 * Offsets of errors and skipped messages in a file, which are the possible positions at which a
 * ring has wrapped (seam).
 */
struct seams {
	uint64_t	offsets[MAX_SEAMS];
	unsigned int	nr;
	bool		stopped;	/* the last item of the file reports that tracing was stopped */
};

/*
 * Count the instructions and errors of the bytes that were fed. Return false if the bytes have more errors than
 * @max_bad, or more instructions than MAX_INSNS.
 */
static bool count_batches(struct nt_flow *flow, struct detected *score, struct seams *seams, uint64_t max_bad)
{
	uint64_t most = score->insns + MAX_INSNS;
	struct nt_batch batch;
	size_t i;

	while (score->insns <= most && nt_flow_next_batch(flow, &batch) > 0) {
		for (i = 0; i < batch.nr; i++)
			score->insns += batch.ranges[i].insns;
		if (seams)
			seams->stopped = !batch.nr && batch.item.type == NT_ITEM_STOP;
		if (batch.nr || (batch.item.type != NT_ITEM_ERROR &&
				 (!seams || batch.item.type != NT_ITEM_SKIPPED)))
			continue;
		if (seams && seams->nr < MAX_SEAMS)
			seams->offsets[seams->nr++] = batch.item.offset;
		if (!seams && ++score->bad > max_bad)
			return false;
	}
	return score->insns <= most;
}

/*
 * Feed bytes in pieces. If a piece has too many instructions, restart the decoder at the next
 * piece. With wrong options, a message can repeat code nearly without end.
 */
static void count_bytes(struct nt_flow *flow, const uint8_t *data, size_t size, struct detected *score,
			struct seams *seams, uint64_t max_bad)
{
	unsigned int breaks = 0;
	size_t at, n;

	for (at = 0; at < size && score->bad <= max_bad; at += n) {
		n = size - at < PIECE ? size - at : PIECE;
		nt_flow_feed(flow, data + at, n);
		if (count_batches(flow, score, seams, max_bad))
			continue;
		if (++breaks > MAX_BREAKS)
			break;
		nt_flow_restart(flow, at + n, true);
	}
	/* estimate the number of messages in the bytes that were not decoded; a message has about four bytes */
	score->unread += (size - at) / 4;
}

/*
 * Decode @size bytes with a set of options, and count the result. If the file is a wrapped ring,
 * begin at its oldest byte. Return false if out of memory.
 */
static bool try_config(struct detect *d, const struct nt_config *config, size_t size,
		       struct detected *score, struct seams *seams)
{
	struct nt_flow *flow = nt_flow_new(config, d->image);
	size_t at = d->wrapped_at;
	struct nt_stats stats;

	memset(score, 0, sizeof(*score));
	if (!flow)
		return false;
	if (d->middle || at)
		nt_flow_restart(flow, 0, true);
	if (size > d->size)
		size = d->size;
	count_bytes(flow, d->data + at, at + size > d->size ? d->size - at : size, score, seams, d->max_bad);
	if (at && size == d->size)
		count_bytes(flow, d->data, at, score, seams, d->max_bad);
	nt_flow_stats(flow, &stats, sizeof(stats));
	score->messages = stats.messages;
	score->bad = stats.errors + stats.gaps + stats.lost_messages + stats.skipped + score->unread;
	nt_flow_free(flow);
	return true;
}

/* Properties of the messages in the first FIRST_PART bytes, found without the code of the program */
struct messages {
	unsigned int	nr, invalid;
	bool		starts_with_sync;
};

static void count_messages(const struct detect *d, const struct nt_config *config, struct messages *count)
{
	struct nt_reader *reader = nt_reader_new(config);
	struct nt_message msg;
	int ret;

	memset(count, 0, sizeof(*count));
	if (!reader)
		return;
	nt_reader_seek(reader, 0, d->middle);
	nt_reader_feed(reader, d->data, FIRST_PART < d->size ? FIRST_PART : d->size);
	while ((ret = nt_reader_next(reader, &msg)) != 0) {
		if (!count->nr++)
			count->starts_with_sync = ret > 0 && nt_message_is_sync(&msg);
		count->invalid += ret < 0;
	}
	nt_reader_free(reader);
}

static void set_encoder(struct nt_config *config, size_t encoder, unsigned int tries)
{
	config->dialect = encoders[encoder].dialect;
	config->accept = encoders[encoder].accept;
	config->return_depth = tries & TRY_RETURNS || config->dialect == NT_DIALECT_SIFIVE0 ?
		nt_encoder_return_depth(config->dialect) : 0;
	config->all_jumps = !!(tries & TRY_ALL_JUMPS);
	config->extend_addr = !!(tries & TRY_EXTEND);
	config->sequential_jump = !!(tries & TRY_SEQUENTIAL);
}

/*
 * Try all encoders with one width of SRC, with or without timestamps, and with the sets of options
 * from @first to @end - 1. If nearly all messages are valid without timestamps (@few_times), try
 * timestamps only with SiFive's encoder.
 */
static void try_encoders(struct detect *d, struct nt_config config, size_t size, unsigned int first,
			 unsigned int end, bool few_times)
{
	struct detected score;
	unsigned int tries, penalty;
	size_t i;

	for (i = 0; i < NR_ENCODERS; i++) {
		if (encoders[i].dialect == NT_DIALECT_SIFIVE0 ? !config.timestamp :
		    config.timestamp && few_times)
			continue;
		for (tries = first; tries < end; tries++) {
			penalty = 2 * i + __builtin_popcount(tries) + !!config.src_bits +
				config.timestamp;
			set_encoder(&config, i, tries);
			/* abandon options with more errors than the best ones, because wrong options may be slow */
			d->max_bad = d->score.insns && d->score.bad < MAX_BAD ? d->score.bad : MAX_BAD;
			if (!try_config(d, &config, size, &score, NULL) || !score.insns)
				continue;
			if (d->score.insns && (score.bad > d->score.bad ||
			    (score.bad == d->score.bad && penalty >= d->penalty)))
				continue;
			d->best = config;
			d->score = score;
			d->penalty = penalty;
		}
	}
	d->max_bad = MAX_BAD;
}

/* Return true if too many messages are invalid with this width of SRC and with or without timestamps. */
static bool is_hopeless(const struct detect *d, struct nt_config config)
{
	struct messages ratified, sifive;

	config.dialect = NT_DIALECT_RATIFIED;
	count_messages(d, &config, &ratified);
	config.dialect = NT_DIALECT_SIFIVE0;
	count_messages(d, &config, &sifive);
	return (ratified.invalid < sifive.invalid ? ratified.invalid : sifive.invalid) > 2 + sifive.nr / 8;
}

/* Try all widths of SRC, with and without timestamps, on the first part of the trace */
static void try_part(struct detect *d, unsigned int first, unsigned int end)
{
	struct nt_config config = d->base;
	struct messages plain;
	bool few_times;

	for (config.src_bits = 0; config.src_bits <= NT_SRC_BITS_MAX; config.src_bits++) {
		config.timestamp = 0;
		count_messages(d, &config, &plain);
		few_times = plain.invalid <= plain.nr / 50 + (plain.nr >= 30);
		for (; config.timestamp < 2; config.timestamp++) {
			if (!is_hopeless(d, config))
				try_encoders(d, config, FIRST_PART, first, end, few_times);
		}
	}
}

static void try_all(struct detect *d)
{
	struct nt_config config;

	memset(&d->score, 0, sizeof(d->score));
	try_part(d, 0, TRY_SEQUENTIAL);
	if (!d->score.insns)
		try_part(d, TRY_SEQUENTIAL, TRY_END);
	if (!d->score.insns)
		return;
	/*
	 * try the options on a larger part of the trace. If they cause errors there, try all sets of options
	 * on the larger part.
	 */
	config = d->best;
	try_config(d, &config, LARGE_PART, &d->score, NULL);
	if (d->score.bad)
		try_encoders(d, config, LARGE_PART, 0, TRY_END, false);
}

/*
 * Return true if only Accemic's encoder is known to send the message. TCODE 58 contains the
 * configuration of this encoder. TCODE 31 reports repeated instructions; a decoder that ignores it
 * would omit them without an error.
 */
static bool is_of_accemic(const struct nt_message *msg)
{
	return (msg->tcode == 58 && msg->nr_others >= 6) ||
		(msg->tcode == NT_TCODE_REPEAT_INSN && msg->nr_others >= 3);
}

/* Select Accemic's encoder if the trace has messages that only this encoder sends, and if the result is not worse. */
static void learn_vendor(struct detect *d)
{
	struct nt_reader *reader = nt_reader_new(&d->best);
	struct nt_message msg;
	struct nt_config config = d->best;
	struct detected score;
	bool seen = false;
	int ret;

	if (!reader)
		return;
	nt_reader_feed(reader, d->data, d->size < LARGE_PART ? d->size : LARGE_PART);
	while (!seen && (ret = nt_reader_next(reader, &msg)) != 0)
		seen = ret > 0 && is_of_accemic(&msg);
	nt_reader_free(reader);
	if (!seen || config.dialect != NT_DIALECT_RATIFIED)
		return;
	config.dialect = NT_DIALECT_ACCEMIC;
	if (config.return_depth)
		config.return_depth = nt_encoder_return_depth(config.dialect);
	if (try_config(d, &config, LARGE_PART, &score, NULL) && score.bad <= d->score.bad) {
		d->best = config;
		d->score = score;
	}
}

/*
 * Find the seam of a ring, which is the position at which it has wrapped. The newest message ends
 * at the seam, and the message after it is old and incomplete. With the right seam, the decoder
 * continues from the end of the file to its start, so that it can also decode the messages at the
 * start that precede the first SYNC. A file that begins with SYNC and ends with a stop is not a wrapped ring,
 * and its errors are damage.
 */
static void find_seam(struct detect *d)
{
	struct detected linear, score;
	struct seams seams = { .nr = 0 };
	struct messages first;
	unsigned int i;

	count_messages(d, &d->best, &first);
	if (d->size > SEAM_MAX || !try_config(d, &d->best, d->size, &linear, &seams) ||
	    (!d->middle && first.starts_with_sync && seams.stopped))
		return;
	for (i = 0; i < seams.nr; i++) {
		if (!seams.offsets[i] || seams.offsets[i] >= d->size)
			continue;
		d->wrapped_at = seams.offsets[i];
		if (try_config(d, &d->best, d->size, &score, NULL) &&
		    score.insns > linear.insns && score.bad < linear.bad) {
			d->score = score;
			return;
		}
	}
	d->wrapped_at = 0;
}

/* Try all options on a file. If the result is bad, also try them as if the file began inside a message. */
static void run(struct detect *d)
{
	struct detect whole;

	try_all(d);
	whole = *d;
	if (!d->score.insns || d->score.bad) {
		d->middle = true;
		try_all(d);
		if (!d->score.insns || (whole.score.insns && whole.score.bad <= d->score.bad))
			*d = whole;
	}
	if (!d->score.insns)
		return;
	learn_vendor(d);
	find_seam(d);
}

/* ---- Unpack CoreSight frames ---- */

/*
 * Unpack CoreSight frames. Return the bytes of the trace ID that has the most bytes, which the
 * caller frees; NULL: none
 */
static uint8_t *take_frames(const struct detect *d, size_t *size, unsigned int *id, bool *several)
{
	struct nt_frames_out outs[NT_FRAMES_IDS] = { { NULL, 0, 0 } };
	size_t part = d->size < LARGE_PART * 4 ? d->size : LARGE_PART * 4, at, used, room = part + NT_FRAMES_OUT_MIN;
	struct nt_frames *frames = nt_frames_new();
	uint8_t *bytes = NULL;
	unsigned int i;

	*several = false;
	*size = 0;
	/* if the file is too short to search for the first frame, assume that the file begins with a frame */
	if (!frames)
		part = 0;
	else if (nt_frames_find(d->data, part, &at))
		at = 0;
	for (i = 1; part && i < NT_FRAMES_IDS; i++) {
		outs[i].data = malloc(room);
		outs[i].size = outs[i].data ? room : 0;
	}
	while (part && at < part) {
		int ret = nt_frames_convert(frames, d->data + at, part - at, &used, outs);

		at += used;
		if (ret < 0 || (!ret && !used))
			break;
	}
	for (i = 1; i < NT_FRAMES_IDS; i++) {
		*several |= outs[i].nr && *size;
		if (outs[i].nr > *size) {
			free(bytes);
			bytes = outs[i].data;
			*size = outs[i].nr;
			*id = i;
		} else {
			free(outs[i].data);
		}
	}
	nt_frames_free(frames);
	return bytes;
}

static bool run_frames(struct detect *d, struct options *options)
{
	struct detect in = { .base = d->base, .image = d->image, .max_bad = MAX_BAD };
	unsigned int id = 0;
	bool several;
	uint8_t *bytes = take_frames(d, &in.size, &id, &several);

	if (!bytes)
		return false;
	in.data = bytes;
	run(&in);
	free(bytes);
	if (!in.score.insns || (d->score.insns && in.score.bad * d->score.messages >=
				d->score.bad * in.score.messages))
		return false;
	in.wrapped_at = 0;
	*d = in;
	options->frames = true;
	options->frame_id = several ? DEFRAMER_ANY : id;
	return true;
}

/* ---- The file whose options are detected ---- */

static bool map_file(struct detect *d, const char *path)
{
	d->data = whole_file_map(path, &d->size);
	if (!d->data)
		fprintf(stderr, "ntrace: cannot detect the options of %s: %s\n", path,
			errno == EMEDIUMTYPE || !strcmp(path, "-") ? "the trace is read several times, so it must be in a file" :
			errno == ENODATA ? "the file is empty" : strerror(errno));
	return d->data;
}

bool detect(struct options *options, struct nt_image *image, const char *path,
	    struct detected *found)
{
	struct detect d = { .image = image, .base = NT_CONFIG_INIT, .max_bad = MAX_BAD };
	const uint8_t *data;
	size_t size;

	d.base.xlen = options->config.xlen;
	d.base.isa = options->config.isa;
	d.base.jvt = options->config.jvt;
	d.base.custom_jumps = options->config.custom_jumps;
	if (!map_file(&d, path))
		return false;
	data = d.data;
	size = d.size;
	run(&d);
	options->frames = false;
	if (!d.score.insns || d.score.bad > d.score.messages / 8)
		run_frames(&d, options);
	munmap((void *)data, size);
	*found = d.score;
	if (!d.score.insns)
		return refuse("%s does not fit this code with any options: is this the program that was executed?",
			      path);
	options->config = d.best;
	options->middle = d.middle || d.wrapped_at;
	options->wrapped_at = d.wrapped_at;
	return true;
}

static void print_accept(uint32_t accept, FILE *file)
{
	const char *before = " --accept ";
	unsigned int i;

	for (i = 0; nt_deviation_name(i); i++) {
		if (!(accept & NT_DEV_BIT(i)))
			continue;
		fprintf(file, "%s%s", before, nt_deviation_name(i));
		before = ",";
	}
}

bool detect_print(const struct options *options, const struct detected *found, const char *command, const char *elf,
		  const char *path, FILE *file)
{
	const struct nt_config *c = &options->config;
	double fit = found->messages > found->bad ? percent(found->messages - found->bad, found->messages) : 0;
	bool sifive = c->dialect == NT_DIALECT_SIFIVE0;

	fputs(command, file);
	if (c->dialect)
		fprintf(file, " --encoder %s", nt_encoder_name(c->dialect));
	print_accept(c->accept, file);
	if (c->src_bits)
		fprintf(file, " --src-bits %u", c->src_bits);
	fprintf(file, "%s%s%s%s%s%s%s", c->timestamp && !sifive ? " --timestamp" : "",
		c->return_depth && !sifive ? " --implicit-return" : "",
		c->sequential_jump ? " --sequential-jump" : "", c->all_jumps ? " --all-jumps" : "",
		c->extend_addr ? " --extend-addr" : "", c->xlen == 32 ? " --rv32" : "",
		options->middle && !options->wrapped_at ? " --middle" : "");
	if (options->frames && options->frame_id != DEFRAMER_ANY)
		fprintf(file, " --frames=%u", options->frame_id);
	else if (options->frames)
		fprintf(file, " --frames");
	if (options->wrapped_at)
		fprintf(file, " --wrapped-at %" PRIu64, options->wrapped_at);
	fprintf(file, " --elf %s %s\n", elf, path);
	fprintf(file, "# %s: %.1f %% of %" PRIu64 " messages that were tried fit the code (%" PRIu64 " instructions)\n",
		fit < UNSURE ? "is this the program that was executed?" : "sure", fit, found->messages, found->insns);
	return fit >= UNSURE;
}
