// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace dump: one line for each message.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ntrace.h"
#include "options.h"

static const char help[] =
	"usage: ntrace dump [OPTIONS] FILE\n\n"
	"Print one line for each message of FILE (- is the standard input): its offset and its\n"
	"fields. Exits 1 if a message is not valid.\n\n"
	COMMON_HELP;

/* Returns whether the message is valid. */
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

static int dump_all(struct nt_reader *reader, struct input *input, uint32_t src_id)
{
	struct nt_message msg;
	const uint8_t *data;
	int status = EXIT_CLEAN;
	long n;
	int ret;

	while ((n = input_read(input, &data)) > 0) {
		nt_reader_feed(reader, data, n);
		while ((ret = nt_reader_next(reader, &msg)) != 0) {
			if (ret > 0 && src_id != NT_SRC_ANY && msg.src != src_id)
				continue;
			if (!print_message(ret, &msg))
				status = EXIT_TRACE;
		}
	}
	if (n < 0)
		return EXIT_TRACE;
	ret = nt_reader_end(reader, &msg);
	if (ret && !print_message(ret, &msg))
		status = EXIT_TRACE;
	return status;
}

static int dump(const struct options *options, const char *path)
{
	struct nt_reader *reader;
	struct input *input;
	int status;

	reader = nt_reader_new(&options->config);
	if (!reader) {
		fprintf(stderr, "ntrace: these options do not go together\n");
		return EXIT_USAGE;
	}
	input = input_open(path, options->pins);
	if (!input) {
		nt_reader_free(reader);
		return EXIT_USAGE;
	}
	nt_reader_seek(reader, 0, options->middle);
	status = dump_all(reader, input, options->config.src_id);
	input_close(input);
	nt_reader_free(reader);
	if (fflush(stdout) || ferror(stdout)) {
		perror("ntrace: standard output");
		return EXIT_TRACE;
	}
	return status;
}

int cmd_dump(int argc, char **argv)
{
	static const struct option long_options[] = {
		COMMON_OPTIONS, { "help", no_argument, NULL, 'h' }, { 0 }
	};
	struct options options;
	int opt;

	options_init(&options);
	while ((opt = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_CLEAN;
		}
		if (opt == '?' || !options_set(&options, opt, optarg))
			return EXIT_USAGE;
	}
	if (optind + 1 != argc) {
		fputs(help, stderr);
		return EXIT_USAGE;
	}
	return dump(&options, argv[optind]);
}
