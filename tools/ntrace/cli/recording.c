// SPDX-License-Identifier: GPL-2.0-only
/* Open a recording for a command, and report its errors, losses and missing files (recording.h). */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#ifdef HAVE_DEMANGLER
#include <libiberty/demangle.h>
#endif

#include "ntrace.h"
#include "losses.h"
#include "output.h"
#include "progress.h"
#include "raw/raw-session.h"
#include "recording.h"
#include "session/code/lines.h"

#define MAX_REPORTED	20
#define MAX_MODULES	3

static const char default_input[] = "perf.data";

/*
 * advice to the user how the command needs less memory; NULL: the command has not limited its memory
 */
static const char *memory_cure;

#ifdef HAVE_DEMANGLER
static char *demangle(const char *name)
{
	return *name == '_' ? cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO) : NULL;
}
#endif

void recording_init(struct recording_options *options)
{
	options->input = default_input;
	options_init(&options->raw.encoder);
	options->filter.cpu = options->filter.tid = -1;
	options->session.size = sizeof(options->session);
#ifdef HAVE_DEMANGLER
	options->session.demangle = demangle;
#endif
	if (progress_wanted())
		options->session.progress = progress_print;
}

bool recording_threads(const struct option_entry *option, const char *arg)
{
	struct nt_session_options *options = option->to;
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (end == arg || *end || !n || n > 1024)
		return refuse("--threads is a number from 1 to 1024, not '%s'", arg);
	options->threads = n;
	return true;
}

bool recording_id(const struct option_entry *option, const char *arg)
{
	unsigned long number;
	const struct option_entry any = OPTION_NUMBER(0, option->name, NULL, &number, 0, NULL);

	if (!option_number(&any, arg))
		return false;
	*(int32_t *)option->to = number > INT32_MAX ? INT32_MAX : number;
	return true;
}

bool recording_mangled(const struct option_entry *option, const char *arg)
{
	((struct nt_session_options *)option->to)->demangle = NULL;
	return true;
}

const char *recording_seconds(const char *text, uint64_t *ns)
{
	uint64_t unit = 1000000000;
	char *end;

	*ns = strtoull(text, &end, 10);
	if (end == text || *text == '-' || *ns >= UINT64_MAX / unit)
		return NULL;
	*ns *= unit;
	if (*end != '.')
		return end;
	for (end++; *end >= '0' && *end <= '9' && unit >= 10; end++) {
		unit /= 10;
		*ns += unit * (*end - '0');
	}
	return end;
}

bool recording_time(const struct option_entry *option, const char *arg)
{
	struct nt_window *time = option->to;
	const char *at = arg;

	*time = (struct nt_window){ .to = UINT64_MAX };
	if (*at != ',')
		at = recording_seconds(at, &time->from);
	if (at && *at == ',' && at[1])
		at = recording_seconds(at + 1, &time->to);
	else if (at && *at == ',')
		at++;
	else
		at = NULL;
	if (at && !*at && arg[1] && time->from <= time->to && time->to)
		return true;
	return refuse("--time expects FROM,TO in seconds, such as 12.5,13, not '%s'", arg);
}

bool recording_folder(const struct option_entry *option, const char *arg)
{
	struct stat st;

	*(const char **)option->to = arg;
	if (!stat(arg, &st) && S_ISDIR(st.st_mode))
		return true;
	return refuse("--%s must name a folder, and '%s' is not one", option->name, arg);
}

struct option_entry *recording_encoder(struct options *options)
{
	const struct option_entry options_of_encoder[] = { COMMON_OPTIONS(options), { 0 } };
	static struct option_entry table[sizeof(options_of_encoder) / sizeof(*options_of_encoder)];

	return memcpy(table, options_of_encoder, sizeof(table));
}

int recording_parse(int argc, char **argv, const char *usage, const struct option_entry *options,
		    struct recording_options *recording)
{
	int status = options_parse(argc, argv, "", usage, options);
	const char *command = argv[0] + strlen("ntrace ");

	if (status >= 0)
		return status;
	if (recording->argument_is && optind + 1 != argc)
		return usage_error("%s takes %s; `ntrace help %s` says more", command, recording->argument_is, command);
	if (!recording->argument_is && optind < argc)
		return usage_error("%s does not take the argument '%s'; -i names the recording", command, argv[optind]);
	recording->argument = argv[optind];
	return -1;
}

int recording_run(int argc, char **argv, const char *usage, const struct option_entry *options, void *command,
		  bool (*check)(void *command), int (*run)(void *command, struct nt_session *session))
{
	struct recording_options *recording = command;
	struct nt_session *session;
	int status;

	recording_init(recording);
	status = recording_parse(argc, argv, usage, options, recording);
	if (status >= 0)
		return status;
	if (check && !check(command))
		return EXIT_USAGE;
	session = recording_open(recording);
	if (!session)
		return EXIT_USAGE;
	status = run(command, session);
	if (status == EXIT_CLEAN)
		status = recording_status(recording, losses_any(session));
	recording_report(session);
	nt_session_close(session);
	return status;
}

int recording_status(const struct recording_options *options, bool errors)
{
	return options->strict && errors ? EXIT_TRACE : EXIT_CLEAN;
}

int recording_failed(const struct nt_session *session)
{
	const char *error = nt_session_error(session);

	if (!error[0] || !strcmp(error, "out of memory"))
		return usage_error("out of memory%s%s", memory_cure ? ": " : "", memory_cure ?: "");
	return usage_error("%s", error);
}

static struct nt_session *open_session(const struct recording_options *options)
{
	struct nt_session *session;
	const char *error;

	if (options->raw.traces.nr && options->input == default_input)
		return raw_session_open(options);
	if (options->raw.traces.nr || raw_is_described(&options->raw)) {
		refuse(options->raw.traces.nr ? "-i and --raw exclude each other" :
		       "--elf, --freq and the options of the encoder describe --raw FILE; a recording describes itself");
		return NULL;
	}
	if (!nt_session_open(&session, options->input, &options->session))
		return session;
	error = nt_session_error(session);
	/* if the output is redirected to the recording, opening failed because the shell has emptied the recording */
	if (!output_is_input()) {
		fprintf(stderr, "ntrace: %s\n", error);
		if (access(options->input, F_OK) || strstr(error, "no recording"))
			fprintf(stderr, "ntrace: this command reads what \"perf record -e ntrace//\" wrote: "
				"perf.data, or -i FILE. For bytes of trace there is --raw FILE --elf ELF\n");
	}
	nt_session_close(session);
	return NULL;
}

struct nt_session *recording_open(struct recording_options *options)
{
	struct nt_session *session = open_session(options);

	if (session && output_is_input()) {
		nt_session_close(session);
		session = NULL;
	}
	options->filter.session = session;
	/* free only the arrays, because the names in them are arguments of the command */
	free(options->raw.traces.at);
	free(options->raw.elfs.at);
	memset(&options->raw, 0, sizeof(options->raw));
	return session;
}

void recording_report(struct nt_session *session)
{
	struct nt_session_info info;
	const char *path, *why;
	size_t i;

	nt_session_info(session, &info, sizeof(info));
	for (i = 0; i < MAX_REPORTED && nt_session_missing(session, i, &path, &why); i++)
		fprintf(stderr, "ntrace: cannot read the code of %s: %s. Copy it here (perf archive), or use --symfs\n",
			path, why);
	losses_report(session, info.trace_bytes);
	if (info.recorder)
		fprintf(stderr, "ntrace: this recording was made by %s\n", info.recorder);
	if (info.wrapped)
		fprintf(stderr, "ntrace: the sink overwrote its oldest trace in %s, and the driver did not report it. Some trace of this session is missing, and %s that earlier sessions left in the buffer are not decoded\n",
			COUNTED(info.wrapped, "record"), COUNTED(info.old_bytes, "byte"));
	if (info.truncated)
		fprintf(stderr, "ntrace: the recording was cut short: its end is missing\n");
	if (info.missing_bytes)
		fprintf(stderr, "ntrace: %llu bytes of trace, %.1f %%, are listed in the recording, but missing: its recorder was killed, the disk was full, or a copy is not complete\n",
			(unsigned long long)info.missing_bytes,
			percent(info.missing_bytes, info.missing_bytes + info.trace_bytes));
	if (info.lost_records)
		fprintf(stderr, "ntrace: the kernel lost %s of events other than trace, so names of threads and functions may be wrong\n",
			COUNTED(info.lost_records, "record"));
	if (info.wrong_clock >= 0)
		fprintf(stderr, "ntrace: timestamps of CPU %d did not advance or went back, so some or all of its times are those at which the kernel read the trace, and are not exact\n",
			(int)info.wrong_clock);
	if (info.unknown_source >= 0)
		fprintf(stderr, "ntrace: messages of SRC %d are skipped, because no encoder of this recording has this SRC\n",
			(int)info.unknown_source);
}

bool recording_has_room(const struct nt_session *session, const char *path, uint64_t more)
{
	char folder[PATH_MAX], *slash;
	struct nt_session_info info;
	struct statvfs disk;
	struct stat st;
	uint64_t room;

	if (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return true;
	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	/* if @path does not exist yet, check the file system of its folder */
	if (access(folder, F_OK))
		snprintf(slash ? slash + 1 : folder, 2, "%s", ".");
	nt_session_info(session, &info, sizeof(info));
	/* do not check a file system that reports a size of 0, because it does not know its size */
	if (!strcmp(path, "-") || statvfs(folder, &disk) || !disk.f_blocks)
		return true;
	room = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (info.trace_bytes + more <= room)
		return true;
	fprintf(stderr, "ntrace: %s needs room for %llu bytes of trace%s, and its disk has %llu: use another disk, or record less\n", path,
		(unsigned long long)(info.trace_bytes + more), more ? " and code" : "", (unsigned long long)room);
	return false;
}

/* Return the number that sscanf() reads with @format from the last matching line of a file, or UINT64_MAX if none. */
static uint64_t number_in(const char *path, const char *format)
{
	FILE *file = fopen(path, "re");
	uint64_t number = UINT64_MAX;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, format, &number);
	if (file)
		fclose(file);
	return number;
}

/* Return the bytes of memory that this process can get on this machine and in its container. */
static uint64_t memory_room(void)
{
	uint64_t room = UINT64_MAX, kilobytes = number_in("/proc/meminfo", "MemAvailable: %" SCNu64);
	uint64_t container = number_in("/sys/fs/cgroup/memory.max", "%" SCNu64);
	struct sysinfo memory;

	if (!sysinfo(&memory)) {
		room = (uint64_t)memory.totalram * memory.mem_unit;
		if (kilobytes < room / 1024)
			room = kilobytes * 1024 + (uint64_t)memory.freeswap * memory.mem_unit;
	}
	return container < room ? container : room;
}

void recording_limit_memory(const struct nt_session *session, unsigned int per_byte, const char *cure)
{
	uint64_t need, room = memory_room();
	struct nt_session_info info;
	struct rlimit limit;

	nt_session_info(session, &info, sizeof(info));
	need = info.trace_bytes * per_byte;
	if (need <= room)
		return;
	fprintf(stderr, "ntrace: %llu bytes of trace can need up to %llu MB of memory, and %llu MB are available: %s\n",
		(unsigned long long)info.trace_bytes, (unsigned long long)need / 1000000 + 1, (unsigned long long)room / 1000000, cure);
	memory_cure = cure;
	/*
	 * set a limit, because the kernel would otherwise end this or another process when no
	 * memory is free
	 */
	if (!getrlimit(RLIMIT_DATA, &limit) && room < limit.rlim_cur) {
		limit.rlim_cur = room;
		setrlimit(RLIMIT_DATA, &limit);
	}
}

void recording_report_lines(const struct nt_lines *lines)
{
	const char *object, *why;
	size_t i, nr = 0;

	while (lines && nt_lines_missing(lines, nr, &object, &why))
		nr++;
	for (i = 0; i < nr && i < MAX_MODULES && nt_lines_missing(lines, i, &object, &why); i++)
		fprintf(stderr, "ntrace: there are no source lines of the kernel%s %s: %s%s\n", strcmp(object, "[kernel.kallsyms]") ? " module" : "", object, why,
			i ? "" : ". --modules names a folder that has the files of modules");
	if (i < nr)
		fprintf(stderr, "ntrace: ... and of %zu other modules\n", nr - i);
}

const char *recording_build_id(struct nt_session *session, const char *object, char text[BUILD_ID_TEXT])
{
	size_t size = 0, i;
	const uint8_t *id = object ? nt_session_build_id(session, object, &size) : NULL;

	for (i = 0; i < size && i < 64; i++)
		sprintf(text + 2 * i, "%02x", id[i]);
	return size ? text : NULL;
}

const char *duration(uint64_t ns, char buf[16])
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double value = ns;
	unsigned int unit = 0;

	while (value >= 999.5 && unit < 3) {
		value /= 1000;
		unit++;
	}
	snprintf(buf, 16, "%.*f %s", !unit || value >= 100 ? 0 : value >= 10 ? 1 : 2, value,
		 units[unit]);
	return buf;
}

const char *calls_text(uint64_t calls, uint64_t open, char buf[CALLS_TEXT])
{
	if (open)
		snprintf(buf, CALLS_TEXT, "%" PRIu64 "+%" PRIu64, calls, open);
	else
		snprintf(buf, CALLS_TEXT, "%" PRIu64, calls);
	return buf;
}

void print_on_cpu(const struct nt_session *session, uint64_t ns, uint64_t ran)
{
	char text[16];

	if (ran < ns - ns / 100)
		printf(", %s for %s", nt_session_is_filtered(session) ? "traced" : "on a CPU", duration(ran, text));
}

void print_longest(uint64_t calls, uint64_t ns, uint64_t longest)
{
	char text[16];

	/* an exception may be longer than @ns, which excludes the interrupts in it */
	if (calls && longest / 4 > ns / calls && longest <= ns)
		printf(", one of them for %s", duration(longest, text));
}
