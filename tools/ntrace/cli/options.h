/* SPDX-License-Identifier: GPL-2.0-only */
/* Options that the commands dump and decode share, and functions to read the input file. */
#ifndef NTRACE_OPTIONS_H
#define NTRACE_OPTIONS_H

#include <ntrace/ntrace.h>

#include "option.h"

struct options {
	struct nt_config	config;
	/* width of the pin interface; 0: the file has bytes as a RAM sink stores them */
	unsigned int		pins;
	bool			frames;	/* the file has CoreSight frames */
	unsigned int		frame_id; /* trace ID to select, or DEFRAMER_ANY */
	bool			depth_given;	/* --implicit-return=N was given */
	bool			middle;	/* the file begins inside a message */
	/* offset of the oldest byte of a file that is a wrapped ring; 0: the file is not wrapped */
	uint64_t		wrapped_at;
	bool			cpu_given;
	uint32_t		cpu;	/* CPU of a recording whose trace is selected */
	struct nt_session	*recording; /* recording to read; NULL: the input is raw trace */
};

/* Setters of the options below; option_entry::to is a struct options */
option_setter options_depth, options_mode, options_pins, options_encoder, options_dialect, options_accept,
	      options_addr_bits, options_custom_jumps, options_frames, options_zcmp, options_zcmt, options_wrapped,
	      options_cpu;

#define COMMON_OPTIONS(o)									\
	OPTION_U32("src-bits", "N", &(o)->config.src_bits, NT_SRC_BITS_MAX, "width of the SRC field (0)"), \
	OPTION_U32("src", "ID", &(o)->config.src_id, (1u << NT_SRC_BITS_MAX) - 1, "only this source"),	\
	OPTION_VALUE("timestamp", &(o)->config.timestamp, 1, "messages may end with a timestamp"),	\
	OPTION_U32("tstamp-bits", "N", &(o)->config.tstamp_bits, 64, "width of the timestamp counter (64)"), \
	OPTION_CALL(0, "implicit-return", "[=N]", options_depth, o,				\
		    "the encoder leaves out returns of up to N calls (32)"),			\
	OPTION_VALUE("return-drop-newest", &(o)->config.return_full, NT_RETURN_DROP_NEWEST,	\
		     "a full return stack ignores calls"),					\
	OPTION_CALL(0, "custom-jumps", "LIST", options_custom_jumps, o,				\
		    "other instructions that may jump: system, compressed"),			\
	OPTION_VALUE("flow-only", &(o)->config.flow_only, 1,					\
		     "neither Ownership nor messages of software are sent"),			\
	OPTION_VALUE("sequential-jump", &(o)->config.sequential_jump, 1, "jumps to a constant are left out"), \
	OPTION_VALUE("all-jumps", &(o)->config.all_jumps, 1, "direct jumps are sent as branches"), \
	OPTION_VALUE("extend-addr", &(o)->config.extend_addr, 1, "addresses omit equal upper bits"), \
	OPTION_CALL(0, "mode", "btm|htm", options_mode, o, "trace mode (seen from the messages)"), \
	OPTION_VALUE("rv32", &(o)->config.xlen, 32, "32-bit addresses and code"),		\
	OPTION_CALL(0, "zcmp", NULL, options_zcmp, o, "code has Zcmp (cm.popret)"),		\
	OPTION_CALL(0, "zcmt", "ADDR", options_zcmt, o, "code has Zcmt; its table is there"),	\
	OPTION_CALL(0, "encoder", "NAME", options_encoder, o,					\
		    "settings of a known encoder: ratified, sifive0 (P550; implies\n"		\
		    "--timestamp and --implicit-return=1023), spacemit-k3,\n"			\
		    "accemic, microblaze-v"),							\
	OPTION_CALL(0, "dialect", "sifive", options_dialect, o, "the same as --encoder sifive0"), \
	OPTION_CALL(0, "accept", "LIST", options_accept, o,					\
		    "further deviations of the encoder from the specification, which\n"		\
		    "otherwise count as damage of the trace: sync-lacks-bit,\n"			\
		    "stack-over-sync, trap-in-gap"),						\
	OPTION_VALUE("strict", &(o)->config.strict, 1, "each deviation from the specification is an error"), \
	OPTION_CALL(0, "addr-bits", "N", options_addr_bits, o,					\
		    "addresses are sent without bits above N (64; 48 by --encoder\n"		\
		    "sifive0)"),								\
	OPTION_CALL(0, "frames", "[=ID]", options_frames, o,					\
		    "the file has CoreSight frames; only the trace with that ID"),		\
	OPTION_CALL(0, "wrapped-at", "OFFSET", options_wrapped, o,				\
		    "the file is a ring with its oldest byte at OFFSET; implies --middle"),	\
	OPTION_FLAG(0, "middle", &(o)->middle, "the file begins in the middle of a message"),	\
	OPTION_CALL(0, "pins", "1|2|4|8|16", options_pins, o, "the file is of a pin interface of that width")

/* Return true if at least one option that describes the encoder or its messages is given. */
bool options_are_given(const struct options *options);

/*
 * The option --cpu N of commands that accept a perf recording instead of raw trace. The command decodes the trace of
 * CPU N in the recording, and gets the encoder's configuration from the recording.
 */
#define CPU_OPTION(o)	\
	OPTION_CALL(0, "cpu", "N", options_cpu, o,	\
		    "FILE is a recording of perf; decode the trace of CPU N, as the recording\n" \
		    "describes its encoder")

void options_init(struct options *options);

/* Return true if --src fits into --src-bits. Otherwise report an error, and return false. */
bool options_fit(const struct options *options);

/* Return true if the options select only one stream. Otherwise report an error, and return false. */
bool options_are_of_one_stream(const struct options *options);

/* Return true if @path is a file that begins like perf.data, or a folder that perf record --kcore may have written. */
bool options_is_recording(const char *path);

/*
 * If the file is a perf recording, open it, and set the encoder's configuration to that in the
 * recording. Return the exit status. If the recording cannot be used, this was reported. Call
 * options_end() in each case.
 */
int options_take_recording(struct options *options, const char *path);
/* options_no_cpu() - report the CPUs of which a recording has trace. Return EXIT_TRACE */
int options_no_cpu(const struct options *options, const char *path);
void options_end(struct options *options);

/*
 * Input that returns the trace piece by piece. The path "-" is the standard input. Files of other
 * kinds (a perf recording, an ELF file, a folder) are refused with a message. An empty file is
 * reported.
 */
struct input;

struct input *input_open(const char *path, const struct options *options);
/*
 * Get the next bytes of the trace. Return their number, 0 at the end, or -1 after a reported error.
 * *data is valid until the next call.
 */
long input_read(struct input *input, const uint8_t **data);
void input_close(struct input *input);

/*
 * Functions for the streams of a file. With --frames, each trace ID has a stream; otherwise the
 * file is stream 0. Each function returns false after an error, which the function has reported.
 */
struct input_streams {
	/*
	 * Called when a stream starts, or continues after an interruption. @middle is true if its
	 * first byte may be inside a message
	 */
	bool	(*begin)(void *ctx, unsigned int id, uint64_t offset, bool middle);
	bool	(*bytes)(void *ctx, unsigned int id, const uint8_t *data, size_t size);
	bool	(*end)(void *ctx, unsigned int id);	/* called when the stream ends or is interrupted; may be NULL */
};

/* Read all streams of a file. Return EXIT_TRACE if CoreSight frames had errors, and EXIT_USAGE after an error. */
int input_each(const char *path, const struct options *options, const struct input_streams *streams, void *ctx);

#endif /* NTRACE_OPTIONS_H */
