/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of all commands that read a perf recording */
#ifndef NTRACE_TOOL_RECORDING_H
#define NTRACE_TOOL_RECORDING_H

#include <getopt.h>
#include <stdbool.h>

#include "session/session.h"

struct recording_options {
	const char	*input;		/* argument of -i; perf.data if not given */
	struct nt_session_options session;
	struct nt_filter filter;
	bool		strict;		/* errors of the trace decide the exit status */
};

enum {
	OPT_SYMFS = 256,
	OPT_BUILDID_DIR,
	OPT_FIRMWARE,
	OPT_MODULES,
	OPT_MANGLED,
	OPT_THREADS,
	OPT_TIME,
	OPT_CPU,
	OPT_TID,
	OPT_STRICT,
	OPT_RECORDING_END,
};

#define RECORDING_OPTIONS						\
	{ "input", required_argument, NULL, 'i' },			\
	{ "symfs", required_argument, NULL, OPT_SYMFS },		\
	{ "buildid-dir", required_argument, NULL, OPT_BUILDID_DIR },	\
	{ "firmware", required_argument, NULL, OPT_FIRMWARE },		\
	{ "modules", required_argument, NULL, OPT_MODULES },		\
	{ "mangled", no_argument, NULL, OPT_MANGLED },			\
	{ "threads", required_argument, NULL, OPT_THREADS },		\
	{ "strict", no_argument, NULL, OPT_STRICT },			\
	{ "help", no_argument, NULL, 'h' }

#define RECORDING_HELP							\
	"  -i, --input FILE     the recording, - is the standard input (perf.data)\n" \
	"  --symfs DIR          folder that has the files of the machine that was traced\n" \
	"  --buildid-dir DIR    files by build id, as perf archive packs them (~/.debug)\n" \
	"  --firmware FILE[@ADDRESS]  ELF file of the firmware; ADDRESS is added to its addresses\n" \
	"  --modules DIR        files of the kernel's modules, for lines; subfolders are searched\n" \
	"  --mangled            names as compilers write them: _ZN3foo3barEv, not foo::bar()\n" \
	"  --threads N          processors to use (all)\n" \
	"  --strict             exit with 1 if trace was lost or could not be decoded\n"

/* Options of commands that use struct recording_options::filter */
#define FILTER_OPTIONS							\
	{ "time", required_argument, NULL, OPT_TIME },			\
	{ "cpu", required_argument, NULL, OPT_CPU },			\
	{ "tid", required_argument, NULL, OPT_TID }

#define FILTER_HELP							\
	"  --time FROM,TO       only that time, in seconds as script prints it; either may be empty\n" \
	"  --cpu N, --tid N     only that CPU, only that thread\n"

void recording_init(struct recording_options *options);

/* recording_folder() - return false if @arg of the option @name is not a folder, which was reported. */
bool recording_folder(const char *name, const char *arg);

/* recording_set() - take one option. Return false if it is wrong, which was reported. */
bool recording_set(struct recording_options *options, int opt, const char *arg);

/* recording_no_argument() - report that the command takes no argument. Return EXIT_USAGE. */
int recording_no_argument(const char *command, const char *argument);

/*
 * recording_number() - parse a number of at least @least
 *
 * Return false if it is not one, which was reported.
 */
bool recording_number(const char *name, unsigned long least, const char *arg,
		      unsigned long *number);

/* recording_status() - return the exit status of an answer: EXIT_TRACE under --strict if there were @errors */
int recording_status(const struct recording_options *options, bool errors);

/* recording_failed() - report why a call of the session failed. Return EXIT_USAGE */
int recording_failed(const struct nt_session *session);

/* recording_open() - open the recording. Return NULL after an error, which was reported. */
struct nt_session *recording_open(const struct recording_options *options);

/* recording_report() - report missing files and lost trace */
void recording_report(struct nt_session *session);

struct nt_lines;

/* recording_report_lines() - report kernel modules without line information */
void recording_report_lines(const struct nt_lines *lines);

/* duration() - format a time like "1.23 ms", with three digits and a unit, in @buf */
const char *duration(uint64_t ns, char buf[16]);

#endif /* NTRACE_TOOL_RECORDING_H */
