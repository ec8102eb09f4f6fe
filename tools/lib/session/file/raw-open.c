// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Open raw trace without a recording. All code belongs to one program, and the session has a CPU for each encoder. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <linux/ntrace.h>

#include "session/flow/sources.h"
#include "session/session-priv.h"

#define PROCESS		1
#define NS_PER_S	1000000000ULL
#define TIME_SHIFT	32

static bool has_cpu(const struct nt_session *s, int32_t number)
{
	return ns_setup_cpu(&s->setup, number);
}

/*
 * Add a CPU for the encoder that sends @src in a stream. The CPU gets the number @src, or the number of the stream if
 * messages have no SRC. If another CPU already has this number, the new CPU gets the next free number.
 */
static bool add_cpu(struct nt_session *s, const struct nt_raw_options *raw, uint32_t stream, uint32_t src)
{
	struct ns_cpu *cpus = realloc(s->setup.cpus, (s->setup.nr_cpus + 1) * sizeof(*cpus)), *cpu;
	const struct nt_config *config = &raw->config;
	int32_t number = config->src_bits ? src : stream;

	if (!cpus)
		return false;
	s->setup.cpus = cpus;
	while (has_cpu(s, number))
		number++;
	cpu = &cpus[s->setup.nr_cpus++];
	*cpu = (struct ns_cpu){
		.cpu = number, .config = config->timestamp ? NTRACE_CONFIG_TIMESTAMP : 0, .src_id = src,
		.ts_width = config->tstamp_bits, .sink = stream + 1, .has_time = config->timestamp, .nt = *config,
	};
	cpu->nt.src_id = NT_SRC_ANY;
	cpu->valid = nt_config_check(&cpu->nt) == NT_OK;
	return true;
}

/* Add a CPU for each encoder that has messages in a stream. Add none if no trace has the number of the stream. */
static bool add_sources(struct nt_session *s, const struct nt_raw_options *raw, uint32_t stream)
{
	size_t nr = (size_t)1 << raw->config.src_bits, first = s->setup.nr_cpus, i;
	bool *seen = calloc(nr, sizeof(*seen)), ok = seen, there = false;

	for (i = 0; ok && i < raw->nr_traces; i++) {
		struct ns_piece piece = { raw->traces[i].data, raw->traces[i].size };
		struct ns_stretch stretch = { .middle = raw->traces[i].middle, .pieces = { &piece, 1, 1 } };

		if (raw->traces[i].stream != stream)
			continue;
		there = true;
		if (raw->config.src_bits)
			ns_sources_see(s, &stretch, &raw->config, seen);
	}
	for (i = 0; ok && i < nr; i++)
		ok = !seen[i] || add_cpu(s, raw, stream, i);
	/* if no message is valid, add one CPU, so that the errors of the stream are reported for this CPU */
	if (ok && there && first == s->setup.nr_cpus)
		ok = add_cpu(s, raw, stream, 0);
	free(seen);
	return ok;
}

/* Add the bytes of a stream to the buffer of its first CPU. */
static bool add_stream(struct nt_session *s, const struct nt_raw_options *raw, uint32_t stream)
{
	size_t first = s->setup.nr_cpus, i;
	bool ok = add_sources(s, raw, stream);

	for (i = 0; ok && i < raw->nr_traces; i++) {
		const struct nt_bytes *t = &raw->traces[i];

		if (t->stream == stream)
			ok = !ns_trace_add_bytes(&s->trace, s->setup.cpus[first].cpu, t->data, t->size, t->middle);
	}
	return ok;
}

static bool add_streams(struct nt_session *s, const struct nt_raw_options *raw)
{
	struct ns_setup *setup = &s->setup;
	uint64_t freq = raw->freq ?: NS_PER_S;
	uint32_t last = 0, stream;
	bool ok = true;
	size_t i;

	for (i = 0; i < raw->nr_traces; i++)
		last = raw->traces[i].stream > last ? raw->traces[i].stream : last;
	for (stream = 0; ok && stream <= last; stream++)
		ok = add_stream(s, raw, stream);
	/* ignore the ids in Ownership messages, because the system that they belong to is unknown */
	setup->flags = NTRACE_INFO_FLAG_NO_SCONTEXT;
	setup->time_shift = TIME_SHIFT;
	setup->time_mult = ((unsigned __int128)NS_PER_S << TIME_SHIFT) / freq;
	setup->has_time = raw->config.timestamp;
	setup->has_sources = raw->config.src_bits;
	setup->parts = setup->has_sources ? setup->nr_cpus : 1;
	s->has_setup = true;
	return ok;
}

/* Add process 1, to which all code belongs. Each CPU executes one thread of this process. */
static bool add_process(struct nt_session *s)
{
	const char *path = s->firmware.at[0].object->path;
	bool ok = !ns_sideband_build(&s->sideband, &s->objects, NULL, 0);
	size_t i;

	for (i = 0; ok && i < s->firmware.nr; i++)
		ok = ns_sideband_add_map(&s->sideband, PROCESS, 0, &s->firmware.at[i]);
	for (i = 0; ok && i < s->setup.nr_cpus; i++)
		ok = ns_sideband_add_thread(&s->sideband, s->setup.cpus[i].cpu, PROCESS,
					    PROCESS + s->setup.cpus[i].cpu, strrchr(path, '/') + 1);
	return ok;
}

static int open_raw(struct nt_session *s, const struct nt_raw_options *raw)
{
	size_t i;

	s->one_map = true;
	s->has_objects = true;
	if (ns_objects_init(&s->objects, &s->pd, NULL, &s->options))
		return ns_fail(s, "out of memory");
	if (s->options.modules)
		return ns_fail(s, "raw trace has no modules, so --modules cannot be given");
	for (i = 0; i < raw->nr_elfs; i++) {
		if (ns_firmware_load(s, raw->elfs[i]))
			return -1;
	}
	if (s->options.firmware && ns_firmware_load(s, s->options.firmware))
		return -1;
	if (!s->firmware.nr || !raw->nr_traces)
		return ns_fail(s, "raw trace needs the ELF files of the program that was traced");
	if (!add_streams(s, raw) || !add_process(s) || ns_trace_cut(&s->trace, &s->setup, &s->pd))
		return ns_fail(s, "out of memory");
	return 0;
}

int nt_session_open_raw(struct nt_session **session, const struct nt_raw_options *raw,
			const struct nt_session_options *options)
{
	struct nt_session *s = calloc(1, sizeof(*s));
	bool ok = true;
	size_t i;

	*session = s;
	for (i = 0; i < raw->nr_traces; i++) {
		if (s && ns_array_add(&s->pd.chunks, raw->traces[i].data))
			continue;
		free(raw->traces[i].data);
		ok = false;
	}
	if (!s)
		return -1;
	ns_take_options(s, options);
	return ok ? open_raw(s, raw) : ns_fail(s, "out of memory");
}
