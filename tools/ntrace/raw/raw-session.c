// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open files of raw trace as a session, which commands use like that of a recording
 * (raw-session.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nothing.h"
#include "detect.h"
#include "elf-image.h"
#include "ntrace.h"
#include "raw-session.h"

/* The trace that was read so far, in the order of the files */
struct traces {
	NS_ARRAY(struct nt_bytes) all;
	unsigned int	stream;		/* number in the session of the first stream that the current file has */
	unsigned int	next;		/* number that the first stream of the next file gets */
};

bool raw_is_described(const struct raw_options *raw)
{
	return raw->elfs.nr || raw->freq || options_are_given(&raw->encoder);
}

/* ---- Bytes ---- */

static bool begin(void *ctx, unsigned int id, uint64_t offset, bool middle)
{
	struct traces *traces = ctx;
	const struct nt_bytes new = { .stream = traces->stream + id, .middle = middle };

	if (traces->next <= new.stream)
		traces->next = new.stream + 1;
	return ns_array_add(&traces->all, new) || refuse("out of memory");
}

static bool append(void *ctx, unsigned int id, const uint8_t *data, size_t size)
{
	struct traces *traces = ctx;
	struct nt_bytes *to = &traces->all.at[traces->all.nr - 1];
	uint8_t *bytes;

	while (to->stream != traces->stream + id)
		to--;
	bytes = realloc(to->data, to->size + size);
	if (!bytes)
		return refuse("out of memory");
	memcpy(bytes + to->size, data, size);
	to->data = bytes;
	to->size += size;
	return true;
}

static bool read_trace(struct traces *traces, const struct options *encoder, const char *path)
{
	static const struct input_streams streams = { begin, append, NULL };

	traces->stream = traces->next;
	return input_each(path, encoder, &streams, traces) != EXIT_USAGE;
}

/* ---- Encoder ---- */

/* Detect the options of the encoder if no option is given. All traces must be from the same kind of encoder. */
static bool find_encoder(const struct raw_options *raw, struct options *encoder)
{
	struct nt_image *image = nt_image_new();
	struct elf_files files = { 0 };
	struct detected found;
	unsigned int xlen = 64;
	bool ok = image;
	size_t i;

	for (i = 0; ok && i < raw->elfs.nr; i++)
		ok = elf_image_add_arg(&files, image, raw->elfs.at[i], &xlen);
	if (xlen == 32)
		encoder->config.xlen = 32;
	if (ok && !options_are_given(&raw->encoder)) {
		ok = detect(encoder, image, raw->traces.at[0], &found);
		if (ok)
			detect_print(encoder, &found, "ntrace: detected", raw->elfs.at[0], raw->traces.at[0], stderr);
	}
	nt_image_free(image);
	elf_files_close(&files);
	return ok && options_fit(encoder);
}

/* Report if the trace has no times, or if the unit of its times is not known. */
static void report_times(const struct raw_options *raw, const struct options *encoder)
{
	if (!encoder->config.timestamp)
		fputs("ntrace: the messages have no timestamps, so all times are 0; counts and the order are exact\n", stderr);
	else if (!raw->freq)
		fputs("ntrace: each tick of the timestamps is shown as 1 ns, because --freq does not give their frequency\n", stderr);
}

struct nt_session *raw_session_open(const struct recording_options *options)
{
	const struct raw_options *raw = &options->raw;
	struct options encoder = raw->encoder;
	struct nt_raw_options to = {
		.size = sizeof(to), .freq = raw->freq, .elfs = raw->elfs.at, .nr_elfs = raw->elfs.nr,
	};
	struct nt_session *session = NULL;
	struct traces traces = { 0 };
	bool ok = raw->elfs.nr || refuse("--raw needs the code: --elf ELF");
	size_t i;

	if (ok && encoder.config.src_id != NT_SRC_ANY)
		ok = refuse("each source of --raw is a CPU, so --cpu selects one, not --src");
	ok = ok && find_encoder(raw, &encoder);
	for (i = 0; ok && i < raw->traces.nr; i++)
		ok = read_trace(&traces, &encoder, raw->traces.at[i]);
	if (ok && !traces.all.nr) {
		nothing_of_source(&encoder, raw->traces.at[0]);
		ok = false;
	}
	to.config = encoder.config;
	to.traces = traces.all.at;
	to.nr_traces = ok ? traces.all.nr : 0;
	for (i = to.nr_traces; i < traces.all.nr; i++)
		free(traces.all.at[i].data);
	if (ok && nt_session_open_raw(&session, &to, &options->session)) {
		recording_failed(session);
		nt_session_close(session);
		session = NULL;
	}
	free(traces.all.at);
	if (session)
		report_times(raw, &encoder);
	return session;
}
