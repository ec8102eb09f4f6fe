// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"

bool file_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return false;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return true;
}

uint64_t file_number(const char *path, uint64_t otherwise)
{
	char text[64];

	return file_text(path, text, sizeof(text)) ? strtoull(text, NULL, 0) : otherwise;
}

int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), err;

	if (fd < 0)
		return errno;
	err = write(fd, text, strlen(text)) < 0 ? errno : 0;
	close(fd);
	return err;
}

bool pmu_text(const char *file, char *text, size_t size)
{
	char path[384];

	snprintf(path, sizeof(path), PMU_DIR "/%s", file);
	return file_text(path, text, size);
}

uint64_t pmu_number(const char *file, uint64_t otherwise)
{
	char text[64];

	return pmu_text(file, text, sizeof(text)) ? strtoull(text, NULL, 0) : otherwise;
}

bool cpu_text(int cpu, const char *file, char *text, size_t size)
{
	char path[96];

	snprintf(path, sizeof(path), "cpu%d/%s", cpu, file);
	return pmu_text(path, text, size);
}

uint64_t cpu_number(int cpu, const char *file, uint64_t otherwise)
{
	char path[96];

	snprintf(path, sizeof(path), "cpu%d/%s", cpu, file);
	return pmu_number(path, otherwise);
}

bool cpu_is_traced(int cpu)
{
	return cpu_number(cpu, "cpu", ~0ULL) != ~0ULL;
}

bool cpu_sink(int cpu, char name[64])
{
	char path[256];

	if (!cpu_text(cpu, "path", path, sizeof(path)) || !strrchr(path, ' '))
		return false;
	snprintf(name, 64, "%.63s", strrchr(path, ' ') + 1);
	return true;
}

bool cpus_share_sink(int a, int b)
{
	char first[64], second[64];

	return a == b || (cpu_sink(a, first) && cpu_sink(b, second) && !strcmp(first, second));
}

int pmu_type(void)
{
	return pmu_number("type", -1);
}

uint64_t pmu_config(int cpu)
{

	return cpu_number(cpu, "default_config", 0) & ~NTRACE_CONFIG_EXTEND_ADDR;
}

int pmu_first_cpu(void)
{
	return pmu_number("cpumask", 0);
}

int pmu_nr_cpus(void)
{
	char file[64];
	int cpu, n = 0;

	for (cpu = 0; cpu < 64; cpu++) {
		snprintf(file, sizeof(file), PMU_DIR "/cpu%d", cpu);
		n += !access(file, F_OK);
	}
	return n;
}

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"

/*
 * Value of perf_event_paranoid when the program started, and the id of the process that restores this value
 * when it ends. The id is 0 if the value could not be read.
 */
static char paranoid_before[16];
static pid_t paranoid_owner;

/*
 * Store the value of perf_event_paranoid before the first test. Each test is a process, which may end at
 * any point, so the parent of the tests restores the value.
 */
static void __attribute__((constructor)) keep_paranoid(void)
{
	FILE *f = fopen(PARANOID, "r");

	if (f && fgets(paranoid_before, sizeof(paranoid_before), f))
		paranoid_owner = getpid();
	if (f)
		fclose(f);
}

static void __attribute__((destructor)) restore_paranoid(void)
{
	FILE *f = getpid() == paranoid_owner ? fopen(PARANOID, "w") : NULL;

	if (f) {
		fputs(paranoid_before, f);
		fclose(f);
	}
}

bool set_paranoid(int val)
{
	FILE *f = paranoid_owner ? fopen(PARANOID, "w") : NULL;

	return f && fprintf(f, "%d\n", val) > 0 && !fclose(f);
}

bool pin(int cpu)
{
	cpu_set_t set;
	int i;

	CPU_ZERO(&set);
	for (i = 0; i < CPU_SETSIZE; i++)
		if (cpu < 0 || i == cpu)
			CPU_SET(i, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

bool become_user(void)
{
	return !setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534);
}

void event_attr(struct perf_event_attr *attr, uint64_t config)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = pmu_type();
	attr->config = config;
	attr->disabled = 1;
	attr->sample_period = 1;
	attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr->sample_id_all = 1;
}

void event_attr_user(struct perf_event_attr *attr)
{
	attr->exclude_kernel = pmu_number("caps/privilege", 0) != 0;
}

bool event_attr_much(struct perf_event_attr *attr)
{
	char modes[64];

	if (!pmu_text("caps/mode", modes, sizeof(modes)) || !strchr(modes, '3'))
		return false;
	attr->config &= ~NTRACE_CONFIG_MODE;
	attr->config |= 3ULL << NTRACE_CONFIG_MODE_SHIFT;
	return true;
}

bool record_open(struct recording *rec, struct perf_event_attr *attr, int pid, int cpu,
		 size_t aux_size, bool overwrite)
{
	size_t page = sysconf(_SC_PAGESIZE);

	memset(rec, 0, sizeof(*rec));
	rec->fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	rec->err = rec->fd < 0 ? errno : 0;
	if (rec->fd < 0)
		return false;
	rec->data_size = 64 * page;
	rec->page = mmap(NULL, page + rec->data_size, PROT_READ | PROT_WRITE, MAP_SHARED, rec->fd, 0);
	if (rec->page == MAP_FAILED)
		goto fail;
	rec->data = (uint8_t *)rec->page + page;
	rec->page->aux_offset = page + rec->data_size;
	rec->page->aux_size = aux_size;
	rec->aux_size = aux_size;
	rec->aux = mmap(NULL, aux_size, PROT_READ | (overwrite ? 0 : PROT_WRITE), MAP_SHARED,
			rec->fd, rec->page->aux_offset);
	if (rec->aux == MAP_FAILED)
		goto fail;
	rec->src_bits = cpu_number(cpu >= 0 ? cpu : pmu_first_cpu(), "src_bits", 0);
	if (attr->config & NTRACE_CONFIG_INHIBIT_SRC)
		rec->src_bits = 0;
	return true;

fail:
	rec->err = errno;
	close(rec->fd);
	rec->fd = -1;
	return false;
}

void record_close(struct recording *rec)
{
	if (rec->fd < 0)
		return;
	munmap(rec->aux, rec->aux_size);
	munmap(rec->page, rec->data - (uint8_t *)rec->page + rec->data_size);
	close(rec->fd);
	rec->fd = -1;
}

void record_data(struct recording *rec, uint64_t pos, void *buf, size_t size)
{
	uint8_t *to = buf;

	while (size--)
		*to++ = rec->data[pos++ % rec->data_size];
}

static void add_stretch(struct stretches *st, const struct stretch *s)
{
	st->nr_truncated += !!(s->flags & PERF_AUX_FLAG_TRUNCATED);
	st->nr_partial += !!(s->flags & PERF_AUX_FLAG_PARTIAL);
	st->nr_collided += !!(s->flags & PERF_AUX_FLAG_COLLISION);
	if (!s->size)
		return;
	if (!(s->flags & PERF_AUX_FLAG_OVERWRITE) && s->offset != st->end)
		st->nr_gaps++;
	if (st->nr < sizeof(st->at) / sizeof(st->at[0]))
		st->at[st->nr] = *s;
	st->nr++;
	st->bytes += s->size;
	st->end = s->offset + s->size;
}

void record_stretches(struct recording *rec, struct stretches *st)
{
	uint64_t head = __atomic_load_n(&rec->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = rec->page->data_tail;
	struct perf_event_header header;
	struct stretch s;

	while (tail < head) {
		record_data(rec, tail, &header, sizeof(header));
		if (header.type == PERF_RECORD_AUX) {
			record_data(rec, tail + sizeof(header), &s, offsetof(struct stretch, time));
			/* the 8 bytes of PERF_SAMPLE_TID precede the time in the record */
			record_data(rec, tail + sizeof(header) + offsetof(struct stretch, time) + 8,
				  &s.time, sizeof(s.time));
			add_stretch(st, &s);
		}
		tail += header.size;
	}
	__atomic_store_n(&rec->page->data_tail, tail, __ATOMIC_RELEASE);
}

void record_copy(struct recording *rec, uint64_t offset, void *buf, size_t size)
{
	size_t from = offset % rec->aux_size, n = rec->aux_size - from;

	if (n > size)
		n = size;
	memcpy(buf, rec->aux + from, n);
	memcpy((uint8_t *)buf + n, rec->aux, size - n);
	if (pmu_number("cpu0/trace_id", 0))
		frames_to_messages(buf, size);
}

void record_take(struct recording *rec, struct stretches *st)
{
	memset(st, 0, sizeof(*st));
	record_stretches(rec, st);
}

void record_start(const struct recording *rec)
{
	ioctl(rec->fd, PERF_EVENT_IOC_ENABLE, 0);
}

void record_stop(const struct recording *rec)
{
	ioctl(rec->fd, PERF_EVENT_IOC_DISABLE, 0);
}

void record_work(const struct recording *rec, unsigned int n)
{
	record_start(rec);
	busy(n);
	record_stop(rec);
}

void record_empty(const struct recording *rec)
{
	__atomic_store_n(&rec->page->aux_tail, rec->page->aux_head, __ATOMIC_RELEASE);
}

/*
 * The bits of a message up to the end of a variable-length field. By chapter "Message Transmission" of
 * N-Trace, a byte is MDO[5:0] << 2 | MSEO[1:0]. Bits after the first 128 bits are discarded, because the
 * tests do not need them.
 */
struct run {
	unsigned __int128 bits;
	unsigned int	nr;
};

static uint64_t take(struct run *run, unsigned int n)
{
	uint64_t val = (uint64_t)run->bits & (n < 64 ? (1ULL << n) - 1 : ~0ULL);

	run->bits = n < 128 ? run->bits >> n : 0;
	return val;
}

static void parse(struct message *msg, struct run *runs, unsigned int src_bits)
{
	uint64_t process;

	msg->tcode = take(&runs[0], 6);
	msg->src = take(&runs[0], src_bits);
	msg->is_sync = false;
	switch (msg->tcode) {
	case MSG_OWNERSHIP:
		process = take(&runs[0], 64);
		msg->format = process & 3;
		msg->prv = process >> 2 & 3;
		msg->context = process >> 5;
		break;
	case MSG_PROG_SYNC:
	case MSG_DIRECT_SYNC:
	case MSG_INDIRECT_SYNC:
	case MSG_HIST_SYNC:
		msg->is_sync = true;
		msg->sync = take(&runs[0], 4);
		msg->addr = take(&runs[1], 64) << 1;
		break;
	}
}

int next_message(const uint8_t *buf, size_t len, size_t *pos, unsigned int src_bits,
		 struct message *msg)
{
	struct run runs[8] = { };
	unsigned int run = 0;
	size_t i = *pos;

	while (i < len && buf[i] == 0xff)
		i++;
	*pos = i;
	if (i == len)
		return 0;
	if (buf[i] & 3)
		return -1;	/* a message begins with MSEO 00 */

	memset(msg, 0, sizeof(*msg));
	msg->offset = i;
	for (; i < len; i++) {
		if (run < 8 && runs[run].nr < 128) {
			runs[run].bits |= (unsigned __int128)(buf[i] >> 2) << runs[run].nr;
			runs[run].nr += 6;
		}
		switch (buf[i] & 3) {
		case 1:
			run++;
			break;
		case 2:
			return -1;
		case 3:
			*pos = i + 1;
			msg->len = *pos - msg->offset;
			parse(msg, runs, src_bits);
			return 1;
		}
	}
	return -1;
}

static __attribute__((noinline)) unsigned int step(unsigned int x)
{
	if (x & 1)
		return x * 3 + 1;
	return x >> 1;
}

unsigned int busy(unsigned int n)
{
	volatile unsigned int sum = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		sum += step(i ^ sum);
	return sum;
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + 1e-9 * ts.tv_nsec;
}
