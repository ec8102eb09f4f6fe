// SPDX-License-Identifier: GPL-2.0-only
/* Options that describe the encoding of messages, for dump, decode and others. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"
#include "raw/deframer.h"
#include "options.h"

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

/*
 * Set the encoder. SiFive's messages may end with a timestamp, and returns may be implicit; the
 * decoder detects both. If no depth was given, the return stack is as deep as the encoder's.
 */
static bool set_encoder(struct options *options, const char *arg)
{
	struct nt_config *config = &options->config;
	const char *name;
	unsigned int i;

	if (nt_encoder_find(arg, &config->dialect)) {
		fprintf(stderr, "ntrace: --encoder must be one of these, not '%s':", arg);
		for (i = 0; (name = nt_encoder_name(i)); i++)
			fprintf(stderr, " %s", name);
		fprintf(stderr, "\n");
		return false;
	}
	if (config->dialect == NT_DIALECT_SIFIVE0)
		config->timestamp = 1;
	if (!options->depth_given &&
	    (config->return_depth || config->dialect == NT_DIALECT_SIFIVE0))
		config->return_depth = nt_encoder_return_depth(config->dialect);
	return true;
}

static bool set_dialect(struct options *options, const char *arg)
{
	if (!strcmp(arg, "sifive"))
		return set_encoder(options, "sifive0");
	if (!strcmp(arg, "ratified"))
		return set_encoder(options, "ratified");
	fprintf(stderr, "ntrace: --dialect is sifive or ratified\n");
	return false;
}

/* Parse a list of names of deviations. */
static bool set_accept(struct nt_config *config, const char *arg)
{
	const char *name;
	size_t length;
	unsigned int i;

	do {
		length = strcspn(arg, ",");
		for (i = 0; (name = nt_deviation_name(i)); i++) {
			if (length == strlen(name) && !strncmp(arg, name, length))
				break;
		}
		if (!name) {
			fprintf(stderr, "ntrace: --accept does not take '%.*s', but only:", (int)length, arg);
			for (i = 0; (name = nt_deviation_name(i)); i++)
				fprintf(stderr, " %s", name);
			fprintf(stderr, "\n");
			return false;
		}
		config->accept |= NT_DEV_BIT(i);
		arg += length + (arg[length] == ',');
	} while (*arg);
	return true;
}

static bool set_addr_bits(struct nt_config *config, const char *arg)
{
	if (!set_u32(&config->addr_bits, arg, 64))
		return false;
	if (config->addr_bits >= NT_ADDR_BITS_MIN)
		return true;
	fprintf(stderr, "ntrace: --addr-bits is %d to 64\n", NT_ADDR_BITS_MIN);
	return false;
}

/* Parse a list of the names "system" and "compressed". */
static bool set_custom_jumps(struct nt_config *config, const char *arg)
{
	static const char *const names[] = { "system", "compressed" };
	size_t length, i;

	do {
		length = strcspn(arg, ",");
		for (i = 0; i < 2; i++) {
			if (length == strlen(names[i]) && !strncmp(arg, names[i], length))
				break;
		}
		if (i == 2) {
			fprintf(stderr, "ntrace: --custom-jumps is system, compressed or both\n");
			return false;
		}
		config->custom_jumps |= 1u << i;
		arg += length + (arg[length] == ',');
	} while (*arg);
	return true;
}

static bool set_frames(struct options *options, const char *arg)
{
	options->frames = true;
	options->frame_id = DEFRAMER_ANY;
	if (!arg)
		return true;
	if (!set_u32(&options->frame_id, arg, NT_FRAMES_IDS - 1))
		return false;
	if (options->frame_id != DEFRAMER_ANY)
		return true;
	fprintf(stderr, "ntrace: --frames=ID is 1 to %d\n", NT_FRAMES_IDS - 1);
	return false;
}

bool options_are_of_one_stream(const struct options *options)
{
	if (!options->frames || options->frame_id != DEFRAMER_ANY)
		return true;
	fprintf(stderr, "ntrace: choose one of the trace IDs by --frames=ID\n");
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
	case 26:
		config->strict = 1;
		break;
	case 20:
		config->return_full = NT_RETURN_DROP_NEWEST;
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
		options->depth_given = arg;
		config->return_depth = nt_encoder_return_depth(config->dialect);
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
	case 14:
		return set_dialect(options, arg);
	case 15:
		return set_addr_bits(config, arg);
	case 21:
		return set_custom_jumps(config, arg);
	case 22:
		config->flow_only = 1;
		return true;
	case 24:
		return set_encoder(options, arg);
	case 27:
		options->middle = true;
		return parse_number(arg, INT64_MAX, &options->wrapped_at);
	case 25:
		return set_accept(config, arg);
	case 16:
		return set_frames(options, arg);
	case 23:
		options->cpu_given = true;
		return set_u32(&options->cpu, arg, INT32_MAX);
	}
	return false;
}
