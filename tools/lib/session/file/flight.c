// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Read the record of the driver's flight recorder (flight.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/ntrace.h>

#include "flight.h"
#include "session/flow/trace.h"

#define NS_PER_S	1000000000ULL
#define TIME_SHIFT	20

static int read_machine(struct ns_flight *f)
{
	struct ntrace_flight_machine *m;
	size_t nr;

	m = ns_flight_copy_sealed(f, NTRACE_FLIGHT_MACHINE, sizeof(*m), &nr, "description of the machine");
	if (!m)
		return -1;
	f->machine = *m;
	f->machine.release[sizeof(m->release) - 1] = '\0';
	free(m);
	if (!nr || !f->machine.timebase)
		return ns_flight_fail(f, "the record has no description of the machine");
	f->kernel = ns_flight_part(f, NTRACE_FLIGHT_KERNEL, 1) ?
		    ns_flight_copy_sealed(f, NTRACE_FLIGHT_KERNEL, 1, &nr, "description of the kernel") :
		    calloc(1, 1);
	return f->kernel ? 0 : -1;
}

static bool fits(const struct ns_flight *f, const struct ntrace_flight_sink *s)
{
	return s->offset >= f->head.data_offset && s->offset <= f->size &&
	       s->size <= f->size - s->offset && s->size;
}

static int read_sinks(struct ns_flight *f)
{
	size_t i;

	f->cpus = ns_flight_copy_sealed(f, NTRACE_FLIGHT_CPUS, sizeof(*f->cpus), &f->nr_cpus,
			      "list of CPUs");
	if (!f->cpus)
		return -1;
	f->sinks = ns_flight_copy_sealed(f, NTRACE_FLIGHT_SINKS, sizeof(*f->sinks), &f->nr_sinks,
			       "list of sinks");
	if (!f->sinks)
		return -1;
	if (!f->nr_cpus || !f->nr_sinks || f->nr_cpus > NTRACE_FLIGHT_MAX_CPUS ||
	    f->nr_sinks > NTRACE_FLIGHT_MAX_SINKS)
		return ns_flight_fail(f, "the record is damaged: it has %zu CPUs and %zu sinks", f->nr_cpus,
			    f->nr_sinks);
	f->traces = calloc(f->nr_sinks, sizeof(*f->traces));
	if (!f->traces)
		return ns_flight_fail(f, "out of memory");
	for (i = 0; i < f->nr_sinks; i++) {
		if (!fits(f, &f->sinks[i]))
			return ns_flight_fail(f, "the record is damaged: the trace of a sink is outside of the record");
		f->sinks[i].name[sizeof(f->sinks[i].name) - 1] = '\0';
		f->traces[i].sink = &f->sinks[i];
		f->traces[i].area = f->data + f->sinks[i].offset;
		f->traces[i].area_size = f->sinks[i].size;
	}
	for (i = 0; i < f->nr_cpus; i++) {
		if (f->cpus[i].sink >= f->nr_sinks)
			return ns_flight_fail(f, "the record is damaged: a CPU has a sink that does not exist");
	}
	return 0;
}

/* ---- Entries that were written during the recording ---- */

struct sorted_switch {
	struct ntrace_flight_switch entry;
	uint32_t cpu;
};

static int compare_switches(const void *a, const void *b)
{
	const struct sorted_switch *x = a, *y = b;

	return ns_order(x->entry.time, y->entry.time) ?: ns_order(x->entry.number, y->entry.number);
}

static int compare_gaps(const void *a, const void *b)
{
	const struct ntrace_flight_gap *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Read the context switches. Each CPU has a ring of entries, and all rings have the same number of entries. */
static int read_switches(struct ns_flight *f)
{
	const struct ntrace_flight_part *p = ns_flight_part(f, NTRACE_FLIGHT_SWITCHES,
						       sizeof(*f->switches));
	size_t all = p ? p->size / p->entry : 0, each, i;
	struct sorted_switch *sorted;

	f->switch_cpus = calloc(all + 1, sizeof(*f->switch_cpus));
	sorted = calloc(all + 1, sizeof(*sorted));
	if (f->switch_cpus && sorted)
		f->switches = ns_flight_read_entries(f, NTRACE_FLIGHT_SWITCHES, sizeof(*f->switches),
					   &f->nr_switches, f->switch_cpus);
	if (!f->switches) {
		free(sorted);
		return ns_flight_fail(f, "out of memory");
	}
	each = f->machine.nr_cpus ? all / f->machine.nr_cpus : 0;
	for (i = 0; i < f->nr_switches; i++) {
		sorted[i].entry = f->switches[i];
		sorted[i].entry.comm[sizeof(sorted[i].entry.comm) - 1] = '\0';
		sorted[i].cpu = each ? f->switch_cpus[i] / each : 0;
	}
	qsort(sorted, f->nr_switches, sizeof(*sorted), compare_switches);
	for (i = 0; i < f->nr_switches; i++) {
		f->switches[i] = sorted[i].entry;
		f->switch_cpus[i] = sorted[i].cpu;
	}
	free(sorted);
	return 0;
}

static int read_events(struct ns_flight *f)
{
	struct ntrace_flight_cause *cause;
	size_t nr, i;

	f->modules = ns_flight_read_entries(f, NTRACE_FLIGHT_MODULES, sizeof(*f->modules), &f->nr_modules,
				  NULL);
	if (!f->modules)
		return -1;
	for (i = 0; i < f->nr_modules; i++)
		f->modules[i].name[sizeof(f->modules[i].name) - 1] = '\0';
	f->gaps = ns_flight_read_entries(f, NTRACE_FLIGHT_GAPS, sizeof(*f->gaps), &f->nr_gaps, NULL);
	cause = f->gaps ? ns_flight_read_entries(f, NTRACE_FLIGHT_CAUSE, sizeof(*cause), &nr, NULL) : NULL;
	if (!cause)
		return -1;
	qsort(f->gaps, f->nr_gaps, sizeof(*f->gaps), compare_gaps);
	f->has_cause = nr;
	f->cause = *cause;
	f->cause.text[sizeof(cause->text) - 1] = '\0';
	f->cause.comm[sizeof(cause->comm) - 1] = '\0';
	free(cause);
	return read_switches(f);
}

/*
 * Apply the settings of a perf session to all CPUs of the sink that the session used. The frequency of timestamps
 * in the record is only valid for the recorder's own ts_mode and ts_prescale. With other settings, the frequency
 * is unknown.
 */
static void apply_session(struct ns_flight *f, const struct ntrace_flight_session *session)
{
	__u64 *words;
	size_t i;

	for (i = 0; i < f->nr_cpus; i++) {
		if (f->cpus[i].sink != session->sink)
			continue;
		words = f->cpus[i].words;
		if ((words[NTRACE_INFO_CPU_CONFIG] ^ session->config) &
		    (NTRACE_CONFIG_TS_MODE | NTRACE_CONFIG_TS_PRESCALE))
			words[NTRACE_INFO_CPU_TS_FREQ] = 0;
		words[NTRACE_INFO_CPU_CONFIG] = session->config;
		words[NTRACE_INFO_CPU_SRC_BITS] = session->src_bits;
		f->cpus[i].priv = session->priv;
	}
}

static int read_sessions(struct ns_flight *f)
{
	size_t i;

	f->sessions = ns_flight_read_entries(f, NTRACE_FLIGHT_SESSIONS, sizeof(*f->sessions), &f->nr_sessions,
				   NULL);
	if (!f->sessions)
		return -1;
	for (i = 0; i < f->nr_sessions; i++) {
		f->sessions[i].comm[sizeof(f->sessions[i].comm) - 1] = '\0';
		apply_session(f, &f->sessions[i]);
	}
	return 0;
}

/* ---- Set-up ---- */

uint64_t *ns_flight_words(const struct ns_flight *f, size_t *nr)
{
	uint64_t *word, mult;
	size_t i;

	*nr = NTRACE_INFO_HEADER_MAX + f->nr_cpus * NTRACE_INFO_CPU_MAX;
	word = calloc(*nr, sizeof(*word));
	if (!word)
		return NULL;
	mult = (NS_PER_S << TIME_SHIFT) / f->machine.timebase;
	word[NTRACE_INFO_MAGIC] = NTRACE_INFO_MAGIC_VALUE;
	word[NTRACE_INFO_VERSION] = (uint64_t)NTRACE_INFO_VERSION_MAJOR << 32 |
				    NTRACE_INFO_VERSION_MINOR;
	word[NTRACE_INFO_HEADER_WORDS] = NTRACE_INFO_HEADER_MAX;
	word[NTRACE_INFO_CPU_WORDS] = NTRACE_INFO_CPU_MAX;
	word[NTRACE_INFO_NR_CPUS] = f->nr_cpus;
	word[NTRACE_INFO_FLAGS] = NTRACE_INFO_FLAG_PER_CPU | NTRACE_INFO_FLAG_TIME_CONV;
	word[NTRACE_INFO_TIME_SHIFT] = TIME_SHIFT;
	word[NTRACE_INFO_TIME_MULT] = mult;
	word[NTRACE_INFO_TIME_ZERO] = f->machine.local_ns -
		(uint64_t)(((unsigned __int128)f->machine.time * mult) >> TIME_SHIFT);
	for (i = 0; i < f->nr_cpus; i++)
		memcpy(word + NTRACE_INFO_HEADER_MAX + i * NTRACE_INFO_CPU_MAX, f->cpus[i].words,
		       NTRACE_INFO_CPU_MAX * sizeof(*word));
	return word;
}

uint64_t ns_flight_time(const struct ns_flight *f, uint64_t ticks)
{
	uint64_t product = (unsigned __int128)ticks * f->setup.time_mult >> TIME_SHIFT;

	return f->setup.time_zero + product;
}

static int make_setup(struct ns_flight *f)
{
	const char *error;
	uint64_t *words;
	size_t nr;

	words = ns_flight_words(f, &nr);
	error = words ? ns_setup_parse(&f->setup, words, nr) : "out of memory";
	free(words);
	return error ? ns_flight_fail(f, "%s", error) : 0;
}

/* ---- All ---- */

int ns_flight_open(struct ns_flight *f, const void *data, size_t size)
{
	size_t i;

	memset(f, 0, sizeof(*f));
	f->data = data;
	f->size = size;
	if (ns_flight_check_header(f) || read_machine(f) || read_sinks(f) || read_events(f) ||
	    read_sessions(f) || make_setup(f))
		return -1;
	for (i = 0; i < f->nr_sinks; i++) {
		if (ns_flight_read_trace(f, i))
			return -1;
	}
	return 0;
}

void ns_flight_close(struct ns_flight *f)
{
	size_t i;

	for (i = 0; f->traces && i < f->nr_sinks; i++)
		free(f->traces[i].bytes);
	free(f->traces);
	free(f->kernel);
	free(f->cpus);
	free(f->sinks);
	free(f->modules);
	free(f->switches);
	free(f->switch_cpus);
	free(f->gaps);
	free(f->sessions);
	ns_setup_free(&f->setup);
}

bool ns_flight_line(const struct ns_flight *f, const char *name, char *value, size_t size)
{
	const char *at = f->kernel;
	size_t len = strlen(name), n;

	while (at && *at) {
		n = strcspn(at, "\n");
		if (n > len && !strncmp(at, name, len) && at[len] == '=') {
			snprintf(value, size, "%.*s", (int)(n - len - 1), at + len + 1);
			return true;
		}
		at += n + (at[n] == '\n');
	}
	return false;
}

const char *ns_flight_cause_name(uint32_t code)
{
	static const char *const names[NTRACE_FLIGHT_CAUSE_CODES] = {
		[NTRACE_FLIGHT_CAUSE_NONE] = "unknown",
		[NTRACE_FLIGHT_CAUSE_PANIC] = "panic",
		[NTRACE_FLIGHT_CAUSE_OOPS] = "oops",
		[NTRACE_FLIGHT_CAUSE_HUNG_TASK] = "hung task",
		[NTRACE_FLIGHT_CAUSE_SYSRQ] = "SysRq",
		[NTRACE_FLIGHT_CAUSE_REBOOT] = "reboot",
		[NTRACE_FLIGHT_CAUSE_RESTART] = "emergency restart",
		[NTRACE_FLIGHT_CAUSE_USER] = "user",
		[NTRACE_FLIGHT_CAUSE_SOFT_LOCKUP] = "soft lockup",
		[NTRACE_FLIGHT_CAUSE_HARD_LOCKUP] = "hard lockup",
		[NTRACE_FLIGHT_CAUSE_RCU_STALL] = "RCU stall",
	};

	return code < NTRACE_FLIGHT_CAUSE_CODES ? names[code] : names[NTRACE_FLIGHT_CAUSE_NONE];
}

const char *ns_flight_end_text(enum ns_flight_end end)
{
	static const char *const texts[] = {
		[NS_FLIGHT_END_NONE] = "no trace",
		[NS_FLIGHT_END_STOPPED] = "complete up to the stop",
		[NS_FLIGHT_END_RESET] = "complete up to the reset",
		[NS_FLIGHT_END_FOUND] = "up to the last synchronising message",
		[NS_FLIGHT_END_SAVED] = "up to the position that was saved last",
		[NS_FLIGHT_END_OVERWRITTEN] = "overwritten by the boot after the reset",
	};

	return texts[end];
}
