// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do random operations on events and CPUs. The operations are starts, stops, forks, migrations, CPU
 * hotplug, snapshots and reloads of the module. No operation may take more than a second, and the trace
 * after all operations must be correct.
 *
 * NTRACE_STORM=N: Number of operations, by default 100.
 * NTRACE_SEED: Seed of the random order.
 * NTRACE_FAULTS=1: The hardware fails sometimes, and events may be refused.
 * NTRACE_LIMIT_MS: Time limit of an operation in ms, by default 1000. Slow debug kernels need more.
 *
 * A reload of the module takes long on a debug kernel, even without trace, and the time grows with
 * the number of components. Therefore the limit of a reload is NTRACE_LIMIT_MS plus three times the
 * duration of a reload without trace. A reload without trace must not take longer than
 * NTRACE_LIMIT_MS, so that the test detects a module that always hangs.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

#define SLOTS	4
#define MODULE	"/usr/lib/ntrace/ntrace.ko"

static struct recording slot[SLOTS];
static struct stretches stretches;
static bool faults;

static unsigned int number(const char *name, unsigned int otherwise)
{
	const char *s = getenv(name);

	return s ? strtoul(s, NULL, 0) : otherwise;
}

/*
 * Total time in seconds by which the host has delayed the guest. A thread that only sleeps measures this
 * time, which is subtracted from the duration of an operation. A single delay of half a second or more is
 * not subtracted, because it could be a hang.
 */
static volatile double late;

static void *look_at_clock(void *unused)
{
	double before, over;

	for (;;) {
		before = now();
		usleep(10000);
		over = now() - before - 0.01;
		if (over < 0.5)
			late += over;
	}
	return NULL;
}

static void op_open(unsigned int r)
{
	struct recording *rec = &slot[r % SLOTS];
	struct perf_event_attr attr;
	int nr = pmu_nr_cpus(), cpu;

	if (rec->fd >= 0 || !nr)
		return;
	event_attr(&attr, pmu_config(pmu_first_cpu()));
	attr.inherit = r >> 4 & 1;
	attr.exclude_kernel = r >> 5 & 1 && pmu_number("caps/privilege", 0);
	/* an event that children inherit can have a buffer only if it belongs to one CPU */
	cpu = attr.inherit || r >> 6 & 1 ? (r >> 8) % nr : -1;
	record_open(rec, &attr, r >> 7 & 1 && cpu >= 0 ? -1 : 0, cpu, 1 << (14 + (r >> 12) % 6),
		    r >> 16 & 1);
	if (rec->fd >= 0)
		record_start(rec);
}

static void op_close(unsigned int r)
{
	record_close(&slot[r % SLOTS]);
}

static void op_start_stop(unsigned int r)
{
	struct recording *rec = &slot[r % SLOTS];
	unsigned int i;

	for (i = 0; rec->fd >= 0 && i < 10; i++) {
		record_stop(rec);
		record_start(rec);
		busy(r >> 8 & 255);
	}
}

static void op_read(unsigned int r)
{
	struct recording *rec = &slot[r % SLOTS];

	if (rec->fd < 0)
		return;
	record_take(rec, &stretches);
	record_empty(rec);
}

/* Take a snapshot like perf after SIGUSR2, and restart the event. */
static void op_snapshot(unsigned int r)
{
	struct recording *rec = &slot[r % SLOTS];
	uint8_t *buf;

	if (rec->fd < 0)
		return;
	buf = malloc(rec->aux_size);
	record_stop(rec);
	record_copy(rec, rec->page->aux_head, buf, rec->aux_size);
	record_start(rec);
	free(buf);
}

static void op_fork(unsigned int r)
{
	int status, n = 1 + (r >> 4) % 4;

	while (n--) {
		pid_t pid = fork();

		if (!pid) {
			pin((r >> 8) % sysconf(_SC_NPROCESSORS_ONLN));
			busy(r >> 10 & 1023);
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, &status, 0);
	}
}

static void op_migrate(unsigned int r)
{
	unsigned int i, n = sysconf(_SC_NPROCESSORS_ONLN);

	for (i = 0; i < 4; i++) {
		pin((r + i) % n);
		busy(r >> 8 & 255);
	}
	pin(-1);
}

static void op_hotplug(unsigned int r)
{
	char file[96];

	snprintf(file, sizeof(file), "/sys/devices/system/cpu/cpu%u/online", 1 + r % 3);
	if (access(file, W_OK))
		return;
	write_text(file, "0");
	busy(r >> 8 & 1023);
	write_text(file, "1");
}

static void op_reload(unsigned int r)
{
	unsigned int i;
	int fd;

	for (i = 0; i < SLOTS; i++)
		record_close(&slot[i]);
	fd = open(MODULE, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	syscall(SYS_delete_module, "ntrace", 0);
	syscall(SYS_finit_module, fd, "", 0);
	close(fd);
}

static void op_sysfs(unsigned int r)
{
	char text[4096];

	cpu_text(r % 4, "timestamp/counter", text, sizeof(text));
	write_text(PMU_DIR "/cpu0/sync/period", r & 16 ? "4096" : "65536");
}

static const struct {
	const char *name;
	void (*run)(unsigned int r);
	unsigned int weight;
} ops[] = {
	{ "open", op_open, 20 }, { "close", op_close, 10 }, { "start and stop", op_start_stop, 10 },
	{ "read", op_read, 10 }, { "snapshot", op_snapshot, 10 }, { "fork", op_fork, 10 },
	{ "migration", op_migrate, 10 }, { "hotplug", op_hotplug, 4 }, { "reload", op_reload, 4 },
	{ "sysfs", op_sysfs, 4 },
};

/*
 * Return true if this trace of an AUX record has only whole messages, begins with a synchronising message, and ends
 * with a ProgTraceCorrelation message.
 */
static bool right(struct recording *rec, const struct stretch *s)
{
	struct message msg;
	unsigned int n = 0;
	size_t pos = 0;
	bool ok = true;
	uint8_t *buf = malloc(s->size);
	int ret;

	record_copy(rec, s->offset, buf, s->size);
	while ((ret = next_message(buf, s->size, &pos, rec->src_bits, &msg)) > 0)
		if (!n++)
			ok = msg.is_sync || msg.tcode == MSG_OWNERSHIP;
	free(buf);
	return ok && !ret && n > 2 && msg.tcode == MSG_CORRELATION;
}

/* Trace some work after the operations. Return 1 if the trace is correct, 0 if it is wrong, or -1 without trace. */
static int trace_later(void)
{
	struct perf_event_attr attr;
	struct recording rec;
	unsigned int i;
	int ret = 1;

	event_attr(&attr, pmu_config(pmu_first_cpu()));
	/* On a debug kernel, one interrupt may generate a megabyte */
	if (!record_open(&rec, &attr, 0, -1, 1 << 22, false))
		return -1;
	memset(&stretches, 0, sizeof(stretches));
	record_work(&rec, 1000);
	record_stretches(&rec, &stretches);
	if (!stretches.nr || stretches.nr_partial)
		ret = -1;
	for (i = 0; ret > 0 && i < stretches.nr; i++)
		ret = right(&rec, &stretches.at[i]);
	record_close(&rec);
	return ret;
}

FIXTURE(storm) {
	unsigned int n, seed;
	double quiet_reload;	/* duration in s of the shortest of a few reloads, without host delays */
};

FIXTURE_SETUP(storm)
{
	double start, took;
	unsigned int i;

	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	self->n = number("NTRACE_STORM", 100);
	self->seed = number("NTRACE_SEED", time(NULL));
	faults = number("NTRACE_FAULTS", 0);
	srandom(self->seed);
	for (i = 0; i < SLOTS; i++)
		slot[i].fd = -1;
	/*
	 * Reload three times. Hardware that gets stuck sometimes may get stuck in one of the reloads,
	 * but hardly in all of them
	 */
	for (i = 0; i < 3; i++) {
		start = now();
		op_reload(0);
		took = now() - start;
		if (!i || took < self->quiet_reload)
			self->quiet_reload = took;
	}
}

FIXTURE_TEARDOWN(storm)
{
}

static unsigned int choose(void)
{
	unsigned int i, sum = 0, r;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		sum += ops[i].weight;
	r = random() % sum;
	for (i = 0; r >= ops[i].weight; i++)
		r -= ops[i].weight;
	return i;
}

TEST_F_TIMEOUT(storm, nothing_hangs_and_later_traces_are_right, 3600)
{
	double longest = 0, start, took;
	double limit = 1e-3 * number("NTRACE_LIMIT_MS", 1000);
	unsigned int i, op, done[16] = { }, none = 0;
	const char *which = "";
	pthread_t thread;
	int ret;

	EXPECT_LT(self->quiet_reload, limit) TH_LOG("reload without trace");
	pthread_create(&thread, NULL, look_at_clock, NULL);
	for (i = 0; i < self->n; i++) {
		op = choose();
		late = 0;
		start = now();
		ops[op].run(random());
		took = now() - start - late;
		EXPECT_LT(took, limit + (ops[op].run == op_reload ? 3 * self->quiet_reload : 0))
			TH_LOG("operation %u, %s, with seed %u", i, ops[op].name, self->seed);
		if (took > longest) {
			longest = took;
			which = ops[op].name;
		}
		done[op]++;
		if (i % 10 != 9)
			continue;
		/* close all events, because two of them cannot use the same CPU */
		for (op = 0; op < SLOTS; op++)
			record_close(&slot[op]);
		ret = trace_later();
		none += ret < 0;
		EXPECT_NE(ret, 0) TH_LOG("trace after operation %u, with seed %u", i, self->seed);
		if (!faults)
			EXPECT_NE(ret, -1) TH_LOG("no trace after operation %u", i);
	}
	for (op = 0; op < SLOTS; op++)
		record_close(&slot[op]);
	printf("# figure: seed %u, %u operations, the longest (%s) took %.0f ms, a reload without trace %.0f ms, %u of %u later traces were not there\n",
	       self->seed, self->n, which, 1e3 * longest, 1e3 * self->quiet_reload, none, self->n / 10);
	printf("# done:");
	for (op = 0; op < sizeof(ops) / sizeof(ops[0]); op++)
		printf(" %u %s", done[op], ops[op].name);
	printf("\n");
	if (faults)
		EXPECT_LT(none, self->n / 10);
}

TEST_HARNESS_MAIN
