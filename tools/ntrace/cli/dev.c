// SPDX-License-Identifier: GPL-2.0-only
/* Run the program ntrace-dev, which contains the encoder of the emulated board. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ntrace.h"
#include "option.h"

static const char *const places[] = { "ntrace-dev", "../libexec/ntrace/ntrace-dev" };

int run_dev(int argc, char **argv)
{
	char path[PATH_MAX], *name, **args;
	ssize_t len;
	size_t i;

	args = calloc((size_t)argc + 2, sizeof(*args));
	len = readlink("/proc/self/exe", path, sizeof(path) - sizeof("../libexec/ntrace/ntrace-dev"));
	if (!args || len < 0) {
		free(args);
		return usage_error("cannot run ntrace-dev: %s", strerror(errno));
	}
	path[len] = '\0';
	name = strrchr(path, '/') + 1;
	memcpy(args + 1, argv, (size_t)argc * sizeof(*args));
	args[0] = path;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		strcpy(name, places[i]);
		execv(path, args);
	}
	free(args);
	return usage_error("%s needs the program ntrace-dev, but %s cannot be started: %s", argv[0], path, strerror(errno));
}
