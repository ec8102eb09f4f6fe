/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Options that dump and decode have in common, and the input file.
 */
#ifndef NTRACE_OPTIONS_H
#define NTRACE_OPTIONS_H

#include <getopt.h>
#include <ntrace/ntrace.h>

struct options {
	struct nt_config	config;
	unsigned int		pins;	/* 0: bytes as a RAM sink stores them */
	bool			middle;	/* begins in the middle of a message */
};

/* getopt_long() values from here on are the common options */
enum { OPT_COMMON = 1000, OPT_COMMON_END = 1100 };

#define COMMON_OPTIONS							\
	{ "src-bits",		required_argument, NULL, OPT_COMMON },		\
	{ "src",		required_argument, NULL, OPT_COMMON + 1 },	\
	{ "timestamp",		no_argument,	   NULL, OPT_COMMON + 2 },	\
	{ "implicit-return",	optional_argument, NULL, OPT_COMMON + 3 },	\
	{ "sequential-jump",	no_argument,	   NULL, OPT_COMMON + 4 },	\
	{ "all-jumps",		no_argument,	   NULL, OPT_COMMON + 5 },	\
	{ "extend-addr",	no_argument,	   NULL, OPT_COMMON + 6 },	\
	{ "rv32",		no_argument,	   NULL, OPT_COMMON + 7 },	\
	{ "mode",		required_argument, NULL, OPT_COMMON + 8 },	\
	{ "tstamp-bits",	required_argument, NULL, OPT_COMMON + 9 },	\
	{ "zcmp",		no_argument,	   NULL, OPT_COMMON + 10 },	\
	{ "zcmt",		required_argument, NULL, OPT_COMMON + 11 },	\
	{ "pins",		required_argument, NULL, OPT_COMMON + 12 },	\
	{ "middle",		no_argument,	   NULL, OPT_COMMON + 13 }

#define COMMON_HELP								\
	"  --src-bits N           width of the SRC field (0)\n"			\
	"  --src ID               only this source\n"				\
	"  --timestamp            messages may end with a timestamp\n"		\
	"  --tstamp-bits N        width of the timestamp counter (64)\n"	\
	"  --implicit-return[=N]  returns are not told; N deep (32)\n"		\
	"  --sequential-jump      jumps to a constant are not told\n"		\
	"  --all-jumps            direct jumps are told like branches\n"	\
	"  --extend-addr          addresses omit equal upper bits\n"		\
	"  --mode btm|htm         trace mode (seen from the messages)\n"	\
	"  --rv32                 32-bit addresses and code\n"			\
	"  --zcmp                 code has Zcmp (cm.popret)\n"			\
	"  --zcmt ADDR            code has Zcmt; its table is there\n"		\
	"  --middle               the file begins in the middle of a message\n"	\
	"  --pins 1|2|4|8|16      the file is of a pin interface of that width\n"

void options_init(struct options *options);

/* Take in a common option. False: its value is not valid, and it was said. */
bool options_set(struct options *options, int opt, const char *arg);

/* A number in C notation up to @max */
bool parse_number(const char *text, uint64_t max, uint64_t *value);

/* The trace, piece by piece. "-" is the standard input. */
struct input;

struct input *input_open(const char *path, unsigned int pins);
/* Bytes: >0, 0 at the end, -1 on an error that was said. *data is valid until the next call. */
long input_read(struct input *input, const uint8_t **data);
void input_close(struct input *input);

#endif /* NTRACE_OPTIONS_H */
