// SPDX-License-Identifier: GPL-2.0-only
/* ntrace stat - count the messages of a trace and their bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "raw/detect.h"
#include "raw/elf-image.h"
#include "ntrace.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/output.h"
#include "raw/print-stats.h"
#include "session/array.h"
#include "session/session.h"

static const char usage[] =
	"usage: ntrace stat [OPTIONS] FILE\n\n"
	"Count the messages of FILE (- is the standard input), raw trace or a recording of perf: how many\n"
	"of each kind, the bytes that they and their timestamps take, errors, losses and time. No code is\n"
	"needed. Exits 1 if a message is not valid.\n";

/* Statistics of a CPU of a recording, of a trace ID of frames, or of a whole file */
struct stream {
	struct message_walk walk;
	int		id;		/* number of the CPU, or trace ID; -1: the stream is a whole file */
};

struct stat_command {
	struct options	options;
	bool		json;
	const char	*elf;
	/*
	 * an error has occurred that the statistics of the streams do not include, or the code is
	 * that of another program
	 */
	bool		trouble;
	const char	*id_name;	/* "cpu" if stream::id is the number of a CPU; NULL if it is a trace ID */
	NS_ARRAY(struct stream) streams;
};

/* Return the stream of a CPU or trace ID, and add it if it is new. Return NULL if out of memory. */
static struct stream *get_stream(struct stat_command *c, int id)
{
	const struct stream new = { .id = id };
	size_t i;

	for (i = 0; i < c->streams.nr; i++) {
		if (c->streams.at[i].id == id)
			return &c->streams.at[i];
	}
	return ns_array_add(&c->streams, new) ? &c->streams.at[i] : NULL;
}

static int no_memory(void)
{
	fprintf(stderr, "ntrace: out of memory\n");
	return -1;
}

/* ---- Raw trace ---- */

static int id_of(const struct stat_command *c, unsigned int id)
{
	return c->options.frames ? (int)id : -1;
}

static bool begin(void *ctx, unsigned int id, uint64_t offset, bool middle)
{
	struct stat_command *c = ctx;
	struct stream *s = get_stream(c, id_of(c, id));

	return (s && !walk_begin(&s->walk, &c->options.config, middle)) || refuse("out of memory");
}

static bool take_bytes(void *ctx, unsigned int id, const uint8_t *data, size_t size)
{
	walk_feed(&get_stream(ctx, id_of(ctx, id))->walk, data, size);
	return true;
}

static bool end(void *ctx, unsigned int id)
{
	walk_end(&get_stream(ctx, id_of(ctx, id))->walk);
	return true;
}

static int stat_raw(struct stat_command *c, const char *path)
{
	static const struct input_streams streams = { begin, take_bytes, end };
	int status;
	size_t i;

	if (!options_fit(&c->options))
		return EXIT_USAGE;
	status = input_each(path, &c->options, &streams, c);
	if (status != EXIT_CLEAN)
		c->trouble = true;
	for (i = 0; i < c->streams.nr; i++) {
		if (c->streams.at[i].walk.stats.messages)
			return EXIT_CLEAN;
	}
	return status != EXIT_CLEAN ? status : nothing_of_source(&c->options, path);
}

/* ---- A recording ---- */

/* Convert the first and the last timestamp of a stretch to times. */
static void add_time(struct stream *s, const struct nt_raw *raw)
{
	struct message_stats *stats = &s->walk.stats;
	uint64_t from, to;

	if (!s->walk.has_ticks)
		return;
	from = nt_raw_time(raw, s->walk.first);
	to = nt_raw_time(raw, s->walk.last);
	if (!from || to < from)
		return;
	if (!stats->has_time || from < stats->from)
		stats->from = from;
	if (!stats->has_time || to > stats->to)
		stats->to = to;
	stats->has_time = true;
}

static int take_raw(void *ctx, const struct nt_raw *raw)
{
	struct stat_command *c = ctx;
	struct stream *s;

	if (c->options.cpu_given && raw->cpu != (int)c->options.cpu)
		return 0;
	s = get_stream(c, raw->cpu);
	if (!s || (raw->begins && walk_begin(&s->walk, raw->config, raw->middle)))
		return no_memory();
	if (raw->size)
		walk_feed(&s->walk, raw->data, raw->size);
	if (!raw->ends)
		return 0;
	walk_end(&s->walk);
	s->walk.stats.losses += raw->lost;
	add_time(s, raw);
	return 0;
}

/* Report that trace is missing. The amount is not known, because the trace is not decoded. */
static void report_losses(const struct stat_command *c, const char *path)
{
	uint64_t losses = 0;
	size_t i;

	for (i = 0; i < c->streams.nr; i++)
		losses += c->streams.at[i].walk.stats.losses;
	if (losses)
		fprintf(stderr, "ntrace: trace is missing in %s: ntrace info -i %s decodes the trace, and prints how much of the time is missing, why, and what helps\n",
			COUNTED(losses, "place"), path);
}

static int stat_recording(struct stat_command *c, const char *path)
{
	struct nt_session **session = &c->options.recording;

	if (nt_session_open(session, path, NULL))
		return usage_error("%s: %s", path, *session ? nt_session_error(*session) :
				   "out of memory");
	c->id_name = "cpu";
	if (output_is_input() || nt_session_raw(*session, take_raw, c))
		return EXIT_USAGE;
	if (!c->streams.nr)
		return options_no_cpu(&c->options, path);
	report_losses(c, path);
	recording_report(*session);
	return EXIT_CLEAN;
}

/* ---- Output ---- */

static struct stats_view view_of(const struct stat_command *c, const struct stream *s)
{
	const struct nt_config *config = s->walk.config;

	return (struct stats_view){
		.stats = &s->walk.stats, .sources = config && config->src_bits ? s->walk.sources : NULL,
		.nr_sources = config ? 1u << config->src_bits : 0,
		.dialect = config ? config->dialect : 0, .is_recording = c->options.recording,
	};
}

static void print_text(const struct stat_command *c, const struct stats_view *sum)
{
	struct stats_view view;
	size_t i;

	for (i = 0; i < c->streams.nr; i++) {
		view = view_of(c, &c->streams.at[i]);
		if (c->streams.nr > 1 || c->streams.at[i].id >= 0)
			printf("%s %d\n", c->id_name ? "CPU" : "trace ID", c->streams.at[i].id);
		print_stats_text(&view);
		printf("%s", c->streams.nr > 1 ? "\n" : "");
	}
	if (c->streams.nr == 1)
		return;
	printf("all\n");
	print_stats_text(sum);
}

static void print_json(const struct stat_command *c, const struct stats_view *sum)
{
	struct stats_view view;
	size_t i;

	printf("{");
	print_stats_json(sum);
	printf(", \"streams\": [");
	for (i = 0; i < c->streams.nr; i++) {
		view = view_of(c, &c->streams.at[i]);
		printf("%s{", i ? ", " : "");
		if (c->streams.at[i].id >= 0)
			printf("\"%s\": %d, ", c->id_name ? c->id_name : "id", c->streams.at[i].id);
		print_stats_json(&view);
		printf("}");
	}
	printf("]}\n");
}

/* Print all statistics. Return the exit status. */
static int print_all(const struct stat_command *c)
{
	struct message_stats all = { 0 };
	struct stats_view sum = { .stats = &all, .is_recording = c->options.recording };
	size_t i;

	for (i = 0; i < c->streams.nr; i++) {
		stats_add(&all, &c->streams.at[i].walk.stats);
		sum.dialect = view_of(c, &c->streams.at[i]).dialect;
	}
	if (c->json)
		print_json(c, &sum);
	else
		print_text(c, &sum);
	return all.invalid || c->trouble ? EXIT_TRACE : EXIT_CLEAN;
}

/* ---- Command ---- */

/* Detect the encoding of the trace. If no encoding fits, report this and return false. */
static bool find_options(struct stat_command *c, const char *path)
{
	struct nt_image *image = nt_image_new();
	struct elf_files elfs = { NULL };
	struct detected found;
	unsigned int xlen = 64;
	bool ok = image && elf_image_add_arg(&elfs, image, c->elf, &xlen);

	if (ok) {
		c->options.config.xlen = xlen;
		ok = detect(&c->options, image, path, &found);
	}
	if (ok && !detect_print(&c->options, &found, "ntrace decode", c->elf, path, c->json ? stderr : stdout))
		c->trouble = true;
	nt_image_free(image);
	elf_files_close(&elfs);
	return ok;
}

static int run(struct stat_command *c, const char *path)
{
	bool is_recording = options_is_recording(path);
	int status;
	size_t i;

	if (c->elf && is_recording)
		return usage_error("--elf is for raw trace: a recording says how it was encoded");
	if (c->elf && !find_options(c, path))
		return EXIT_USAGE;
	status = is_recording ? stat_recording(c, path) : stat_raw(c, path);
	if (status == EXIT_CLEAN)
		status = print_all(c);
	for (i = 0; i < c->streams.nr; i++)
		walk_free(&c->streams.at[i].walk);
	free(c->streams.at);
	return status;
}

int cmd_stat(int argc, char **argv)
{
	struct stat_command c = { 0 };
	const struct option_entry options[] = {
		OPTION_TEXT(0, "elf", "ELF", &c.elf,
			    "the program: find out how the trace was encoded, and print the command\n"
			    "that decodes it"),
		OPTION_FLAG(0, "json", &c.json, "an object of JSON"),
		COMMON_OPTIONS(&c.options),
		OPTION_CALL(0, "cpu", "N", options_cpu, &c.options,
			    "FILE is a recording of perf; count only the trace of CPU N"),
		{ 0 }
	};
	int status;

	options_init(&c.options);
	status = options_parse(argc, argv, "", usage, options);
	if (status >= 0)
		return status;
	if (!options_are_before_one_file(argv[0], argc, argv))
		return EXIT_USAGE;
	status = run(&c, argv[optind]);
	options_end(&c.options);
	return status;
}
