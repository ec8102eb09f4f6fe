/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations that the commands of `ntrace` share. */
#ifndef NTRACE_TOOL_H
#define NTRACE_TOOL_H

#include <inttypes.h>

/* Exit status of every command, with the same meaning as that of grep and diff */
enum {
	EXIT_CLEAN	= 0,	/* the answer was written */
	EXIT_TRACE	= 1,	/* the answer is "no", because nothing matched, files differ or the trace has errors */
	EXIT_USAGE	= 2,	/* the command cannot answer, because of its options, its files or a full disk */
};

/* argv[0] is the name of the command. Returns the exit status. */
int cmd_dump(int argc, char **argv);
int cmd_decode(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_html(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_share(int argc, char **argv);
int cmd_split(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_slow(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_gdb(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_setup(int argc, char **argv);
int cmd_flight(int argc, char **argv);
int cmd_inject(int argc, char **argv);

#define NS_PER_S	UINT64_C(1000000000)

/* Format of a time in seconds for printf(), and its arguments for a time in ns */
#define TIME_FORMAT	"%" PRIu64 ".%09" PRIu64
#define TIME_ARGS(ns)	(ns) / NS_PER_S, (ns) % NS_PER_S

static inline double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * part / all : 0;
}

#define COUNTED_SIZE	64

/* counted() - format a number with its noun in @buf, such as "1 call" or "2 branches" */
const char *counted(uint64_t number, const char *noun, char buf[COUNTED_SIZE]);

/* The same in a buffer that stays valid until the end of the block */
#define COUNTED(number, noun)	counted(number, noun, (char[COUNTED_SIZE]){ 0 })

/*
 * Run the subcommand argv[0] of ntrace-dev, which is in the folder of this program or in
 * ../libexec/ntrace. Returns only if that fails.
 */
int run_dev(int argc, char **argv);

#endif /* NTRACE_TOOL_H */
