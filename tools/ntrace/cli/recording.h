/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of all commands that read a perf recording */
#ifndef NTRACE_TOOL_RECORDING_H
#define NTRACE_TOOL_RECORDING_H

#include <stdbool.h>

#include "options.h"
#include "session/array.h"
#include "session/session.h"

/* Raw trace in place of a recording */
struct raw_options {
	NS_ARRAY(const char *) traces;	/* files of trace; if empty, a recording is read */
	NS_ARRAY(const char *) elfs;
	unsigned long	freq;		/* frequency of timestamps in Hz; 0: not known */
	struct options	encoder;
};

struct recording_options {
	const char	*input;		/* argument of -i; perf.data if not given */
	struct nt_session_options session;
	struct nt_filter filter;
	bool		strict;		/* errors of the trace decide the exit status */
	struct raw_options raw;
	const char	*argument_is;	/* the argument of the command in words; NULL: it takes none */
	const char	*argument;
};

/* Setters of the options below */
option_setter recording_folder, recording_mangled, recording_threads, recording_time, recording_id;

/* recording_encoder() - return the table of options that describe an encoder; the next call changes it */
struct option_entry *recording_encoder(struct options *options);

/* Options of commands that also read raw trace */
#define RECORDING_OPTIONS(r)									\
	RECORDED_OPTIONS(r),									\
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
	OPTION_CALL(0, "modules", "DIR", recording_folder, &(r)->session.modules,		\
		    "files of the kernel's modules, for lines; subfolders are searched"),	\
	OPTION_CALL(0, "mangled", NULL, recording_mangled, &(r)->session,			\
		    "names as compilers write them: _ZN3foo3barEv, not foo::bar()"),		\
	OPTION_CALL(0, "threads", "N", recording_threads, &(r)->session, "processors to use (all)"), \
	OPTION_FLAG(0, "strict", &(r)->strict, "exit with 1 if trace was lost or could not be decoded")

/* Options of commands that use struct recording_options::filter */
#define FILTER_OPTIONS(r)									\
	OPTION_CALL(0, "time", "FROM,TO", recording_time, &(r)->filter.time,			\
		    "only that time, in seconds as script prints it; either may be empty"),	\
	OPTION_CALL(0, "cpu", "N", recording_id, &(r)->filter.cpu, "only that CPU"),		\
	OPTION_CALL(0, "tid", "N", recording_id, &(r)->filter.tid, "only that thread"),		\
	OPTION_NUMBER(0, "pid", "N", &(r)->filter.pid, 1, "only the threads of that process"),	\
	OPTION_TEXT(0, "comm", "NAME", &(r)->filter.comm, "only threads of that name, or of a pattern")

/* recording_init() - set the defaults of a structure of zeros */
void recording_init(struct recording_options *options);

/*
 * recording_seconds() - convert "12.345" to ns, with up to nine digits after the point
 *
 * Return the end of the number in @text, or NULL if it is not a time.
 */
const char *recording_seconds(const char *text, uint64_t *ns);

/* recording_parse() - call options_parse(), and take the argument that @recording describes, if any */
int recording_parse(int argc, char **argv, const char *usage, const struct option_entry *options,
		    struct recording_options *recording);

/*
 * recording_run() - parse the options, open the recording, run the command and report missing trace
 * @command: The structure of the command, which begins with struct recording_options
 * @check: Returns false if the options contradict each other, which was reported; may be NULL
 * @run: Prints the answer, and returns the exit status
 */
int recording_run(int argc, char **argv, const char *usage, const struct option_entry *options, void *command,
		  bool (*check)(void *command), int (*run)(void *command, struct nt_session *session));

/* recording_status() - return the exit status of an answer: EXIT_TRACE under --strict if there were @errors */
int recording_status(const struct recording_options *options, bool errors);

/* recording_failed() - report why a call of the session failed. Return EXIT_USAGE */
int recording_failed(const struct nt_session *session);

/* recording_open() - open the recording, for the filter as well. Return NULL after an error, which was reported. */
struct nt_session *recording_open(struct recording_options *options);

/* recording_report() - report missing files and lost trace */
void recording_report(struct nt_session *session);

struct nt_lines;

/* recording_report_lines() - report kernel modules without line information */
void recording_report_lines(const struct nt_lines *lines);

/*
 * recording_has_room() - return true if the disk of the output @path has room for a copy of all trace
 *
 * Otherwise this prints the room of the disk and asks for another disk.
 */
bool recording_has_room(const struct nt_session *session, const char *path);

/* recording_warn_of_memory() - warn, with a cure, before decoding if @per_byte bytes a byte of trace exceed the memory */
void recording_warn_of_memory(const struct nt_session *session, unsigned int per_byte, const char *cure);

/* recording_build_id() - write the build id of an object to @text, and return it; NULL: none */
#define BUILD_ID_TEXT	(2 * 64 + 1)
const char *recording_build_id(struct nt_session *session, const char *object, char text[BUILD_ID_TEXT]);

/* duration() - format a time like "1.23 ms", with three digits and a unit, in @buf */
const char *duration(uint64_t ns, char buf[16]);

#endif /* NTRACE_TOOL_RECORDING_H */
