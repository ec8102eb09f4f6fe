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

struct dump {
	const struct options	*options;
	bool			invalid;	/* a message was not valid */
	bool			found;		/* at least one message was printed */
	struct nt_reader	*readers[NT_FRAMES_IDS];
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
	dump->invalid |= !print_message(ret, msg);
}

static bool begin(void *ctx, unsigned int id, uint64_t offset, bool middle)
{
	struct dump *dump = ctx;

	if (!dump->readers[id])
		dump->readers[id] = nt_reader_new(&dump->options->config);
	if (!dump->readers[id])
		return refuse("out of memory");
	nt_reader_seek(dump->readers[id], offset, middle);
	return true;
}

static bool dump_bytes(void *ctx, unsigned int id, const uint8_t *data, size_t size)
{
	struct dump *dump = ctx;
	struct nt_message msg;
	int ret;

	nt_reader_feed(dump->readers[id], data, size);
	while ((ret = nt_reader_next(dump->readers[id], &msg)) != 0)
		print(dump, id, ret, &msg);
	return true;
}

static bool end(void *ctx, unsigned int id)
{
	struct dump *dump = ctx;
	struct nt_message msg;
	int ret = nt_reader_end(dump->readers[id], &msg);

	if (ret)
		print(dump, id, ret, &msg);
	return true;
}

static int dump_file(const struct options *options, const char *path)
{
	static const struct input_streams streams = { begin, dump_bytes, end };
	struct dump dump = { .options = options };
	unsigned int id;
	int status;

	if (!options_fit(options))
		return EXIT_USAGE;
	status = input_each(path, options, &streams, &dump);
	for (id = 0; id < NT_FRAMES_IDS; id++)
		nt_reader_free(dump.readers[id]);
	if (status == EXIT_CLEAN && dump.invalid)
		return EXIT_TRACE;
	return status == EXIT_CLEAN && !dump.found ? nothing_of_source(options, path) : status;
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
