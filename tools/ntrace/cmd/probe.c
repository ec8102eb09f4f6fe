// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace probe - describe the trace hardware of this machine as a text that its owner can send to the
 * developers. From this text, tools/board/replay makes a similar emulated board.
 *
 * A line "[NAME]" begins a section. Except for the trace, everything is read from files, so that
 * --root can select another system or a test.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ntrace.h"
#include "cli/option.h"
#include "raw/probe-trace.h"

static const char usage[] =
	"usage: ntrace probe [--no-trace] [--root DIR]\n\n"
	"Print what the trace hardware of this machine is: the kernel's messages about it, its device\n"
	"tree, what the driver found, the registers, and 64 KiB of trace of this command. Send that to\n"
	"the developers if a board does not work. Run it as root, with debugfs mounted.\n";

#define PMU		"/sys/bus/event_source/devices/ntrace"
#define DEVICES		"/sys/bus/platform/devices"
#define DEBUG		"/sys/kernel/debug/ntrace"
#define MAX_FILE	(64 << 10)

static const char *root = "";

static const char *path_below_root(const char *dir, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s%s%s%s", root, dir, name ? "/" : "", name ? name : "");
	return path;
}

/* Read a file. Return its size, or -1 if it cannot be read. */
static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n, at = 0;

	if (fd < 0)
		return -1;
	while ((n = read(fd, text + at, size - 1 - at)) > 0)
		at += n;
	close(fd);
	if (n < 0)
		return -1;
	text[at] = '\0';
	return at;
}

/* Print each line of a file with @name before it. */
static void print_lines(const char *name, const char *path)
{
	static char text[MAX_FILE];
	char *line, *save;

	if (read_file(path, text, sizeof(text)) < 0) {
		printf("%s: %s\n", name, strerror(errno));
		return;
	}
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		printf("%s %s\n", name, line);
}

/* ---- Print the kernel, the machine and the kernel's log ---- */

static void print_system(void)
{
	struct utsname name;
	char path[PATH_MAX];

	puts("[system]");
	if (!uname(&name))
		printf("kernel %s %s %s\n", name.release, name.version, name.machine);
	print_lines("online", path_below_root("/sys/devices/system/cpu/online", NULL, path));
	print_lines("cpu", path_below_root("/proc/cpuinfo", NULL, path));
}

/*
 * Print the kernel's log messages about trace. With --root, print nothing, because the log belongs to this
 * system and not to the selected one.
 */
static void print_log(void)
{
	char *line, *save, *log;
	int size, n;

	if (*root)
		return;
	puts("[log]");
	size = klogctl(10, NULL, 0);	/* 10 is SYSLOG_ACTION_SIZE_BUFFER: get the size of the log */
	log = size > 0 ? malloc(size + 1) : NULL;
	n = log ? klogctl(3, log, size) : -1;	/* 3 is SYSLOG_ACTION_READ_ALL: read the log */
	if (n < 0)
		printf("the kernel's log: %s\n", strerror(errno));
	if (n > 0) {
		log[n] = '\0';
		for (line = strtok_r(log, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			if (strstr(line, "ntrace") || strstr(line, "trace-component"))
				puts(line);
	}
	free(log);
}

/* ---- The device tree ---- */

/*
 * Return true if the value of a property is a list of strings. According to the Devicetree Specification, each
 * string is printable and ends with a NUL.
 */
static bool is_strings(const char *value, ssize_t size)
{
	ssize_t i;

	if (!size || value[size - 1] || !value[0])
		return false;
	for (i = 0; i < size; i++)
		if ((value[i] < ' ' || value[i] > '~') && (value[i] || !value[i - 1]))
			return false;
	return true;
}

static void print_property(const char *node, const char *name, const char *value, ssize_t size)
{
	ssize_t i;

	printf("%s %s", node, name);
	if (is_strings(value, size)) {
		for (i = 0; i < size; i += strlen(value + i) + 1)
			printf(" \"%s\"", value + i);
	} else {
		for (i = 0; i < size; i++)
			printf("%s%02x", i % 4 ? "" : " ", (unsigned char)value[i]);
	}
	putchar('\n');
}

static const char *node_begin;

static int print_node_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	static char value[MAX_FILE];
	char node[PATH_MAX];
	ssize_t size;

	if (type != FTW_F)
		return 0;
	size = read_file(path, value, sizeof(value));
	if (size < 0)
		return 0;
	snprintf(node, sizeof(node), "%.*s", ftw->base - 1, path);
	print_property(node + strlen(node_begin), path + ftw->base, value, size);
	return 0;
}

/* Print the properties of a node and of the nodes below it, such as its ports. */
static void print_node(const char *path)
{
	char base[PATH_MAX], node[PATH_MAX], *at;

	if (!realpath(path, node))
		return;
	snprintf(base, sizeof(base), "%s", node);
	at = strstr(base, "/devicetree/base");
	if (at)
		at[strlen("/devicetree/base")] = '\0';
	else
		base[0] = '\0';
	node_begin = base;
	nftw(node, print_node_file, 16, FTW_PHYS);
}

/* ---- Devices ---- */

/* Return true for a component that the driver supports, even if the driver does not use it. */
static bool is_component(const char *device)
{
	static const char *const words[] = {
		"riscv,trace-component", "sifive,trace-", "arm,coresight-",
	};
	char path[PATH_MAX], text[4096];
	ssize_t size, at;
	size_t i;

	snprintf(path, sizeof(path), "%s%s/%s/of_node/compatible", root, DEVICES, device);
	size = read_file(path, text, sizeof(text));
	for (at = 0; at < size; at += strlen(text + at) + 1)
		for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (strstr(text + at, words[i]))
				return true;
	return false;
}

/* Print the files that the driver has made in a device's directory, and in the directories of attribute groups. */
static void print_attributes(const char *dir)
{
	static const char *const names[] = {
		"impl", "cpu", "src_bits", "src_id", "trace_id", "implicit_return_mode",
		"default_config", "overflows", "path", "sink", "timestamp/enable", "timestamp/mode",
		"timestamp/modes_available", "timestamp/prescale", "timestamp/width",
		"timestamp/counter", "timestamp/frequency", "sync/mode", "sync/period",
		"sync/modes_available", "sync/periods_available",
	};
	char path[PATH_MAX + 32];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (!access(path, F_OK))
			print_lines(names[i], path);
	}
}

static void print_device(const char *device)
{
	char dir[PATH_MAX], path[PATH_MAX + 16], driver[256];
	ssize_t n;

	printf("[device %s]\n", device);
	path_below_root(DEVICES, device, dir);
	snprintf(path, sizeof(path), "%s/driver", dir);
	n = readlink(path, driver, sizeof(driver) - 1);
	driver[n > 0 ? n : 0] = '\0';
	printf("driver %s\n", n > 0 ? basename(driver) : "none");
	print_attributes(dir);
	snprintf(path, sizeof(path), "%s/of_node", dir);
	print_node(path);
	path_below_root(DEBUG, device, dir);
	snprintf(path, sizeof(path), "%s/caps", dir);
	print_lines("caps", path);
	snprintf(path, sizeof(path), "%s/registers", dir);
	print_lines("register", path);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static unsigned int print_devices(void)
{
	struct dirent **devices;
	char path[PATH_MAX];
	unsigned int found = 0;
	int n = scandir(path_below_root(DEVICES, NULL, path), &devices, NULL, by_name), i;

	for (i = 0; i < n; i++) {
		if (is_component(devices[i]->d_name)) {
			print_device(devices[i]->d_name);
			found++;
		}
		free(devices[i]);
	}
	if (n >= 0)
		free(devices);
	return found;
}

/* ---- Print the files of the PMU in sysfs ---- */

static int print_pmu_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = strstr(path, "/devices/ntrace/");

	if (type == FTW_F && name && !strstr(name, "/power/") && !strstr(name, "/uevent"))
		print_lines(name + strlen("/devices/ntrace/"), path);
	return 0;
}

static bool print_pmu(void)
{
	char link[PATH_MAX], path[PATH_MAX];

	puts("[pmu]");
	if (!realpath(path_below_root(PMU, NULL, link), path)) {
		puts("The kernel does not offer the event ntrace//; see ntrace doctor.");
		return false;
	}
	nftw(path, print_pmu_file, 16, FTW_PHYS);
	return true;
}

int cmd_probe(int argc, char **argv)
{
	bool no_trace = false, has_pmu;
	const char *below = NULL;
	const struct option_entry options[] = {
		OPTION_FLAG(0, "no-trace", &no_trace, "do not trace"),
		OPTION_TEXT(0, "root", "DIR", &below, "look at /sys and /proc below DIR; implies --no-trace"),
		{ 0 }
	};
	int status = options_parse(argc, argv, "", usage, options);
	unsigned int found;

	if (status >= 0)
		return status;
	if (below)
		root = below;
	if (optind < argc) {
		fprintf(stderr, "ntrace probe: '%s' is one argument too many\n", argv[optind]);
		return EXIT_USAGE;
	}
	puts("ntrace probe 1");
	print_system();
	print_log();
	found = print_devices();
	has_pmu = print_pmu();
	if (!no_trace && !below && has_pmu)
		probe_trace();
	puts("[end]");
	if (!found)
		fputs("ntrace probe: no trace component in the device tree; see ntrace doctor\n", stderr);
	return found && has_pmu ? EXIT_CLEAN : EXIT_TRACE;
}
