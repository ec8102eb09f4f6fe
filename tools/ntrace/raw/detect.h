/* SPDX-License-Identifier: GPL-2.0-only */
/* Detect the configuration of an encoder from its trace and the code. */
#ifndef NTRACE_DETECT_H
#define NTRACE_DETECT_H

#include "cli/options.h"

/* Numbers that show how well the detected options fit */
struct detected {
	uint64_t	messages;	/* number of messages that were decoded to test the options */
	uint64_t	bad;		/* number of these messages that are invalid or contradict the code */
	/* estimated number of messages that were not decoded because this would have taken too long */
	uint64_t	unread;
	uint64_t	insns;
};

/*
 * Detect the options of the encoder from the trace in @path and the code in @image, and set them in
 * @options. Print a message and return false if no options fit, or if the file cannot be read.
 */
bool detect(struct options *options, struct nt_image *image, const char *path,
	    struct detected *found);

/*
 * Print the arguments with which @command decodes @path, whose code is in @elf, and how certain these arguments are.
 * Return false if most messages do not fit the code.
 */
bool detect_print(const struct options *options, const struct detected *found, const char *command, const char *elf,
		  const char *path, FILE *file);

#endif /* NTRACE_DETECT_H */
