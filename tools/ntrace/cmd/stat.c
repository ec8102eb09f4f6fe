// SPDX-License-Identifier: GPL-2.0-only
/* ntrace stat - count the messages of a trace and their bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "raw/deframer.h"
#include "raw/detect.h"
#include "raw/elf-image.h"
#include "ntrace.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "raw/print-stats.h"
#include "cli/progress.h"
#include "session/array.h"
#include "session/counts/profile.h"
#include "session/session.h"

static const char usage[] =
	"usage: ntrace stat [OPTIONS] FILE\n\n"
	"Count the messages of FILE (- is the standard input), raw trace or a recording of perf: how many\n"
	"of each kind, the bytes that they and their timestamps take, errors, losses and time. No code is\n"
	"needed. Exits 1 if a message is not valid.\n";

/* Statistics of a CPU of a recording, of a trace ID of frames, or of a whole file */
struct stream {
	struct message_walk walk;
	int		id;		/* CPU or trace ID; -1: none */
	unsigned int	breaks;
};

struct stat_command {
	struct options	options;
	struct nt_session_options session;
	bool		json, insns;
	const char	*elf;
	uint64_t	nr_insns;
	bool		trouble;	/* an error that the streams do not count */
	const char	*id_name;	/* "cpu" or "id" */
	NS_ARRAY(struct stream) streams;
};

/* Return the stream of an ID, or NULL if out of memory. */
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

/* Count bytes of an ID. After an interruption, the next bytes may begin inside a message. */
static int take_bytes(struct stat_command *c, struct input *input, const uint8_t *data, size_t size)
{
	struct stream *s = get_stream(c, c->options.frames ? (int)input_id(input) : -1);
	unsigned int breaks = input_breaks(input);
	bool is_new = s && !s->walk.is_open;

	if (!s)
		return no_memory();
	if ((is_new || s->breaks != breaks) &&
	    walk_begin(&s->walk, &c->options.config, breaks || (is_new && c->options.middle)))
		return no_memory();
	s->breaks = breaks;
	walk_feed(&s->walk, data, size);
	return 0;
}

static int stat_raw(struct stat_command *c, const char *path)
{
	struct input *input;
	const uint8_t *data;
	int err = 0;
	long n;
	size_t i;

	if (nt_config_check(&c->options.config))
		return usage_error("these options contradict each other");
	input = input_open(path, &c->options);
	if (!input)
		return EXIT_USAGE;
	while (!err && (n = input_read(input, &data)) > 0)
		err = take_bytes(c, input, data, n);
	for (i = 0; i < c->streams.nr; i++)
		walk_end(&c->streams.at[i].walk);
	c->trouble = err || n < 0 || input_has_errors(input);
	input_close(input);
	for (i = 0; i < c->streams.nr; i++) {
		if (c->streams.at[i].walk.stats.messages)
			return EXIT_CLEAN;
	}
	return c->trouble ? EXIT_CLEAN : nothing_of_source(&c->options, path);
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

static int count_insns(struct stat_command *c)
{
	struct nt_filter filter = { .cpu = c->options.cpu_given ? (int)c->options.cpu : -1, .tid = -1 };
	struct nt_profile *profile = nt_profile_new(c->options.recording, &filter);
	struct nt_profile_totals totals;
	int err = -1;

	if (profile && !nt_profile_run(profile)) {
		nt_profile_totals(profile, &totals);
		c->nr_insns = totals.insns;
		c->trouble |= totals.errors || totals.gaps;
		if (totals.errors || totals.gaps || totals.losses)
			fprintf(stderr, "ntrace: some executed code is not counted: trace was lost %" PRIu64
				" times, %" PRIu64 " places could not be decoded, code was missing %" PRIu64
				" times\n", totals.losses, totals.errors, totals.gaps);
		err = 0;
	} else {
		fprintf(stderr, "ntrace: %s\n", profile ? nt_session_error(c->options.recording) :
							  "out of memory");
	}
	nt_profile_free(profile);
	return err;
}

/* Without decoding, the amount of missing trace is not known. */
static void report_losses(const struct stat_command *c, const char *path)
{
	uint64_t losses = 0;
	size_t i;

	for (i = 0; i < c->streams.nr; i++)
		losses += c->streams.at[i].walk.stats.losses;
	if (losses)
		fprintf(stderr, "ntrace: trace is missing after %" PRIu64 " stretches. ntrace info -i %s decodes them, and prints how much of the time is missing, why, and what helps\n",
			losses, path);
}

static int stat_recording(struct stat_command *c, const char *path)
{
	struct nt_session **session = &c->options.recording;

	c->session.size = sizeof(c->session);
	if (progress_wanted())
		c->session.progress = progress_print;
	if (nt_session_open(session, path, &c->session))
		return usage_error("%s: %s", path, *session ? nt_session_error(*session) :
				   "out of memory");
	c->id_name = "cpu";
	if (nt_session_raw(*session, take_raw, c))
		return EXIT_USAGE;
	if (!c->streams.nr)
		return options_no_cpu(&c->options, path);
	if (!c->insns)
		report_losses(c, path);
	else if (count_insns(c))
		return EXIT_USAGE;
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
		.insns = c->streams.nr == 1 ? c->nr_insns : 0,
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
	struct stats_view sum = { .stats = &all, .insns = c->nr_insns, .is_recording = c->options.recording };
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

/* Detect the encoding of the trace. Return false if nothing fits, which was reported. */
static bool find_options(struct stat_command *c, const char *path)
{
	struct nt_image *image = nt_image_new();
	struct elf_files elfs = { NULL };
	struct detected found;
	unsigned int xlen = 64;
	bool ok = image && elf_image_add_arg(&elfs, image, c->elf, 0, &xlen);

	if (ok) {
		c->options.config.xlen = xlen;
		ok = detect(&c->options, image, path, &found);
	}
	if (ok)
		detect_print(&c->options, &found, "ntrace decode", c->elf, path, c->json ? stderr : stdout);
	nt_image_free(image);
	elf_files_close(&elfs);
	return ok;
}

/* Return false if an option would have no effect, which was reported. */
static bool are_options_used(const struct stat_command *c, bool is_recording)
{
	if (c->insns && !is_recording)
		fputs("ntrace: --insns is for recordings; of raw trace, `ntrace decode --stats --elf ELF` counts instructions\n", stderr);
	else if (!c->insns && (c->session.symfs || c->session.cache))
		fputs("ntrace: --symfs and --buildid-dir are for --insns, which needs code\n", stderr);
	else if (c->elf && is_recording)
		fputs("ntrace: --elf is for raw trace: a recording says how it was encoded\n", stderr);
	else
		return true;
	return false;
}

static int run(struct stat_command *c, const char *path)
{
	bool is_recording = options_is_recording(path);
	int status;
	size_t i;

	if (!are_options_used(c, is_recording) || (c->elf && !find_options(c, path)))
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
		OPTION_FLAG(0, "insns", &c.insns, "of a recording: decode it too, and count instructions"),
		OPTION_CALL(0, "symfs", "DIR", recording_folder, &c.session.symfs,
			    "... with the files of the machine that was traced in that folder"),
		OPTION_CALL(0, "buildid-dir", "DIR", recording_folder, &c.session.cache, "... or by build id (~/.debug)"),
		COMMON_OPTIONS(&c.options),
		OPTION_CALL(0, "cpu", "N", options_cpu, &c.options,
			    "FILE is a recording of perf: only the trace of this CPU"),
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
