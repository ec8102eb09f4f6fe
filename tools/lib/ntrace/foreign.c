// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Translate recordings of other drivers (foreign.h). Read their private data, and find out the
 * missing settings from the trace.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/ntrace.h>

#include "foreign.h"

/* Format bits of PERF_RECORD_AUX::flags. gtrace sets one of them, and rvtrace sets none. */
#define FORMAT_MASK	0xff00
#define FORMAT_ETRACE	0x0100
#define FORMAT_GTRACE	0x0200
#define FORMAT_RAW	0x0100	/* set by the K3's driver for trace without CoreSight frames */

#define LEARN_BYTES	(16u << 10)	/* maximum number of bytes of one sample of the trace */
#define LEARN_PARTS	32		/* maximum number of samples of the trace */

#define RING_LOST	64		/* number of bytes at the end of a ring that the driver gtrace does not read */
#define RING_LEAST	(256u << 10)	/* minimum size of a ring in bytes; the ring of the driver gtrace has 1 MiB */
#define SURE		16	/* an encoder that sent more messages than this is running; fewer may be damaged bytes */
#define SOURCES		(1u << NT_SRC_BITS_MAX)

/* Words of each CPU in a recording of SpacemiT's K3. Word K3_NR_PARAMS is the number of words after it, 5 or more. */
enum k3_word { K3_CPU, K3_NR_PARAMS, K3_FORMAT, K3_CONTEXT, K3_INHIBIT_SRC, K3_SRC_BITS, K3_SRC_ID, K3_WORDS };

#define K3_FORMAT_NTRACE	1	/* trTeFormat */

/*
 * Numbers of invalid messages if SRC has a certain width. Element 0 is for decoding without timestamps, and
 * element 1 for decoding with timestamps.
 */
struct trial {
	uint64_t	invalid[2];
};

struct nt_foreign {
	bool		k3;
	bool		raw;		/* the trace of a K3 has no CoreSight frames */
	uint64_t	*words;
	size_t		nr_cpus;
	unsigned int	parts;		/* number of samples of the trace that were examined so far */
	uint64_t	messages;	/* number of messages in all samples */
	/* Indexed by the width of SRC. A K3 needs only index 0, because its recording contains the width. */
	struct trial	trials[NT_SRC_BITS_MAX + 1];
	const char	*error;		/* sentence about a format that is not N-Trace; or NULL */
};

static uint64_t *foreign_cpu(const struct nt_foreign *f, size_t nth)
{
	return f->words + NTRACE_INFO_HEADER_MAX + nth * NTRACE_INFO_CPU_MAX;
}

/* Make room for @nr CPUs. Return false if there are too many CPUs, or if out of memory. */
static bool foreign_grow(struct nt_foreign *f, size_t nr)
{
	size_t words = NTRACE_INFO_HEADER_MAX + nr * NTRACE_INFO_CPU_MAX;
	uint64_t *all = nr > NT_FOREIGN_CPUS ? NULL : realloc(f->words, words * sizeof(*all));

	if (!all)
		return false;
	f->words = all;
	for (; f->nr_cpus < nr; f->nr_cpus++) {
		all = foreign_cpu(f, f->nr_cpus);
		memset(all, 0, NTRACE_INFO_CPU_MAX * sizeof(*all));
		all[NTRACE_INFO_CPU_ID] = all[NTRACE_INFO_CPU_SRC_ID] = f->nr_cpus;
		all[NTRACE_INFO_CPU_XLEN] = 64;
		all[NTRACE_INFO_CPU_CONFIG] = 6 << NTRACE_CONFIG_MODE_SHIFT;
	}
	f->words[NTRACE_INFO_NR_CPUS] = f->nr_cpus;
	return true;
}

/* Convert the words of one CPU of a K3. Return their number, or 0 if they are damaged. */
static size_t k3_take_cpu(struct nt_foreign *f, uint64_t *cpu, const uint64_t *words, size_t nr)
{
	if (nr < K3_WORDS || words[K3_NR_PARAMS] < K3_WORDS - K3_FORMAT ||
	    words[K3_NR_PARAMS] > nr - K3_FORMAT || words[K3_CPU] >= NT_FOREIGN_CPUS ||
	    words[K3_SRC_BITS] > NT_SRC_BITS_MAX || words[K3_SRC_ID] >= SOURCES)
		return 0;
	if (words[K3_FORMAT] != K3_FORMAT_NTRACE)
		f->error = "the trace in this recording is E-Trace, and not N-Trace";
	cpu[NTRACE_INFO_CPU_ID] = words[K3_CPU];
	cpu[NTRACE_INFO_CPU_CONFIG] = (words[K3_CONTEXT] ? NTRACE_CONFIG_CONTEXT : 0) |
		(words[K3_INHIBIT_SRC] ? NTRACE_CONFIG_INHIBIT_SRC : 0) | 3 << NTRACE_CONFIG_MODE_SHIFT;
	cpu[NTRACE_INFO_CPU_SRC_BITS] = words[K3_INHIBIT_SRC] ? 0 : words[K3_SRC_BITS];
	cpu[NTRACE_INFO_CPU_SRC_ID] = words[K3_SRC_ID];
	return K3_FORMAT + words[K3_NR_PARAMS];
}

static const char *k3_take(struct nt_foreign *f, const uint64_t *words, size_t nr)
{
	size_t cpus = words[0] & UINT32_MAX, at = 1, used, i;

	f->k3 = true;
	f->words[NTRACE_INFO_PMU_TYPE] = words[0] >> 32;
	if (!cpus || cpus > NT_FOREIGN_CPUS || (nr - 1) / K3_WORDS < cpus)
		return "the metadata of the trace is damaged: its sizes do not fit";
	if (!foreign_grow(f, cpus))
		return "out of memory";
	for (i = 0; i < cpus; i++, at += used) {
		used = k3_take_cpu(f, foreign_cpu(f, i), words + at, nr - at);
		if (!used)
			return "the metadata of the trace is damaged: the description of a CPU has values out of range";
	}
	return NULL;
}

struct nt_foreign *nt_foreign_new(const uint64_t *words, size_t nr, const char **error)
{
	struct nt_foreign *f = calloc(1, sizeof(*f));

	*error = "out of memory";
	if (f)
		f->words = calloc(NTRACE_INFO_HEADER_MAX, sizeof(*f->words));
	if (!f || !f->words || !foreign_grow(f, 1)) {
		nt_foreign_free(f);
		return NULL;
	}
	f->words[NTRACE_INFO_MAGIC] = NTRACE_INFO_MAGIC_VALUE;
	f->words[NTRACE_INFO_VERSION] = (uint64_t)NTRACE_INFO_VERSION_MAJOR << 32 | NTRACE_INFO_VERSION_MINOR;
	f->words[NTRACE_INFO_HEADER_WORDS] = NTRACE_INFO_HEADER_MAX;
	f->words[NTRACE_INFO_CPU_WORDS] = NTRACE_INFO_CPU_MAX;
	f->words[NTRACE_INFO_FLAGS] = NTRACE_INFO_FLAG_PER_CPU;
	*error = NULL;
	if (!nr)
		*error = "the recording is damaged: the metadata of its trace is too short";
	else if (nr == 1)
		f->words[NTRACE_INFO_PMU_TYPE] = words[0];
	else
		*error = k3_take(f, words, nr);
	if (!*error)
		return f;
	nt_foreign_free(f);
	return NULL;
}

void nt_foreign_free(struct nt_foreign *f)
{
	if (f)
		free(f->words);
	free(f);
}

const char *nt_foreign_name(const struct nt_foreign *f)
{
	return f->k3 ? "the perf of SpacemiT's K3, which is not tested with the hardware" : "gtrace";
}

const uint64_t *nt_foreign_words(const struct nt_foreign *f, size_t *nr)
{
	*nr = NTRACE_INFO_HEADER_MAX + f->nr_cpus * NTRACE_INFO_CPU_MAX;
	return f->words;
}

/* ---- settings from the records of perf.data ---- */

uint64_t nt_foreign_flags(struct nt_foreign *f, uint64_t flags)
{
	uint64_t format = flags & FORMAT_MASK;

	flags &= ~(uint64_t)FORMAT_MASK;
	f->raw |= format == FORMAT_RAW;
	if (f->k3 ? format & ~(uint64_t)FORMAT_RAW : format && format != FORMAT_GTRACE)
		f->error = !f->k3 && format == FORMAT_ETRACE ?
			"the trace in this recording is E-Trace, and not N-Trace" :
			"the trace in this recording has a format that is not known";
	return flags | (f->k3 && !format ? NTRACE_AUX_FORMAT_FRAMES : NTRACE_AUX_FORMAT_RAW);
}

void nt_foreign_add_id(struct nt_foreign *f, int cpu, uint64_t id)
{
	size_t i;

	if (cpu < 0 || (!f->k3 && cpu >= NT_FOREIGN_CPUS))
		return;
	if (!f->k3 && f->nr_cpus <= (size_t)cpu && !foreign_grow(f, (size_t)cpu + 1))
		return;
	for (i = 0; i < f->nr_cpus; i++) {
		if (foreign_cpu(f, i)[NTRACE_INFO_CPU_ID] != (uint64_t)cpu)
			continue;
		/* The upper bits of CoreSight's hw_id contain a version and the number of a sink. */
		if (f->k3)
			foreign_cpu(f, i)[NTRACE_INFO_CPU_TRACE_ID] = id & 0x7f;
		else
			foreign_cpu(f, i)[NTRACE_INFO_CPU_SRC_ID] = id < SOURCES ? id : (uint64_t)cpu;
	}
}

/* ---- Find out settings from the trace ---- */

/*
 * Return true if no encoder sends this message with the settings of these drivers. If messages are
 * decoded with a wrong width of SRC, most of them are valid, but the first field after SRC often has
 * a value that encoders do not send.
 */
static bool is_unlikely(const struct nt_message *msg)
{
	if (msg->tcode == NT_TCODE_PROG_TRACE_CORRELATION)
		return msg->code != NT_EVCODE_DISABLED;
	return msg->tcode == NT_TCODE_PROG_TRACE_SYNC && msg->sync != NT_SYNC_TRACE_ENABLE &&
	       msg->sync != NT_SYNC_PERIODIC && msg->sync != NT_SYNC_FIFO_OVERRUN;
}

/*
 * Store the trace ID of the encoder with SRC @src, unless PERF_RECORD_AUX_OUTPUT_HW_ID has reported
 * its trace ID.
 */
static void k3_see_id(struct nt_foreign *f, int src, unsigned int id)
{
	uint64_t *cpu;
	size_t i;

	for (i = 0; i < f->nr_cpus; i++) {
		cpu = foreign_cpu(f, i);
		if (cpu[NTRACE_INFO_CPU_SRC_ID] == (uint64_t)src && !cpu[NTRACE_INFO_CPU_TRACE_ID])
			cpu[NTRACE_INFO_CPU_TRACE_ID] = id;
	}
}

/*
 * Add the number of messages to *messages, and the number of invalid or unlikely messages to
 * *invalid. @id is the trace ID of the bytes in CoreSight frames, or 0 for trace without frames.
 */
static void try_messages(struct nt_foreign *f, const struct nt_config *config, const uint8_t *data, size_t size,
			 unsigned int id, uint64_t *invalid, uint64_t *messages)
{
	struct nt_reader *reader = nt_reader_new(config);
	struct nt_message msg;
	int ret, src = -1;

	if (!reader)
		return;
	nt_reader_feed(reader, data, size);
	while ((ret = nt_reader_next(reader, &msg)) != 0) {
		++*messages;
		*invalid += ret < 0 || is_unlikely(&msg);
		if (ret < 0 || !id || !config->src_bits || msg.src == src)
			continue;
		src = msg.src;
		k3_see_id(f, src, id);
	}
	nt_reader_free(reader);
}

/* Count the invalid messages if SRC has @width bits. Decode once without and once with timestamps. */
static void try_times(struct nt_foreign *f, uint32_t width, const uint8_t *data, size_t size, unsigned int id)
{
	struct trial *trial = &f->trials[f->k3 ? 0 : width];
	struct nt_config config;
	uint64_t all = 0;

	nt_config_init(&config, sizeof(config));
	config.src_bits = width;
	for (; config.timestamp < 2; config.timestamp++)
		try_messages(f, &config, data, size, id, &trial->invalid[config.timestamp], &all);
	if (f->k3 || !width)
		f->messages += all / 2;
}

static void k3_learn(struct nt_foreign *f, const uint8_t *data, size_t size)
{
	uint32_t width = foreign_cpu(f, 0)[NTRACE_INFO_CPU_SRC_BITS];
	const size_t room = LEARN_BYTES + NT_FRAMES_OUT_MIN;
	struct nt_frames_out outs[NT_FRAMES_IDS] = { { 0 } };
	struct nt_frames *frames = nt_frames_new();
	uint8_t *bytes = malloc(NT_FRAMES_IDS * room);
	unsigned int id;
	size_t used;

	for (id = 1; bytes && id < NT_FRAMES_IDS; id++)
		outs[id] = (struct nt_frames_out){ .data = bytes + id * room, .size = room };
	for (; bytes && frames && size; data += used, size -= used)
		nt_frames_convert(frames, data, size, &used, outs);
	for (id = 1; bytes && id < NT_FRAMES_IDS; id++) {
		if (outs[id].nr)
			try_times(f, width, outs[id].data, outs[id].nr, id);
	}
	nt_frames_free(frames);
	free(bytes);
}

void nt_foreign_learn(struct nt_foreign *f, const uint8_t *data, size_t size)
{
	uint32_t width;

	if (f->parts++ >= LEARN_PARTS)
		return;
	size = size < LEARN_BYTES ? size : LEARN_BYTES;
	if (f->k3 && !f->raw) {
		k3_learn(f, data, size);
		return;
	}
	for (width = 0; width <= (f->k3 ? 0 : NT_SRC_BITS_MAX); width++)
		try_times(f, f->k3 ? foreign_cpu(f, 0)[NTRACE_INFO_CPU_SRC_BITS] : width, data, size, 0);
}

/*
 * Return the width of SRC with the fewest invalid messages. If several widths are equal, prefer the width
 * that the number of CPUs needs, because gtrace sets this width. Set *times if messages have timestamps.
 */
static uint32_t best_width(const struct nt_foreign *f, uint32_t nr_cpus, bool *times)
{
	uint32_t first = 0, best, width;
	uint64_t least;

	while (first < NT_SRC_BITS_MAX && nr_cpus > 1u << first)
		first++;
	best = first = f->k3 ? 0 : first;
	least = f->trials[first].invalid[0];
	*times = false;
	for (width = 0; width <= (f->k3 ? 0 : NT_SRC_BITS_MAX); width++) {
		const uint64_t *invalid = f->trials[width].invalid;

		if (invalid[0] >= least && invalid[1] >= least)
			continue;
		best = width;
		*times = invalid[1] < invalid[0];
		least = invalid[*times];
	}
	return best;
}

const char *nt_foreign_settle(struct nt_foreign *f, uint32_t nr_cpus, const struct nt_foreign_clock *clock)
{
	bool times;
	uint32_t width = best_width(f, nr_cpus, &times);
	uint64_t *cpu;
	size_t i;

	if (f->error)
		return f->error;
	if (f->trials[width].invalid[times] > f->messages / 2)
		return "the trace in this recording does not consist of messages of N-Trace";
	if (!f->k3 && !foreign_grow(f, nr_cpus > f->nr_cpus ? nr_cpus : f->nr_cpus))
		return nr_cpus > NT_FOREIGN_CPUS ? "the metadata of the trace is damaged: it lists over 4096 CPUs" : "out of memory";
	f->words[NTRACE_INFO_TIME_SHIFT] = clock->shift;
	f->words[NTRACE_INFO_TIME_MULT] = clock->mult;
	f->words[NTRACE_INFO_TIME_ZERO] = clock->zero;
	if (clock->mult && clock->shift < 32)
		f->words[NTRACE_INFO_FLAGS] |= NTRACE_INFO_FLAG_TIME_CONV;
	for (i = 0; i < f->nr_cpus; i++) {
		cpu = foreign_cpu(f, i);
		if (!f->k3)
			cpu[NTRACE_INFO_CPU_SRC_BITS] = width;
		if (!f->k3 && !width)
			cpu[NTRACE_INFO_CPU_SRC_ID] = 0;
		if (!times)
			continue;
		/* Assume that timestamps are values of the time CSR. */
		cpu[NTRACE_INFO_CPU_CONFIG] |= NTRACE_CONFIG_TIMESTAMP;
		if (clock->mult && clock->shift < 32)
			cpu[NTRACE_INFO_CPU_TS_FREQ] = (1000000000ULL << clock->shift) / clock->mult;
	}
	return NULL;
}

/* ---- A ring that wrapped ---- */

bool nt_foreign_wrapped(const struct nt_foreign *f, uint64_t size)
{
	uint64_t ring = size + RING_LOST;

	return !f->k3 && size < UINT64_MAX - RING_LOST && ring >= RING_LEAST && !(ring & (ring - 1));
}

/*
 * The encoders that are running according to the messages so far. An encoder runs if it has sent
 * more than SURE messages since its last stop.
 */
struct running {
	unsigned int	messages[SOURCES];
	unsigned int	nr;
};

static void set_running(struct running *running, unsigned int src, unsigned int messages)
{
	running->nr += (messages > SURE) - (running->messages[src] > SURE);
	running->messages[src] = messages;
}

/*
 * Find the end of the trace of earlier sessions. A session lasts from the first start of an encoder until all
 * encoders have stopped. Then the sink fills the ring up to a multiple of 64 bytes, and the driver reads the
 * ring. The trace of the next session begins at the offset after these bytes.
 */
static void see_message(const struct nt_message *msg, struct running *running, struct nt_foreign_ring *ring)
{
	bool starts = nt_message_is_sync(msg) && msg->sync == NT_SYNC_TRACE_ENABLE;
	bool stops = msg->tcode == NT_TCODE_PROG_TRACE_CORRELATION && msg->code == NT_EVCODE_DISABLED;

	/* An encoder that starts was stopped before, even if the message that reported the stop is lost. */
	if (starts)
		set_running(running, msg->src, 0);
	if (starts && !running->nr && !(msg->offset % RING_LOST))
		ring->old = msg->offset;
	set_running(running, msg->src, stops ? 0 : starts ? SURE + 1 : running->messages[msg->src] + 1);
}

void nt_foreign_ring(const struct nt_config *config, const struct nt_foreign_bytes *pieces, size_t nr,
		     uint64_t position, struct nt_foreign_ring *ring)
{
	struct nt_reader *reader = nt_reader_new(config);
	struct running *running = calloc(1, sizeof(*running));
	struct nt_message msg;
	uint64_t size = 0;
	size_t i;
	int ret;

	memset(ring, 0, sizeof(*ring));
	if (reader)
		nt_reader_seek(reader, 0, true);
	for (i = 0; reader && running && i < nr; i++) {
		nt_reader_feed(reader, pieces[i].data, pieces[i].size);
		while ((ret = nt_reader_next(reader, &msg)) != 0) {
			if (ret > 0)
				see_message(&msg, running, ring);
		}
		size += pieces[i].size;
	}
	/*
	 * The driver gtrace does not read the last 64 bytes of the ring. Calculate the offset in the record at which
	 * they are missing. The byte at offset ring->old of the record is at offset @position of the ring, because the
	 * recording began at the start of the ring. The driver reads @size bytes of the ring, and size - @position of
	 * them follow from ring->old up to the missing bytes.
	 */
	if (ring->old && position > ring->old && position - ring->old < size - ring->old)
		ring->seam = size - (position - ring->old);
	nt_reader_free(reader);
	free(running);
}
