// SPDX-License-Identifier: GPL-2.0-only
/* Convert a record of the flight recorder to a perf recording. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <linux/ntrace.h>

#include "flight.h"
#include "cli/output.h"
#include "session/file/perfdata-write.h"

/*
 * Type number of the PMU. No other PMU can have the same number, because the file has only one
 * event.
 */
#define PMU_TYPE	1000
#define EVENT_ID	1ULL
#define KERNEL_PID	((uint32_t)-1)
#define NAME_MAX_SIZE	128

struct map_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	char name[NAME_MAX_SIZE];
	struct pd_written_id id;
};

struct switch_record {
	struct perf_event_header header;
	uint32_t next_prev_pid, next_prev_tid;
	struct pd_written_id id;
};

struct aux_record {
	struct perf_event_header header;
	uint64_t offset, size, flags;
	struct pd_written_id id;
};

struct save {
	const struct ns_flight *f;
	struct pd_writer file;
	struct perf_event_attr attr;
	struct pd_bytes index;		/* index of the trace in the file */
	uint64_t nr_index;
	struct pd_bytes features[PD_FEAT_MAX];
	bool failed;
};

/* ---- Records ---- */

static void put(struct save *s, const void *record, size_t size)
{
	if (!s->failed && pd_write(&s->file, record, size))
		s->failed = true;
}

static struct pd_written_id at(const struct save *s, uint32_t pid, uint32_t tid, uint64_t time,
			   uint32_t cpu)
{
	return (struct pd_written_id){ .pid = pid, .tid = tid, .time = time, .cpu = cpu,
				   .id = EVENT_ID };
}

static void put_info(struct save *s)
{
	struct { struct perf_event_header header; uint32_t type, reserved; } head = {
		.header = { .type = PD_AUXTRACE_INFO }, .type = NTRACE_AUXTRACE_TYPE,
	};
	struct pd_clock_record clock = {
		.header = { .type = PD_TIME_CONV, .size = sizeof(clock) }, .zero_known = 1,
	};
	size_t nr;
	uint64_t *words = ns_flight_words(s->f, &nr);

	if (!words || sizeof(head) + 8 * nr > UINT16_MAX) {
		s->failed = true;
		errno = words ? EFBIG : ENOMEM;
		free(words);
		return;
	}
	words[NTRACE_INFO_PMU_TYPE] = PMU_TYPE;
	head.header.size = sizeof(head) + 8 * nr;
	put(s, &head, sizeof(head));
	put(s, words, 8 * nr);
	clock.shift = words[NTRACE_INFO_TIME_SHIFT];
	clock.mult = words[NTRACE_INFO_TIME_MULT];
	clock.zero = words[NTRACE_INFO_TIME_ZERO];
	put(s, &clock, sizeof(clock));
	free(words);
}

static void put_map(struct save *s, const char *name, uint64_t addr, uint64_t len, uint64_t pgoff)
{
	struct map_record r = {
		.header = { .type = PERF_RECORD_MMAP, .misc = PERF_RECORD_MISC_KERNEL,
			    .size = sizeof(r) },
		.pid = KERNEL_PID, .addr = addr, .len = len, .pgoff = pgoff,
		.id = at(s, 0, 0, 0, 0),
	};

	snprintf(r.name, sizeof(r.name), "%s", name);
	put(s, &r, sizeof(r));
}

static void put_kernel(struct save *s)
{
	const struct ns_flight *f = s->f;
	char name[64];
	size_t i;

	put_map(s, "[kernel.kallsyms]_start", f->machine.text, f->machine.text_size,
		f->machine.text);
	for (i = 0; i < f->nr_modules; i++) {
		snprintf(name, sizeof(name), "[%s]", f->modules[i].name);
		put_map(s, name, f->modules[i].text, f->modules[i].text_size, 0);
	}
}

static void put_comm(struct save *s, uint32_t pid, uint32_t tid, const void *comm, uint64_t time,
		     uint32_t cpu)
{
	struct pd_comm_record r = {
		.header = { .type = PERF_RECORD_COMM, .size = sizeof(r) },
		.pid = pid, .tid = tid, .id = at(s, pid, tid, time, cpu),
	};

	memcpy(r.comm, comm, sizeof(r.comm) - 1);
	put(s, &r, sizeof(r));
}

/*
 * Return true if the thread has the same name as at its previous switch, so that the name need not
 * be written.
 */
static bool is_known(const struct ns_flight *f, size_t nth)
{
	const struct ntrace_flight_switch *now = &f->switches[nth], *before = now;

	while (before-- > f->switches) {
		if (before->tid == now->tid)
			return before->pid == now->pid &&
			       !memcmp(before->comm, now->comm, sizeof(now->comm));
	}
	return false;
}

/* Return the last context switch before switch number @nth on the same CPU, or NULL if there is none. */
static const struct ntrace_flight_switch *before_of(const struct ns_flight *f, size_t nth)
{
	uint32_t cpu = f->switch_cpus[nth];

	while (nth--) {
		if (f->switch_cpus[nth] == cpu)
			return &f->switches[nth];
	}
	return NULL;
}

static void put_switches(struct save *s)
{
	const struct ns_flight *f = s->f;
	const struct ntrace_flight_switch *sw, *before;
	struct switch_record r;
	uint64_t time;
	size_t i;

	for (i = 0; i < f->nr_switches; i++) {
		sw = &f->switches[i];
		time = ns_flight_time(f, sw->time);
		if (!is_known(f, i))
			put_comm(s, sw->pid, sw->tid, sw->comm, time, f->switch_cpus[i]);
		before = before_of(f, i);
		memset(&r, 0, sizeof(r));
		r.header.type = PERF_RECORD_SWITCH_CPU_WIDE;
		r.header.size = sizeof(r);
		r.next_prev_pid = before ? before->pid : 0;
		r.next_prev_tid = before ? before->tid : 0;
		r.id = at(s, sw->pid, sw->tid, time, f->switch_cpus[i]);
		put(s, &r, sizeof(r));
	}
	if (f->has_cause)
		put_comm(s, f->cause.pid, f->cause.tid, f->cause.comm,
			 ns_flight_time(f, f->cause.time), f->cause.cpu);
}

/*
 * Return the CPU under which a sink's trace is stored, which is the first CPU that is traced into
 * the sink.
 */
static uint32_t cpu_of(const struct ns_flight *f, size_t sink)
{
	size_t i;

	for (i = 0; i < f->nr_cpus; i++) {
		if (f->cpus[i].sink == sink)
			return f->cpus[i].words[NTRACE_INFO_CPU_ID];
	}
	return 0;
}

/* Return the end time of the trace, or a time after all times of the record if it is not known. */
static uint64_t last_time(const struct ns_flight *f, const struct ns_flight_trace *t)
{
	uint64_t last = f->has_cause ? f->cause.time : 0;

	if (t->end_time)
		return t->end_time;
	if (f->nr_switches && f->switches[f->nr_switches - 1].time > last)
		last = f->switches[f->nr_switches - 1].time;
	/* add an hour, because a hart can hang for a long time after the last time in the record */
	return last + 3600 * f->machine.timebase;
}

static void put_trace(struct save *s, size_t sink)
{
	const struct ns_flight_trace *t = &s->f->traces[sink];
	static const uint64_t zero;
	uint32_t cpu = cpu_of(s->f, sink);
	struct aux_record aux = {
		.header = { .type = PERF_RECORD_AUX, .size = sizeof(aux) }, .size = t->size,
		/* if the ring has wrapped, perf (overwrite mode) takes the offset as the end of the trace */
		.offset = t->middle ? t->size : 0,
		.flags = t->middle ? PERF_AUX_FLAG_OVERWRITE : 0,
		.id = at(s, (uint32_t)-1, (uint32_t)-1,
			 ns_flight_time(s->f, last_time(s->f, t)), cpu),
	};
	struct pd_auxtrace_record trace = {
		.header = { .type = PD_AUXTRACE, .size = sizeof(trace) },
		.size = (t->size + 7) & ~7ULL, .idx = sink, .tid = (uint32_t)-1, .cpu = cpu,
	};

	if (!t->size)
		return;
	put(s, &aux, sizeof(aux));
	pd_add_u64(&s->index, s->file.at);
	pd_add_u64(&s->index, sizeof(trace));
	s->nr_index++;
	put(s, &trace, sizeof(trace));
	put(s, t->bytes, t->size);
	put(s, &zero, trace.size - t->size);
}

/* ---- Features ---- */

static unsigned int hex_bytes(const char *text, uint8_t *to, unsigned int room)
{
	unsigned int n = 0, value;

	while (n < room && sscanf(text + 2 * n, "%2x", &value) == 1)
		to[n++] = value;
	return n;
}

static void add_build_id(struct save *s, struct pd_bytes *to)
{
	uint8_t id[PD_BUILD_ID_SIZE];
	char text[64];

	if (ns_flight_line(s->f, "BUILD-ID", text, sizeof(text)))
		pd_add_id(to, PERF_RECORD_MISC_KERNEL, "[kernel.kallsyms]", id, hex_bytes(text, id, sizeof(id)));
}

static void add_features(struct save *s, bool folder)
{
	struct pd_bytes *to = s->features;

	add_build_id(s, &to[PD_FEAT_BUILD_ID]);
	pd_add_string(&to[PD_FEAT_OSRELEASE], (const char *)s->f->machine.release);
	pd_add_string(&to[PD_FEAT_ARCH], "riscv64");
	pd_add_u32(&to[PD_FEAT_NRCPUS], s->f->machine.nr_cpus);
	pd_add_u32(&to[PD_FEAT_NRCPUS], s->f->machine.nr_cpus);
	pd_add_u32(&to[PD_FEAT_EVENT_DESC], 1);
	pd_add_u32(&to[PD_FEAT_EVENT_DESC], sizeof(s->attr));
	pd_add(&to[PD_FEAT_EVENT_DESC], &s->attr, sizeof(s->attr));
	pd_add_u32(&to[PD_FEAT_EVENT_DESC], 1);
	pd_add_string(&to[PD_FEAT_EVENT_DESC], "ntrace//k");
	pd_add_u64(&to[PD_FEAT_EVENT_DESC], EVENT_ID);
	pd_add_u32(&to[PD_FEAT_PMU_MAPPINGS], 1);
	pd_add_u32(&to[PD_FEAT_PMU_MAPPINGS], PMU_TYPE);
	pd_add_string(&to[PD_FEAT_PMU_MAPPINGS], "ntrace");
	pd_add_u64(&to[PD_FEAT_AUXTRACE], s->nr_index);
	pd_add(&to[PD_FEAT_AUXTRACE], s->index.b.at, s->index.b.nr);
	if (folder)
		pd_add_u64(&to[PD_FEAT_DIR_FORMAT], 0);
}

/* Rename an existing recording, adding the time to its name. */
static int keep_old(const char *path)
{
	char old[PATH_MAX];
	struct stat st;

	if (lstat(path, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return 0;
	if (snprintf(old, sizeof(old), "%s.%ld", path, (long)time(NULL)) >= PATH_MAX)
		return errno = ENAMETOOLONG, -1;
	return rename(path, old);
}

static int finish(struct save *s, bool folder, const char *path)
{
	int err, error;

	add_features(s, folder);
	err = pd_write_bytes(&s->file, s->features) || s->failed || s->index.failed ||
	      (s->file.whole.part[0] && keep_old(path));
	error = errno;
	if (pd_write_close(&s->file, NULL, !err) && !err) {
		err = -1;
		error = errno;
	}
	free(s->index.b.at);
	errno = error;
	return err ? -1 : 0;
}

static void make_attr(struct save *s)
{
	s->attr = (struct perf_event_attr){
		.type = PMU_TYPE, .size = sizeof(s->attr), .sample_period = 1, .sample_id_all = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU,
		.read_format = PERF_FORMAT_ID, .mmap = 1, .comm = 1, .context_switch = 1,
		.config = s->f->cpus[0].words[NTRACE_INFO_CPU_CONFIG],
	};
}

/*
 * Create the recording. Return 1 with the kernel's code, 0 without, or -1 after an error, which was
 * reported.
 */
static int create(struct save *s, const struct ns_dump *dump, const struct flight_output *output)
{
	uint64_t id = EVENT_ID;
	const struct pd_attr attr = { .attr = s->attr, .ids = &id, .nr_ids = 1 };
	int kernel = !output->no_kernel;

	if (kernel) {
		if (pd_write_create(&s->file, output->path, true, &attr, 1))
			return output_failed(output->path), -1;
		kernel = flight_kernel(s->f, dump, s->file.whole.part);
		if (kernel > 0)
			return kernel;
		pd_write_close(&s->file, NULL, false);
		if (kernel < 0)
			return kernel;
	}
	if (pd_write_create(&s->file, output->path, false, &attr, 1))
		return output_failed(output->path), -1;
	return 0;
}

int flight_save(const struct ns_flight *flight, const struct ns_dump *dump,
		const struct flight_output *output)
{
	struct save s = { .f = flight };
	int kernel;
	size_t i;

	make_attr(&s);
	kernel = create(&s, dump, output);
	if (kernel < 0) {
		pd_write_close(&s.file, NULL, false);
		return -1;
	}
	put_info(&s);
	put_kernel(&s);
	put_switches(&s);
	for (i = 0; i < flight->nr_sinks; i++)
		put_trace(&s, i);
	if (!finish(&s, kernel, output->path))
		return 0;
	output_failed(output->path);
	return -1;
}
