// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PMU "ntrace" handles the life of its events. It stops and continues them when a CPU idles or
 * goes offline, when an encoder is found or removed, and in a system suspend.
 *
 * perf calls most functions with interrupts off and a context locked.
 */
#include <linux/cpu_pm.h>
#include <linux/cpuhotplug.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "compat.h"
#include "flight/flight.h"
#include "pmu.h"
#include "session.h"
#include "topology.h"

static DEFINE_PER_CPU(struct ntrace_session, ntrace_session);
static struct pmu ntrace_pmu;
static bool ntrace_pmu_registered;
/*
 * Lets only one thread register or unregister the PMU. This lock is taken before ntrace_mutex, and
 * protects the variable below.
 */
static DEFINE_MUTEX(ntrace_pmu_mutex);
/* True after the PMU was unregistered because the module is being unloaded */
static bool ntrace_pmu_gone;
static enum cpuhp_state ntrace_cpuhp_state;
/* Number of suspended components. Protected by ntrace_mutex. */
static unsigned int ntrace_suspends;
/* Set while a component is suspended. Events then stay stopped. */
static bool ntrace_suspended;
/*
 * Function to call when a CPU has gone online, because the components of this CPU can then be
 * accessed
 */
static void (*ntrace_cpu_came)(void);

/* Release everything that ntrace_event_init() has acquired */
static void ntrace_event_undo(struct perf_event *event, struct ntrace_event *priv)
{
	if (priv->holds) {
		mutex_lock(&ntrace_mutex);
		ntrace_event_release(event, nr_cpu_ids);
		mutex_unlock(&ntrace_mutex);
	}
	if (priv->context)
		ntrace_context_put();
	kfree(priv);
}

static void ntrace_event_destroy(struct perf_event *event)
{
	ntrace_event_undo(event, event->pmu_private);
}

/*
 * Return a unique number, so that no event uses the settings or the latch of another event by
 * mistake
 */
static u64 ntrace_new_id(void)
{
	static atomic64_t ids = ATOMIC64_INIT(0);

	return atomic64_inc_return(&ids);
}

static int ntrace_event_init(struct perf_event *event)
{
	struct ntrace_event *priv;
	int ret = 0;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;

	priv = kzalloc(sizeof(*priv), GFP_KERNEL);
	if (!priv)
		return -ENOMEM;
	priv->want.id = ntrace_new_id();
	if (event->parent) {
		ntrace_event_inherit(event, priv);
	} else {
		mutex_lock(&ntrace_mutex);
		ret = ntrace_event_check(event, priv);
		mutex_unlock(&ntrace_mutex);
	}
	if (!ret && priv->want.config & NTRACE_CONFIG_CONTEXT) {
		ret = ntrace_context_get(ntrace_cpus());
		priv->context = !ret;
	}
	if (ret) {
		ntrace_event_undo(event, priv);
		return ret;
	}
	event->pmu_private = priv;
	event->destroy = ntrace_event_destroy;
	return 0;
}

/*
 * Prepare the filter of an event. If the event traces from a start to a stop and has moved to
 * another CPU, give it a new id, so that its trace begins again at a start. The comparator of the
 * previous CPU may still store a start for the old id. It is ignored, even if the event returns.
 */
static void ntrace_event_filter(struct perf_event *event)
{
	struct ntrace_event *priv = event->pmu_private;

	perf_event_addr_filters_sync(event);
	if (priv->want.filter.latch && priv->cpu != smp_processor_id()) {
		priv->want.filter.latch = ntrace_new_id();
		priv->want.id = priv->want.filter.latch;
	}
	priv->cpu = smp_processor_id();
}

/*
 * Start an event. The flight recorder gives the sink to the event if the event may take it, and
 * takes it back if the event does not start.
 */
static __always_inline int ntrace_session_begin(struct ntrace_session *s, struct perf_event *event,
						struct ntrace_want *want)
{
	int ret;

	if (ntrace_flight_bars(s, want))
		return ntrace_session_bar(s, event, want);
	ntrace_flight_yield(s);
	ret = ntrace_session_start(s, event, want);
	if (unlikely(ret))
		ntrace_flight_resume(s);
	return ret;
}

/* Start an event that has filters, or on a CPU whose session is not NTRACE_SESSION_IDLE */
static noinline int ntrace_event_run_slowly(struct perf_event *event, struct ntrace_session *s)
{
	struct ntrace_event *priv = event->pmu_private;

	if (s->state == NTRACE_SESSION_NONE)
		return -ENODEV;
	if (s->state == NTRACE_SESSION_RESTING && !s->event) {
		/*
		 * Do not start the event now. ntrace_wake_event() starts it when the CPU or the
		 * system has resumed.
		 */
		WRITE_ONCE(s->rested, NTRACE_SESSION_IDLE);
		WRITE_ONCE(s->event, event);
		return 0;
	}
	if (s->state != NTRACE_SESSION_IDLE)
		return -EBUSY;
	ntrace_event_filter(event);
	return ntrace_session_begin(s, event, &priv->want);
}

static __always_inline int ntrace_event_run(struct perf_event *event, struct ntrace_session *s)
{
	struct ntrace_event *priv = event->pmu_private;

	/* Handle rare cases in another function, so that they do not slow down each task switch */
	if (unlikely(s->state != NTRACE_SESSION_IDLE || priv->want.filter.nr_ranges ||
		     !list_empty(&perf_event_addr_filters(event)->list)))
		return ntrace_event_run_slowly(event, s);
	return ntrace_session_begin(s, event, &priv->want);
}

static void ntrace_event_start(struct perf_event *event, int flags)
{
	struct ntrace_session *s = this_cpu_ptr(&ntrace_session);

	if (flags & NTRACE_EF_RESUME) {
		if (s->event == event)
			ntrace_session_pause(s, false);
		return;
	}
	/* An event that cannot start stays stopped */
	ntrace_event_run(event, s);
}

static __always_inline void ntrace_event_end(struct perf_event *event, struct ntrace_session *s)
{
	if (likely(s->event == event)) {
		if (likely(ntrace_session_is_active(s)))
			ntrace_session_stop(s);
		else
			WRITE_ONCE(s->event, NULL);
	}
	/* Resume the recorder even if the session has ended already, as without an AUX buffer */
	ntrace_flight_resume(s);
}

static void ntrace_event_stop(struct perf_event *event, int flags)
{
	struct ntrace_session *s = this_cpu_ptr(&ntrace_session);

	if (!(flags & NTRACE_EF_PAUSE))
		ntrace_event_end(event, s);
	else if (s->event == event)
		ntrace_session_pause(s, true);
}

static int ntrace_event_add(struct perf_event *event, int flags)
{
	struct ntrace_session *s = this_cpu_ptr(&ntrace_session);

	if (likely(flags & PERF_EF_START))
		return ntrace_event_run(event, s);
	if (s->state == NTRACE_SESSION_NONE)
		return -ENODEV;
	return s->event ? -EBUSY : 0;
}

static void ntrace_event_del(struct perf_event *event, int flags)
{
	ntrace_event_end(event, this_cpu_ptr(&ntrace_session));
}

/* Map the pages for each sink that the event can reach */
static void *ntrace_event_setup_aux(struct perf_event *event, void **pages, int nr_pages,
				    bool overwrite)
{
	struct ntrace_encoder *enc;

	guard(mutex)(&ntrace_mutex);
	enc = event->cpu >= 0 ? ntrace_encoder_of(event->cpu) : NULL;
	if (!enc && event->cpu >= 0)
		return NULL;
	return ntrace_buf_make(pages, nr_pages, overwrite, enc ? enc->sink : NULL);
}

static long ntrace_event_snapshot_aux(struct perf_event *event, struct perf_output_handle *to,
				      unsigned long size)
{
	return ntrace_session_sample(this_cpu_ptr(&ntrace_session), event, to, size);
}

static void ntrace_event_read(struct perf_event *event)
{
}

/*
 * Return true if the flight recorder keeps an encoder. It programs the encoder whenever an event
 * stops. This clears the latch of the event's filter, which remembers that the start was passed.
 */
static bool ntrace_flight_takes_latches(void)
{
	guard(mutex)(&ntrace_mutex);
	return ntrace_flight_keeps(-1);
}

/*
 * Check the address filters that user space has set. perf does not limit their number, although
 * event->addr_filter_ranges has room only for pmu->nr_addr_filters.
 *
 * A comparator has one address to stop at. So an event can have only one stop, which ends the trace
 * of all starts.
 */
static int ntrace_addr_filters_validate(struct list_head *filters)
{
	unsigned int ranges = 0, starts = 0, stops = 0;
	struct perf_addr_filter *filter;

	list_for_each_entry(filter, filters, entry) {
		bool range = filter->action == PERF_ADDR_FILTER_ACTION_FILTER;

		ranges += range;
		starts += filter->action == PERF_ADDR_FILTER_ACTION_START;
		stops += filter->action == PERF_ADDR_FILTER_ACTION_STOP;
		/*
		 * A range must have a size. A start or a stop must not, because it is one
		 * instruction.
		 */
		if (range != !!filter->size)
			return -EINVAL;
		/* A range may end with the last byte of the address space, but not beyond it */
		if (range && filter->offset + (filter->size - 1) < filter->offset)
			return -EINVAL;
	}
	if (ranges && (starts || stops))
		return -EINVAL;
	/*
	 * Use the limit from the registration of the PMU, for which perf has allocated memory, even
	 * if the encoders support more filters now
	 */
	if (ranges + starts + stops > ntrace_pmu.nr_addr_filters)
		return -EOPNOTSUPP;
	/*
	 * The driver does not know here whether the event traces or excludes the ranges. This is
	 * the limit for traced ranges. The limit for excluded ranges may be lower.
	 */
	if (ranges > ntrace_nr_ranges(false) || stops > 1 ||
	    max(starts, stops) > ntrace_nr_ranges(true))
		return -EOPNOTSUPP;
	return (starts || stops) && ntrace_flight_takes_latches() ? -EBUSY : 0;
}

/*
 * Set the filter of the event from its address ranges. perf calls this function when addresses
 * become known or change, and when the event starts. The range of an object that is not mapped yet
 * is empty and matches nothing. A start or stop in this object is address 0, which also matches
 * nothing, because no instruction is there.
 */
static void ntrace_addr_filters_sync(struct perf_event *event)
{
	struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	struct ntrace_event *priv = event->pmu_private;
	struct perf_addr_filter_range *range = event->addr_filter_ranges;
	struct ntrace_filter *to = &priv->want.filter;
	struct perf_addr_filter *filter;
	bool latch = false;
	unsigned int n = 0;
	u64 stop = 0;

	to->no_stop = true;
	list_for_each_entry(filter, &head->list, entry) {
		latch |= filter->action != PERF_ADDR_FILTER_ACTION_FILTER;
		if (filter->action == PERF_ADDR_FILTER_ACTION_STOP) {
			to->no_stop = false;
			stop = range->start;
		} else if (n < ARRAY_SIZE(to->ranges)) {
			to->ranges[n].start = range->size || latch ? range->start : 1;
			to->ranges[n++].end = range->size ? range->start + range->size : 1;
		}
		range++;
	}
	/* An event can exclude only ranges, but not a start or a stop */
	to->exclude = event->attr.config & NTRACE_CONFIG_EXCLUDE && !latch;
	to->no_start = latch && !n;
	to->nr_ranges = to->no_start ? 1 : n;
	priv->want.id = ntrace_new_id();
	to->latch = latch ? priv->want.id : 0;
	for (n = 0; latch && n < to->nr_ranges; n++)
		to->ranges[n].end = stop;
}

/* Stop the event of this CPU, if any, until ntrace_wake_event(). Interrupts are off. */
static void ntrace_rest_event(void *unused)
{
	struct ntrace_session *s = this_cpu_ptr(&ntrace_session);
	struct perf_event *event = s->event;
	bool waits;

	if (s->state == NTRACE_SESSION_NONE || s->state == NTRACE_SESSION_RESTING)
		return;
	/*
	 * Remember that the event has waited, so that the reader of the event is informed only once
	 */
	waits = s->state == NTRACE_SESSION_WAITING || s->state == NTRACE_SESSION_FULL;
	WRITE_ONCE(s->rested, waits ? s->state : NTRACE_SESSION_IDLE);
	if (event)
		ntrace_session_stop(s);
	ntrace_flight_leave(s);
	ntrace_path_rest(s->enc);
	WRITE_ONCE(s->event, event);
	s->state = NTRACE_SESSION_RESTING;
}

/*
 * Return true if links that only this CPU uses are in reset, because the CPU goes offline. They
 * are set up when it goes online.
 */
static bool ntrace_session_waits_for_links(const struct ntrace_session *s)
{
	return s->leaving && ntrace_path_keeps_links(s->enc);
}

/* Continue the event of this CPU, unless the system is suspended. Interrupts are off. */
static void ntrace_wake_event(void *unused)
{
	struct ntrace_session *s = this_cpu_ptr(&ntrace_session);
	struct perf_event *event = s->event;

	if (s->state != NTRACE_SESSION_RESTING || READ_ONCE(ntrace_suspended) ||
	    ntrace_session_waits_for_links(s))
		return;
	WRITE_ONCE(s->event, NULL);
	s->state = NTRACE_SESSION_IDLE;
	ntrace_flight_enter(s);
	if (event)
		ntrace_event_start(event, 0);
	WRITE_ONCE(s->rested, NTRACE_SESSION_IDLE);
}

/*
 * Prepare a CPU to go offline. The timer of its session would move to another CPU, so it is
 * cancelled first. perf removes the events of the CPU later, so an event that traces is stopped
 * here, before links are put into reset.
 */
static int ntrace_cpu_offline(unsigned int cpu)
{
	struct ntrace_session *s = &per_cpu(ntrace_session, cpu);
	unsigned long flags;

	ntrace_session_cancel_timer(s);
	ntrace_wait_asleep(cpu);
	local_irq_save(flags);
	if (s->enc && ntrace_path_keeps_links(s->enc)) {
		ntrace_rest_event(NULL);
		ntrace_path_leave_links(s->enc);
	}
	s->leaving = true;
	if (s->enc) {
		ntrace_flight_leave(s);
		ntrace_path_rest(s->enc);
	}
	local_irq_restore(flags);
	return 0;
}

/*
 * Restore the components of a CPU, which may have lost their power while the CPU was offline or the
 * system was suspended
 */
static void ntrace_cpu_restore(unsigned int cpu)
{
	/*
	 * ntrace_disconnect_all() does not free a removed encoder while this CPU has interrupts off
	 */
	struct ntrace_encoder *enc = ntrace_encoder_of(cpu);
	struct ntrace_session *s = this_cpu_ptr(&ntrace_session);

	lockdep_assert_irqs_disabled();
	if (enc && !ntrace_session_is_active(s))
		ntrace_path_restore(enc);
	/*
	 * Let the CPU wait for the resume of the system. Its session may still be idle, because a
	 * suspend does not stop the session of a CPU that is offline.
	 */
	if (READ_ONCE(ntrace_suspended) && s->state == NTRACE_SESSION_IDLE)
		s->state = NTRACE_SESSION_RESTING;
	if (s->state == NTRACE_SESSION_RESTING)
		ntrace_wake_event(NULL);
	else
		ntrace_flight_enter(s);
}

static int ntrace_cpu_online(unsigned int cpu)
{
	unsigned long flags;

	if (ntrace_encoder_of(cpu))
		ntrace_context_probe(cpu);
	local_irq_save(flags);
	per_cpu(ntrace_session, cpu).leaving = false;
	if (ntrace_encoder_of(cpu))
		ntrace_cpu_restore(cpu);
	/* Restart the timer of an event that still traces, because the CPU could not go offline */
	ntrace_session_restart_timer(&per_cpu(ntrace_session, cpu));
	local_irq_restore(flags);
	/* Allow other CPUs to access the components of this CPU */
	ntrace_cpu_stays(cpu);
	ntrace_cpu_came();
	return 0;
}

/*
 * Stop tracing before an idle state, and continue it afterwards, because hart and encoder may lose
 * their state. The kernel calls this function on the CPU, with interrupts off.
 */
static int ntrace_cpu_pm(struct notifier_block *nb, unsigned long action, void *unused)
{
	struct ntrace_encoder *enc = this_cpu_ptr(&ntrace_session)->enc;

	if (!enc || ntrace_session_waits_for_links(this_cpu_ptr(&ntrace_session)))
		return NOTIFY_OK;
	switch (action) {
	case CPU_PM_ENTER:
		ntrace_rest_event(NULL);
		ntrace_path_rest_links(enc);
		break;
	case CPU_PM_EXIT:
	case CPU_PM_ENTER_FAILED:
		/* If the encoder is suspended, it may have lost its state */
		if (ntrace_path_restore(enc) || !READ_ONCE(enc->comp.powered)) {
			enc->ts_restarts = true;
			ntrace_encoder_begins_anew(enc);
		}
		ntrace_context_restore();
		ntrace_wake_event(NULL);
		break;
	}
	return NOTIFY_OK;
}

/* Stop all tracing, because a component is about to suspend. May sleep. */
int ntrace_pmu_suspend(struct device *dev)
{
	guard(mutex)(&ntrace_mutex);
	if (!ntrace_suspends++) {
		WRITE_ONCE(ntrace_suspended, true);
		on_each_cpu(ntrace_rest_event, NULL, 1);
	}
	return 0;
}

/* Continue tracing if the last component has resumed. May sleep. */
int ntrace_pmu_resume(struct device *dev)
{
	guard(mutex)(&ntrace_mutex);
	if (!--ntrace_suspends) {
		WRITE_ONCE(ntrace_suspended, false);
		on_each_cpu(ntrace_wake_event, NULL, 1);
	}
	return 0;
}

static struct notifier_block ntrace_cpu_pm_nb = {
	.notifier_call = ntrace_cpu_pm,
};

static struct pmu ntrace_pmu = {
	.module			= THIS_MODULE,
	.capabilities		= PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE |
				  NTRACE_PMU_CAP_LARGE | NTRACE_PMU_CAP_PAUSE,
	.attr_groups		= ntrace_pmu_groups,
	.task_ctx_nr		= perf_sw_context,
	.event_init		= ntrace_event_init,
	.add			= ntrace_event_add,
	.del			= ntrace_event_del,
	.start			= ntrace_event_start,
	.stop			= ntrace_event_stop,
	.read			= ntrace_event_read,
	.setup_aux		= ntrace_event_setup_aux,
	.free_aux		= ntrace_aux_free,
	/* perf refuses samples with trace if the PMU does not have this function */
	.snapshot_aux		= IS_ENABLED(CONFIG_NTRACE_SAMPLE) ?
				  ntrace_event_snapshot_aux : NULL,
	.addr_filters_validate	= ntrace_addr_filters_validate,
	.addr_filters_sync	= ntrace_addr_filters_sync,
};

/*
 * Run @func on the CPU of @enc. If that CPU is offline, it does not use its session, so run @func
 * on this CPU.
 */
static void ntrace_pmu_call(struct ntrace_encoder *enc, smp_call_func_t func)
{
	unsigned long flags;

	if (!smp_call_function_single(enc->cpu, func, enc, 1))
		return;
	local_irq_save(flags);
	func(enc);
	local_irq_restore(flags);
}

static void ntrace_pmu_attach_local(void *arg)
{
	struct ntrace_encoder *enc = arg;
	struct ntrace_session *s = enc->session;

	s->enc = enc;
	s->rested = NTRACE_SESSION_IDLE;
	/*
	 * A CPU that goes online reads the state before the other members, so write the state last
	 */
	smp_store_release(&s->state, READ_ONCE(ntrace_suspended) ? NTRACE_SESSION_RESTING :
								   NTRACE_SESSION_IDLE);
}

/* Make the CPU of @enc traceable */
static void ntrace_pmu_attach(struct ntrace_encoder *enc)
{
	lockdep_assert_held(&ntrace_mutex);
	if (enc->session)
		return;
	enc->session = per_cpu_ptr(&ntrace_session, enc->cpu);
	ntrace_pmu_call(enc, ntrace_pmu_attach_local);
}

/* Create the link cpuN in the PMU's directory, which leads to the encoder */
void ntrace_pmu_link(struct ntrace_encoder *enc)
{
	char name[16];

	if (!ntrace_pmu_registered)
		return;
	ntrace_pmu_attach(enc);
	snprintf(name, sizeof(name), "cpu%u", enc->cpu);
	if (sysfs_create_link(&ntrace_pmu.dev->kobj, &enc->comp.dev->kobj, name))
		dev_warn(enc->comp.dev, "cannot create the link %s in sysfs\n", name);
}

void ntrace_pmu_unlink(struct ntrace_encoder *enc)
{
	char name[16];

	if (!ntrace_pmu_registered)
		return;
	snprintf(name, sizeof(name), "cpu%u", enc->cpu);
	sysfs_remove_link(&ntrace_pmu.dev->kobj, name);
}

/* Stop the session that traces with @enc, and detach the encoder from it */
static void ntrace_pmu_detach_local(void *arg)
{
	struct ntrace_encoder *enc = arg;
	struct ntrace_session *s = enc->session;

	if (ntrace_session_is_active(s))
		ntrace_session_stop(s);
	WRITE_ONCE(s->event, NULL);
	s->state = NTRACE_SESSION_NONE;
	WRITE_ONCE(s->enc, NULL);
}

/* Detach @enc, perhaps while its CPU is traced. The caller holds ntrace_mutex. */
void ntrace_pmu_detach(struct ntrace_encoder *enc)
{
	lockdep_assert_held(&ntrace_mutex);
	if (!enc->session)
		return;
	ntrace_pmu_call(enc, ntrace_pmu_detach_local);
	ntrace_session_cancel_timer(per_cpu_ptr(&ntrace_session, enc->cpu));
	enc->session = NULL;
}

/* Track CPUs that go online or offline. Called before any component is accessed. */
int ntrace_cpus_init(void (*came)(void))
{
	unsigned int cpu;
	int ret;

	ntrace_cpu_came = came;
	for_each_possible_cpu(cpu)
		ntrace_session_init(per_cpu_ptr(&ntrace_session, cpu), cpu);
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "perf/ntrace:online",
					ntrace_cpu_online, ntrace_cpu_offline);
	if (ret < 0)
		return ret;
	ntrace_cpuhp_state = ret;
	return 0;
}

void ntrace_cpus_exit(void)
{
	cpuhp_remove_state_nocalls(ntrace_cpuhp_state);
}

static bool ntrace_pmu_prepare(void)
{
	struct ntrace_caps caps;
	unsigned int cpu;

	lockdep_assert_held(&ntrace_pmu_mutex);
	lockdep_assert_held(&ntrace_mutex);
	if (ntrace_pmu_registered || ntrace_pmu_gone || cpumask_empty(ntrace_cpus()))
		return false;
	for_each_cpu(cpu, ntrace_cpus())
		ntrace_pmu_attach(ntrace_encoder_of(cpu));
	ntrace_fields_init();
	/* Each range or start needs one filter. The stop, which all starts share, needs another. */
	caps = ntrace_common_caps();
	ntrace_pmu.nr_addr_filters = ntrace_caps_ranges(&caps, false) +
				     !!ntrace_caps_ranges(&caps, true);
	return true;
}

/*
 * Register the PMU when components were found; without them, no PMU exists. ntrace_mutex is not
 * held while perf registers the PMU, because this could deadlock. perf_pmu_register() takes locks
 * that perf also holds when it calls the driver to map AUX pages, and the driver then takes
 * ntrace_mutex.
 */
int ntrace_pmu_register(void)
{
	unsigned int cpu;
	int ret;

	guard(mutex)(&ntrace_pmu_mutex);
	scoped_guard(mutex, &ntrace_mutex)
		if (!ntrace_pmu_prepare())
			return 0;
	ret = perf_pmu_register(&ntrace_pmu, "ntrace", -1);
	if (ret)
		return ret;
	cpu_pm_register_notifier(&ntrace_cpu_pm_nb);
	guard(mutex)(&ntrace_mutex);
	ntrace_pmu_registered = true;
	/* Encoders may have been found during the registration, and also get their links here */
	for_each_cpu(cpu, ntrace_cpus())
		ntrace_pmu_link(ntrace_encoder_of(cpu));
	return 0;
}

/* Unregister the PMU, because the module is being unloaded. No event exists. */
void ntrace_pmu_unregister(void)
{
	unsigned int cpu;
	bool registered;

	mutex_lock(&ntrace_pmu_mutex);
	ntrace_pmu_gone = true;
	mutex_lock(&ntrace_mutex);
	registered = ntrace_pmu_registered;
	for_each_cpu(cpu, ntrace_cpus())
		ntrace_pmu_unlink(ntrace_encoder_of(cpu));
	ntrace_pmu_registered = false;
	mutex_unlock(&ntrace_mutex);
	if (registered) {
		cpu_pm_unregister_notifier(&ntrace_cpu_pm_nb);
		perf_pmu_unregister(&ntrace_pmu);
	}
	mutex_unlock(&ntrace_pmu_mutex);
	for_each_possible_cpu(cpu)
		ntrace_session_cancel_timer(&per_cpu(ntrace_session, cpu));
	/*
	 * No sink has an owner any more. After this call, no request of a sink interrupt is
	 * pending.
	 */
	ntrace_sync_cpus();
}
