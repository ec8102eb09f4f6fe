// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options that dump and decode have in common, and the input file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

#define PIECE	(256 << 10)

void options_init(struct options *options)
{
	memset(options, 0, sizeof(*options));
	nt_config_init(&options->config, sizeof(options->config));
}

bool parse_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || *value > max) {
		fprintf(stderr, "ntrace: '%s' is not a number from 0 to %llu\n", text,
			(unsigned long long)max);
		return false;
	}
	return true;
}

static bool set_u32(uint32_t *field, const char *arg, uint64_t max)
{
	uint64_t value;

	if (!parse_number(arg, max, &value))
		return false;
	*field = value;
	return true;
}

static bool set_mode(struct nt_config *config, const char *arg)
{
	if (!strcmp(arg, "btm"))
		config->mode = NT_MODE_BTM;
	else if (!strcmp(arg, "htm"))
		config->mode = NT_MODE_HTM;
	else
		fprintf(stderr, "ntrace: --mode is btm or htm\n");
	return config->mode != NT_MODE_AUTO;
}

static bool set_pins(struct options *options, const char *arg)
{
	if (!set_u32(&options->pins, arg, 16))
		return false;
	if (options->pins && !(options->pins & (options->pins - 1)))
		return true;
	fprintf(stderr, "ntrace: --pins is 1, 2, 4, 8 or 16\n");
	return false;
}

static bool set_flag(struct nt_config *config, int opt)
{
	switch (opt - OPT_COMMON) {
	case 2:
		config->timestamp = 1;
		break;
	case 4:
		config->sequential_jump = 1;
		break;
	case 5:
		config->all_jumps = 1;
		break;
	case 6:
		config->extend_addr = 1;
		break;
	case 7:
		config->xlen = 32;
		break;
	case 10:
		config->isa |= NT_ISA_ZCMP;
		break;
	default:
		return false;
	}
	return true;
}

bool options_set(struct options *options, int opt, const char *arg)
{
	struct nt_config *config = &options->config;

	if (set_flag(config, opt))
		return true;
	switch (opt - OPT_COMMON) {
	case 0:
		return set_u32(&config->src_bits, arg, NT_SRC_BITS_MAX);
	case 1:
		return set_u32(&config->src_id, arg, (1u << NT_SRC_BITS_MAX) - 1);
	case 3:
		config->return_depth = NT_RETURN_DEPTH;
		return !arg || set_u32(&config->return_depth, arg, NT_RETURN_DEPTH_MAX);
	case 8:
		return set_mode(config, arg);
	case 9:
		return set_u32(&config->tstamp_bits, arg, 64);
	case 11:
		config->isa |= NT_ISA_ZCMT;
		return parse_number(arg, UINT64_MAX, &config->jvt);
	case 12:
		return set_pins(options, arg);
	case 13:
		options->middle = true;
		return true;
	}
	return false;
}

struct input {
	int		fd;
	const char	*path;
	struct nt_pins	*pins;		/* NULL: bytes are as they are wanted */
	uint8_t		buf[PIECE];
	uint8_t		converted[2 * PIECE];
};

struct input *input_open(const char *path, unsigned int pins)
{
	struct input *input = malloc(sizeof(*input));

	if (input)
		input->pins = pins ? nt_pins_new(pins) : NULL;
	if (!input || (pins && !input->pins)) {
		fprintf(stderr, "ntrace: out of memory\n");
		free(input);
		return NULL;
	}
	input->path = path;
	input->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (input->fd < 0) {
		fprintf(stderr, "ntrace: %s: %s\n", path, strerror(errno));
		nt_pins_free(input->pins);
		free(input);
		return NULL;
	}
	return input;
}

static long read_piece(struct input *input)
{
	long n;

	do {
		n = read(input->fd, input->buf, sizeof(input->buf));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		fprintf(stderr, "ntrace: %s: %s\n", input->path, strerror(errno));
	return n;
}

long input_read(struct input *input, const uint8_t **data)
{
	long n = read_piece(input);
	size_t used, made;

	*data = input->buf;
	if (!input->pins)
		return n;
	/* a piece that is all idle makes no byte: that is not the end */
	while (n > 0) {
		made = nt_pins_convert(input->pins, input->buf, n, &used, input->converted,
				       sizeof(input->converted));
		*data = input->converted;
		if (made)
			return made;
		n = read_piece(input);
	}
	return n;
}

void input_close(struct input *input)
{
	if (input->fd != STDIN_FILENO)
		close(input->fd);
	nt_pins_free(input->pins);
	free(input);
}
