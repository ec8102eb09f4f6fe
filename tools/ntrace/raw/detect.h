/* SPDX-License-Identifier: GPL-2.0-only */
/* Detect the configuration of an encoder from its trace and the code. */
#ifndef NTRACE_DETECT_H
#define NTRACE_DETECT_H

#include "cli/options.h"

/* Results of the detection besides the options */
struct detected {
	uint64_t	messages;	/* number of messages that were tried */
	uint64_t	bad;		/* number of these messages that do not fit */
	uint64_t	unread;		/* number of messages that would have taken too long, about */
	uint64_t	insns;
};

/*
 * Set the options of the encoder in @options to those of the trace in @path. @image has the code.
 * Return false, with a message to the user, if nothing fits or the file cannot be read.
 */
bool detect(struct options *options, struct nt_image *image, const char *path,
	    struct detected *found);

/*
 * Print the arguments of @command that decode @path, whose code is in @elf, and how certain they are.
 */
void detect_print(const struct options *options, const struct detected *found, const char *command, const char *elf,
		  const char *path, FILE *file);

#endif /* NTRACE_DETECT_H */
