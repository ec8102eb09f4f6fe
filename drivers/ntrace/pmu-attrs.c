// SPDX-License-Identifier: GPL-2.0-only
/*
 * The attributes of the PMU, which are the fields of an event and the capabilities that all
 * encoders have in common.
 *
 * Context: Process context; functions take ntrace_mutex unless the caller holds it.
 */
#include <linux/perf_event.h>
#include <linux/sysfs.h>

#include "compat.h"
#include "pmu.h"
#include "session.h"
#include "topology.h"

/*
 * The fields of attr.config. Format attributes and capabilities are generated from this table. A
 * field of several bits has the offset of the bitmap of its values in struct ntrace_caps.
 */
static const struct ntrace_field {
	const char	*name;
	u64		mask;
	size_t		values;
} ntrace_fields[] = {
	{ "context",		NTRACE_CONFIG_CONTEXT },
	{ "timestamp",		NTRACE_CONFIG_TIMESTAMP },
	{ "mode",		NTRACE_CONFIG_MODE, offsetof(struct ntrace_caps, modes) },
	{ "sync_mode",		NTRACE_CONFIG_SYNC_MODE, offsetof(struct ntrace_caps, sync_modes) },
	{ "sync_max",		NTRACE_CONFIG_SYNC_MAX, offsetof(struct ntrace_caps, sync_max) },
	{ "implicit_return",	NTRACE_CONFIG_IMPLICIT_RETURN },
	{ "sequential_jump",	NTRACE_CONFIG_SEQUENTIAL_JUMP },
	{ "repeated_history",	NTRACE_CONFIG_REPEATED_HISTORY },
	{ "all_jumps",		NTRACE_CONFIG_ALL_JUMPS },
	{ "extend_addr",	NTRACE_CONFIG_EXTEND_ADDR },
	{ "firmware",		NTRACE_CONFIG_FIRMWARE },
	{ "stall",		NTRACE_CONFIG_STALL },
	{ "ts_prescale",	NTRACE_CONFIG_TS_PRESCALE,
				offsetof(struct ntrace_caps, ts_prescale) },
	{ "ts_mode",		NTRACE_CONFIG_TS_MODE, offsetof(struct ntrace_caps, ts_modes) },
	{ "inhibit_src",	NTRACE_CONFIG_INHIBIT_SRC },
	{ "exclude",		NTRACE_CONFIG_EXCLUDE },
};

#define NTRACE_NR_FIELDS	ARRAY_SIZE(ntrace_fields)

/* Return the capabilities that all encoders have in common. The caller holds ntrace_mutex. */
struct ntrace_caps ntrace_common_caps(void)
{
	struct ntrace_caps caps;
	unsigned int cpu;

	lockdep_assert_held(&ntrace_mutex);
	memset(&caps, 0xff, sizeof(caps));
	for_each_cpu(cpu, ntrace_cpus()) {
		const struct ntrace_encoder *enc = ntrace_encoder_of(cpu);
		const struct ntrace_caps *c = &enc->caps;

		caps.config &= c->config;
		if (!ntrace_path_fits(enc, NTRACE_CONFIG_STALL))
			caps.config &= ~NTRACE_CONFIG_STALL;
		caps.modes &= c->modes;
		caps.sync_modes &= c->sync_modes;
		caps.sync_max &= c->sync_max;
		caps.ts_modes &= c->ts_modes;
		caps.ts_prescale &= c->ts_prescale;
		caps.priv &= c->priv;
		caps.filters &= c->filters;
		caps.comparators &= c->comparators;
		caps.latches &= c->latches;
		caps.excludes &= c->excludes;
		caps.comps = min(caps.comps, c->comps);
	}
	/*
	 * Every encoder can trace machine mode, so the capability "firmware" is always 1
	 */
	caps.config |= NTRACE_CONFIG_FIRMWARE;
	return caps;
}

/* Return ntrace_common_caps() for an attribute, whose reader does not hold ntrace_mutex */
static struct ntrace_caps ntrace_read_caps(void)
{
	guard(mutex)(&ntrace_mutex);
	return ntrace_common_caps();
}

struct ntrace_field_attr {
	struct device_attribute		attr;
	const struct ntrace_field	*field;
};

static const struct ntrace_field *ntrace_attr_field(const struct device_attribute *attr)
{
	return container_of(attr, const struct ntrace_field_attr, attr)->field;
}

static ssize_t ntrace_format_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u64 mask = ntrace_attr_field(attr)->mask;
	unsigned int low = __ffs64(mask), high = fls64(mask) - 1;

	if (low == high)
		return sysfs_emit(buf, "config:%u\n", low);
	return sysfs_emit(buf, "config:%u-%u\n", low, high);
}

/* Show whether the hardware has a feature, or the values that it accepts in a field */
static ssize_t ntrace_cap_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct ntrace_field *field = ntrace_attr_field(attr);
	struct ntrace_caps caps = ntrace_read_caps();
	unsigned long values;

	if (!field->values)
		return sysfs_emit(buf, "%d\n", !!(caps.config & field->mask));
	values = *(const u16 *)((const char *)&caps + field->values);
	return sysfs_emit(buf, "%*pbl\n", (int)BITS_PER_TYPE(u16), &values);
}

static struct ntrace_field_attr ntrace_format_field[NTRACE_NR_FIELDS];
static struct ntrace_field_attr ntrace_cap_field[NTRACE_NR_FIELDS];
/* Format attributes, which are added from ntrace_fields */
static struct attribute *ntrace_format_attrs[NTRACE_NR_FIELDS + 1];

static const struct attribute_group ntrace_format_group = {
	.name = "format",
	.attrs = ntrace_format_attrs,
};

/* Show 1 if the trace contains thread ids, or 0 and the reason */
static ssize_t scontext_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const char *why = ntrace_context_missing(ntrace_cpus());

	if (!why && !(ntrace_read_caps().config & NTRACE_CONFIG_CONTEXT))
		why = "trTeContext is not implemented";
	return why ? sysfs_emit(buf, "0 (%s)\n", why) : sysfs_emit(buf, "1\n");
}
static DEVICE_ATTR_RO(scontext);

unsigned int ntrace_nr_ranges(bool latch)
{
	struct ntrace_caps caps = ntrace_read_caps();

	return ntrace_caps_ranges(&caps, latch);
}

/* Define a read-only attribute that shows an expression of the common capabilities */
#define NTRACE_ATTR_CAP(_name, _fmt, ...)						\
static ssize_t cap_##_name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{											\
	struct ntrace_caps caps = ntrace_read_caps();					\
											\
	return sysfs_emit(buf, _fmt "\n", __VA_ARGS__);					\
}											\
static struct device_attribute dev_attr_cap_##_name =					\
	__ATTR(_name, 0444, cap_##_name##_show, NULL)

/*
 * Bitmap of the privileges that a filter can select, by the value of priv at the ingress port
 */
NTRACE_ATTR_CAP(privilege, "0x%x", caps.priv);
NTRACE_ATTR_CAP(address_filters, "%u", ntrace_caps_ranges(&caps, false));
NTRACE_ATTR_CAP(start_filters, "%u", ntrace_caps_ranges(&caps, true));
NTRACE_ATTR_CAP(exclude_filters, "%u", ntrace_caps_excludes(&caps));
/* Show 1 if samples of other events can contain trace, or 0 and the reason */
static ssize_t aux_sampling_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", IS_ENABLED(CONFIG_NTRACE_SAMPLE) ? "1" :
			  "0 (the driver is a module, and must be built into the kernel)");
}
static DEVICE_ATTR_RO(aux_sampling);

/* Show 1 if aux-action=pause and similar terms are supported, or 0 and the reason */
static ssize_t aux_pause_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", NTRACE_PMU_CAP_PAUSE ? "1" :
			  "0 (the kernel does not pause AUX area tracing)");
}
static DEVICE_ATTR_RO(aux_pause);

#define NTRACE_NR_CAPS		7

/* Capabilities. Those of fields are added from ntrace_fields after the other attributes. */
static struct attribute *ntrace_caps_attrs[NTRACE_NR_CAPS + NTRACE_NR_FIELDS + 1] = {
	&dev_attr_scontext.attr,
	&dev_attr_cap_privilege.attr,
	&dev_attr_cap_address_filters.attr,
	&dev_attr_cap_start_filters.attr,
	&dev_attr_aux_sampling.attr,
	&dev_attr_aux_pause.attr,
	&dev_attr_cap_exclude_filters.attr,
};

static struct attribute *ntrace_field_attr_init(struct ntrace_field_attr *to,
						const struct ntrace_field *field,
						typeof(ntrace_cap_show) *show)
{
	sysfs_attr_init(&to->attr.attr);
	to->attr.attr.name = field->name;
	to->attr.attr.mode = 0444;
	to->attr.show = show;
	to->field = field;
	return &to->attr.attr;
}

void ntrace_fields_init(void)
{
	unsigned int i;

	for (i = 0; i < NTRACE_NR_FIELDS; i++) {
		ntrace_format_attrs[i] =
			ntrace_field_attr_init(&ntrace_format_field[i], &ntrace_fields[i],
					       ntrace_format_show);
		ntrace_caps_attrs[NTRACE_NR_CAPS + i] =
			ntrace_field_attr_init(&ntrace_cap_field[i], &ntrace_fields[i],
					       ntrace_cap_show);
	}
}

static const struct attribute_group ntrace_caps_group = {
	.name = "caps",
	.attrs = ntrace_caps_attrs,
};

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(ntrace_cpus()));
}
static DEVICE_ATTR_RO(cpumask);

static struct attribute *ntrace_cpumask_attrs[] = {
	&dev_attr_cpumask.attr,
	NULL
};

static const struct attribute_group ntrace_cpumask_group = {
	.attrs = ntrace_cpumask_attrs,
};

/* An event named as the PMU, so that perf of Linux 6.12 takes "-e ntrace" as "-e ntrace//" */
PMU_EVENT_ATTR_STRING(ntrace, ntrace_event_attr, "mode=0");

static struct attribute *ntrace_event_attrs[] = {
	&ntrace_event_attr.attr.attr,
	NULL
};

static const struct attribute_group ntrace_events_group = {
	.name = "events",
	.attrs = ntrace_event_attrs,
};

const struct attribute_group *ntrace_pmu_groups[] = {
	&ntrace_format_group,
	&ntrace_events_group,
	&ntrace_caps_group,
	&ntrace_cpumask_group,
	NULL
};
