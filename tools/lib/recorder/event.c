// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* This file converts event names to struct perf_event_attr, and explains refused events. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/ntrace.h>

#include "recorder-priv.h"

#define DEVICES		"/sys/bus/event_source/devices"

/* ---- Files of /sys ---- */

bool rec_read_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(line, size, f);

	if (f)
		fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
}

uint64_t rec_pmu_number(const char *name, uint64_t none)
{
	char path[PATH_MAX], line[64], *end;
	uint64_t value;

	snprintf(path, sizeof(path), REC_PMU "/%s", name);
	if (!rec_read_line(path, line, sizeof(line)))
		return none;
	errno = 0;
	value = strtoull(line, &end, 0);
	return errno || end == line ? none : value;
}

/* ---- Terms ---- */

static __u64 *config_word(struct perf_event_attr *attr, const char *name, size_t len)
{
	static const char *const names[] = { "config", "config1", "config2", "config3" };
	__u64 *words[] = { &attr->config, &attr->config1, &attr->config2, &attr->config3 };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		if (strlen(names[i]) == len && !strncmp(names[i], name, len))
			return words[i];
	}
	return NULL;
}

/*
 * Store the bits of @value, lowest first, in the bits that @format names, such as "config1:0-7,32".
 * Return false if @value has more bits.
 */
static bool put_value(struct perf_event_attr *attr, const char *format, uint64_t value)
{
	const char *colon = strchr(format, ':');
	__u64 *word = colon ? config_word(attr, format, colon - format) : NULL;
	unsigned long first, last, bit;
	char *end = (char *)colon;

	if (!word)
		return false;
	do {
		first = strtoul(end + 1, &end, 10);
		last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
		if (first > last || last > 63)
			return false;
		for (bit = first; bit <= last; bit++, value >>= 1)
			*word = (*word & ~(1ULL << bit)) | (value & 1) << bit;
	} while (*end == ',');
	return !value;
}

/* Set a term of PMU @pmu, "name" or "name=value" with @len characters, in *attr. Return 0 or -1. */
static int set_term(struct nt_recorder *r, struct perf_event_attr *attr, const char *pmu,
		    const char *term, size_t len)
{
	const char *equals = memchr(term, '=', len);
	size_t name_len = equals ? equals - term : len;
	char path[PATH_MAX], format[256], number[32], *end = number;
	uint64_t value = 1;

	snprintf(path, sizeof(path), DEVICES "/%s/format/%.*s", pmu, (int)name_len, term);
	if (!name_len || memchr(term, '/', name_len) ||
	    !rec_read_line(path, format, sizeof(format)))
		return rec_fail(r, "%s has no term '%.*s'; its terms are the files in " DEVICES "/%s/format",
				pmu, (int)name_len, term, pmu);
	if (equals) {
		snprintf(number, sizeof(number), "%.*s", (int)(len - name_len - 1), equals + 1);
		value = strtoull(number, &end, 0);
		if (end == number || *end || len - name_len - 1 >= sizeof(number))
			return rec_fail(r, "'%.*s' in the term '%.*s' is not a number",
					(int)(len - name_len - 1), equals + 1, (int)len, term);
	}
	if (put_value(attr, format, value))
		return 0;
	return rec_fail(r, "%llu does not fit in the term '%.*s' of %s, which has the bits %s",
			(unsigned long long)value, (int)name_len, term, pmu, format);
}

static int set_terms(struct nt_recorder *r, struct perf_event_attr *attr, const char *pmu,
		     const char *terms, const char *end)
{
	const char *comma;

	for (; terms < end; terms = comma + 1) {
		comma = memchr(terms, ',', end - terms);
		if (!comma)
			comma = end;
		if (set_term(r, attr, pmu, terms, comma - terms))
			return -1;
	}
	return 0;
}

/* Select privileges by the modifiers "u", "k" and "h", which follow the event. Return 0 or -1. */
static int set_modifiers(struct nt_recorder *r, struct rec_event *event, const char *text)
{
	struct perf_event_attr *attr = &event->attr;

	event->any_privilege = !*text;
	if (!*text)
		return 0;
	attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = 1;
	for (; *text; text++) {
		switch (*text) {
		case 'u':
			attr->exclude_user = 0;
			break;
		case 'k':
			attr->exclude_kernel = 0;
			break;
		case 'h':
			attr->exclude_hv = 0;
			break;
		default:
			return rec_fail(r, "'%c' is not a modifier of an event: u selects programs, k the kernel, h the hypervisor",
					*text);
		}
	}
	return 0;
}

/* ---- Events ---- */

static const struct {
	const char	*name;
	unsigned int	type, config;
} known_events[] = {
	{ "cycles",		PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions",	PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-misses",	PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branch-misses",	PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "cpu-clock",		PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock",		PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults",	PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "context-switches",	PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations",	PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
};

static int set_known(struct nt_recorder *r, struct rec_event *event, const char *text)
{
	size_t len = strcspn(text, ":"), i;

	for (i = 0; i < sizeof(known_events) / sizeof(*known_events); i++) {
		if (strlen(known_events[i].name) != len ||
		    strncmp(known_events[i].name, text, len))
			continue;
		event->attr.type = known_events[i].type;
		event->attr.config = known_events[i].config;
		return set_modifiers(r, event, text[len] ? text + len + 1 : "");
	}
	return rec_fail(r, "there is no event '%s'; the trace event is ntrace/TERMS/MODIFIERS, and other events are cycles, instructions, cache-misses, branch-misses, cpu-clock, task-clock, page-faults, context-switches, cpu-migrations and PMU/TERMS/",
			text);
}

/*
 * Return true if the user is allowed to record contexts, which contain thread ids. In a pid namespace
 * other than the initial one, the driver refuses contexts to users who are not allowed to trace the
 * whole system.
 */
static bool may_have_context(const struct nt_recorder *r)
{
	char ns[32] = "";

	return readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1) < 0 ||
	       !strcmp(ns, "pid:[4026531836]") || r->privileged;
}

static void set_defaults(const struct nt_recorder *r, struct rec_event *event)
{
	char cpus[256] = "", path[64];

	rec_read_line(REC_PMU "/cpumask", cpus, sizeof(cpus));
	snprintf(path, sizeof(path), "cpu%d/default_config", atoi(cpus));
	event->attr.config = rec_pmu_number(path, 0) & NTRACE_CONFIG_VALID;
	if (!may_have_context(r))
		event->attr.config &= ~NTRACE_CONFIG_CONTEXT;
	event->is_trace = true;
}

static int set_pmu(struct nt_recorder *r, struct rec_event *event, const char *text,
		   const char *slash)
{
	const char *end = slash ? strchr(slash + 1, '/') : text + strlen(text);
	char pmu[64], path[PATH_MAX], line[32];

	if (!end)
		return rec_fail(r, "'%s' lacks a '/' at the end of its terms", text);
	snprintf(pmu, sizeof(pmu), "%.*s", (int)((slash ? slash : end) - text), text);
	snprintf(path, sizeof(path), DEVICES "/%s/type", pmu);
	if (!*pmu || !strcmp(pmu, "..") || !rec_read_line(path, line, sizeof(line)))
		return rec_fail(r, strcmp(pmu, "ntrace") ? "there is no PMU '%s' in " DEVICES :
				"there is no event %s// on this system: ntrace doctor says what is missing",
				pmu);
	event->attr.type = atoi(line);
	if (!strcmp(pmu, "ntrace"))
		set_defaults(r, event);
	if (slash && set_terms(r, &event->attr, pmu, slash + 1, end))
		return -1;
	return set_modifiers(r, event, *end ? end + 1 + (end[1] == ':') : "");
}

int rec_event_parse(struct nt_recorder *r, const char *text, struct rec_event *event)
{
	const char *slash = strchr(text, '/');
	struct perf_event_attr *attr = &event->attr;

	attr->size = sizeof(*attr);
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	attr->read_format = PERF_FORMAT_ID;
	attr->sample_id_all = 1;
	attr->disabled = 1;
	if (slash || !strcmp(text, "ntrace")) {
		if (set_pmu(r, event, text, slash))
			return -1;
	} else if (set_known(r, event, text)) {
		return -1;
	}
	attr->sample_period = 1;
	if (!event->is_trace) {
		attr->freq = 1;
		attr->sample_freq = 4000;
	}
	event->name = strdup(text);
	return event->name ? 0 : rec_fail(r, "out of memory");
}

bool rec_event_kernel(const struct rec_event *event)
{
	return !event->attr.exclude_kernel;
}

/* ---- Reasons for a refusal ---- */

static const struct {
	uint64_t	mask;
	const char	*name;
} fields[] = {
	{ NTRACE_CONFIG_CONTEXT,		"context" },
	{ NTRACE_CONFIG_TIMESTAMP,		"timestamp" },
	{ NTRACE_CONFIG_MODE,			"mode" },
	{ NTRACE_CONFIG_SYNC_MODE,		"sync_mode" },
	{ NTRACE_CONFIG_SYNC_MAX,		"sync_max" },
	{ NTRACE_CONFIG_IMPLICIT_RETURN,	"implicit_return" },
	{ NTRACE_CONFIG_SEQUENTIAL_JUMP,	"sequential_jump" },
	{ NTRACE_CONFIG_REPEATED_HISTORY,	"repeated_history" },
	{ NTRACE_CONFIG_ALL_JUMPS,		"all_jumps" },
	{ NTRACE_CONFIG_EXTEND_ADDR,		"extend_addr" },
	{ NTRACE_CONFIG_FIRMWARE,		"firmware" },
	{ NTRACE_CONFIG_STALL,			"stall" },
	{ NTRACE_CONFIG_TS_PRESCALE,		"ts_prescale" },
	{ NTRACE_CONFIG_TS_MODE,		"ts_mode" },
	{ NTRACE_CONFIG_INHIBIT_SRC,		"inhibit_src" },
	{ NTRACE_CONFIG_EXCLUDE,		"exclude" },
};

/* Return true if @value is in a list like "3,6" or "0-15". */
static bool is_listed(const char *list, unsigned long value)
{
	unsigned long first, last;
	char *end;

	while (isdigit(*list)) {
		first = strtoul(list, &end, 0);
		last = *end == '-' ? strtoul(end + 1, &end, 0) : first;
		if (value >= first && value <= last)
			return true;
		list = end + (*end == ',');
	}
	return false;
}

/*
 * Return the name of a field of @config with a value that the hardware does not support, or NULL.
 * Set @list to the values that the hardware supports.
 */
static const char *refused_field(uint64_t config, char list[128])
{
	char path[PATH_MAX];
	uint64_t value;
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		value = (config & fields[i].mask) / (fields[i].mask & -fields[i].mask);
		snprintf(path, sizeof(path), REC_PMU "/caps/%s", fields[i].name);
		if (value && rec_read_line(path, list, 128) && !is_listed(list, value))
			return fields[i].name;
	}
	return NULL;
}

static int explain_privilege(struct nt_recorder *r, const struct rec_event *event)
{
	if (event->attr.config & NTRACE_CONFIG_FIRMWARE)
		return rec_fail(r, "only users with CAP_PERFMON may trace machine mode ('firmware'): run it as root");
	return rec_fail(r, "this user may not open the event: trace your own program by -e ntrace//u without -a, or record as root. kernel.perf_event_paranoid sets what users may do");
}

int rec_event_explain(struct nt_recorder *r, const struct rec_event *event, int err)
{
	const char *field;
	char list[128];

	if (!event->is_trace)
		return rec_fail(r, "the event %s cannot be opened: %s", event->name, strerror(err));
	field = refused_field(event->attr.config, list);
	if (field)
		return rec_fail(r, "the trace encoders of this system do not support that value of %s. They support %s (see caps/%s of the PMU). Leave %s out",
				field, list, field, field);
	switch (err) {
	case ESRCH:
		return rec_fail(r, "the processes of -p have ended");
	case EACCES:
	case EPERM:
		return explain_privilege(r, event);
	case EBUSY:
		return rec_fail(r, "the trace encoder is in use by another program: a process whose /proc/PID/fd has a perf_event");
	case ENODEV:
		return rec_fail(r, "a CPU went offline, or its trace encoder disappeared, before %s could be opened: record again", event->name);
	case EOPNOTSUPP:
		return rec_fail(r, "the trace encoders of this system do not support %s (such as u and k, if they cannot distinguish programs from the kernel). dmesg | grep ntrace may show the reason",
				event->name);
	}
	return rec_fail(r, "the event %s cannot be opened: %s. dmesg | grep ntrace may show the reason",
			event->name, strerror(err));
}
