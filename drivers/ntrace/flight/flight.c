// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flight recorder traces all CPUs all the time, into memory that survives a reset.
 *
 * Each sink writes its area of the record as a ring. A perf event may take the sink while it
 * traces. The recorder then continues, and notes a gap in the record.
 *
 * Code that detects trouble calls ntrace_flight_stop(). The caller may be a CPU that panics while
 * other CPUs are dead, so this function writes registers and does not wait for locks or other CPUs.
 * The state that the other files keep for sinks and encoders is corrected later by
 * ntrace_flight_end(), if the system survives.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/panic.h>
#include <linux/property.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include <asm/timex.h>

#include "../topology.h"
#include "record.h"

/*
 * Period at which positions are saved, in case of a reset without warning. Without a saved
 * position, a reader has to search for the end of the trace by timestamps.
 */
#define NTRACE_FLIGHT_PERIOD	(HZ / 4)

/* In state SEIZED, perf events are also stopped, and their trace is in the record. */
enum ntrace_flight_state {
	NTRACE_FLIGHT_OFF,
	NTRACE_FLIGHT_RECORDING,
	NTRACE_FLIGHT_STOPPED,
	NTRACE_FLIGHT_SEIZED,
};

/**
 * struct ntrace_flight_cpu_state - state of the recorder on a CPU
 * @want: Settings of its encoder
 * @claimed: A perf event traces on the CPU instead of the recorder. This member changes with the
 *	sink locked. While it is set, only this CPU uses the encoder.
 * @switches: Number of the last entry in its ring of switches
 */
struct ntrace_flight_cpu_state {
	struct ntrace_want	want;
	bool			claimed;
	u32			switches;
};

/*
 * Held by the thread that starts or ends the recorder. This thread registers tracepoints and
 * patches the kernel's code, which waits for CPUs that go offline. These CPUs wait for
 * ntrace_let_sleep(). So this lock is taken before ntrace_keep_awake() and before ntrace_mutex.
 * When code is patched, CPUs are not kept awake, and ntrace_mutex is not held.
 */
DEFINE_MUTEX(ntrace_flight_mutex);
DEFINE_STATIC_KEY_FALSE(ntrace_flight_key);
static DEFINE_PER_CPU(struct ntrace_flight_cpu_state, ntrace_flight_cpu);
static atomic_t ntrace_flight_state = ATOMIC_INIT(NTRACE_FLIGHT_OFF);
/* Keeps a sink from losing its power while its position is read */
static DEFINE_RAW_SPINLOCK(ntrace_flight_power);
/* CPUs whose encoders have power and are recorded. A bit changes with the sink locked. */
static struct cpumask ntrace_flight_awake;
/* CPUs that are kept resumed, see ntrace_cpu_hold() */
static struct cpumask ntrace_flight_held;
/*
 * CPUs that the recorder may record, for example when they wake. When a record begins, the mask is
 * empty until each CPU has determined whether an event uses its sink. When the record ends, the
 * mask is cleared before the CPUs are requested to end the record.
 */
static struct cpumask ntrace_flight_open;
/* Sinks that have an area in the record */
static struct ntrace_sink *ntrace_flight_sinks[NTRACE_FLIGHT_MAX_SINKS];
static struct ntrace_area *ntrace_flight_areas;
static unsigned int ntrace_flight_nr;
static struct tracepoint *ntrace_flight_tp;
static bool ntrace_flight_context;
/* The kernel's code is patched as in recording, without recording, see ntrace_flight_pretend() */
static bool ntrace_flight_pretends;
/*
 * Settings that the user chose for the next record (NTRACE_CONFIG_*, or 0 for the defaults), and
 * whether user mode is recorded. They are read once for each encoder when a record begins.
 */
u64 ntrace_flight_config;
bool ntrace_flight_user;

/* ---- Start and stop a sink ---- */

static void ntrace_flight_window(const struct ntrace_sink *sink, struct ntrace_window *win)
{
	const struct ntrace_area *area = sink->flight;
	dma_addr_t base = ntrace_record_base() + area->offset;
	u64 at;

	memset(win, 0, sizeof(*win));
	win->circular = true;
	if (sink->area->copied) {
		win->start = sink->area->min;
		win->wp = win->start;
		win->end = sink->area->max + sink->area->align;
		return;
	}
	win->start = base;
	at = ALIGN(area->at, sink->area->align);
	win->wp = base + (at < area->size ? at : 0);
	win->end = base + area->size;
}

static void ntrace_flight_set(struct ntrace_encoder *enc)
{
	WRITE_ONCE(enc->paused, false);
	ntrace_encoder_want(enc, &per_cpu(ntrace_flight_cpu, enc->cpu).want);
}

/*
 * Start the sink and the encoders that lead to it. If an encoder does not start, record the other
 * encoders without it.
 */
static int ntrace_flight_start(struct ntrace_sink *sink, struct ntrace_window *win)
{
	struct ntrace_encoder *enc;
	unsigned int cpu;
	int ret;

	if (sink->encoders == 1)
		list_for_each_entry(enc, &sink->members, member)
			ntrace_flight_set(enc);
	ret = ntrace_sink_start(sink, win);
	if (ret || sink->encoders == 1)
		return ret;
	for_each_cpu(cpu, &ntrace_flight_awake) {
		enc = ntrace_encoder_of(cpu);
		/* Skip a CPU with an event, which may be about to change the sink of its encoder */
		if (per_cpu(ntrace_flight_cpu, cpu).claimed || !enc || enc->sink != sink ||
		    enc->comp.stuck)
			continue;
		ntrace_flight_set(enc);
		ntrace_sink_join(sink, enc);
	}
	if (!list_empty(&sink->members))
		return 0;
	ntrace_sink_stop(sink);
	return -EIO;
}

static void ntrace_flight_del_members(struct ntrace_sink *sink)
{
	struct ntrace_encoder *enc, *next;

	if (sink->encoders > 1)
		list_for_each_entry_safe(enc, next, &sink->members, member)
			ntrace_sink_del(sink, &enc->member);
}

/* Copy the trace of a sink that has its own memory to its area, which is also a ring */
static void ntrace_flight_copy(struct ntrace_sink *sink)
{
	struct ntrace_area *area = sink->flight;
	unsigned long size, used, from, done, n;
	struct ntrace_window win;
	bool wrapped;
	void *to;

	ntrace_flight_window(sink, &win);
	size = win.end - win.start;
	used = ntrace_sink_written(sink, &win, &wrapped);
	from = wrapped ? used : 0;
	if (wrapped)
		used = size;
	for (done = 0; done < used; done += n) {
		n = min3(used - done, size - (from + done) % size,
			 (unsigned long)(area->size - area->at));
		to = ntrace_record_area(area->offset + area->at);
		ntrace_ramsink_read(sink, (from + done) % size, to, n);
		ntrace_record_written(to, n);
		area->at += n;
		if (area->at >= area->size) {
			area->at = 0;
			area->wrapped = true;
		}
	}
}

/*
 * Read the position of a sink in its area, which has @size bytes at @offset of the record. Set
 * @wrapped if the sink has written all of it. Return false if the pointer is not in the area, which
 * may mean that an event uses the sink.
 */
static bool ntrace_flight_pointer(const struct ntrace_comp *comp, u64 offset, u64 size, u64 *at,
				  bool *wrapped)
{
	u64 high = ntrace_read(comp, TR_RAM_WP_HIGH), wp;
	u32 low = ntrace_read(comp, TR_RAM_WP_LOW);

	wp = (high << 32 | (low & TR_RAM_WP_MASK)) - ntrace_record_base() - offset;
	if (wp > size)
		return false;
	*at = wp == size ? 0 : wp;
	*wrapped |= low & TR_RAM_WRAP || wp == size;
	return true;
}

static bool ntrace_flight_position(const struct ntrace_sink *sink, u64 *at, bool *wrapped)
{
	const struct ntrace_area *area = sink->flight;

	*wrapped = area->wrapped;
	return ntrace_flight_pointer(&sink->comp, area->offset, area->size, at, wrapped);
}

static u32 ntrace_flight_flags(bool wrapped, bool stopped)
{
	return (wrapped ? NTRACE_FLIGHT_POINTER_WRAPPED : 0) |
	       (stopped ? NTRACE_FLIGHT_POINTER_STOPPED : 0);
}

/* Save the trace and the position of a sink that has stopped */
static void ntrace_flight_collect(struct ntrace_sink *sink, bool stopped, bool must)
{
	struct ntrace_area *area = sink->flight;

	/*
	 * The sink has reported that it is empty. Reads of memory after this barrier see its trace.
	 */
	mb();
	if (sink->area->copied)
		ntrace_flight_copy(sink);
	else if (!ntrace_flight_position(sink, &area->at, &area->wrapped))
		return;
	ntrace_record_pointer(area, area->at, ntrace_flight_flags(area->wrapped, stopped), must);
}

/* Stop the recorder on a locked sink */
static void ntrace_flight_halt(struct ntrace_sink *sink)
{
	struct ntrace_area *area = sink->flight;
	int ret;

	if (!area->on)
		return;
	WRITE_ONCE(area->on, false);
	ret = ntrace_sink_stop(sink);
	/* If ntrace_flight_stop() stopped this sink, it has already collected the trace */
	if (atomic_read(&ntrace_flight_state) == NTRACE_FLIGHT_RECORDING) {
		ntrace_flight_collect(sink, !ret, true);
		ntrace_record_gap_begins(area);
	}
	ntrace_flight_del_members(sink);
	sink->holds = NULL;
}

/* Let the locked, idle sink write its area, from the position at which it stopped */
static void ntrace_flight_run(struct ntrace_sink *sink)
{
	struct ntrace_area *area = sink->flight;
	struct ntrace_window win;

	if (atomic_read(&ntrace_flight_state) != NTRACE_FLIGHT_RECORDING)
		return;
	ntrace_flight_window(sink, &win);
	if (ntrace_flight_start(sink, &win))
		return;
	/*
	 * The registers of the sink now contain the addresses of the record, so no event can
	 * continue to trace into the sink's previous window
	 */
	sink->holds = NULL;
	ntrace_record_gap_ends(area);
	WRITE_ONCE(area->on, true);
	/*
	 * Pairs with the cmpxchg in ntrace_flight_stop(). If that function has skipped this sink,
	 * because area->on was false, the code below sees the new state and halts the sink.
	 */
	smp_mb();
	if (atomic_read(&ntrace_flight_state) != NTRACE_FLIGHT_RECORDING)
		ntrace_flight_halt(sink);
}

/* ---- Start and stop recording a CPU ---- */

static struct ntrace_sink *ntrace_flight_sink_of(const struct ntrace_encoder *enc)
{
	struct ntrace_sink *sink;

	if (!enc || !enc->route.len)
		return NULL;
	sink = enc->sink;
	return READ_ONCE(sink->flight) ? sink : NULL;
}

/* Stop the encoder of this CPU. If it is the last one of the locked sink, also stop the sink. */
static void ntrace_flight_drop_cpu(struct ntrace_sink *sink, struct ntrace_encoder *enc)
{
	if (sink->flight->on && sink->encoders > 1 && !list_empty(&enc->member))
		ntrace_sink_leave(sink, enc);
	if (sink->flight->on && (sink->encoders == 1 || list_empty(&sink->members)))
		ntrace_flight_halt(sink);
}

/*
 * Return true if the event must not take the sink from the recorder. Only an event whose owner may
 * see the whole system takes a sink. Otherwise any user could hide the activity of all CPUs of a
 * sink from the record. An event that traces from a start to a stop must not take it either. The
 * recorder programs the encoder when the task is switched out, and the comparator then forgets
 * whether it has passed the start.
 */
bool __ntrace_flight_bars(const struct ntrace_session *s, const struct ntrace_want *want)
{
	return (!want->takes || want->filter.latch) && ntrace_flight_sink_of(s->enc);
}

/* Stop recording into the sink of this CPU, because a perf event is about to trace into it */
void __ntrace_flight_yield(struct ntrace_session *s)
{
	struct ntrace_flight_cpu_state *f = this_cpu_ptr(&ntrace_flight_cpu);
	struct ntrace_sink *sink = ntrace_flight_sink_of(s->enc);

	if (!sink || f->claimed)
		return;
	ntrace_sink_lock(sink);
	f->claimed = true;
	sink->flight->claims++;
	ntrace_flight_halt(sink);
	ntrace_sink_unlock(sink);
}

/* Record this CPU again, which does not trace now */
static void ntrace_flight_join(struct ntrace_session *s, struct ntrace_sink *sink)
{
	struct ntrace_encoder *enc = s->enc;
	struct ntrace_area *area = sink->flight;

	ntrace_sink_lock(sink);
	cpumask_set_cpu(enc->cpu, &ntrace_flight_awake);
	if (!area->claims && !area->on) {
		ntrace_flight_run(sink);
	} else if (area->on && sink->encoders > 1 && list_empty(&enc->member)) {
		ntrace_flight_set(enc);
		ntrace_sink_join(sink, enc);
	}
	ntrace_sink_unlock(sink);
}

/* Continue the recorder after a perf event has ended on this CPU */
void __ntrace_flight_resume(struct ntrace_session *s)
{
	struct ntrace_flight_cpu_state *f = this_cpu_ptr(&ntrace_flight_cpu);
	struct ntrace_sink *sink = ntrace_flight_sink_of(s->enc);

	if (!sink || !f->claimed || ntrace_session_is_active(s))
		return;
	ntrace_sink_lock(sink);
	f->claimed = false;
	sink->flight->claims--;
	ntrace_sink_unlock(sink);
	if (cpumask_test_cpu(s->enc->cpu, &ntrace_flight_awake))
		ntrace_flight_join(s, sink);
}

/* Stop recording a CPU whose encoder may lose its power. Stop its sink if no encoder is left. */
void __ntrace_flight_leave(struct ntrace_session *s)
{
	struct ntrace_sink *sink = ntrace_flight_sink_of(s->enc);

	if (!sink)
		return;
	ntrace_sink_lock(sink);
	raw_spin_lock(&ntrace_flight_power);
	cpumask_clear_cpu(s->enc->cpu, &ntrace_flight_awake);
	ntrace_flight_drop_cpu(sink, s->enc);
	raw_spin_unlock(&ntrace_flight_power);
	ntrace_sink_unlock(sink);
}

void __ntrace_flight_enter(struct ntrace_session *s)
{
	struct ntrace_sink *sink = ntrace_flight_sink_of(s->enc);

	/* An encoder that is connected during a record takes part in the next record */
	if (!sink || !cpumask_test_cpu(s->enc->cpu, &ntrace_flight_open) || s->leaving)
		return;
	if (!ntrace_session_is_active(s) || s->barred)
		ntrace_flight_join(s, sink);
	else
		cpumask_set_cpu(s->enc->cpu, &ntrace_flight_awake);
}

/* ---- Record task switches ---- */

/* Called just before the switch, with the runqueue locked and interrupts off */
static notrace void ntrace_flight_switch(void *data, bool preempt, struct task_struct *prev,
					 struct task_struct *next, unsigned int prev_state)
{
	unsigned int cpu = smp_processor_id();

	ntrace_record_switch(cpu, ++per_cpu(ntrace_flight_cpu, cpu).switches, next, next->comm);
}

/* Record that the thread on this CPU gets the name @comm. Context: Any. */
void ntrace_flight_renamed(const char *comm)
{
	char name[TASK_COMM_LEN];
	unsigned long flags;
	unsigned int cpu;

	strscpy_pad(name, comm, sizeof(name));
	local_irq_save(flags);
	cpu = smp_processor_id();
	if (ntrace_flight_records())
		ntrace_record_switch(cpu, ++per_cpu(ntrace_flight_cpu, cpu).switches, current,
				     name);
	local_irq_restore(flags);
}

/* ---- Save the write pointers of the sinks in the record ---- */

static void ntrace_flight_save(struct work_struct *work);
static DECLARE_DEFERRABLE_WORK(ntrace_flight_saver, ntrace_flight_save);

static void ntrace_flight_save_sink(struct ntrace_sink *sink)
{
	unsigned long flags;
	bool wrapped;
	u64 at;

	raw_spin_lock_irqsave(&ntrace_flight_power, flags);
	/*
	 * Check again. If a perf event has taken the sink, the sink points into the buffer of
	 * that event, which the record does not describe.
	 */
	if (READ_ONCE(sink->flight->on) && !sink->area->copied &&
	    ntrace_flight_position(sink, &at, &wrapped) && READ_ONCE(sink->flight->on))
		ntrace_record_pointer(sink->flight, at, ntrace_flight_flags(wrapped, false), false);
	raw_spin_unlock_irqrestore(&ntrace_flight_power, flags);
}

/* Save the write pointers. This work is not bound to a CPU, so that it also runs if a CPU hangs. */
static void ntrace_flight_save(struct work_struct *work)
{
	unsigned int i;

	if (atomic_read(&ntrace_flight_state) != NTRACE_FLIGHT_RECORDING)
		return;
	for (i = 0; i < ntrace_flight_nr; i++)
		ntrace_flight_save_sink(ntrace_flight_sinks[i]);
	queue_delayed_work(system_dfl_wq, &ntrace_flight_saver, NTRACE_FLIGHT_PERIOD);
}

/* ---- Stop all sinks ---- */

/*
 * Disable an encoder. Do not use comp->control, which is wrong if a CPU died while it changed the
 * encoder.
 */
static void ntrace_flight_disable(struct ntrace_comp *comp)
{
	u32 control = ntrace_read(comp, TR_CONTROL);

	ntrace_write(comp, TR_CONTROL, control & ~(TR_CONTROL_ENABLE | TR_TE_INST_TRACING));
}

/* Wait briefly until the component is disabled and empty */
static bool ntrace_flight_wait(struct ntrace_comp *comp)
{
	return !ntrace_comp_poll(comp, TR_CONTROL_ENABLE | TR_CONTROL_EMPTY, TR_CONTROL_EMPTY);
}

/* Disable a link or a sink. Bit 2 is reserved there, because only encoders have trTeInstTracing. */
static bool ntrace_flight_cut_link(struct ntrace_comp *comp)
{
	u32 control = ntrace_read(comp, TR_CONTROL);

	ntrace_write(comp, TR_CONTROL, control & ~TR_CONTROL_ENABLE);
	return ntrace_flight_wait(comp);
}

/*
 * Return true if the recorder uses the sink. Another CPU may be about to end the recorder, and have
 * removed the area.
 */
static bool ntrace_flight_runs(const struct ntrace_sink *sink)
{
	const struct ntrace_area *area = READ_ONCE(sink->flight);

	return area && READ_ONCE(area->on);
}

/*
 * Return true if the sink must stop. If @seize is true, only a sink into which a perf event traces
 * must stop, if its trace must be saved. If @seize is false, only a sink into which the flight
 * recorder records must stop.
 */
static bool ntrace_flight_cuts(const struct ntrace_sink *sink, bool seize)
{
	if (seize)
		return !ntrace_flight_runs(sink) && ntrace_flight_may_seize(sink);
	return ntrace_flight_runs(sink);
}

static void ntrace_flight_cut_funnels(const struct ntrace_encoder *enc)
{
	const struct ntrace_route *route = &enc->route;
	unsigned int i;

	for (i = 1; i + 1 < route->len; i++)
		if (route->path[i]->type == TR_COMP_FUNNEL)
			ntrace_flight_cut_link(route->path[i]);
}

/*
 * Stop a sink whose encoders are disabled. Do not wait for the lock of the sink, because another
 * CPU may have died while it held the lock to start or stop the sink.
 */
static void ntrace_flight_cut(struct ntrace_sink *sink, bool seize)
{
	struct ntrace_encoder *enc;
	unsigned int cpu;
	bool empty;

	for_each_cpu(cpu, &ntrace_flight_awake) {
		enc = ntrace_encoder_of(cpu);
		if (enc && enc->sink == sink && enc->on)
			ntrace_flight_wait(&enc->comp);
	}
	for_each_cpu(cpu, &ntrace_flight_awake) {
		enc = ntrace_encoder_of(cpu);
		if (enc && enc->sink == sink)
			ntrace_flight_cut_funnels(enc);
	}
	empty = ntrace_flight_cut_link(&sink->comp);
	if (seize)
		ntrace_flight_seize(sink, empty);
	else
		ntrace_flight_collect(sink, empty, true);
}

static void ntrace_flight_cut_cpu(unsigned int cpu, bool seize)
{
	struct ntrace_encoder *enc = ntrace_encoder_of(cpu);

	if (!cpumask_test_cpu(cpu, &ntrace_flight_awake) || !enc || !enc->on || !enc->sink)
		return;
	if (ntrace_flight_cuts(enc->sink, seize))
		ntrace_flight_disable(&enc->comp);
}

/*
 * Stop all encoders, the encoder of this CPU first, before any trace is collected. Otherwise they
 * would overwrite the trace of the trouble while the driver copies the sink's own memory.
 */
static void ntrace_flight_cut_encoders(bool seize)
{
	unsigned int this = raw_smp_processor_id(), cpu;

	ntrace_flight_cut_cpu(this, seize);
	for_each_cpu(cpu, &ntrace_flight_awake)
		if (cpu != this)
			ntrace_flight_cut_cpu(cpu, seize);
}

static void ntrace_flight_cut_all(bool seize)
{
	unsigned int i;

	for (i = 0; i < ntrace_flight_nr; i++)
		if (ntrace_flight_cuts(ntrace_flight_sinks[i], seize))
			ntrace_flight_cut(ntrace_flight_sinks[i], seize);
}

/*
 * Save trace of running events in the record, because no reader will get it after a panic. The
 * recorder may have stopped earlier, for example because of an oops.
 */
static void ntrace_flight_seize_all(void)
{
	unsigned long flags;

	if (atomic_cmpxchg(&ntrace_flight_state, NTRACE_FLIGHT_STOPPED,
			   NTRACE_FLIGHT_SEIZED) != NTRACE_FLIGHT_STOPPED)
		return;
	local_irq_save(flags);
	ntrace_flight_cut_encoders(true);
	ntrace_flight_cut_all(true);
	local_irq_restore(flags);
}

/**
 * ntrace_flight_stop - stop the recorder because of trouble, and record the cause
 * @code: Cause, enum ntrace_flight_code
 * @text: Message of the kernel, or NULL
 * @task: Task that the cause concerns
 *
 * A panic also stops perf events that use the sinks of the recorder, and keeps their trace.
 *
 * Context: Any, even if other CPUs are dead, because it takes no lock that one of them may hold.
 * Return: False if the recorder was not recording
 */
bool ntrace_flight_stop(u32 code, const char *text, struct task_struct *task)
{
	bool panics = code == NTRACE_FLIGHT_CAUSE_PANIC, was_on;
	unsigned long flags;

	was_on = atomic_cmpxchg(&ntrace_flight_state, NTRACE_FLIGHT_RECORDING,
				NTRACE_FLIGHT_STOPPED) == NTRACE_FLIGHT_RECORDING;
	if (was_on) {
		local_irq_save(flags);
		ntrace_flight_cut_encoders(false);
		/*
		 * Also stop events now, so that trace of the panic itself does not displace earlier
		 * trace
		 */
		if (panics)
			ntrace_flight_cut_encoders(true);
		ntrace_flight_cut_all(false);
		ntrace_record_cause(code, text, task);
		local_irq_restore(flags);
	}
	if (panics)
		ntrace_flight_seize_all();
	if (was_on || panics)
		ntrace_record_settle();
	return was_on;
}

bool ntrace_flight_records(void)
{
	return atomic_read(&ntrace_flight_state) == NTRACE_FLIGHT_RECORDING;
}

/* Return true if the recorder keeps the encoder of @cpu, or of any CPU if @cpu is negative */
bool ntrace_flight_keeps(int cpu)
{
	lockdep_assert_held(&ntrace_mutex);
	return ntrace_flight_records() &&
	       (cpu < 0 ? !cpumask_empty(&ntrace_flight_held) :
			  cpumask_test_cpu(cpu, &ntrace_flight_held));
}

/*
 * Return true if ntrace_flight_stop() would stop the recorder, or save the trace of an event in a
 * panic
 */
bool ntrace_flight_listens(void)
{
	int state = atomic_read(&ntrace_flight_state);

	return state == NTRACE_FLIGHT_RECORDING || state == NTRACE_FLIGHT_STOPPED;
}

/* ---- Begin and end ---- */

/*
 * Return the settings of a record. By default, they are those of the encoder with times and
 * threads, but without settings that make the decoder guess, such as sequential jumps.
 */
static u64 ntrace_flight_config_of(const struct ntrace_encoder *enc)
{
	u64 config = READ_ONCE(ntrace_flight_config);

	if (!config) {
		config = enc->default_config;
		config &= ~(NTRACE_CONFIG_SEQUENTIAL_JUMP | NTRACE_CONFIG_INHIBIT_SRC);
		config |= NTRACE_CONFIG_TIMESTAMP | NTRACE_CONFIG_CONTEXT;
		config &= enc->caps.config | ~(NTRACE_CONFIG_TIMESTAMP | NTRACE_CONFIG_CONTEXT);
		config |= enc->caps.fixed;
	}
	return ntrace_encoder_resolve(enc, config);
}

static int ntrace_flight_want(struct ntrace_encoder *enc)
{
	struct ntrace_want *want = &per_cpu(ntrace_flight_cpu, enc->cpu).want;
	u8 priv = NTRACE_PRIV_S | NTRACE_PRIV_VS;

	if (READ_ONCE(ntrace_flight_user))
		priv |= NTRACE_PRIV_U | NTRACE_PRIV_VU;
	memset(want, 0, sizeof(*want));
	want->id = U64_MAX;
	want->config = ntrace_flight_config_of(enc);
	/* An encoder without a choice of privilege modes traces all of them */
	want->filter.priv = enc->caps.priv & NTRACE_PRIV_S ? enc->caps.priv & priv : 0;
	/* If possible, a comparator ends the trace of a panicking hart before it prints messages */
	want->filter.latch = want->id;
	want->filter.no_start = true;
	want->filter.nr_ranges = 1;
	want->filter.ranges[0].end = (uintptr_t)panic;
	if (!ntrace_encoder_check(enc, want->config, &want->filter))
		return 0;
	want->filter.latch = 0;
	want->filter.no_start = false;
	want->filter.nr_ranges = 0;
	return ntrace_encoder_check(enc, want->config, &want->filter);
}

static void ntrace_flight_describe(const struct ntrace_encoder *enc, struct ntrace_flight_cpu *to)
{
	const struct ntrace_want *want = &per_cpu(ntrace_flight_cpu, enc->cpu).want;
	u64 *word = to->words;

	memset(to, 0, sizeof(*to));
	word[NTRACE_INFO_CPU_ID] = enc->cpu;
	word[NTRACE_INFO_CPU_IMPL] = enc->comp.impl;
	word[NTRACE_INFO_CPU_CONFIG] = want->config;
	if (!(want->config & NTRACE_CONFIG_INHIBIT_SRC))
		word[NTRACE_INFO_CPU_SRC_BITS] = enc->src_bits;
	word[NTRACE_INFO_CPU_SRC_ID] = enc->src_id;
	word[NTRACE_INFO_CPU_TS_WIDTH] = enc->caps.ts_width;
	/*
	 * Do not record the frequency of an internal counter, which may restart after each idle
	 * state
	 */
	if (ntrace_encoder_has_usual_clock(enc, want->config) &&
	    !ntrace_ts_is_internal(ntrace_encoder_usual_ts_mode(enc)))
		word[NTRACE_INFO_CPU_TS_FREQ] = enc->ts_freq;
	word[NTRACE_INFO_CPU_IR_MODE] = enc->caps.ir_mode;
	word[NTRACE_INFO_CPU_XLEN] = BITS_PER_LONG;
	word[NTRACE_INFO_CPU_TS_BASE] = enc->ts_base;
	word[NTRACE_INFO_CPU_TS_BASE_TIME] = enc->ts_is_time ? 0 : enc->ts_base_time;
	to->address = enc->comp.addr;
	to->sink = enc->sink->flight->index;
	to->priv = want->filter.priv;
}

/*
 * Add the funnels of a route to the record, so that the driver of the next kernel can stop funnels
 * that a reset has left enabled
 */
static void ntrace_flight_describe_funnels(struct ntrace_record_setup *setup,
					   const struct ntrace_route *route)
{
	unsigned int i, k;

	for (i = 1; i + 1 < route->len; i++) {
		for (k = 0; k < setup->nr_funnels; k++)
			if (setup->funnels[k] == route->path[i]->addr)
				break;
		if (route->path[i]->type == TR_COMP_FUNNEL && k == setup->nr_funnels &&
		    k < NTRACE_RECORD_FUNNELS)
			setup->funnels[setup->nr_funnels++] = route->path[i]->addr;
	}
}

/* Return true if the recorder can use this sink, which must be a RAM sink of this driver. */
static bool ntrace_flight_takes(const struct ntrace_sink *sink)
{
	return sink->comp.type == TR_COMP_RAMSINK && !sink->ops && !sink->frames &&
	       !sink->stop_fixed && !sink->comp.stuck;
}

/* Return true if an encoder leads to a sink that the recorder cannot use. */
static bool ntrace_flight_refuses(void)
{
	const struct ntrace_encoder *enc;
	unsigned int cpu;

	for_each_cpu(cpu, ntrace_cpus()) {
		enc = ntrace_encoder_of(cpu);
		if (enc && enc->route.len && !ntrace_flight_takes(enc->sink))
			return true;
	}
	return false;
}

/* Assign an area of the record to the sink of an encoder that has none */
static int ntrace_flight_add_sink(struct ntrace_sink *sink)
{
	struct ntrace_area *area;

	if (sink->flight)
		return 0;
	if (!ntrace_flight_takes(sink))
		return -EOPNOTSUPP;
	if (ntrace_flight_nr == NTRACE_FLIGHT_MAX_SINKS)
		return -ENOSPC;
	area = &ntrace_flight_areas[ntrace_flight_nr];
	memset(area, 0, sizeof(*area));
	area->index = ntrace_flight_nr;
	ntrace_flight_sinks[ntrace_flight_nr++] = sink;
	sink->flight = area;
	return 0;
}

static bool ntrace_flight_usable(struct ntrace_encoder *enc)
{
	return enc && enc->session && enc->route.len && enc->caps.modes &&
	       !ntrace_flight_want(enc) && !ntrace_flight_add_sink(enc->sink);
}

static void ntrace_flight_describe_sink(struct ntrace_record_setup *setup,
					const struct ntrace_sink *sink,
					struct ntrace_flight_sink *to)
{
	const struct ntrace_ram_area *area = sink->area;

	memset(to, 0, sizeof(*to));
	to->address = sink->comp.addr;
	to->flags = area->copied ? NTRACE_FLIGHT_SINK_COPIED : 0;
	setup->power_of_2 |= !area->copied && !area->any_size;
	if (!area->copied && sink->past_caches)
		__set_bit(sink->flight->index, setup->past);
	strscpy(to->name, dev_name(sink->comp.dev), sizeof(to->name));
}

/* Write the header of the record, and set the area of each sink */
static int ntrace_flight_write(struct ntrace_record_setup *setup)
{
	unsigned int cpu, i;
	int ret;

	ntrace_take_bases(&ntrace_flight_held);
	for_each_cpu(cpu, &ntrace_flight_held) {
		struct ntrace_encoder *enc = ntrace_encoder_of(cpu);

		ntrace_flight_describe(enc, &setup->cpus[setup->nr_cpus++]);
		ntrace_flight_describe_funnels(setup, &enc->route);
	}
	for (i = 0; i < ntrace_flight_nr; i++)
		ntrace_flight_describe_sink(setup, ntrace_flight_sinks[i], &setup->sinks[i]);
	setup->nr_sinks = ntrace_flight_nr;
	ret = ntrace_record_begin(setup);
	for (i = 0; !ret && i < ntrace_flight_nr; i++) {
		ntrace_flight_areas[i].offset = setup->sinks[i].offset;
		ntrace_flight_areas[i].size = setup->sinks[i].size;
	}
	return ret;
}

static int ntrace_flight_prepare(void)
{
	struct ntrace_flight_cpu *cpus __free(kfree) =
		kcalloc(num_possible_cpus(), sizeof(*cpus), GFP_KERNEL);
	struct ntrace_flight_sink *sinks __free(kfree) =
		kcalloc(NTRACE_FLIGHT_MAX_SINKS, sizeof(*sinks), GFP_KERNEL);
	u64 *funnels __free(kfree) = kcalloc(NTRACE_RECORD_FUNNELS, sizeof(*funnels), GFP_KERNEL);
	struct ntrace_record_setup setup = { .cpus = cpus, .sinks = sinks, .funnels = funnels };
	unsigned int cpu;

	lockdep_assert_held(&ntrace_mutex);
	ntrace_flight_nr = 0;
	ntrace_flight_areas = kcalloc(NTRACE_FLIGHT_MAX_SINKS, sizeof(*ntrace_flight_areas),
				      GFP_KERNEL);
	if (!ntrace_flight_areas || !cpus || !sinks || !funnels)
		return -ENOMEM;
	cpumask_clear(&ntrace_flight_held);
	cpumask_clear(&ntrace_flight_awake);
	for_each_cpu(cpu, ntrace_cpus())
		if (ntrace_flight_usable(ntrace_encoder_of(cpu)) && !ntrace_cpu_hold(cpu))
			cpumask_set_cpu(cpu, &ntrace_flight_held);
	if (!cpumask_empty(&ntrace_flight_held))
		return ntrace_flight_write(&setup);
	return ntrace_flight_refuses() ? -EOPNOTSUPP : -ENODEV;
}

/* Release sinks, CPUs and memory after the recorder has ended, or could not begin */
static void ntrace_flight_release(void)
{
	unsigned int cpu, i;

	guard(mutex)(&ntrace_mutex);
	for (i = 0; i < ntrace_flight_nr; i++)
		WRITE_ONCE(ntrace_flight_sinks[i]->flight, NULL);
	ntrace_sync_cpus();
	/*
	 * A perf event may have taken a sink and set this flag after ntrace_flight_end_local() had
	 * cleared the flag on its CPU, so clear the flags of all CPUs
	 */
	for_each_possible_cpu(cpu)
		per_cpu(ntrace_flight_cpu, cpu).claimed = false;
	ntrace_flight_nr = 0;
	for_each_cpu(cpu, &ntrace_flight_held)
		ntrace_cpu_release(cpu);
	cpumask_clear(&ntrace_flight_held);
	kfree(ntrace_flight_areas);
	ntrace_flight_areas = NULL;
}

/*
 * Handle an event that traces on this CPU while a record begins. If the event may take the sink
 * from the recorder, let it continue. Otherwise stop it until the recorder ends. Interrupts are
 * off.
 */
static void ntrace_flight_begin_claim(void *unused)
{
	struct ntrace_encoder *enc = ntrace_encoder_of(smp_processor_id());
	struct ntrace_session *s = enc ? enc->session : NULL;
	struct perf_event *event;

	if (!s || !ntrace_session_is_active(s) || s->barred)
		return;
	if (__ntrace_flight_bars(s, s->want)) {
		event = s->event;
		ntrace_session_stop(s);
		ntrace_session_bar(s, event, s->want);
	} else {
		__ntrace_flight_yield(s);
	}
}

static void ntrace_flight_begin_local(void *unused)
{
	struct ntrace_encoder *enc = ntrace_encoder_of(smp_processor_id());

	ntrace_flight_switch(NULL, false, current, current, 0);
	if (!enc || !enc->session)
		return;
	if (enc->session->state != NTRACE_SESSION_RESTING)
		__ntrace_flight_enter(enc->session);
}

static void ntrace_flight_end_local(void *unused)
{
	struct ntrace_flight_cpu_state *f = this_cpu_ptr(&ntrace_flight_cpu);
	struct ntrace_encoder *enc = ntrace_encoder_of(smp_processor_id());
	struct ntrace_sink *sink = ntrace_flight_sink_of(enc);

	f->claimed = false;
	if (!sink)
		return;
	ntrace_sink_lock(sink);
	cpumask_clear_cpu(enc->cpu, &ntrace_flight_awake);
	ntrace_flight_halt(sink);
	ntrace_sink_unlock(sink);
}

/* At each task switch, record the name of the thread, and let context.c write scontext */
static int ntrace_flight_hook(void)
{
	int ret;

	ntrace_flight_context = !ntrace_context_get(ntrace_cpus());
	ntrace_flight_tp = ntrace_find_tracepoint("sched_switch");
	if (!ntrace_flight_tp)
		return 0;
	ret = tracepoint_probe_register(ntrace_flight_tp, ntrace_flight_switch, NULL);
	if (ret)
		ntrace_flight_tp = NULL;
	return ret;
}

static void ntrace_flight_unhook(void)
{
	if (ntrace_flight_tp)
		tracepoint_probe_unregister(ntrace_flight_tp, ntrace_flight_switch, NULL);
	ntrace_flight_tp = NULL;
	tracepoint_synchronize_unregister();
	if (ntrace_flight_context)
		ntrace_context_put();
	ntrace_flight_context = false;
}

/**
 * ntrace_flight_pretend - patch the kernel's code as it is patched while the recorder runs
 * @on: True to patch it, false to undo that
 *
 * A reader of the record takes the code from the running kernel. Enabled tracepoints and static
 * keys change that code, so they must be in the same state as when the record was made.
 *
 * Context: May sleep; ntrace_flight_mutex is held.
 */
void ntrace_flight_pretend(bool on)
{
	lockdep_assert_held(&ntrace_flight_mutex);
	if (on == ntrace_flight_pretends)
		return;
	ntrace_flight_pretends = on;
	if (on) {
		ntrace_flight_context = !ntrace_context_get(ntrace_cpus());
		static_branch_enable(&ntrace_flight_key);
		return;
	}
	static_branch_disable(&ntrace_flight_key);
	if (ntrace_flight_context)
		ntrace_context_put();
	ntrace_flight_context = false;
}

/**
 * ntrace_flight_begin - begin a new record, which replaces the old one
 *
 * Context: May sleep; ntrace_flight_mutex is held.
 * Return: 0, or a negative error, in which case nothing is recorded
 */
int ntrace_flight_begin(void)
{
	int ret;

	lockdep_assert_held(&ntrace_flight_mutex);
	if (atomic_read(&ntrace_flight_state) != NTRACE_FLIGHT_OFF)
		return -EBUSY;
	mutex_lock(&ntrace_mutex);
	ret = ntrace_flight_prepare();
	mutex_unlock(&ntrace_mutex);
	if (!ret)
		ret = ntrace_flight_hook();
	if (ret) {
		ntrace_flight_release();
		return ret;
	}
	atomic_set(&ntrace_flight_state, NTRACE_FLIGHT_RECORDING);
	static_branch_enable(&ntrace_flight_key);
	mutex_lock(&ntrace_mutex);
	on_each_cpu(ntrace_flight_begin_claim, NULL, 1);
	cpumask_copy(&ntrace_flight_open, &ntrace_flight_held);
	on_each_cpu(ntrace_flight_begin_local, NULL, 1);
	mutex_unlock(&ntrace_mutex);
	queue_delayed_work(system_dfl_wq, &ntrace_flight_saver, NTRACE_FLIGHT_PERIOD);
	return 0;
}

/**
 * ntrace_flight_end - stop recording, and keep the record
 *
 * Context: May sleep; ntrace_flight_mutex is held.
 */
void ntrace_flight_end(void)
{
	lockdep_assert_held(&ntrace_flight_mutex);
	if (atomic_read(&ntrace_flight_state) == NTRACE_FLIGHT_OFF)
		return;
	cancel_delayed_work_sync(&ntrace_flight_saver);
	mutex_lock(&ntrace_mutex);
	cpumask_clear(&ntrace_flight_open);
	on_each_cpu(ntrace_flight_end_local, NULL, 1);
	atomic_set(&ntrace_flight_state, NTRACE_FLIGHT_OFF);
	mutex_unlock(&ntrace_mutex);
	static_branch_disable(&ntrace_flight_key);
	ntrace_flight_unhook();
	ntrace_flight_release();
}

/* ---- Stop components that still run after a reset of the machine ---- */

/*
 * Save the position of a sink that ran during the reset. Ignore a sink whose own memory has the
 * trace.
 */
static void ntrace_flight_rescue_sink(struct ntrace_comp *comp)
{
	const struct ntrace_flight_sink *old;
	bool wrapped = false;
	unsigned int index;
	u64 at;

	old = ntrace_record_old_sink(comp->addr, &index);
	if (old && !(old->flags & NTRACE_FLIGHT_SINK_COPIED) &&
	    ntrace_flight_pointer(comp, old->offset, old->size, &at, &wrapped))
		ntrace_record_old_pointer(index, at, wrapped);
}

/**
 * ntrace_flight_rescue - stop a component that the recorder of an earlier kernel has left enabled
 * @comp: The component, recognised
 *
 * The component was not stopped by the reset. Stop it before it overwrites its record, and save the
 * position of a sink.
 *
 * Context: May sleep.
 * Return: True if the recorder used the component, and it has stopped
 */
bool ntrace_flight_rescue(struct ntrace_comp *comp)
{
	/* Do not stop a component that is not in the record, because a debugger may use it */
	if (!ntrace_record_knows(comp->addr))
		return false;
	if (comp->type == TR_COMP_ENCODER) {
		ntrace_flight_disable(comp);
		return ntrace_flight_wait(comp);
	}
	ntrace_flight_cut_link(comp);
	if (comp->type == TR_COMP_RAMSINK)
		ntrace_flight_rescue_sink(comp);
	return true;
}
