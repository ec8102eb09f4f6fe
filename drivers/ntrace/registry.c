// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of the components that were found, of the encoder of each CPU, and of the sinks.
 */
#include <linux/lockdep.h>
#include <linux/smp.h>
#include <linux/stringhash.h>

#include "encoder.h"
#include "sink.h"
#include "topology.h"

/*
 * Protects the lists below. Before an encoder that is in use is removed from them, its session is
 * stopped.
 */
DEFINE_MUTEX(ntrace_mutex);

LIST_HEAD(ntrace_comps);
static struct ntrace_encoder *ntrace_encoders[NR_CPUS];
static struct cpumask ntrace_cpumask;
/* Sinks by their index. The entry of a removed sink is NULL, and is used for the next sink. */
static struct ntrace_sink *ntrace_sinks[NR_CPUS];
static unsigned int ntrace_sink_count;

/*
 * Return the encoder of @cpu if its path is complete, or NULL. The encoder is not removed while an
 * event of the CPU exists.
 */
struct ntrace_encoder *ntrace_encoder_of(unsigned int cpu)
{
	return cpu < nr_cpu_ids ? READ_ONCE(ntrace_encoders[cpu]) : NULL;
}

/* Return the CPUs that can be traced */
const struct cpumask *ntrace_cpus(void)
{
	return &ntrace_cpumask;
}

/*
 * Return true if the timestamp of @cpu must be related to the time CSR. Do this at most once a
 * second, so that a user who opens one event after the other does not interrupt other CPUs each
 * time.
 */
static bool ntrace_base_is_due(unsigned int cpu)
{
	const struct ntrace_encoder *enc = ntrace_encoder_of(cpu);

	return enc->caps.ts_modes && !enc->ts_is_time &&
	       (!enc->ts_read || time_after(jiffies, enc->ts_read + HZ));
}

static void ntrace_take_base_local(void *enc)
{
	ntrace_encoder_take_base(enc);
}

/*
 * Relate the timestamps of @cpus, which can be traced, to the current time CSR. Their components
 * are resumed. A CPU that idles is woken, because its components may not answer. May sleep.
 */
void ntrace_take_bases(const struct cpumask *cpus)
{
	struct ntrace_encoder *enc;
	bool due = false;
	unsigned int cpu;

	lockdep_assert_held(&ntrace_mutex);
	for_each_cpu(cpu, cpus)
		due |= ntrace_base_is_due(cpu);
	if (!due)
		return;
	ntrace_keep_awake();
	for_each_cpu(cpu, cpus) {
		enc = ntrace_encoder_of(cpu);
		if (!ntrace_base_is_due(cpu))
			continue;
		if (!ntrace_has_power(&enc->comp)) {
			ntrace_encoder_begins_anew(enc);
			continue;
		}
		smp_call_function_single(cpu, ntrace_take_base_local, enc, 1);
		/*
		 * Measure the frequency if this was not possible before, because an event was using
		 * another ts_mode
		 */
		if (!enc->ts_freq)
			ntrace_encoder_measure(enc);
		enc->ts_read = jiffies ?: 1;
	}
	ntrace_let_sleep();
}

static void ntrace_count_local(void *data)
{
	struct ntrace_encoder *enc = data;

	if (!enc->on && !enc->ops)
		ntrace_encoder_count(enc);
}

/*
 * Restart and measure the counter of an encoder, because its usual ts_mode or ts_prescale has
 * changed. The encoder is resumed, and has power.
 *
 * Context: The caller holds ntrace_mutex, and CPUs are kept awake; may sleep.
 */
void ntrace_recount(struct ntrace_encoder *enc)
{
	lockdep_assert_held(&ntrace_mutex);
	smp_call_function_single(enc->cpu, ntrace_count_local, enc, 1);
	/* If an event has set another ts_mode, nothing is measured, and the frequency is unknown */
	ntrace_encoder_forget_clock(enc);
	ntrace_encoder_measure(enc);
}

void ntrace_registry_add_encoder(struct ntrace_encoder *enc)
{
	lockdep_assert_held(&ntrace_mutex);
	WRITE_ONCE(ntrace_encoders[enc->cpu], enc);
	cpumask_set_cpu(enc->cpu, &ntrace_cpumask);
}

void ntrace_registry_del_encoder(struct ntrace_encoder *enc)
{
	lockdep_assert_held(&ntrace_mutex);
	cpumask_clear_cpu(enc->cpu, &ntrace_cpumask);
	WRITE_ONCE(ntrace_encoders[enc->cpu], NULL);
}

/* Return the sink, or NULL if it was removed */
struct ntrace_sink *ntrace_sink_at(unsigned int index)
{
	lockdep_assert_held(&ntrace_mutex);
	return ntrace_sinks[index];
}

unsigned int ntrace_nr_sinks(void)
{
	lockdep_assert_held(&ntrace_mutex);
	return ntrace_sink_count;
}

int ntrace_registry_add_sink(struct ntrace_sink *sink)
{
	static u64 ids;
	unsigned int i;

	lockdep_assert_held(&ntrace_mutex);
	for (i = 0; i < ntrace_sink_count && ntrace_sinks[i]; i++)
		;
	if (i == ARRAY_SIZE(ntrace_sinks))
		return -ENOSPC;
	/*
	 * Use a new id, by which a buffer notices that its mapping is for an earlier sink with the
	 * same index
	 */
	sink->id = ++ids;
	sink->index = i;
	ntrace_sinks[i] = sink;
	ntrace_sink_count = max(ntrace_sink_count, i + 1);
	return 0;
}

void ntrace_registry_del_sink(struct ntrace_sink *sink)
{
	lockdep_assert_held(&ntrace_mutex);
	ntrace_sinks[sink->index] = NULL;
}
