// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recording of N-Trace. perf record sets up an event of the PMU "ntrace", and writes the metadata
 * that a decoder on another machine needs.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <api/fs/fs.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/ntrace.h>
#include <linux/zalloc.h>

#include <internal/lib.h> // page_size
#include <perf/cpumap.h>

#include "../../../util/auxtrace.h"
#include "../../../util/cpumap.h"
#include "../../../util/debug.h"
#include "../../../util/evlist.h"
#include "../../../util/evsel.h"
#include "../../../util/mmap.h"
#include "../../../util/ntrace.h"
#include "../../../util/ntrace-compat.h"
#include "../../../util/perf_api_probe.h"
#include "../../../util/pmu.h"
#include "../../../util/pmus.h"
#include "../../../util/record.h"
#include "../../../util/session.h"
#include "../../../util/target.h"
#include "../../../util/tsc.h"
#include "../../../util/units.h"

#define KiB(x) ((x) * 1024)
#define MiB(x) ((x) * 1024 * 1024)

struct ntrace_recording {
	struct auxtrace_record	itr;
	struct perf_pmu		*pmu;
	struct evlist		*evlist;
	bool			snapshot_mode;
	/* for each mmap, true once its AUX buffer has wrapped, so that all of the buffer is trace */
	bool			*wrapped;
};

/* Return true if each CPU has a buffer, false if each thread has one */
static bool ntrace_is_per_cpu(struct evlist *evlist)
{
	struct perf_cpu_map *cpus = ntrace_evlist_core(evlist)->user_requested_cpus;

	return !perf_cpu_map__is_any_cpu_or_is_empty(cpus);
}

static struct ntrace_recording *to_recording(struct auxtrace_record *itr)
{
	return container_of(itr, struct ntrace_recording, itr);
}

/* --------------------------------------------------- hardware properties */

/* Return the number in the file cpuN/@name of the PMU's sysfs directory, or @none if the file has none */
static u64 ntrace_cpu_attr(const struct perf_pmu *pmu, struct perf_cpu cpu, const char *name,
			   u64 none)
{
	unsigned long long value;
	char path[64], text[32];

	snprintf(path, sizeof(path), "cpu%d/%s", cpu.cpu, name);
	if (perf_pmu__scan_file(pmu, path, "%31s", text) != 1)
		return none;
	errno = 0;
	value = strtoull(text, NULL, 0);
	return errno ? none : value;
}

/*
 * Return true if the kernel writes thread IDs to the CSR scontext. An encoder may report scontext even if
 * the hart has no such register, or does not let the kernel write it.
 */
static bool ntrace_writes_scontext(const struct perf_pmu *pmu)
{
	int can;

	return perf_pmu__scan_file(pmu, "caps/scontext", "%d", &can) != 1 || can;
}

/*
 * Return true if trace may have the system's thread IDs. The driver does not reveal them to an
 * unprivileged process in a PID namespace other than the initial one.
 */
static bool ntrace_may_have_context(void)
{
	char ns[32] = "";

	return readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1) < 0 ||
	       !strcmp(ns, "pid:[4026531836]") || perf_event_paranoid_check(-1);
}

/*
 * Set the default configuration of an event. Afterwards, perf replaces the fields for which the user gave
 * terms (see perf_pmu__config()).
 */
void ntrace_pmu_default_config(const struct perf_pmu *pmu, struct perf_event_attr *attr)
{
	struct perf_cpu cpu = { .cpu = 0 };

	if (pmu->cpus && perf_cpu_map__nr(pmu->cpus) > 0)
		cpu = perf_cpu_map__cpu(pmu->cpus, 0);
	if (cpu.cpu < 0)
		cpu.cpu = 0;
	attr->config = ntrace_cpu_attr(pmu, cpu, "default_config", 0) & NTRACE_CONFIG_VALID;
	if (!ntrace_may_have_context())
		attr->config &= ~NTRACE_CONFIG_CONTEXT;
}

static struct evsel *ntrace_evsel(struct ntrace_recording *rec, struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.type == rec->pmu->type)
			return evsel;
	}
	return NULL;
}

/* --------------------------------------------------------------- metadata */

static size_t ntrace_info_priv_size(struct auxtrace_record *itr,
				    struct evlist *evlist __maybe_unused)
{
	int nr = perf_cpu_map__nr(to_recording(itr)->pmu->cpus);

	return (NTRACE_INFO_HEADER_MAX + nr * NTRACE_INFO_CPU_MAX) * sizeof(u64);
}

/*
 * Fill in the values that the timestamp counter and the time CSR had together when the event was opened,
 * if the counter is not the time CSR
 */
static void ntrace_info_fill_base(const struct perf_pmu *pmu, struct perf_cpu cpu, __u64 *word)
{
	unsigned long long base, time;
	char path[64];

	snprintf(path, sizeof(path), "cpu%d/timestamp/base", cpu.cpu);
	if (perf_pmu__scan_file(pmu, path, "%llu %llu", &base, &time) != 2)
		return;
	word[NTRACE_INFO_CPU_TS_BASE] = base;
	word[NTRACE_INFO_CPU_TS_BASE_TIME] = time;
}

/*
 * Return true if "frequency" and "base" in sysfs are valid for the event. They are valid for the
 * default prescaler and for the mode in the file "mode", which an event uses if it does not choose
 * a mode.
 */
static bool ntrace_counter_is_known(const struct perf_pmu *pmu, struct perf_cpu cpu, u64 config)
{
	u64 mode = (config & NTRACE_CONFIG_TS_MODE) >> NTRACE_CONFIG_TS_MODE_SHIFT;
	u64 prescale = (config & NTRACE_CONFIG_TS_PRESCALE) >> NTRACE_CONFIG_TS_PRESCALE_SHIFT;

	if (ntrace_cpu_attr(pmu, cpu, "timestamp/prescale", 0) != prescale)
		return false;
	return !mode || ntrace_cpu_attr(pmu, cpu, "timestamp/mode", mode) == mode;
}

/* Return a hash of the name of the encoder's sink, or 0 if the name is unknown */
static u32 ntrace_sink_number(const struct perf_pmu *pmu, struct perf_cpu cpu)
{
	char file[64], path[256], *name;
	u32 hash = 0;

	snprintf(file, sizeof(file), "cpu%d/path", cpu.cpu);
	if (perf_pmu__scan_file(pmu, file, "%255[^\n]", path) != 1)
		return 0;
	name = strrchr(path, ' ');
	for (name = name ? name + 1 : path; *name; name++)
		hash = hash * 31 + (unsigned char)*name;
	return hash ?: 1;
}

static void ntrace_info_fill_cpu(const struct perf_pmu *pmu, struct perf_cpu cpu,
				 const struct perf_event_attr *attr, __u64 *word)
{
	u64 config = attr->config;

	word[NTRACE_INFO_CPU_ID] = cpu.cpu;
	word[NTRACE_INFO_CPU_IMPL] = ntrace_cpu_attr(pmu, cpu, "impl", 0);
	word[NTRACE_INFO_CPU_CONFIG] = config;
	word[NTRACE_INFO_CPU_SRC_BITS] = ntrace_cpu_attr(pmu, cpu, "src_bits", 0);
	if (config & NTRACE_CONFIG_INHIBIT_SRC)
		word[NTRACE_INFO_CPU_SRC_BITS] = 0;
	word[NTRACE_INFO_CPU_SRC_ID] = ntrace_cpu_attr(pmu, cpu, "src_id", 0);
	word[NTRACE_INFO_CPU_TS_WIDTH] = ntrace_cpu_attr(pmu, cpu, "timestamp/width", 64);
	word[NTRACE_INFO_CPU_IR_MODE] = ntrace_cpu_attr(pmu, cpu, "implicit_return_mode", 0);
	word[NTRACE_INFO_CPU_XLEN] = __riscv_xlen;
	word[NTRACE_INFO_CPU_TRACE_ID] = ntrace_cpu_attr(pmu, cpu, "trace_id", 0);
	word[NTRACE_INFO_CPU_DIALECT] = ntrace_cpu_attr(pmu, cpu, "dialect", 0);
	word[NTRACE_INFO_CPU_ADDR_BITS] = ntrace_cpu_attr(pmu, cpu, "addr_bits", 0);
	word[NTRACE_INFO_CPU_SINK] = ntrace_sink_number(pmu, cpu);
	ntrace_info_fill_base(pmu, cpu, word);
	/*
	 * Read the frequency after the base (a pair of counter and time). If the counter has restarted since then, the
	 * frequency is 0, and without a frequency the decoder does not use the base.
	 */
	if (ntrace_counter_is_known(pmu, cpu, config))
		word[NTRACE_INFO_CPU_TS_FREQ] = ntrace_cpu_attr(pmu, cpu, "timestamp/frequency", 0);
}

/*
 * Fill in how to convert the time CSR to the perf clock, which is the scaled time CSR. The kernel writes
 * the scale to the user page of each event (arch_perf_update_userpage()).
 */
static void ntrace_info_fill_time(struct evlist *evlist, __u64 *word)
{
	struct perf_event_mmap_page *pc = ntrace_evlist_mmap(evlist)[0].core.base;
	struct perf_tsc_conversion tc = { .time_mult = 0 };

	if (!pc || perf_read_tsc_conversion(pc, &tc) || !tc.time_mult) {
		pr_warning("The kernel does not report how fast its clock runs, so the trace will have no times\n");
		return;
	}
	word[NTRACE_INFO_TIME_SHIFT] = tc.time_shift;
	word[NTRACE_INFO_TIME_MULT] = tc.time_mult;
	word[NTRACE_INFO_TIME_ZERO] = tc.time_zero;
	word[NTRACE_INFO_FLAGS] |= NTRACE_INFO_FLAG_TIME_CONV;
}

static int ntrace_info_fill(struct auxtrace_record *itr, struct perf_session *session,
			    struct perf_record_auxtrace_info *info, size_t priv_size)
{
	struct ntrace_recording *rec = to_recording(itr);
	/* Describe all CPUs with an encoder, because tasks may run on any of them */
	const struct perf_cpu_map *cpus = rec->pmu->cpus;
	struct evsel *evsel = ntrace_evsel(rec, session->evlist);
	__u64 *word = info->priv;
	struct perf_cpu cpu;
	unsigned int i;

	if (priv_size != ntrace_info_priv_size(itr, session->evlist) || !evsel ||
	    !ntrace_evlist_core(session->evlist)->nr_mmaps)
		return -EINVAL;

	info->type = NTRACE_AUXTRACE_TYPE;
	word[NTRACE_INFO_MAGIC] = NTRACE_INFO_MAGIC_VALUE;
	word[NTRACE_INFO_VERSION] = (u64)NTRACE_INFO_VERSION_MAJOR << 32 |
				    NTRACE_INFO_VERSION_MINOR;
	word[NTRACE_INFO_HEADER_WORDS] = NTRACE_INFO_HEADER_MAX;
	word[NTRACE_INFO_CPU_WORDS] = NTRACE_INFO_CPU_MAX;
	word[NTRACE_INFO_NR_CPUS] = perf_cpu_map__nr(cpus);
	word[NTRACE_INFO_PMU_TYPE] = rec->pmu->type;
	word[NTRACE_INFO_FLAGS] = rec->snapshot_mode ? NTRACE_INFO_FLAG_SNAPSHOT : 0;
	if (ntrace_is_per_cpu(session->evlist))
		word[NTRACE_INFO_FLAGS] |= NTRACE_INFO_FLAG_PER_CPU;
	if (evsel->filter)
		word[NTRACE_INFO_FLAGS] |= NTRACE_INFO_FLAG_FILTER;
	if (!ntrace_writes_scontext(rec->pmu))
		word[NTRACE_INFO_FLAGS] |= NTRACE_INFO_FLAG_NO_SCONTEXT;
	ntrace_info_fill_time(session->evlist, word);

	word += NTRACE_INFO_HEADER_MAX;
	perf_cpu_map__for_each_cpu(cpu, i, cpus) {
		ntrace_info_fill_cpu(rec->pmu, cpu, &evsel->core.attr, word);
		word += NTRACE_INFO_CPU_MAX;
	}
	return 0;
}

/* ---------------------------------------------------- impossible options, and why */

/* Fields of perf_event_attr::config, by their names in format/ and caps/ of the PMU */
static const struct {
	u64		mask;
	const char	*name;
} ntrace_fields[] = {
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

/* Return true if @value is in a list such as "3,6" or "0-15" */
static bool ntrace_is_listed(const char *list, unsigned long value)
{
	unsigned long first, last;
	char *end;

	while (*list) {
		first = strtoul(list, &end, 0);
		if (end == list)
			return false;
		last = *end == '-' ? strtoul(end + 1, &end, 0) : first;
		if (value >= first && value <= last)
			return true;
		list = *end == ',' ? end + 1 : end + strlen(end);
	}
	return false;
}

static int ntrace_check_field(struct perf_pmu *pmu, u64 config, unsigned int i)
{
	u64 mask = ntrace_fields[i].mask, value = (config & mask) / (mask & -mask);
	const char *name = ntrace_fields[i].name;
	char path[64], list[128] = "";

	snprintf(path, sizeof(path), "caps/%s", name);
	/* Accept 0, which means off or the hardware's default, and any value if the file lists no values */
	if (!value || perf_pmu__scan_file(pmu, path, "%127s", list) == EOF ||
	    !*list || ntrace_is_listed(list, value))
		return 0;
	pr_err("The trace encoders of this system do not support %s=%llu. They support %s (see %s of the PMU). Leave %s out.\n",
	       name, (unsigned long long)value, list, path, name);
	return -EOPNOTSUPP;
}

static int ntrace_check_privileges(struct perf_pmu *pmu, const struct perf_event_attr *attr)
{
	bool firmware = attr->config & NTRACE_CONFIG_FIRMWARE;
	unsigned int can;

	if (attr->exclude_user && attr->exclude_kernel) {
		pr_err("The event asks for neither user code nor the kernel. For machine mode, use -e ntrace/firmware/ without a modifier.\n");
		return -EINVAL;
	}
	if (firmware && (attr->exclude_kernel || attr->exclude_hv)) {
		pr_err("'firmware' asks for machine mode, which the modifiers 'u' and 'k' leave out: use -e ntrace/firmware/ without a modifier.\n");
		return -EINVAL;
	}
	if (firmware && !perf_event_paranoid_check(-1)) {
		pr_err("Only users with CAP_PERFMON may trace machine mode ('firmware'): run perf as root.\n");
		return -EACCES;
	}
	if (perf_pmu__scan_file(pmu, "caps/privilege", "%i", &can) != 1 || can)
		return 0;
	if (attr->exclude_user || attr->exclude_kernel) {
		pr_err("The trace encoders of this system cannot distinguish user code from the kernel (caps/privilege is 0). Leave out 'u' and 'k', which needs CAP_PERFMON.\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

/*
 * Check an event here, because the kernel would reject an invalid one with an errno for which perf prints
 * a wrong explanation. Return 0 or an error.
 */
static int ntrace_check_event(struct perf_pmu *pmu, const struct evsel *evsel,
			      const struct record_opts *opts)
{
	const struct perf_event_attr *attr = &evsel->core.attr;
	unsigned int i;
	int err;

	if (opts->user_freq != UINT_MAX) {
		pr_err("A trace has no frequency (-F option), because all executed instructions are traced. Choose a sample period when decoding (perf report --itrace=i100us), and set the frequency of another event by a term (cycles/freq=99/)\n");
		return -EINVAL;
	}
	for (i = 0; i < ARRAY_SIZE(ntrace_fields); i++) {
		err = ntrace_check_field(pmu, attr->config, i);
		if (err)
			return err;
	}
	return ntrace_check_privileges(pmu, attr);
}

/*
 * Write the message that perf prints if the kernel rejected the event and perf itself has no explanation.
 * Return the length of the message, or 0 if the event is of another PMU.
 */
int arch_evsel__open_strerror(struct evsel *evsel, NTRACE_OPEN_ERR char *msg, size_t size)
{
	int error = NTRACE_OPEN_ERRNO;
	struct perf_pmu *pmu = evsel__find_pmu(evsel);

	if (!pmu || strcmp(pmu->name, NTRACE_PMU_NAME))
		return 0;
	/* Only perf record sets needs_auxtrace_mmap, see ntrace_setup_evsel() */
	if (!evsel->needs_auxtrace_mmap)
		return scnprintf(msg, size,
				 "A trace cannot be counted or sampled. Record it with 'perf record -e ntrace//', and view it with 'perf report' or 'perf script'.\n");
	if (error == ESRCH)
		return scnprintf(msg, size,
				 "The process or thread has ended, so it cannot be traced. Give -p or -t one that still runs.\n");
	if (error == ENODEV)
		return scnprintf(msg, size,
				 "A CPU went offline, or its trace encoder disappeared, before %s could be opened. Record again.\n",
				 evsel__name(evsel));
	/* Assume EBUSY for any other errno, because perf may have changed errno since the kernel rejected the event */
	return scnprintf(msg, size,
			 "Another program uses a trace encoder that %s needs. It is a process whose /proc/PID/fd has a perf_event. If there is none, 'dmesg | grep ntrace' may show the reason.\n",
			 evsel__name(evsel));
}

/* ---------------------------------------------------------------- options */

static void ntrace_keep_online(struct perf_cpu_map **cpus, struct perf_cpu_map *online)
{
	struct perf_cpu_map *all = *cpus;

	*cpus = perf_cpu_map__intersect(all, online);
	perf_cpu_map__put(all);
}

/*
 * Restrict an event of CPUs to online CPUs, because the kernel refuses it on an offline CPU. An
 * event of a task keeps all CPUs, because the task may run on a CPU that goes online later.
 */
static int ntrace_setup_cpus(struct evlist *evlist, struct evsel *evsel, struct target *target)
{
	struct perf_cpu_map *online;
	struct perf_cpu cpu;
	unsigned int i;

	if (!target__has_cpu(target))
		return 0;
	online = perf_cpu_map__new_online_cpus();
	perf_cpu_map__for_each_cpu(cpu, i, evsel->core.cpus) {
		if (!target->cpu_list || perf_cpu_map__has(online, cpu))
			continue;
		pr_err("CPU %d is offline, so it cannot be traced. Leave it out of -C\n", cpu.cpu);
		perf_cpu_map__put(online);
		return -ENODEV;
	}
	ntrace_keep_online(&evsel->core.cpus, online);
	ntrace_keep_online(&ntrace_evlist_core(evlist)->all_cpus, online);
	perf_cpu_map__put(online);
	if (evsel->core.cpus)
		return 0;
	pr_err("No CPU with a trace encoder is online\n");
	return -ENODEV;
}

static int ntrace_setup_evsel(struct ntrace_recording *rec, struct evlist *evlist,
			      struct record_opts *opts, struct evsel **found)
{
	struct evsel *evsel, *ours = NULL;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.type != rec->pmu->type)
			continue;
		if (ours) {
			pr_err("There may be only one " NTRACE_PMU_NAME " event\n");
			return -EINVAL;
		}
		evsel->core.attr.freq = 0;
		evsel->core.attr.sample_period = 1;
		evsel->no_aux_samples = true;
		evsel->needs_auxtrace_mmap = true;
		opts->full_auxtrace = true;
		ours = evsel;
	}
	*found = ours;
	return 0;
}

/* Set buffer sizes that the user did not choose. By default, an unprivileged user may lock only 516 KiB. */
static void ntrace_default_pages(struct record_opts *opts, size_t privileged_size)
{
	if (perf_event_paranoid_check(-1)) {
		opts->auxtrace_mmap_pages = privileged_size / page_size;
		return;
	}
	opts->auxtrace_mmap_pages = KiB(128) / page_size;
	if (opts->mmap_pages == UINT_MAX)
		opts->mmap_pages = KiB(256) / page_size;
}

/* Choose the size of the AUX area, or check that a snapshot or sample of @size bytes fits in it */
static int ntrace_fit_size(struct record_opts *opts, const char *what, size_t size)
{
	size_t pages = max_t(size_t, DIV_ROUND_UP(size, page_size), 1);

	if (!opts->auxtrace_mmap_pages)
		opts->auxtrace_mmap_pages = roundup_pow_of_two(pages);
	if (size <= opts->auxtrace_mmap_pages * (size_t)page_size)
		return 0;
	pr_err("%s size %zu must not be greater than AUX area tracing mmap size %zu\n",
	       what, size, opts->auxtrace_mmap_pages * (size_t)page_size);
	return -EINVAL;
}

static int ntrace_snapshot_sizes(struct record_opts *opts)
{
	if (!opts->auxtrace_snapshot_size && !opts->auxtrace_mmap_pages)
		ntrace_default_pages(opts, MiB(4));
	if (!opts->auxtrace_snapshot_size)
		opts->auxtrace_snapshot_size = opts->auxtrace_mmap_pages * (size_t)page_size;
	return ntrace_fit_size(opts, "Snapshot", opts->auxtrace_snapshot_size);
}

static int ntrace_sample_sizes(struct record_opts *opts, struct evlist *evlist)
{
	struct evsel *evsel;
	size_t max = 0;

	evlist__for_each_entry(evlist, evsel)
		max = max_t(size_t, max, evsel->core.attr.aux_sample_size);
	if (!opts->auxtrace_mmap_pages && !perf_event_paranoid_check(-1) &&
	    opts->mmap_pages == UINT_MAX)
		opts->mmap_pages = KiB(256) / page_size;
	return ntrace_fit_size(opts, "Sample", max);
}

/* Refuse buffers that exceed the memory. The kernel would return ENOMEM, for which perf prints only the number. */
static int ntrace_check_memory(struct evlist *evlist, size_t size)
{
	int nr = perf_cpu_map__nr(ntrace_evlist_core(evlist)->user_requested_cpus);
	u64 memory = (u64)sysconf(_SC_PHYS_PAGES) * page_size;

	if (size <= memory / max(nr, 1))
		return 0;
	pr_err("The trace buffers do not fit into memory: %zu MiB for each of %d CPUs, and this machine has %zu MiB. Choose smaller buffers, such as -m,16M\n",
	       size / MiB(1), max(nr, 1), (size_t)(memory / MiB(1)));
	return -ENOMEM;
}

static int ntrace_buffer_sizes(struct record_opts *opts, struct evlist *evlist,
			       struct evsel *evsel)
{
	bool overwrite = opts->auxtrace_snapshot_mode || opts->auxtrace_sample_mode;
	size_t size, min = KiB(8);
	int err = 0;

	if (opts->auxtrace_snapshot_mode)
		err = ntrace_snapshot_sizes(opts);
	else if (opts->auxtrace_sample_mode)
		err = ntrace_sample_sizes(opts, evlist);
	else if (!opts->auxtrace_mmap_pages)
		ntrace_default_pages(opts, MiB(4));
	if (err)
		return err;

	if (overwrite)
		min = KiB(4);
	size = opts->auxtrace_mmap_pages * (size_t)page_size;
	if (size < min || !is_power_of_2(size)) {
		pr_err("Invalid mmap size for N-Trace: must be at least %zuKiB and a power of 2\n",
		       min / 1024);
		return -EINVAL;
	}
	if (!overwrite)
		evsel->core.attr.aux_watermark = min_t(size_t, size / 4, UINT_MAX);
	return ntrace_check_memory(evlist, size);
}

/* Return true if the kernel lets a module write AUX samples */
static bool ntrace_can_sample(struct perf_pmu *pmu)
{
	int can = 0;

	return perf_pmu__scan_file(pmu, "caps/aux_sampling", "%d", &can) == 1 && can;
}

static int ntrace_check_options(struct record_opts *opts, struct perf_pmu *pmu)
{
	if (opts->auxtrace_snapshot_mode && !opts->full_auxtrace) {
		pr_err("Snapshot mode (-S option) requires an ntrace event (-e ntrace//)\n");
		return -EINVAL;
	}
	if (opts->auxtrace_sample_mode && opts->auxtrace_snapshot_mode) {
		pr_err("Snapshots (-S option) and samples of trace (--aux-sample option) cannot be used together\n");
		return -EINVAL;
	}
	if (opts->auxtrace_sample_mode && !ntrace_can_sample(pmu)) {
		pr_err("This kernel does not support AUX area sampling (--aux-sample); the file caps/aux_sampling contains the reason. Take snapshots instead (-S option)\n");
		return -EINVAL;
	}
	if (opts->kcore && access("/proc/kcore", R_OK)) {
		pr_err("--kcore copies /proc/kcore, which only root may read: leave --kcore out. -e ntrace//u traces the program alone, and needs no code of the kernel.\n");
		return -EACCES;
	}
	if (opts->use_clockid) {
		pr_err("Cannot use clockid (-k option) with ntrace, because trace has the times of perf's default clock\n");
		return -EINVAL;
	}
	return 0;
}

/* Add a dummy event for mmap, comm, fork and switch records, with time and CPU */
static int ntrace_add_tracking(struct evlist *evlist, struct record_opts *opts,
			       struct evsel *evsel, bool per_cpu)
{
	/* Tasks migrate, so even with -C, the maps that were created on other CPUs are needed */
	bool system_wide = opts->target.cpu_list && !evsel->core.attr.exclude_user;
	struct evsel *tracking = evlist__add_aux_dummy(evlist, system_wide);

	if (!tracking)
		return -ENOMEM;
	evlist__set_tracking_event(evlist, tracking);
	evsel__set_sample_bit(tracking, TIME);
	if (per_cpu) {
		evsel__set_sample_bit(tracking, CPU);
		/* Include offline CPUs on which the task may run later */
		perf_cpu_map__put(tracking->core.cpus);
		tracking->core.cpus = perf_cpu_map__get(ntrace_evlist_core(evlist)->all_cpus);
		if (!record_opts__no_switch_events(opts) && perf_can_record_switch_events()) {
			opts->record_switch_events = true;
			tracking->immediate = true;
		}
	}
	evsel__reset_sample_bit(tracking, BRANCH_STACK);
	return 0;
}

static int ntrace_recording_options(struct auxtrace_record *itr, struct evlist *evlist,
				    struct record_opts *opts)
{
	struct ntrace_recording *rec = to_recording(itr);
	bool per_cpu = ntrace_is_per_cpu(evlist);
	struct evsel *evsel;
	int err;

	rec->evlist = evlist;
	rec->snapshot_mode = opts->auxtrace_snapshot_mode;

	err = ntrace_setup_evsel(rec, evlist, opts, &evsel);
	if (!err)
		err = ntrace_check_options(opts, rec->pmu);
	if (err || !opts->full_auxtrace)
		return err;

	err = ntrace_check_event(rec->pmu, evsel, opts);
	if (!err)
		err = ntrace_setup_cpus(evlist, evsel, &opts->target);
	if (!err)
		err = ntrace_buffer_sizes(opts, evlist, evsel);
	if (err)
		return err;

	/* perf creates the AUX buffer for the first event of an mmap, so put this event first */
	evlist__to_front(evlist, evsel);
	/*
	 * The decoder needs the time and CPU of PERF_RECORD_AUX, which reports that trace stopped
	 */
	evsel__set_sample_bit(evsel, TIME);
	evsel__set_sample_bit(evsel, TID);
	evsel__set_sample_bit(evsel, CPU);

	if (!evsel->core.attr.exclude_kernel && perf_can_record_text_poke_events() &&
	    perf_can_record_cpu_wide())
		opts->text_poke = true;

	return ntrace_add_tracking(evlist, opts, evsel, per_cpu);
}

/* ----------------------------------------------------------- snapshot mode */

static int ntrace_parse_snapshot_options(struct auxtrace_record *itr __maybe_unused,
					 struct record_opts *opts, const char *str)
{
	static struct parse_tag tags[] = {
		{ .tag = 'B', .mult = 1 },
		{ .tag = 'K', .mult = 1 << 10 },
		{ .tag = 'M', .mult = 1 << 20 },
		{ .tag = 'G', .mult = 1 << 30 },
		{ .tag = 0 },
	};
	unsigned long size = 0;
	char *end;

	if (str && *str) {
		size = strtoul(str, &end, 0);
		if (*end)
			size = end[1] ? ULONG_MAX : parse_tag_value(str, tags);
		if (size == ULONG_MAX) {
			pr_err("-S%s: the size of a snapshot must be a number with an optional B, K, M or G, such as -S4M\n",
			       str);
			return -1;
		}
	}
	opts->auxtrace_snapshot_mode = true;
	opts->auxtrace_snapshot_size = size;
	return 0;
}

static int ntrace_snapshot_start(struct auxtrace_record *itr)
{
	struct ntrace_recording *rec = to_recording(itr);
	struct evsel *evsel = ntrace_evsel(rec, rec->evlist);

	return evsel ? evsel__disable(evsel) : -EINVAL;
}

static int ntrace_snapshot_finish(struct auxtrace_record *itr)
{
	struct ntrace_recording *rec = to_recording(itr);
	struct evsel *evsel = ntrace_evsel(rec, rec->evlist);

	return evsel ? evsel__enable(evsel) : -EINVAL;
}

/*
 * Return true if the buffer has trace between @start and @end. Pages are zero at first, so any other byte
 * after the head was written before the buffer wrapped around.
 */
static bool ntrace_has_data(const unsigned char *data, size_t start, size_t end)
{
	static const unsigned char zero[512];

	for (; start < end; start += sizeof(zero)) {
		if (memcmp(data + start, zero, min(sizeof(zero), end - start)))
			return true;
	}
	return false;
}

/*
 * Set *old and *head to the start and end of the new trace of a snapshot. *head may restart at 0 at the end
 * of the buffer, or continue to increase. Before the first wrap, the new trace is from *old to *head.
 */
static int ntrace_find_snapshot(struct auxtrace_record *itr, int idx, struct auxtrace_mmap *mm,
				unsigned char *data, u64 *head, u64 *old)
{
	struct ntrace_recording *rec = to_recording(itr);

	if (!rec->wrapped)
		rec->wrapped = calloc(ntrace_evlist_core(rec->evlist)->nr_mmaps, sizeof(bool));
	if (!rec->wrapped)
		return -ENOMEM;
	if (*head >= mm->len) {
		if (*head - *old > mm->len)
			*old = *head - mm->len;
		return 0;
	}
	if (!rec->wrapped[idx] && (*head < *old || ntrace_has_data(data, *head, mm->len)))
		rec->wrapped[idx] = true;
	if (rec->wrapped[idx]) {
		*old = *head;
		*head += mm->len;
	}
	return 0;
}

/* ---------------------------------------------------- creating and freeing */

/* Return 0 as the time that perf stores with each AUX buffer. The decoder uses timestamps of the trace instead. */
static u64 ntrace_reference(struct auxtrace_record *itr __maybe_unused)
{
	return 0;
}

static void ntrace_recording_free(struct auxtrace_record *itr)
{
	struct ntrace_recording *rec = to_recording(itr);

	zfree(&rec->wrapped);
	free(rec);
}

static struct auxtrace_record *ntrace_recording_init(struct perf_pmu *pmu, int *err)
{
	struct ntrace_recording *rec;

	if (!pmu->cpus || perf_cpu_map__is_any_cpu_or_is_empty(pmu->cpus)) {
		pr_err(NTRACE_PMU_NAME ": the driver names no CPU with a trace encoder (cpumask is missing or empty)\n");
		*err = -EINVAL;
		return NULL;
	}
	rec = zalloc(sizeof(*rec));
	if (!rec) {
		*err = -ENOMEM;
		return NULL;
	}
	rec->pmu = pmu;
	rec->itr.recording_options = ntrace_recording_options;
	rec->itr.info_priv_size = ntrace_info_priv_size;
	rec->itr.info_fill = ntrace_info_fill;
	rec->itr.free = ntrace_recording_free;
	rec->itr.parse_snapshot_options = ntrace_parse_snapshot_options;
	rec->itr.snapshot_start = ntrace_snapshot_start;
	rec->itr.snapshot_finish = ntrace_snapshot_finish;
	rec->itr.find_snapshot = ntrace_find_snapshot;
	rec->itr.reference = ntrace_reference;
	rec->itr.read_finish = auxtrace_record__read_finish;
	/* perf reads this size before ntrace_check_options() can reject AUX samples, so always set it */
	rec->itr.default_aux_sample_size = KiB(4);
	*err = 0;
	return &rec->itr;
}

struct auxtrace_record *auxtrace_record__init(struct evlist *evlist, int *err)
{
	struct perf_pmu *pmu = perf_pmus__find(NTRACE_PMU_NAME);
	struct evsel *evsel;

	*err = 0;
	if (!pmu)
		return NULL;
	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.type == pmu->type)
			return ntrace_recording_init(pmu, err);
	}
	return NULL;
}
