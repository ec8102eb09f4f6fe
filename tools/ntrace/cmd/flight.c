// SPDX-License-Identifier: GPL-2.0-only
/* ntrace flight - read the record of the flight recorder, and show why the machine hung. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "flight/flight.h"
#include "ntrace.h"
#include "cli/option.h"
#include "cli/output.h"
#include "session/file/whole-file.h"

static const char usage[] =
	"usage: ntrace flight [show] [-i RECORD | --vmcore FILE]\n"
	"       ntrace flight save [-i RECORD | --vmcore FILE] [-o FILE] [--no-kcore] [--clear]\n"
	"       ntrace flight calls [-i FILE] [-n N]\n"
	"\n"
	"show prints why the flight recorder stopped, and what it recorded. save writes a recording that\n"
	"perf script, ntrace script and ntrace report read. calls prints what each CPU of such a\n"
	"recording called last, a column for each CPU, and exits 1 if the trace or the code has errors.\n";

#define DEFAULT_CALLS	10
#define MAX_CALLS	1000

struct flight_command {
	const char	*input, *vmcore;
	struct flight_output output;
	bool		save, calls, clear, has_output;
	size_t		number;		/* number of calls to print; 0: not given */
	uint8_t		*data;		/* record of the flight recorder, @size bytes */
	size_t		size;
	void		*dump;		/* the mapped crash dump; NULL: the record is not from a crash dump */
	size_t		dump_size;
	struct ns_flight flight;
};

/* ---- Input ---- */

/* Read the record into memory, because a file in /sys cannot be mapped. */
static int read_record(struct flight_command *c)
{
	size_t room = 0;
	uint8_t *more;
	ssize_t n = 1;
	int fd = open(c->input, O_RDONLY | O_CLOEXEC);

	whole_file_input(fd);
	if (output_is_input()) {
		close(fd);
		return -1;
	}
	while (fd >= 0 && n > 0) {
		if (c->size == room) {
			room = room ? 2 * room : 1 << 20;
			more = realloc(c->data, room);
			if (!more)
				break;
			c->data = more;
		}
		n = read(fd, c->data + c->size, room - c->size);
		c->size += n > 0 ? n : 0;
	}
	if (fd >= 0 && !n) {
		close(fd);
		return 0;
	}
	if (fd < 0 && errno == ENOENT && !strncmp(c->input, FLIGHT_SYSFS, strlen(FLIGHT_SYSFS)))
		fputs("ntrace: this system has no flight recorder: its driver has no memory for one (ntrace.flight=, or \"flight\" in the device tree)\n",
		      stderr);
	else
		fprintf(stderr, "ntrace: %s: %s\n", c->input, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static int map_vmcore(struct flight_command *c)
{
	c->dump = whole_file_map(c->vmcore, &c->dump_size);
	if (c->dump)
		return 0;
	fprintf(stderr, "ntrace: %s: %s\n", c->vmcore, errno == ENODEV || errno == ENODATA ?
		"it cannot be mapped (copy /proc/vmcore to a file first)" : whole_file_strerror(errno));
	return -1;
}

/*
 * Report that the dump has no record. A possible reason is that kexec-tools excludes reserved memory from
 * /proc/vmcore of the crash kernel.
 */
static void no_record(const struct flight_command *c)
{
	const Elf64_Ehdr *head = c->dump;

	fprintf(stderr, "ntrace: %s has no record of a flight recorder\n", c->vmcore);
	if (c->dump_size >= sizeof(*head) && !memcmp(head->e_ident, ELFMAG, SELFMAG) &&
	    head->e_type == ET_CORE)
		fputs("ntrace: a crash dump does not contain reserved memory. If the record is in reserved memory, use ntrace flight save without --vmcore, in the crash kernel or after the reset\n",
		      stderr);
	if (c->dump_size >= 8 && (!memcmp(c->dump, "KDUMP   ", 8) || !memcmp(c->dump, "makedump", 8)))
		fprintf(stderr, "ntrace: %s is in a format of makedumpfile that ntrace cannot search; makedumpfile -E writes an ELF file, which ntrace can search\n",
			c->vmcore);
}

/* Find the record in the crash dump. Return the exit status if the command must end. Otherwise return EXIT_CLEAN. */
static int find_record(struct flight_command *c)
{
	int ret;

	if (map_vmcore(c))
		return EXIT_USAGE;
	ret = ns_flight_find(c->dump, c->dump_size, &c->data, &c->size);
	if (ret > 0)
		no_record(c);
	if (ret < 0)
		fputs("ntrace: out of memory\n", stderr);
	return !ret ? EXIT_CLEAN : ret < 0 ? EXIT_USAGE : EXIT_TRACE;
}

static int open_flight(struct flight_command *c)
{
	int status = EXIT_CLEAN;

	if (c->vmcore)
		status = find_record(c);
	else if (read_record(c))
		status = EXIT_USAGE;
	if (status != EXIT_CLEAN || !ns_flight_open(&c->flight, c->data, c->size))
		return status;
	return usage_error("%s: %s", c->vmcore ? c->vmcore : c->input, c->flight.error);
}

static void close_flight(struct flight_command *c)
{
	ns_flight_close(&c->flight);
	if (c->dump)
		munmap(c->dump, c->dump_size);
	free(c->data);
}

/* ---- ntrace flight show ---- */

static void print_text(const void *text)
{
	const unsigned char *c = text;

	for (; *c; c++)
		putchar(*c >= ' ' && *c < 0x7f ? *c : '?');
}

static void print_seconds(const struct ns_flight *f, uint64_t ticks)
{
	uint64_t ns = ns_flight_time(f, ticks);

	printf("[%5" PRIu64 ".%06" PRIu64 "]", ns / 1000000000, ns / 1000 % 1000000);
}

static void print_cause(const struct ns_flight *f)
{
	const struct ntrace_flight_cause *c = &f->cause;

	if (!f->has_cause) {
		puts("cause    not recorded: the machine was reset, for example by a watchdog, or it still records");
		return;
	}
	printf("cause    %s", ns_flight_cause_name(c->code));
	if (*c->text) {
		printf(": ");
		print_text(c->text);
	}
	printf("\n         at ");
	print_seconds(f, c->time);
	printf(" on CPU %u, thread %u (", c->cpu, c->tid);
	print_text(c->comm);
	printf(")\n");
}

static void print_kernel(const struct ns_flight *f)
{
	time_t second = f->machine.real_ns / 1000000000;
	char when[64] = "?", id[160];
	struct tm tm;

	if (gmtime_r(&second, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	printf("kernel   ");
	print_text(f->machine.release);
	if (ns_flight_line(f, "BUILD-ID", id, sizeof(id))) {
		printf(", build id ");
		print_text(id);
	}
	printf("\nbegan    %s\n", when);
}

static void print_gaps(const struct ns_flight *f, size_t sink)
{
	uint64_t ticks = 0;
	size_t nr = 0, i;

	for (i = 0; i < f->nr_gaps; i++) {
		if (f->gaps[i].sink != sink)
			continue;
		nr++;
		if (f->gaps[i].to > f->gaps[i].from)
			ticks += f->gaps[i].to - f->gaps[i].from;
	}
	if (nr)
		printf(", %zu gaps of %.3f ms together", nr,
		       1000.0 * (double)ticks / (double)f->machine.timebase);
}

/* Print the perf session that used the sink at the panic. */
static void print_session(const struct ns_flight *f, size_t sink)
{
	const struct ntrace_flight_session *session = f->sessions;

	for (; session < f->sessions + f->nr_sessions; session++) {
		if (session->sink != sink)
			continue;
		printf(", which a perf event used");
		if (session->pid) {
			printf(" (");
			print_text(session->comm);
			printf(", process %u)", session->pid);
		}
		return;
	}
}

static void print_sinks(const struct ns_flight *f)
{
	size_t i, k;

	for (i = 0; i < f->nr_sinks; i++) {
		const struct ns_flight_trace *t = &f->traces[i];

		printf("trace    ");
		print_text(t->sink->name);
		printf(": %" PRIu64 " KiB of CPU", t->size >> 10);
		for (k = 0; k < f->nr_cpus; k++) {
			if (f->cpus[k].sink == i)
				printf(" %" PRIu64, (uint64_t)f->cpus[k].words[0]);
		}
		printf(", %s", ns_flight_end_text(t->end));
		print_session(f, i);
		print_gaps(f, i);
		putchar('\n');
	}
}

static void print_damage(const struct ns_flight *f)
{
	if (f->damaged)
		fprintf(stderr, "ntrace: %zu entries of the record are damaged, and left out\n",
			f->damaged);
}

static int show(const struct flight_command *c)
{
	print_cause(&c->flight);
	print_kernel(&c->flight);
	print_sinks(&c->flight);
	print_damage(&c->flight);
	return c->flight.damaged ? EXIT_TRACE : EXIT_CLEAN;
}

/* ---- ntrace flight save ---- */

static int tell_driver(const char *name, const char *value)
{
	char path[PATH_MAX];
	FILE *f;
	int err;

	snprintf(path, sizeof(path), FLIGHT_SYSFS "/%s", name);
	f = fopen(path, "we");
	err = !f || fputs(value, f) < 0;
	if ((f && fclose(f)) || err) {
		fprintf(stderr, "ntrace: %s: %s\n", path, strerror(errno));
		return -1;
	}
	return 0;
}

static int save(struct flight_command *c)
{
	struct ns_dump dump;

	ns_dump_open(&dump, c->dump, c->dump_size);
	if (flight_save(&c->flight, c->dump ? &dump : NULL, &c->output))
		return EXIT_USAGE;
	fprintf(stderr, "ntrace: wrote %s\n", c->output.path);
	print_damage(&c->flight);
	if (c->clear && tell_driver("clear", "1\n"))
		return EXIT_USAGE;
	return c->flight.damaged ? EXIT_TRACE : EXIT_CLEAN;
}

/* ---- ntrace flight calls ---- */

static int calls(const struct flight_command *c)
{
	return flight_calls(c->input, c->number ? c->number : DEFAULT_CALLS);
}

/* ---- Command ---- */

static int set_calls(struct flight_command *c)
{
	if (!c->calls && c->number)
		return fputs("ntrace: -n is an option of 'flight calls'\n", stderr), -1;
	if (c->calls && (c->vmcore || c->output.no_kernel || c->clear || c->has_output))
		return fputs("ntrace: 'flight calls' has only the options -i and -n\n", stderr), -1;
	if (c->calls && !c->input)
		c->input = c->output.path;
	return 0;
}

static int set_command(struct flight_command *c, int argc, char **argv)
{
	const char *name = optind < argc ? argv[optind] : "show";

	c->save = !strcmp(name, "save");
	c->calls = !strcmp(name, "calls");
	if (!c->save && !c->calls && strcmp(name, "show"))
		return fprintf(stderr, "ntrace: flight does not take '%s', but only show, save and calls\n",
			       name), -1;
	if (set_calls(c))
		return -1;
	if (optind + 1 < argc)
		return fprintf(stderr, "ntrace: flight does not take the argument '%s'\n", argv[optind + 1]), -1;
	if (c->input && c->vmcore)
		return fputs("ntrace: -i and --vmcore exclude each other\n", stderr), -1;
	if (c->clear && (c->input || c->vmcore || !c->save))
		return fputs("ntrace: --clear is an option of 'flight save' without -i and --vmcore, because it clears the driver's record\n", stderr), -1;
	if (!c->save && !c->calls && (c->has_output || c->output.no_kernel))
		return fputs("ntrace: -o and --no-kcore are options of 'flight save'\n", stderr), -1;
	if (c->save && output_is_pipe("flight save", c->output.path))
		return -1;
	if (!c->input)
		c->input = FLIGHT_SYSFS "/record";
	return 0;
}

static bool set_number(const struct option_entry *option, const char *arg)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (end == arg || *end || !n || n > MAX_CALLS)
		return refuse("-n is a number from 1 to %d, not '%s'", MAX_CALLS, arg);
	*(size_t *)option->to = n;
	return true;
}

static bool set_output(const struct option_entry *option, const char *arg)
{
	struct flight_command *c = option->to;

	c->output.path = arg;
	return c->has_output = true;
}

int cmd_flight(int argc, char **argv)
{
	struct flight_command c = { .output.path = "perf.flight.data" };
	const struct option_entry options[] = {
		OPTION_TEXT('i', "input", "RECORD", &c.input,
			    "the record (" FLIGHT_SYSFS "/record); of calls: the recording\n"
			    "(perf.flight.data)"),
		OPTION_TEXT(0, "vmcore", "FILE", &c.vmcore, "find the record in a crash dump"),
		OPTION_CALL('o', "output", "FILE", set_output, &c,
			    "write this; a folder if the kernel's code is with it (perf.flight.data)"),
		OPTION_FLAG(0, "no-kcore", &c.output.no_kernel, "do not copy the code of the kernel"),
		OPTION_FLAG(0, "clear", &c.clear, "then let the driver forget the record, and record again"),
		OPTION_CALL('n', "number", "N", set_number, &c.number, "calls of each CPU (10)"),
		{ 0 }
	};
	int status = options_parse(argc, argv, "", usage, options);

	if (status >= 0)
		return status;
	if (set_command(&c, argc, argv))
		return EXIT_USAGE;
	if (c.calls)
		return calls(&c);
	status = open_flight(&c);
	if (status == EXIT_CLEAN)
		status = c.save ? save(&c) : show(&c);
	close_flight(&c);
	return status;
}
