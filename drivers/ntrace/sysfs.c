// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of an encoder's device, which describe the encoder and the format of its trace. See
 * Documentation/ABI/testing/sysfs-bus-platform-devices-ntrace.
 */
#include <linux/kstrtox.h>
#include <linux/log2.h>
#include <linux/sysfs.h>

#include "route.h"
#include "topology.h"

static struct ntrace_encoder *ntrace_dev_encoder(struct device *dev)
{
	return to_ntrace_encoder((struct ntrace_comp *)dev_get_drvdata(dev));
}

/*
 * Change the default config. If ts_mode or ts_prescale changes, restart the counter, because its
 * frequency and its base also change.
 */
static int ntrace_change_default(struct ntrace_encoder *enc, u64 config)
{
	u64 old = enc->default_config;
	int ret;

	lockdep_assert_held(&ntrace_mutex);
	if (ntrace_encoder_ts_mode(enc, config) == ntrace_encoder_usual_ts_mode(enc) &&
	    !((config ^ old) & NTRACE_CONFIG_TS_PRESCALE)) {
		enc->default_config = config;
		return 0;
	}
	/*
	 * The clock must not change while an event exists, because an event that is not running
	 * would continue with another clock
	 */
	if (ntrace_is_held(&enc->comp))
		return -EBUSY;
	enc->default_config = config;
	/*
	 * An encoder without a sink has no path to resume, so resume only the encoder to access its
	 * registers
	 */
	ret = ntrace_power_get(&enc->comp);
	if (ret)
		goto out;
	ret = ntrace_route_get(&enc->route);
	if (ret)
		goto out_power;
	if (ntrace_has_power(&enc->comp))
		ntrace_recount(enc);
	else
		ret = -ENODEV;
	ntrace_route_put(&enc->route);
out_power:
	ntrace_power_put(&enc->comp);
out:
	if (ret)
		enc->default_config = old;
	return ret;
}

/*
 * Check a default config. The counter runs even if events have no timestamps by default, because
 * they can enable them.
 */
static int ntrace_check_default(const struct ntrace_encoder *enc, u64 config)
{
	static const struct ntrace_filter all;
	u64 mode = ntrace_encoder_ts_mode(enc, config);

	if (!enc->caps.ts_modes)
		return config & (NTRACE_CONFIG_TS_MODE | NTRACE_CONFIG_TS_PRESCALE) ?
		       -EOPNOTSUPP : ntrace_encoder_supports(enc, config, &all);
	config &= ~NTRACE_CONFIG_TS_MODE;
	config |= NTRACE_CONFIG_TIMESTAMP | mode << NTRACE_CONFIG_TS_MODE_SHIFT;
	return ntrace_encoder_supports(enc, config, &all);
}

/*
 * Set @fields of the default config to their values in @config. Refuse this if the hardware does
 * not support the values, or if the encoder is in use.
 */
static int ntrace_set_default(struct ntrace_encoder *enc, u64 fields, u64 config)
{
	int ret;

	if (config & ~NTRACE_CONFIG_VALID)
		return -EINVAL;
	/*
	 * Wake all CPUs, because the driver stops the event of a CPU that idles, and enc->on would
	 * not show that the encoder is in use
	 */
	guard(ntrace_awake)();
	guard(mutex)(&ntrace_mutex);
	config = ntrace_encoder_resolve_default(enc, config | (enc->default_config & ~fields));
	ret = ntrace_check_default(enc, config);
	if (ret)
		return ret;
	return READ_ONCE(enc->on) ? -EBUSY : ntrace_change_default(enc, config);
}

/* Attribute of a field of the default config */
struct ntrace_default_attr {
	struct device_attribute	attr;
	u64			mask;
};

static ssize_t ntrace_default_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u64 mask = container_of(attr, struct ntrace_default_attr, attr)->mask;
	u64 config = ntrace_dev_encoder(dev)->default_config;

	return sysfs_emit(buf, "%llu\n", (config & mask) >> __ffs64(mask));
}

static ssize_t ntrace_default_store(struct device *dev, struct device_attribute *attr,
				    const char *buf, size_t count)
{
	u64 mask = container_of(attr, struct ntrace_default_attr, attr)->mask;
	unsigned int val;
	int ret;

	ret = kstrtouint(buf, 0, &val);
	if (ret)
		return ret;
	if (val > mask >> __ffs64(mask))
		return -EINVAL;
	ret = ntrace_set_default(ntrace_dev_encoder(dev), mask, (u64)val << __ffs64(mask));
	return ret ?: count;
}

#define NTRACE_ATTR_DEFAULT(_name, _file, _mask)					\
static struct ntrace_default_attr ntrace_default_##_name = {				\
	__ATTR(_file, 0644, ntrace_default_show, ntrace_default_store), _mask		\
}

/* Define a read-only attribute that shows an expression of @enc */
#define NTRACE_ATTR(_name, _file, _fmt, ...)						\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{											\
	const struct ntrace_encoder *enc = ntrace_dev_encoder(dev);			\
											\
	return sysfs_emit(buf, _fmt "\n", __VA_ARGS__);					\
}											\
static struct device_attribute dev_attr_##_name = __ATTR(_file, 0444, _name##_show, NULL)

NTRACE_ATTR(impl, impl, "0x%08x", enc->comp.impl);
NTRACE_ATTR(src_bits, src_bits, "%u", enc->src_bits);
NTRACE_ATTR(src_id, src_id, "%u", enc->src_id);
NTRACE_ATTR(implicit_return_mode, implicit_return_mode, "%u", enc->caps.ir_mode);
NTRACE_ATTR(dialect, dialect, "%u", enc->ops ? enc->ops->dialect : NTRACE_DIALECT_RATIFIED);
NTRACE_ATTR(addr_bits, addr_bits, "%u", enc->ops ? enc->ops->addr_bits : 0);
NTRACE_ATTR(cpu, cpu, "%u", enc->cpu);
NTRACE_ATTR(overflows, overflows, "%lu", enc->overflows);

static ssize_t default_config_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0x%llx\n", ntrace_dev_encoder(dev)->default_config);
}

static ssize_t default_config_store(struct device *dev, struct device_attribute *attr,
				    const char *buf, size_t count)
{
	u64 config;
	int ret;

	ret = kstrtou64(buf, 0, &config);
	if (ret)
		return ret;
	ret = ntrace_set_default(ntrace_dev_encoder(dev), ~0ULL, config);
	return ret ?: count;
}
static DEVICE_ATTR_RW(default_config);

/* Show the devices from the encoder to the sink */
static ssize_t path_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct ntrace_encoder *enc = ntrace_dev_encoder(dev);
	const struct ntrace_route *route = &enc->route;
	unsigned int i;
	int len = 0;

	/* Hold the lock, because the components of a route may be removed while this file exists */
	guard(mutex)(&ntrace_mutex);
	for (i = 0; i < route->len; i++)
		len += sysfs_emit_at(buf, len, "%s%s", i ? " " : "", dev_name(route->path[i]->dev));
	return len + sysfs_emit_at(buf, len, "\n");
}
static DEVICE_ATTR_RO(path);

/*
 * Show the destination of trace, which is system memory, or the sink's own memory with its size in
 * bytes
 */
static ssize_t sink_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct ntrace_encoder *enc = ntrace_dev_encoder(dev);
	const struct ntrace_ram_area *area;
	const struct ntrace_sink *sink;

	guard(mutex)(&ntrace_mutex);
	sink = enc->sink;
	if (!enc->route.len)
		return sysfs_emit(buf, "none\n");
	area = sink->area;
	if (!area->copied)
		return sysfs_emit(buf, "smem\n");
	return sysfs_emit(buf, "%s %llu\n",
			  sink->areas[TR_RAM_MODE_SMEM].there ? "memory" : "sram",
			  area->max - area->min + area->align);
}
static DEVICE_ATTR_RO(sink);

/* Show the trace id of the ATB bridge, or 0 if the sink does not write frames */
static ssize_t trace_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct ntrace_encoder *enc = ntrace_dev_encoder(dev);
	const struct ntrace_route *route = &enc->route;
	unsigned int i, id = 0;

	guard(mutex)(&ntrace_mutex);
	for (i = 0; i < route->len; i++)
		id = id ?: route->path[i]->trace_id;
	return sysfs_emit(buf, "%u\n", id);
}
static DEVICE_ATTR_RO(trace_id);

static struct attribute *ntrace_encoder_attrs[] = {
	&dev_attr_impl.attr,
	&dev_attr_src_bits.attr,
	&dev_attr_src_id.attr,
	&dev_attr_trace_id.attr,
	&dev_attr_implicit_return_mode.attr,
	&dev_attr_default_config.attr,
	&dev_attr_dialect.attr,
	&dev_attr_addr_bits.attr,
	&dev_attr_cpu.attr,
	&dev_attr_overflows.attr,
	&dev_attr_path.attr,
	&dev_attr_sink.attr,
	NULL
};

static const struct attribute_group ntrace_encoder_group = {
	.attrs = ntrace_encoder_attrs,
};

NTRACE_ATTR_DEFAULT(ts_enable, enable, NTRACE_CONFIG_TIMESTAMP);

/* Show the mode in which the counter runs, even if events have no timestamps by default */
static ssize_t ts_mode_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", ntrace_encoder_usual_ts_mode(ntrace_dev_encoder(dev)));
}

static struct ntrace_default_attr ntrace_default_ts_mode = {
	__ATTR(mode, 0644, ts_mode_show, ntrace_default_store), NTRACE_CONFIG_TS_MODE
};

NTRACE_ATTR_DEFAULT(ts_prescale, prescale, NTRACE_CONFIG_TS_PRESCALE);
NTRACE_ATTR(ts_width, width, "%u", enc->caps.ts_width);
NTRACE_ATTR(ts_frequency, frequency, "%u", enc->ts_freq);

/* Read the counter. This keeps all CPUs awake for a while, so only root may do it. */
static ssize_t ts_counter_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ntrace_encoder *enc = ntrace_dev_encoder(dev);
	ssize_t ret = -ENODEV;

	if (ntrace_power_get(&enc->comp))
		return ret;
	ntrace_keep_awake();
	if (ntrace_has_power(&enc->comp))
		ret = sysfs_emit(buf, "%llu\n", ntrace_encoder_counter(enc));
	ntrace_let_sleep();
	ntrace_power_put(&enc->comp);
	return ret;
}

/* The timestamp and the time CSR that were read together when an event was last opened */
NTRACE_ATTR(base, base, "%llu %llu", enc->ts_base, enc->ts_base_time);

static struct device_attribute dev_attr_ts_counter = __ATTR(counter, 0400, ts_counter_show, NULL);

NTRACE_ATTR(ts_modes_available, modes_available, "%*pbl", (int)BITS_PER_TYPE(u16),
	    &(unsigned long){ enc->caps.ts_modes });

static struct attribute *ntrace_timestamp_attrs[] = {
	&ntrace_default_ts_enable.attr.attr,
	&ntrace_default_ts_mode.attr.attr,
	&dev_attr_ts_modes_available.attr,
	&ntrace_default_ts_prescale.attr.attr,
	&dev_attr_ts_width.attr,
	&dev_attr_ts_counter.attr,
	&dev_attr_ts_frequency.attr,
	&dev_attr_base.attr,
	NULL
};

static const struct attribute_group ntrace_timestamp_group = {
	.name = "timestamp",
	.attrs = ntrace_timestamp_attrs,
};

NTRACE_ATTR_DEFAULT(sync_mode, mode, NTRACE_CONFIG_SYNC_MODE);

/* Show the period of synchronisation ("when count reaches 2^(trTeInstSyncMax+4)") */
static ssize_t period_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u64 config = ntrace_dev_encoder(dev)->default_config;

	return sysfs_emit(buf, "%u\n", config & NTRACE_CONFIG_SYNC_MODE ?
			  16U << FIELD_GET(NTRACE_CONFIG_SYNC_MAX, config) : 0);
}

static ssize_t period_store(struct device *dev, struct device_attribute *attr, const char *buf,
			    size_t count)
{
	unsigned int period;
	u64 config;
	int ret;

	ret = kstrtouint(buf, 0, &period);
	if (ret)
		return ret;
	if (!is_power_of_2(period) || period < BIT(4) || period > BIT(19))
		return -EINVAL;
	config = FIELD_PREP(NTRACE_CONFIG_SYNC_MAX, (u64)ilog2(period) - 4);
	ret = ntrace_set_default(ntrace_dev_encoder(dev), NTRACE_CONFIG_SYNC_MAX, config);
	return ret ?: count;
}
static DEVICE_ATTR_RW(period);

NTRACE_ATTR(sync_modes_available, modes_available, "%*pbl", (int)BITS_PER_TYPE(u16),
	    &(unsigned long){ enc->caps.sync_modes });

static struct attribute *ntrace_sync_attrs[] = {
	&ntrace_default_sync_mode.attr.attr,
	&dev_attr_sync_modes_available.attr,
	&dev_attr_period.attr,
	NULL
};

static const struct attribute_group ntrace_sync_group = {
	.name = "sync",
	.attrs = ntrace_sync_attrs,
};

static const struct attribute_group *ntrace_encoder_groups[] = {
	&ntrace_encoder_group,
	&ntrace_timestamp_group,
	&ntrace_sync_group,
	NULL
};

static const struct attribute_group *ntrace_no_groups[] = {
	NULL
};

/* Return the attributes of a component's device */
const struct attribute_group **ntrace_comp_groups(const struct ntrace_comp *comp)
{
	return comp->type == TR_COMP_ENCODER ? ntrace_encoder_groups : ntrace_no_groups;
}
