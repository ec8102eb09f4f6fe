// SPDX-License-Identifier: GPL-2.0-only
/* Options that describe the encoding of messages, for dump, decode and other commands. */
#include <stdio.h>
#include <string.h>

#include "ntrace.h"
#include "raw/deframer.h"
#include "options.h"

void options_init(struct options *options)
{
	memset(options, 0, sizeof(*options));
	nt_config_init(&options->config, sizeof(options->config));
}

bool options_mode(const struct option_entry *option, const char *arg)
{
	struct nt_config *config = &((struct options *)option->to)->config;

	if (!strcmp(arg, "btm"))
		config->mode = NT_MODE_BTM;
	else if (!strcmp(arg, "htm"))
		config->mode = NT_MODE_HTM;
	else
		fprintf(stderr, "ntrace: --mode is btm or htm\n");
	return config->mode != NT_MODE_AUTO;
}

static bool set_u32(uint32_t *field, const char *arg, uint64_t max)
{
	const struct option_entry number = OPTION_U32(NULL, NULL, field, max, NULL);

	return option_u32(&number, arg);
}

bool options_pins(const struct option_entry *option, const char *arg)
{
	struct options *options = option->to;

	if (!set_u32(&options->pins, arg, 16))
		return false;
	if (options->pins && !(options->pins & (options->pins - 1)))
		return true;
	return refuse("--pins is 1, 2, 4, 8 or 16");
}

/*
 * Set the options to those of a known encoder. SiFive's messages may end with a timestamp, and
 * returns may be implicit. Set the options for timestamps and for implicit returns, because the
 * decoder detects whether the trace has them. If returns may be implicit, and --implicit-return=N
 * is not given, set the depth of the return stack to that of the encoder.
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

bool options_encoder(const struct option_entry *option, const char *arg)
{
	return set_encoder(option->to, arg);
}

bool options_dialect(const struct option_entry *option, const char *arg)
{
	if (!strcmp(arg, "sifive"))
		return set_encoder(option->to, "sifive0");
	if (!strcmp(arg, "ratified"))
		return set_encoder(option->to, "ratified");
	return refuse("--dialect is sifive or ratified");
}

/* Parse a list of names of deviations from the specification. */
bool options_accept(const struct option_entry *option, const char *arg)
{
	struct nt_config *config = &((struct options *)option->to)->config;
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

bool options_addr_bits(const struct option_entry *option, const char *arg)
{
	struct nt_config *config = &((struct options *)option->to)->config;

	if (!set_u32(&config->addr_bits, arg, 64))
		return false;
	if (config->addr_bits >= NT_ADDR_BITS_MIN)
		return true;
	return refuse("--addr-bits is %d to 64", NT_ADDR_BITS_MIN);
}

/* Parse a list with the names "system" and "compressed". */
bool options_custom_jumps(const struct option_entry *option, const char *arg)
{
	struct nt_config *config = &((struct options *)option->to)->config;
	static const char *const names[] = { "system", "compressed" };
	size_t length, i;

	do {
		length = strcspn(arg, ",");
		for (i = 0; i < 2; i++) {
			if (length == strlen(names[i]) && !strncmp(arg, names[i], length))
				break;
		}
		if (i == 2)
			return refuse("--custom-jumps is system, compressed or both");
		config->custom_jumps |= 1u << i;
		arg += length + (arg[length] == ',');
	} while (*arg);
	return true;
}

bool options_frames(const struct option_entry *option, const char *arg)
{
	struct options *options = option->to;

	options->frames = true;
	options->frame_id = DEFRAMER_ANY;
	if (!arg)
		return true;
	if (!set_u32(&options->frame_id, arg, NT_FRAMES_IDS - 1))
		return false;
	if (options->frame_id != DEFRAMER_ANY)
		return true;
	return refuse("--frames=ID is 1 to %d", NT_FRAMES_IDS - 1);
}

bool options_fit(const struct options *options)
{
	const struct nt_config *config = &options->config;

	if (!nt_config_check(config))
		return true;
	if (options->recording)
		return refuse("the metadata of the trace is damaged: the options of the encoder are not valid");
	if (!strcmp(nt_config_bad_member(config), "addr_bits"))
		return refuse("--addr-bits %u is more than --xlen %u", config->addr_bits, config->xlen);
	return refuse("--src %u does not fit into a SRC field of %u bits; give a larger --src-bits", config->src_id,
		      config->src_bits);
}

bool options_are_of_one_stream(const struct options *options)
{
	if (!options->frames || options->frame_id != DEFRAMER_ANY)
		return true;
	return refuse("choose one of the trace IDs by --frames=ID");
}

bool options_depth(const struct option_entry *option, const char *arg)
{
	struct options *options = option->to;
	struct nt_config *config = &options->config;

	options->depth_given = arg;
	config->return_depth = nt_encoder_return_depth(config->dialect);
	return !arg || set_u32(&config->return_depth, arg, NT_RETURN_DEPTH_MAX);
}

bool options_zcmp(const struct option_entry *option, const char *arg)
{
	((struct options *)option->to)->config.isa |= NT_ISA_ZCMP;
	return true;
}

bool options_zcmt(const struct option_entry *option, const char *arg)
{
	struct nt_config *config = &((struct options *)option->to)->config;

	config->isa |= NT_ISA_ZCMT;
	return parse_number(arg, UINT64_MAX, &config->jvt);
}

bool options_wrapped(const struct option_entry *option, const char *arg)
{
	struct options *options = option->to;

	options->middle = true;
	return parse_number(arg, INT64_MAX, &options->wrapped_at);
}

bool options_cpu(const struct option_entry *option, const char *arg)
{
	struct options *options = option->to;

	options->cpu_given = true;
	return set_u32(&options->cpu, arg, INT32_MAX);
}
