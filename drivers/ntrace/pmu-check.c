// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check whether the owner of an event may use its settings, and whether the hardware supports them.
 *
 * Context: Either perf_event_open(), with ntrace_mutex held, or a fork, without it.
 */
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>

#include "compat.h"
#include "flight/flight.h"
#include "pmu.h"
#include "session.h"
#include "topology.h"

/* Return -EINVAL for settings that no hardware supports. */
static int ntrace_event_check_attr(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	u64 config = attr->config;

	if (config & ~NTRACE_CONFIG_VALID || ntrace_attr_has_more(attr))
		return -EINVAL;
	switch (FIELD_GET(NTRACE_CONFIG_MODE, config)) {
	case 0:
	case TR_TE_INST_MODE_BTM:
	case TR_TE_INST_MODE_HTM:
		break;
	default:
		return -EINVAL;
	}
	/* The event counts nothing, so it cannot have a sampling frequency */
	if (attr->freq)
		return -EINVAL;
	if ((config & NTRACE_CONFIG_FIRMWARE) && (attr->exclude_kernel || attr->exclude_hv))
		return -EINVAL;
	/* aux_sample_size and branch stacks add data to samples, but this event has no samples */
	if (attr->exclude_idle || attr->aux_sample_size || has_branch_stack(event))
		return -EOPNOTSUPP;
	return 0;
}

/*
 * Find the privileges that the event may see, encoded for the encoder's filter. If these are all
 * privileges, machine mode included, no filter is needed.
 *
 * If the encoder has no filter, an event sees everything that its hart executes. The driver then
 * refuses an event that requests less, and each event of an unprivileged user does so. Only users
 * who may see the whole system may trace machine mode.
 */
static int ntrace_event_privileges(const struct perf_event *event, u8 can, u8 *priv)
{
	const struct perf_event_attr *attr = &event->attr;
	bool firmware = attr->config & NTRACE_CONFIG_FIRMWARE;
	u8 want = 0;

	if (!attr->exclude_host) {
		want |= attr->exclude_user ? 0 : NTRACE_PRIV_U;
		want |= attr->exclude_kernel ? 0 : NTRACE_PRIV_S;
	}
	if (!attr->exclude_guest) {
		want |= attr->exclude_user ? 0 : NTRACE_PRIV_VU & can;
		want |= attr->exclude_kernel ? 0 : NTRACE_PRIV_VS & can;
	}
	want |= firmware ? NTRACE_PRIV_M : 0;
	if (!want)
		return attr->exclude_user && attr->exclude_kernel ? -EINVAL : -EOPNOTSUPP;

	if (firmware && !perfmon_capable())
		return -EACCES;
	if (!can) {
		if (attr->exclude_user || attr->exclude_kernel || attr->exclude_host)
			return -EOPNOTSUPP;
		*priv = 0;
		return perfmon_capable() ? 0 : -EACCES;
	}
	/*
	 * Use no filter for an event that sees all privileges, because the filter may be unable to
	 * select machine mode
	 */
	if (want == (can | NTRACE_PRIV_M))
		want = 0;
	if (want & ~can)
		return -EOPNOTSUPP;
	*priv = want;
	return 0;
}

/* Return the CPUs on which the event may run */
static const struct cpumask *ntrace_event_cpus(const struct perf_event *event)
{
	return event->cpu < 0 ? cpu_possible_mask : cpumask_of(event->cpu);
}

/* Release the components of the CPUs below @end on which the event may run */
void ntrace_event_release(const struct perf_event *event, unsigned int end)
{
	unsigned int cpu;

	for_each_cpu(cpu, ntrace_event_cpus(event))
		if (cpu < end)
			ntrace_cpu_release(cpu);
}

static int ntrace_event_hold(const struct perf_event *event)
{
	unsigned int cpu;
	int ret;

	for_each_cpu(cpu, ntrace_event_cpus(event)) {
		ret = ntrace_cpu_hold(cpu);
		if (ret) {
			ntrace_event_release(event, cpu);
			return ret;
		}
	}
	return 0;
}

/*
 * Check that each CPU on which the event may run supports the settings of the event, and that the
 * components of these CPUs answer. Components without power are not checked.
 */
static int ntrace_event_check_cpus(const struct perf_event *event, const struct ntrace_event *priv)
{
	struct ntrace_encoder *enc;
	unsigned int cpu;
	int ret = 0;

	for_each_cpu_and(cpu, ntrace_cpus(), ntrace_event_cpus(event)) {
		enc = ntrace_encoder_of(cpu);
		ret = ntrace_encoder_check(enc, priv->want.config, &priv->want.filter);
		if (!ntrace_path_fits(enc, priv->want.config))
			ret = -EOPNOTSUPP;
		ret = ret ?: ntrace_path_recover(enc);
		if (ret)
			break;
	}
	if (!ret)
		ntrace_take_bases(event->cpu >= 0 ? cpumask_of(event->cpu) : ntrace_cpus());
	return ret;
}

/* Take the settings from the fields of the event */
static void ntrace_event_settings(const struct perf_event *event, struct ntrace_event *priv)
{
	const struct perf_event_attr *attr = &event->attr;
	struct ntrace_want *want = &priv->want;

	want->config = attr->config;
	want->filter.exclude = attr->config & NTRACE_CONFIG_EXCLUDE;
}

/* Check that the owner of the event may use its settings, and that the hardware supports them */
int ntrace_event_check(struct perf_event *event, struct ntrace_event *priv)
{
	struct ntrace_encoder *enc = event->cpu >= 0 ? ntrace_encoder_of(event->cpu) : NULL;
	int ret;

	lockdep_assert_held(&ntrace_mutex);
	if (event->cpu >= 0 && !enc)
		return -ENODEV;
	ret = ntrace_event_check_attr(event);
	if (ret)
		return ret;
	/* A process in another pid namespace must not learn thread ids of the initial one */
	if ((event->attr.config & NTRACE_CONFIG_CONTEXT) &&
	    task_active_pid_ns(current) != &init_pid_ns && !perfmon_capable())
		return -EACCES;
	/*
	 * Let only privileged users stall a hart, because a stalled hart does not take interrupts,
	 * and other CPUs that wait for this hart would also stop
	 */
	if ((event->attr.config & NTRACE_CONFIG_STALL) && !perfmon_capable())
		return -EACCES;
	ntrace_event_settings(event, priv);
	priv->want.takes = perfmon_capable();
	if (!priv->want.takes && ntrace_flight_keeps(event->cpu))
		return -EBUSY;
	ret = ntrace_event_privileges(event, enc ? enc->caps.priv : ntrace_common_caps().priv,
				      &priv->want.filter.priv);
	if (!ret)
		ret = ntrace_event_hold(event);
	if (ret)
		return ret;
	ret = ntrace_event_check_cpus(event, priv);
	priv->holds = !ret;
	if (ret)
		ntrace_event_release(event, nr_cpu_ids);
	return ret;
}

/*
 * Check the event that a forked task inherits. The rights of the event's owner count, not those of
 * the task. If the hardware fails now, the trace ends, but the fork succeeds.
 */
void ntrace_event_inherit(const struct perf_event *event, struct ntrace_event *priv)
{
	const struct ntrace_event *parent = event->parent->pmu_private;

	ntrace_event_settings(event, priv);
	priv->want.takes = parent->want.takes;
	priv->want.filter.priv = parent->want.filter.priv;
}
