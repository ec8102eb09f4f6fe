/* SPDX-License-Identifier: GPL-2.0-only */
/* Options that dump and decode share, and the input file. */
#ifndef NTRACE_OPTIONS_H
#define NTRACE_OPTIONS_H

#include <getopt.h>
#include <ntrace/ntrace.h>

struct options {
	struct nt_config	config;
	unsigned int		pins;	/* 0: bytes as a RAM sink stores them */
	bool			frames;	/* CoreSight frames */
	unsigned int		frame_id; /* trace ID whose bytes are read, or DEFRAMER_ANY */
	bool			depth_given;	/* --implicit-return=N was given */
	bool			middle;	/* the file begins inside a message */
	uint64_t		wrapped_at; /* offset of the oldest byte, after which the file wraps; 0: none */
	bool			cpu_given;
	uint32_t		cpu;	/* CPU of a recording */
	struct nt_session	*recording; /* NULL: the input is raw trace */
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
	{ "middle",		no_argument,	   NULL, OPT_COMMON + 13 },		\
	{ "dialect",		required_argument, NULL, OPT_COMMON + 14 },		\
	{ "addr-bits",		required_argument, NULL, OPT_COMMON + 15 },		\
	{ "return-drop-newest",	no_argument,	   NULL, OPT_COMMON + 20 },		\
	{ "custom-jumps",	required_argument, NULL, OPT_COMMON + 21 },	\
	{ "flow-only",		no_argument,	   NULL, OPT_COMMON + 22 },	\
	{ "encoder",		required_argument, NULL, OPT_COMMON + 24 },	\
	{ "accept",		required_argument, NULL, OPT_COMMON + 25 },	\
	{ "strict",		no_argument,	   NULL, OPT_COMMON + 26 },	\
	{ "wrapped-at",		required_argument, NULL, OPT_COMMON + 27 },	\
	{ "frames",		optional_argument, NULL, OPT_COMMON + 16 }

#define COMMON_HELP								\
	"  --src-bits N           width of the SRC field (0)\n"			\
	"  --src ID               only this source\n"				\
	"  --timestamp            messages may end with a timestamp\n"		\
	"  --tstamp-bits N        width of the timestamp counter (64)\n"	\
	"  --implicit-return[=N]  the encoder leaves out returns of up to N calls (32)\n"		\
	"  --return-drop-newest   a full return stack ignores calls\n"		\
	"  --custom-jumps LIST    other instructions that may jump: system, compressed\n"		\
	"  --flow-only            neither Ownership nor messages of software are sent\n" \
	"  --sequential-jump      jumps to a constant are left out\n"		\
	"  --all-jumps            direct jumps are sent as branches\n"	\
	"  --extend-addr          addresses omit equal upper bits\n"		\
	"  --mode btm|htm         trace mode (seen from the messages)\n"	\
	"  --rv32                 32-bit addresses and code\n"			\
	"  --zcmp                 code has Zcmp (cm.popret)\n"			\
	"  --zcmt ADDR            code has Zcmt; its table is there\n"		\
	"  --encoder NAME         settings of a known encoder: ratified, sifive0 (P550; implies\n" \
	"                         --timestamp and --implicit-return=1023), spacemit-k3,\n" \
	"                         accemic, microblaze-v\n"			\
	"  --dialect sifive       the same as --encoder sifive0\n"		\
	"  --accept LIST          further deviations of the encoder from the specification, which\n" \
	"                         otherwise count as damage of the trace: sync-lacks-bit,\n" \
	"                         stack-over-sync, trap-in-gap\n"		\
	"  --strict               each deviation from the specification is an error\n" \
	"  --addr-bits N          addresses are sent without bits above N (64; 48 by --encoder\n" \
	"                         sifive0)\n"					\
	"  --frames[=ID]          the file has CoreSight frames; only the trace with that ID\n" \
	"  --wrapped-at OFFSET    the file is a ring with its oldest byte at OFFSET; implies --middle\n" \
	"  --middle               the file begins in the middle of a message\n"	\
	"  --pins 1|2|4|8|16      the file is of a pin interface of that width\n"

/* Options of commands that accept a perf recording instead of raw trace */
#define CPU_OPTION	{ "cpu", required_argument, NULL, OPT_COMMON + 23 }
#define CPU_HELP								\
	"  --cpu N                FILE is a recording of perf: the trace of this CPU; how it was encoded\n" \
	"                         is taken from there\n"

void options_init(struct options *options);

/* Take a common option. Return false if its value is invalid, which was reported. */
bool options_set(struct options *options, int opt, const char *arg);

/*
 * After an error of getopt_long(), print how to list the options. @command is argv[0] of the
 * command. Return EXIT_USAGE.
 */
int options_hint(const char *command);

/*
 * options_parse() - parse all options of a command
 *
 * --help prints @help. The other options are passed to @set with @ctx, which returns false after it
 * has reported an error.
 *
 * Return the exit status if the command must end, or -1 to continue.
 */
int options_parse(int argc, char **argv, const char *short_options, const struct option *long_options,
		  const char *help, bool (*set)(void *ctx, int opt, const char *arg), void *ctx);

/* Return false unless exactly one argument follows the options, after reporting it. */
bool options_are_before_one_file(const char *command, int argc, char **argv);

/* Return false if the options select several streams, after reporting an error. */
bool options_are_of_one_stream(const struct options *options);

/*
 * Return true for a file that begins like perf.data, and for a folder such as perf record --kcore
 * makes.
 */
bool options_is_recording(const char *path);

/*
 * If the file is a perf recording, take the encoder's configuration from it. Return the exit status
 * if it cannot be used, which was reported. Call options_end() in each case.
 */
int options_take_recording(struct options *options, const char *path);
/* options_no_cpu() - report which CPUs a recording has trace of. Return EXIT_TRACE */
int options_no_cpu(const struct options *options, const char *path);
void options_end(struct options *options);

/* Parse a number up to @max in C notation. */
bool parse_number(const char *text, uint64_t max, uint64_t *value);

/*
 * Input that returns the trace piece by piece. "-" is the standard input. Files of other kinds (a
 * perf recording, an ELF file, a folder) are refused with a message; an empty file is reported.
 */
struct input;

struct input *input_open(const char *path, const struct options *options);
/*
 * Return the number of bytes, 0 at the end, or -1 after a reported error. *data is valid until the
 * next call.
 */
long input_read(struct input *input, const uint8_t **data);
/* Return the trace ID of the last bytes read with --frames; 0 without. */
unsigned int input_id(const struct input *input);
/* Return the number of interruptions of any ID in the bytes that were read. */
unsigned int input_breaks(const struct input *input);
/* Return true if frames had errors, which were reported. */
bool input_has_errors(const struct input *input);
void input_close(struct input *input);

#endif /* NTRACE_OPTIONS_H */
