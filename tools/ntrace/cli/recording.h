/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions for all commands that read a perf recording */
#ifndef NTRACE_TOOL_RECORDING_H
#define NTRACE_TOOL_RECORDING_H

#include <stdbool.h>

#include "options.h"
#include "session/array.h"
#include "session/session.h"

/* Options for raw trace, which replaces a recording */
struct raw_options {
	NS_ARRAY(const char *) traces;	/* names of the files of raw trace; if there are none, a recording is read */
	NS_ARRAY(const char *) elfs;
	unsigned long	freq;		/* frequency of timestamps in Hz; 0: not known */
	struct options	encoder;
};

struct recording_options {
	const char	*input;		/* argument of -i; perf.data if -i is not given */
	struct nt_session_options session;
	struct nt_filter filter;
	bool		strict;		/* --strict is given, so that the exit status depends on errors of the trace */
	struct raw_options raw;
	/* a text that describes the argument of the command; NULL: the command has no argument */
	const char	*argument_is;
	const char	*argument;
};

/* Setters of the options that the macros below define */
option_setter recording_folder, recording_mangled, recording_threads, recording_time, recording_id;

/* recording_encoder() - return the table of options that describe an encoder; the next call changes the table */
struct option_entry *recording_encoder(struct options *options);

/* Options of commands that also read raw trace */
#define RECORDING_OPTIONS(r)	RECORDED_OPTIONS(r), NAME_OPTIONS(r), RAW_OPTIONS(r)

#define RAW_OPTIONS(r)										\
	OPTION_CALL(0, "raw", "FILE", option_list, &(r)->raw.traces,				\
		    "a file of trace bytes in place of a recording; one for each encoder"),	\
	OPTION_CALL(0, "elf", "ELF[@OFFSET]", option_list, &(r)->raw.elfs,			\
		    "code of --raw, loaded OFFSET bytes above its addresses"),			\
	OPTION_NUMBER(0, "freq", "HZ", &(r)->raw.freq, 1, "ticks of a second in the timestamps of --raw"), \
	OPTION_TABLE(recording_encoder(&(r)->raw.encoder),					\
		     "Options of the encoder of --raw, which are detected if none is given; see ntrace help decode:")

#define RECORDED_OPTIONS(r)									\
	OPTION_TEXT('i', "input", "FILE", &(r)->input, "the recording, - is the standard input (perf.data)"), \
	SESSION_OPTIONS(r)

/* Options of commands that have recordings as arguments */
#define SESSION_OPTIONS(r)									\
	OPTION_CALL(0, "symfs", "DIR", recording_folder, &(r)->session.symfs,			\
		    "folder that has the files of the machine that was traced"),		\
	OPTION_CALL(0, "buildid-dir", "DIR", recording_folder, &(r)->session.cache,		\
		    "files by build id, as perf archive packs them (~/.debug)"),		\
	OPTION_TEXT(0, "firmware", "FILE[@ADDRESS]", &(r)->session.firmware,			\
		    "ELF file of the firmware; ADDRESS is added to its addresses"),		\
	OPTION_CALL(0, "threads", "N", recording_threads, &(r)->session, "processors to use (all)"), \
	OPTION_FLAG(0, "strict", &(r)->strict, "exit with 1 if trace was lost or could not be decoded")

/* NAME_OPTIONS() - table entries for commands that print names of functions or source lines */
#define NAME_OPTIONS(r)										\
	OPTION_CALL(0, "modules", "DIR", recording_folder, &(r)->session.modules,		\
		    "files of the kernel's modules, for lines; subfolders are searched"),	\
	OPTION_CALL(0, "mangled", NULL, recording_mangled, &(r)->session,			\
		    "names as compilers write them: _ZN3foo3barEv, not foo::bar()")

/* Options of commands that use struct recording_options::filter */
#define FILTER_OPTIONS(r)									\
	OPTION_CALL(0, "time", "FROM,TO", recording_time, &(r)->filter.time,			\
		    "only that time, in seconds as script prints it; either may be empty"),	\
	OPTION_CALL(0, "cpu", "N", recording_id, &(r)->filter.cpu, "only that CPU"),		\
	OPTION_CALL(0, "tid", "N", recording_id, &(r)->filter.tid, "only that thread"),		\
	OPTION_NUMBER(0, "pid", "N", &(r)->filter.pid, 1, "only the threads of that process"),	\
	OPTION_TEXT(0, "comm", "NAME", &(r)->filter.comm, "only threads of that name, or of a pattern"),	\
	OPTION_TEXT(0, "object", "NAME", &(r)->filter.object,					\
		    "only code of files whose path is, or ends with, /NAME; or a pattern")

/* recording_init() - set the defaults of a structure of zeros */
void recording_init(struct recording_options *options);

/*
 * recording_seconds() - convert "12.345" to ns, with up to nine digits after the point
 *
 * Return the end of the number in @text, or NULL if it is not a time.
 */
const char *recording_seconds(const char *text, uint64_t *ns);

/*
 * recording_parse() - call options_parse(), and then parse the argument that
 * recording_options::argument_is describes, if it is not NULL
 */
int recording_parse(int argc, char **argv, const char *usage, const struct option_entry *options,
		    struct recording_options *recording);

/*
 * recording_run() - parse the options, open the recording, execute the command and report missing
 * trace
 * @command: Structure of the command, whose first member is a struct recording_options
 * @check: Function that returns false if options contradict each other, which it has reported;
 *	NULL: none
 * @run: Function that prints the result, and returns the exit status
 */
int recording_run(int argc, char **argv, const char *usage, const struct option_entry *options, void *command,
		  bool (*check)(void *command), int (*run)(void *command, struct nt_session *session));

/*
 * recording_status() - return the exit status of a command, which is EXIT_TRACE if --strict is
 * given and @errors is true
 */
int recording_status(const struct recording_options *options, bool errors);

/* recording_failed() - report the error of a function of the session library. Return EXIT_USAGE */
int recording_failed(const struct nt_session *session);

/*
 * recording_open() - open the recording, and set nt_filter::session of the options. Return NULL
 * after an error, which was reported.
 */
struct nt_session *recording_open(struct recording_options *options);

/* recording_report() - report missing files and lost trace */
void recording_report(struct nt_session *session);

struct nt_lines;

/* recording_report_lines() - report kernel modules whose line information was not found */
void recording_report_lines(const struct nt_lines *lines);

/*
 * recording_has_room() - return true if the disk of the output @path has room for a copy of all
 * trace, and for @more bytes of code
 *
 * Otherwise the function prints the free size of the disk, and asks the user for another disk.
 */
bool recording_has_room(const struct nt_session *session, const char *path, uint64_t more);

/*
 * recording_limit_memory() - if @per_byte bytes of memory for each byte of trace are more than this
 * process can get, warn before decoding, and limit the memory of this process. If the limit is
 * reached, recording_failed() prints @cure.
 */
void recording_limit_memory(const struct nt_session *session, unsigned int per_byte, const char *cure);

/*
 * recording_build_id() - write the build id of an object to @text in hexadecimal, and return @text;
 * NULL if the build id is not known
 */
#define BUILD_ID_TEXT	(2 * 64 + 1)
const char *recording_build_id(struct nt_session *session, const char *object, char text[BUILD_ID_TEXT]);

/* duration() - write a time to @buf with three digits and a unit, such as "1.23 ms", and return @buf */
const char *duration(uint64_t ns, char buf[16]);

/* calls_text() - format a number of calls, and after a plus the calls whose start or end was not recorded, in @buf */
#define CALLS_TEXT	48
const char *calls_text(uint64_t calls, uint64_t open, char buf[CALLS_TEXT]);

/*
 * print_on_cpu() - print for how much of the time @ns the CPUs executed threads. @ran is this time in ns.
 *
 * If the session has an address filter, @ran is the time that was traced. Print nothing if @ran is nearly @ns.
 */
void print_on_cpu(const struct nt_session *session, uint64_t ns, uint64_t ran);

/* print_longest() - if one of several calls took more than four times their average, print how long it took */
void print_longest(uint64_t calls, uint64_t ns, uint64_t longest);

#endif /* NTRACE_TOOL_RECORDING_H */
