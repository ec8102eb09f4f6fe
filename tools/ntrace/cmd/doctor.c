// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace doctor - report what this system lacks for a recording, and how to fix it.
 *
 * Everything is read from files, so that --root can select another system or a test.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ntrace.h"
#include "cli/option.h"

static const char usage[] =
	"usage: ntrace doctor [--root DIR]\n\n"
	"Say what this system has and lacks for perf record -e ntrace//, a line each, and what to do.\n"
	"A line begins with ok, note (it works with less) or MISSING. Exits 1 if anything is missing.\n";

#define PMU		"/sys/bus/event_source/devices/ntrace"
#define CPUS_MAX	4096

enum { CAP_IPC_LOCK = 14, CAP_SYSLOG = 34, CAP_SYS_ADMIN = 21, CAP_PERFMON = 38 };

struct doctor {
	const char	*root;
	unsigned int	missing;
};

enum level { FINE, NOTE, MISSING };

__attribute__((format(printf, 4, 5)))
static void say(struct doctor *d, enum level level, const char *what, const char *fmt, ...)
{
	static const char *const words[] = { "ok", "note", "MISSING" };
	va_list ap;

	printf("%-8s %-11s ", words[level], what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	d->missing += level == MISSING;
}

/* ---- Files ---- */

static const char *path_of(const struct doctor *d, const char *path, char buf[PATH_MAX])
{
	snprintf(buf, PATH_MAX, "%s%s", d->root, path);
	return buf;
}

static bool exists(const struct doctor *d, const char *path)
{
	char buf[PATH_MAX];

	return !access(path_of(d, path, buf), F_OK);
}

/* Read the first line of a file, without its newline. Return false if it cannot be read. */
static bool first_line(const struct doctor *d, const char *path, char *line, int size)
{
	char buf[PATH_MAX];
	FILE *f = fopen(path_of(d, path, buf), "r");
	bool ok;

	if (!f)
		return false;
	ok = fgets(line, size, f);
	fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
}

static bool number(const struct doctor *d, const char *path, long long *value)
{
	char line[64], *end;

	if (!first_line(d, path, line, sizeof(line)))
		return false;
	*value = strtoll(line, &end, 0);
	return end != line;
}

/* Find the line of a file that begins with @key, and get the rest of the line. Return false if no line does. */
static bool line_after(const struct doctor *d, const char *path, const char *key, char *value,
		       size_t size)
{
	char buf[PATH_MAX], line[256];
	FILE *f = fopen(path_of(d, path, buf), "r");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		found = !strncmp(line, key, strlen(key));
		if (found)
			snprintf(value, size, "%s", line + strlen(key));
	}
	if (f)
		fclose(f);
	return found;
}

static bool has_capability(const struct doctor *d, unsigned int capability)
{
	char value[64];

	return line_after(d, "/proc/self/status", "CapEff:", value, sizeof(value)) &&
		strtoull(value, NULL, 16) >> capability & 1;
}

/* ---- The driver ---- */

static bool found_component;

static int look_at_node(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char text[512];
	size_t n, at;
	FILE *f;

	if (type != FTW_F || strcmp(path + ftw->base, "compatible"))
		return 0;
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	for (at = 0; at < n; at += strlen(text + at) + 1)
		found_component |= strstr(text + at, "riscv,trace-component") != NULL;
	return found_component;
}

static void check_firmware(struct doctor *d)
{
	char buf[PATH_MAX];

	found_component = false;
	if (!exists(d, "/sys/firmware/devicetree/base")) {
		say(d, MISSING, "firmware", "There is no device tree: the firmware must describe the trace components in one.");
		return;
	}
	nftw(path_of(d, "/sys/firmware/devicetree/base", buf), look_at_node, 16, FTW_PHYS);
	if (found_component)
		say(d, FINE, "firmware", "The device tree has trace components.");
	else
		say(d, MISSING, "firmware", "The device tree has no riscv,trace-component: the firmware must describe the trace hardware.");
}

static bool check_driver(struct doctor *d)
{
	if (exists(d, PMU)) {
		say(d, FINE, "driver", "The kernel offers the event ntrace//.");
		return true;
	}
	if (exists(d, "/sys/module/ntrace"))
		say(d, MISSING, "driver", "The driver is loaded, but found no encoder that it can use; dmesg | grep ntrace shows the reason.");
	else
		say(d, MISSING, "driver", "The driver is not loaded: run modprobe ntrace as root.");
	return false;
}

/* Parse a list such as "0-3,5" into one byte for each CPU. */
static unsigned int parse_list(const char *list, char cpus[CPUS_MAX])
{
	unsigned int first, last, nr = 0;
	char *end;

	memset(cpus, 0, CPUS_MAX);
	while (*list >= '0' && *list <= '9') {
		first = last = strtoul(list, &end, 10);
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < CPUS_MAX; first++, nr++)
			cpus[first] = 1;
		list = *end == ',' ? end + 1 : end;
	}
	return nr;
}

static void check_cpus(struct doctor *d)
{
	static char online[CPUS_MAX], traced[CPUS_MAX];
	char list[512] = "", mask[512] = "";
	unsigned int i, nr, without = 0, first = 0;

	first_line(d, "/sys/devices/system/cpu/online", list, sizeof(list));
	first_line(d, PMU "/cpumask", mask, sizeof(mask));
	nr = parse_list(list, online);
	parse_list(mask, traced);
	for (i = CPUS_MAX; i-- > 0;) {
		if (online[i] && !traced[i]) {
			without++;
			first = i;
		}
	}
	if (!without)
		say(d, FINE, "CPUs", "All %u CPUs that are online can be traced.", nr);
	else if (without < nr)
		say(d, NOTE, "CPUs", "%u of %u CPUs cannot be traced, such as CPU %u: use taskset, or perf record -C %s.",
		    without, nr, first, mask);
	else
		say(d, MISSING, "CPUs", "No CPU that is online can be traced; dmesg | grep ntrace shows the reason.");
}

/* ---- Capabilities of the hardware ---- */

/*
 * Get the path of file @name of the first CPU that can be traced. One CPU is enough, because usually all
 * encoders of a system are equal.
 */
static bool cpu_file(const struct doctor *d, const char *name, char path[PATH_MAX])
{
	char mask[512];

	if (!first_line(d, PMU "/cpumask", mask, sizeof(mask)))
		return false;
	snprintf(path, PATH_MAX, PMU "/cpu%lu/%s", strtoul(mask, NULL, 10), name);
	return true;
}

static void check_clock(struct doctor *d)
{
	char path[PATH_MAX], modes[64] = "";
	long long frequency = 0;

	if (!cpu_file(d, "timestamp/modes_available", path))
		return;
	first_line(d, path, modes, sizeof(modes));
	if (!modes[0]) {
		say(d, NOTE, "clock", "The encoders have no timestamps: calls and branches have the time of the next event of the kernel.");
		return;
	}
	cpu_file(d, "timestamp/frequency", path);
	if (number(d, path, &frequency) && frequency)
		say(d, FINE, "clock", "Timestamps count %lld Hz.", frequency);
	else
		say(d, NOTE, "clock", "The rate of the timestamps is not known: the trace component needs a clock in the device tree.");
}

static void check_threads(struct doctor *d)
{
	char line[256];

	if (!first_line(d, PMU "/caps/scontext", line, sizeof(line)))
		return;
	if (line[0] == '1')
		say(d, FINE, "threads", "The trace names threads by scontext.");
	else
		say(d, NOTE, "threads", "The trace does not name threads, because scontext is %s. perf's context-switch events name them, but less exactly. Firmware may be able to enable scontext (mstateen0, Sdtrig).",
		    line);
}

static void check_privilege_filter(struct doctor *d)
{
	long long bits = 0;

	if (!number(d, PMU "/caps/privilege", &bits))
		return;
	if ((bits & 3) == 3)
		say(d, FINE, "filter", "The encoders can trace programs alone, or the kernel alone.");
	else
		say(d, NOTE, "filter", "The encoders cannot tell the kernel from programs: ntrace//u is refused, and only root can trace.");
}

/* ---- Rights of the user ---- */

static void check_privileges(struct doctor *d)
{
	long long paranoid = 2;

	if (has_capability(d, CAP_PERFMON) || has_capability(d, CAP_SYS_ADMIN)) {
		say(d, FINE, "privileges", "This user may trace all programs and the kernel.");
		return;
	}
	number(d, "/proc/sys/kernel/perf_event_paranoid", &paranoid);
	if (paranoid > 2)
		say(d, MISSING, "privileges", "perf_event_paranoid is %lld, so this user may not trace: run as root, or sysctl kernel.perf_event_paranoid=2 (1 for the kernel, -1 for all programs).",
		    paranoid);
	else if (paranoid > 1)
		say(d, NOTE, "privileges", "perf_event_paranoid is %lld: this user may trace its own programs with -e ntrace//u, but not the kernel, and not use -a.",
		    paranoid);
	else if (paranoid >= 0)
		say(d, NOTE, "privileges", "perf_event_paranoid is %lld: this user may trace its own programs and the kernel, %s.",
		    paranoid, paranoid ? "and not use -a" : "and use -a, without tracepoints");
	else
		say(d, FINE, "privileges", "perf_event_paranoid is %lld: every user may trace everything.",
		    paranoid);
}

static void check_kcore(struct doctor *d)
{
	char line[128] = "", buf[PATH_MAX];

	if (access(path_of(d, "/proc/kcore", buf), R_OK)) {
		if (errno == ENOENT)
			say(d, MISSING, "kcore", "There is no /proc/kcore (CONFIG_PROC_KCORE): trace of the kernel cannot be decoded.");
		else
			say(d, NOTE, "kcore", "This user cannot read /proc/kcore: trace of the kernel can be decoded only if root records it with --kcore.");
		return;
	}
	if (!first_line(d, "/proc/kallsyms", line, sizeof(line)))
		say(d, NOTE, "kcore", "There is no /proc/kallsyms (CONFIG_KALLSYMS): functions of the kernel have no names.");
	else if (!strtoull(line, NULL, 16))
		say(d, NOTE, "kcore", "/proc/kallsyms has no addresses: run as root, or sysctl kernel.kptr_restrict=0, for names of the kernel's functions.");
	else
		say(d, FINE, "kcore", "The kernel's code and names can be copied: use perf record --kcore.");
}

static void check_buffers(struct doctor *d)
{
	long long kb = 0, limit = 0;
	char value[64] = "";

	if (has_capability(d, CAP_IPC_LOCK)) {
		say(d, FINE, "buffers", "This user may lock any amount of memory: only the memory limits perf record -m,SIZE.");
		return;
	}
	number(d, "/proc/sys/kernel/perf_event_mlock_kb", &kb);
	if (line_after(d, "/proc/self/limits", "Max locked memory", value, sizeof(value)))
		limit = strstr(value, "unlimited") ? LLONG_MAX : strtoll(value, NULL, 10) / 1024;
	if (limit == LLONG_MAX || kb + limit >= 4096)
		say(d, FINE, "buffers", "%s for each user is enough for buffers of perf record -m,SIZE.",
		    limit == LLONG_MAX ? "Unlimited memory" : "The memory");
	else
		say(d, NOTE, "buffers", "This user may lock only %lld KiB for buffers and %lld KiB for each CPU: raise ulimit -l or kernel.perf_event_mlock_kb, or trace is lost with a small -m.",
		    limit, kb);
}

/* ---- perf ---- */

/* Return true if the file @path, such as a perf executable, contains the name of the N-Trace decoder. */
static bool knows_ntrace(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool found = false;
	void *map;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size) {
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			found = memmem(map, st.st_size, "N-Trace", strlen("N-Trace"));
			munmap(map, st.st_size);
		}
	}
	if (fd >= 0)
		close(fd);
	return found;
}

static bool find_perf(char path[PATH_MAX])
{
	const char *list = getenv("PATH");
	size_t len;

	for (; list && *list; list += len + (list[len] == ':')) {
		len = strcspn(list, ":");
		snprintf(path, PATH_MAX, "%.*s/perf", (int)len, list);
		if (len && !access(path, X_OK))
			return true;
	}
	return false;
}

#ifdef HAVE_LIBPERF
static void say_no_perf(struct doctor *d)
{
	say(d, NOTE, "perf", "There is no perf in PATH: ntrace record, ntrace report and ntrace script work without it.");
}
#else
static void say_no_perf(struct doctor *d)
{
	say(d, MISSING, "perf", "There is no perf in PATH: install linux-perf, or perf with N-Trace (make perf).");
}
#endif

static void check_perf(struct doctor *d)
{
	char path[PATH_MAX];

	if (!find_perf(path))
		say_no_perf(d);
	else if (knows_ntrace(path))
		say(d, FINE, "perf", "%s knows N-Trace.", path);
	else
		say(d, NOTE, "perf", "%s cannot decode N-Trace: make perf builds one that can, or use ntrace script, report and inject.",
		    path);
}

/* ---- Command ---- */

static int examine(struct doctor *d)
{
	check_firmware(d);
	if (check_driver(d)) {
		check_cpus(d);
		check_clock(d);
		check_threads(d);
		check_privilege_filter(d);
	}
	check_privileges(d);
	check_kcore(d);
	check_buffers(d);
	check_perf(d);
	return d->missing ? EXIT_TRACE : EXIT_CLEAN;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor doctor = { .root = "" };
	const struct option_entry options[] = {
		OPTION_TEXT(0, "root", "DIR", &doctor.root, "look at /sys and /proc below DIR"),
		{ 0 }
	};
	int status = options_parse(argc, argv, "", usage, options);

	if (status >= 0)
		return status;
	if (optind != argc)
		return usage_error("doctor does not take the argument '%s'", argv[optind]);
	if (doctor.root[0] && access(doctor.root, F_OK))
		return usage_error("%s: %s", doctor.root, strerror(errno));
	return examine(&doctor);
}
