// SPDX-License-Identifier: GPL-2.0-only
/* ntrace dump - print one line for each message. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "raw/deframer.h"
#include "ntrace.h"
#include "cli/nothing.h"
#include "cli/options.h"

static const char usage[] =
	"usage: ntrace dump [OPTIONS] FILE\n\n"
	"Print one line for each message of FILE (- is the standard input): its offset and its\n"
	"fields. Exits 1 if a message is not valid.\n";

/* Stream of a trace ID with --frames, or of the whole file */
struct stream {
	struct nt_reader	*reader;	/* NULL: no bytes so far */
	uint64_t		offset;		/* offset of the next byte */
	unsigned int		breaks;
};

struct dump {
	const struct options	*options;
	struct input		*input;
	int			status;
	bool			found;	/* a message was printed */
	struct stream		streams[NT_FRAMES_IDS];
};

/* Print a message. Return true if it is valid. */
static bool print_message(int ret, const struct nt_message *msg)
{
	char desc[512];

	if (ret < 0) {
		printf("%8" PRIu64 ": error %s: %s (%u bytes)\n", msg->offset, nt_error_name(ret),
		       nt_error_text(ret), msg->length);
		return false;
	}
	nt_message_desc(msg, desc, sizeof(desc));
	printf("%8" PRIu64 ": %s\n", msg->offset, desc);
	return true;
}

static void print(struct dump *dump, unsigned int id, int ret, const struct nt_message *msg)
{
	uint32_t src_id = dump->options->config.src_id;

	if (ret > 0 && src_id != NT_SRC_ANY && msg->src != src_id)
		return;
	dump->found = true;
	if (dump->options->frames && dump->options->frame_id == DEFRAMER_ANY)
		printf("{%u} ", id);
	if (!print_message(ret, msg))
		dump->status = EXIT_TRACE;
}

static void end_stream(struct dump *dump, unsigned int id)
{
	struct stream *stream = &dump->streams[id];
	struct nt_message msg;
	int ret;

	ret = stream->reader ? nt_reader_end(stream->reader, &msg) : NT_OK;
	if (ret)
		print(dump, id, ret, &msg);
}

/* Return the reader of @id at the position of its next bytes, or NULL if out of memory. */
static struct nt_reader *get_reader(struct dump *dump, unsigned int id)
{
	struct stream *stream = &dump->streams[id];
	unsigned int breaks = input_breaks(dump->input);

	if (!stream->reader) {
		stream->reader = nt_reader_new(&dump->options->config);
		if (stream->reader)
			nt_reader_seek(stream->reader, 0, dump->options->middle || breaks);
	} else if (stream->breaks != breaks) {
		end_stream(dump, id);
		nt_reader_seek(stream->reader, stream->offset, true);
	}
	stream->breaks = breaks;
	return stream->reader;
}

static bool dump_all(struct dump *dump)
{
	struct nt_message msg;
	const uint8_t *data;
	unsigned int id;
	long n;
	int ret;

	while ((n = input_read(dump->input, &data)) > 0) {
		struct nt_reader *reader;

		id = input_id(dump->input);
		reader = get_reader(dump, id);
		if (!reader)
			return false;
		nt_reader_feed(reader, data, n);
		while ((ret = nt_reader_next(reader, &msg)) != 0)
			print(dump, id, ret, &msg);
		dump->streams[id].offset += n;
	}
	for (id = 0; id < NT_FRAMES_IDS; id++)
		end_stream(dump, id);
	return n == 0 && !input_has_errors(dump->input);
}

static int dump_file(const struct options *options, const char *path)
{
	struct dump dump = { .options = options, .status = EXIT_CLEAN };
	unsigned int id;

	if (nt_config_check(&options->config))
		return usage_error("these options contradict each other");
	dump.input = input_open(path, options);
	if (!dump.input)
		return EXIT_USAGE;
	if (!dump_all(&dump))
		dump.status = EXIT_TRACE;
	input_close(dump.input);
	for (id = 0; id < NT_FRAMES_IDS; id++)
		nt_reader_free(dump.streams[id].reader);
	if (!dump.found && dump.status == EXIT_CLEAN)
		return nothing_of_source(options, path);
	return dump.status;
}

int cmd_dump(int argc, char **argv)
{
	struct options options;
	const struct option_entry entries[] = { COMMON_OPTIONS(&options), CPU_OPTION(&options), { 0 } };
	int status;

	options_init(&options);
	status = options_parse(argc, argv, "", usage, entries);
	if (status >= 0)
		return status;
	if (!options_are_before_one_file(argv[0], argc, argv))
		return EXIT_USAGE;
	status = options_take_recording(&options, argv[optind]);
	if (status == EXIT_CLEAN)
		status = dump_file(&options, argv[optind]);
	options_end(&options);
	return status;
}
