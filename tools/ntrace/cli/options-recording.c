// SPDX-License-Identifier: GPL-2.0-only
/* Options of the commands dump, decode and stat for a perf recording instead of raw trace */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ntrace.h"
#include "options.h"
#include "session/session.h"
#include "session/file/whole-file.h"

bool options_is_recording(const char *path)
{
	struct stat st;

	return whole_file_begins(path, "PERFILE2") || (!stat(path, &st) && S_ISDIR(st.st_mode));
}

static void list_cpus(const struct options *options, const char *path)
{
	struct nt_config config;
	size_t nth;
	int cpu;

	fprintf(stderr, options->cpu_given ? "ntrace: %s has no trace of CPU %u. --cpu can be one of these:" :
		"ntrace: %s has trace of several CPUs. Choose one by --cpu:", path, options->cpu);
	for (nth = 0; nt_session_cpu(options->recording, nth, &cpu, &config); nth++)
		fprintf(stderr, " %d", cpu);
	fputs("\n", stderr);
}

int options_no_cpu(const struct options *options, const char *path)
{
	struct nt_config config;
	int cpu;

	if (nt_session_cpu(options->recording, 0, &cpu, &config))
		list_cpus(options, path);
	else
		fprintf(stderr, "ntrace: %s has no trace of a CPU: either nothing was traced, or a thread was traced and not a CPU\n",
			path);
	return EXIT_TRACE;
}

/* Select the CPU that the user named, or the only CPU with trace. Return the exit status */
static int choose_cpu(struct options *options, const char *path)
{
	struct nt_config config;
	size_t nth, found = 0;
	int cpu, chosen = 0;

	for (nth = 0; nt_session_cpu(options->recording, nth, &cpu, &config); nth++) {
		if (options->cpu_given && options->cpu != (uint32_t)cpu)
			continue;
		options->config = config;
		chosen = cpu;
		found++;
	}
	if (!nth || (options->cpu_given && !found))
		return options_no_cpu(options, path);
	if (found != 1) {
		list_cpus(options, path);
		return EXIT_USAGE;
	}
	options->cpu = chosen;
	return EXIT_CLEAN;
}

bool options_are_given(const struct options *options)
{
	struct options none;

	options_init(&none);
	return memcmp(&options->config, &none.config, sizeof(none.config)) || options->pins ||
		options->frames || options->middle;
}

int options_take_recording(struct options *options, const char *path)
{
	bool recording = options_is_recording(path);

	if (recording ? options_are_given(options) : options->cpu_given) {
		fprintf(stderr, recording ? "ntrace: %s is a recording, which contains the settings of the encoder, so only --cpu can be given\n" :
			"ntrace: %s is not a recording of perf, so --cpu cannot be given\n", path);
		return EXIT_USAGE;
	}
	if (!recording)
		return EXIT_CLEAN;
	if (nt_session_open(&options->recording, path, NULL))
		return usage_error("%s: %s", path, options->recording ?
				   nt_session_error(options->recording) : "out of memory");
	return choose_cpu(options, path);
}

void options_end(struct options *options)
{
	nt_session_close(options->recording);
}
