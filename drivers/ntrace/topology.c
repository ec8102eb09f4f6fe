// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which components there are, and how they are connected.
 *
 * A component is a platform device of the device tree; what it is, its
 * registers say. The graph of the device tree says which output leads to which
 * input (Documentation/devicetree/bindings/riscv/riscv,trace-component.yaml).
 * An encoder whose path ends at a RAM sink makes its CPU traceable.
 */
#include <linux/clk.h>
#include <linux/cpu.h>
#include <linux/interrupt.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_graph.h>
#include <linux/platform_device.h>
#include <linux/pm_qos.h>
#include <linux/pm_runtime.h>
#include <linux/sizes.h>
#include <linux/smp.h>

#include "ntrace.h"

/* Protects the lists below; an encoder that is in use is not taken from them */
DEFINE_MUTEX(ntrace_mutex);

/* Counts who wants all CPUs to keep their state */
static DEFINE_MUTEX(ntrace_awake_mutex);
static unsigned int ntrace_awake_users;
static struct pm_qos_request ntrace_awake_request;

static LIST_HEAD(ntrace_comps);
static struct ntrace_encoder *ntrace_encoders[NR_CPUS];
static struct cpumask ntrace_cpumask;
static struct ntrace_sink *ntrace_sinks[NR_CPUS];
static unsigned int ntrace_sink_count;

struct ntrace_encoder *ntrace_encoder_of(unsigned int cpu)
{
	return cpu < nr_cpu_ids ? ntrace_encoders[cpu] : NULL;
}

const struct cpumask *ntrace_cpus(void)
{
	return &ntrace_cpumask;
}

struct ntrace_sink *ntrace_sink_at(unsigned int index)
{
	return ntrace_sinks[index];
}

unsigned int ntrace_nr_sinks(void)
{
	return ntrace_sink_count;
}

static void ntrace_do_nothing(void *unused)
{
}

/* Each CPU that is online has done what it was interrupted for. May sleep. */
void ntrace_sync_cpus(void)
{
	on_each_cpu(ntrace_do_nothing, NULL, 1);
}

/**
 * ntrace_keep_awake - no CPU that is online loses its state, from now on
 *
 * An idle state may cost an encoder its state too, and what is behind it: while a CPU looks at
 * components of another, that one is to stay out of it. One that was in such a state has
 * come back when this returns, and its components are restored. May sleep.
 */
void ntrace_keep_awake(void)
{
	mutex_lock(&ntrace_awake_mutex);
	if (!ntrace_awake_users++) {
		cpu_latency_qos_add_request(&ntrace_awake_request, 0);
		ntrace_sync_cpus();
	}
	mutex_unlock(&ntrace_awake_mutex);
}

/* Undo ntrace_keep_awake() */
void ntrace_let_sleep(void)
{
	mutex_lock(&ntrace_awake_mutex);
	if (!--ntrace_awake_users)
		cpu_latency_qos_remove_request(&ntrace_awake_request);
	mutex_unlock(&ntrace_awake_mutex);
}

static struct ntrace_comp *ntrace_find_comp(const struct device_node *node)
{
	struct ntrace_comp *comp;

	list_for_each_entry(comp, &ntrace_comps, node)
		if (comp->dev->of_node == node)
			return comp;
	return NULL;
}

/*
 * The component that @comp sends to. An encoder may have several outputs: the
 * first that leads to a usable component is taken.
 */
static struct ntrace_comp *ntrace_next_comp(const struct ntrace_comp *comp, const char **why)
{
	struct device_node *ports = of_get_child_by_name(comp->dev->of_node, "out-ports");
	struct device_node *endpoint, *remote;
	struct ntrace_comp *next = NULL;

	*why = "has no output in the device tree";
	if (!ports)
		return NULL;
	for_each_endpoint_of_node(ports, endpoint) {
		remote = of_graph_get_remote_port_parent(endpoint);
		if (!remote) {
			*why = "has an output that leads nowhere";
			continue;
		}
		next = ntrace_find_comp(remote);
		of_node_put(remote);
		if (next) {
			of_node_put(endpoint);
			break;
		}
		*why = "has an output to a component that cannot be used";
	}
	of_node_put(ports);
	return next;
}

/* Fill enc->path; @at is where it breaks off, @why the reason */
static bool ntrace_build_path(struct ntrace_encoder *enc, struct ntrace_comp **at,
			      const char **why)
{
	struct ntrace_comp *comp = &enc->comp;
	unsigned int len = 0;

	while (comp && len < NTRACE_PATH_MAX) {
		enc->path[len++] = comp;
		*at = comp;
		if (comp->type == TR_COMP_RAMSINK) {
			enc->sink = to_ntrace_sink(comp);
			enc->path_len = len;
			return true;
		}
		comp = ntrace_next_comp(comp, why);
		if (comp && comp->type == TR_COMP_ENCODER) {
			*why = "has an output to an encoder";
			return false;
		}
	}
	if (comp)
		*why = "is on a path that is too long or goes in circles";
	return false;
}

/*
 * Number the encoders of a shared sink: "all encoders operating within the same
 * trace stream must configure the trTeSrcBits field identically". A sink of one
 * encoder needs no SRC.
 */
static int ntrace_number_sources(const struct ntrace_sink *sink)
{
	unsigned int cpu, id = 0, bits = order_base_2(sink->encoders);
	int ret;

	for_each_cpu(cpu, &ntrace_cpumask) {
		struct ntrace_encoder *enc = ntrace_encoders[cpu];

		if (enc->sink != sink)
			continue;
		ret = ntrace_encoder_set_src(enc, bits, id++);
		if (!ret && sink->encoders > 1 && enc->src_bits != bits)
			ret = -EOPNOTSUPP;
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * The encoder of a sink that no other uses is always its member; others come and
 * go. Nothing traces yet.
 */
static void ntrace_share_sink(struct ntrace_sink *sink)
{
	unsigned int cpu;

	INIT_LIST_HEAD(&sink->members);
	for_each_cpu(cpu, &ntrace_cpumask) {
		struct ntrace_encoder *enc = ntrace_encoders[cpu];

		if (enc->sink != sink)
			continue;
		INIT_LIST_HEAD(&enc->member);
		if (sink->encoders == 1)
			list_add(&enc->member, &sink->members);
		sink->cpu = cpu;
	}
}

static bool ntrace_connect_encoder(struct ntrace_encoder *enc)
{
	struct ntrace_comp *at;
	const char *why;

	if (enc->path_len || ntrace_encoders[enc->cpu] || !ntrace_build_path(enc, &at, &why))
		return false;
	if (enc->sink->encoders && ntrace_pmu_is_registered()) {
		dev_err(enc->comp.dev, "CPU %u cannot be traced: its encoder was found when %s was in use already\n",
			enc->cpu, dev_name(enc->sink->comp.dev));
		enc->path_len = 0;
		return false;
	}

	ntrace_encoders[enc->cpu] = enc;
	cpumask_set_cpu(enc->cpu, &ntrace_cpumask);
	enc->sink->encoders++;
	ntrace_share_sink(enc->sink);
	if (!ntrace_number_sources(enc->sink))
		return true;

	dev_err(enc->comp.dev, "CPU %u cannot be traced: %u encoders send to %s, and trTeSrcBits and trTeSrcID cannot tell them apart\n",
		enc->cpu, enc->sink->encoders, dev_name(enc->sink->comp.dev));
	ntrace_encoders[enc->cpu] = NULL;
	cpumask_clear_cpu(enc->cpu, &ntrace_cpumask);
	enc->sink->encoders--;
	enc->path_len = 0;
	ntrace_share_sink(enc->sink);
	ntrace_number_sources(enc->sink);
	return false;
}

/* The funnels of a path count from its end: encoder and inner funnels share that */
static void ntrace_connect_funnels(struct ntrace_encoder *enc)
{
	unsigned int i;

	for (i = enc->path_len - 2; i; i--)
		ntrace_funnel_connect(to_ntrace_funnel(enc->path[i]), i < enc->path_len - 2);
	if (enc->path_len > 2)
		ntrace_encoder_start_counter(enc);
}

/* The timestamp unit of a funnel has changed, and those that share it with it */
void ntrace_measure_behind(const struct ntrace_comp *funnel)
{
	unsigned int cpu, i;

	for_each_cpu(cpu, &ntrace_cpumask) {
		struct ntrace_encoder *enc = ntrace_encoders[cpu];

		for (i = 1; i < enc->path_len - 1; i++)
			if (enc->path[i] == funnel)
				ntrace_encoder_measure(enc);
	}
}

/* Connect what can be connected now; called whenever a component was found */
static void ntrace_connect(void)
{
	struct ntrace_encoder *enc;
	struct ntrace_comp *comp;

	list_for_each_entry(comp, &ntrace_comps, node) {
		if (comp->type != TR_COMP_ENCODER)
			continue;
		enc = to_ntrace_encoder(comp);
		if (!ntrace_connect_encoder(enc))
			continue;
		ntrace_connect_funnels(enc);
		ntrace_context_probe(enc->cpu);
		ntrace_pmu_link(enc);
		dev_info(comp->dev, "traces CPU %u into %s %s, modes%s%s%s\n", enc->cpu,
			 ntrace_type_name(enc->sink->comp.type), dev_name(enc->sink->comp.dev),
			 enc->caps.modes & BIT(TR_TE_INST_MODE_BTM) ? " BTM" : "",
			 enc->caps.modes & BIT(TR_TE_INST_MODE_HTM) ? " HTM" : "",
			 enc->sink->smem ? "" : ", copied from SRAM");
	}
}

/* Once all devices were tried: say which CPUs cannot be traced, and why */
static void ntrace_report_unconnected(void)
{
	struct ntrace_encoder *enc;
	struct ntrace_comp *comp, *at;
	const char *why;

	list_for_each_entry(comp, &ntrace_comps, node) {
		if (comp->type != TR_COMP_ENCODER)
			continue;
		enc = to_ntrace_encoder(comp);
		if (enc->path_len)
			continue;
		if (ntrace_build_path(enc, &at, &why))
			why = "belongs to a CPU that another encoder traces";
		enc->path_len = 0;
		dev_err(comp->dev, "CPU %u cannot be traced: %s %s %s\n", enc->cpu,
			ntrace_type_name(at->type), dev_name(at->dev), why);
	}
}

static int ntrace_comp_cpu(struct device *dev, unsigned int *cpu)
{
	struct device_node *node = of_parse_phandle(dev->of_node, "cpus", 0);
	int id;

	if (!node)
		node = of_parse_phandle(dev->of_node, "cpu", 0);
	if (!node) {
		dev_err(dev, "trace encoder without a \"cpus\" property\n");
		return -EINVAL;
	}
	id = of_cpu_node_to_id(node);
	of_node_put(node);
	if (id < 0) {
		dev_err(dev, "trace encoder of a CPU that Linux does not use\n");
		return -ENODEV;
	}
	*cpu = id;
	return 0;
}

/* What registers cannot tell: the rate of the timestamp counter */
static void ntrace_encoder_clock(struct ntrace_encoder *enc)
{
	struct clk *clk = devm_clk_get_optional_enabled(enc->comp.dev, "timestamp");

	if (!IS_ERR_OR_NULL(clk))
		enc->ts_clock = clk_get_rate(clk);
	enc->ts_freq = enc->ts_clock;
}

static int ntrace_setup_encoder(struct ntrace_encoder *enc)
{
	int ret = ntrace_comp_cpu(enc->comp.dev, &enc->cpu);

	if (ret)
		return ret;
	INIT_LIST_HEAD(&enc->member);
	ntrace_encoder_clock(enc);
	return ntrace_encoder_setup(enc);
}

static irqreturn_t ntrace_sink_irq(int irq, void *sink)
{
	return ntrace_sink_interrupt(sink) ? IRQ_HANDLED : IRQ_NONE;
}

/* Not in the specification, and optional: see ntrace_sink_interrupt() */
static int ntrace_request_irq(struct ntrace_sink *sink)
{
	struct device *dev = sink->comp.dev;
	int irq = platform_get_irq_optional(to_platform_device(dev), 0);

	if (irq == -ENXIO)
		return 0;
	if (irq >= 0)
		irq = devm_request_irq(dev, irq, ntrace_sink_irq, IRQF_NO_THREAD, dev_name(dev),
				       sink);
	if (irq < 0)
		dev_err(dev, "trace RAM sink at %pa: its interrupt cannot be used (%d)\n",
			&sink->comp.addr, irq);
	return irq;
}

static int ntrace_setup_sink(struct ntrace_sink *sink)
{
	int ret = ntrace_ramsink_setup(sink);

	if (ret)
		return ret;
	if (ntrace_sink_count == ARRAY_SIZE(ntrace_sinks))
		return -ENOSPC;
	raw_spin_lock_init(&sink->lock);
	INIT_LIST_HEAD(&sink->members);
	ret = ntrace_request_irq(sink);
	if (ret)
		return ret;
	sink->index = ntrace_sink_count;
	ntrace_sinks[ntrace_sink_count++] = sink;
	return 0;
}

/* The largest kind: what it is, is known when its registers can be read */
union ntrace_any {
	struct ntrace_comp	comp;
	struct ntrace_encoder	encoder;
	struct ntrace_funnel	funnel;
	struct ntrace_sink	sink;
};

static int ntrace_setup_comp(union ntrace_any *any)
{
	int ret;

	ret = ntrace_comp_reset(&any->comp);
	if (ret)
		return ret;
	ret = ntrace_comp_identify(&any->comp);
	if (ret)
		return ret;

	switch (any->comp.type) {
	case TR_COMP_ENCODER:
		return ntrace_setup_encoder(&any->encoder);
	case TR_COMP_FUNNEL:
		ntrace_funnel_setup(&any->funnel);
		return 0;
	default:
		return ntrace_setup_sink(&any->sink);
	}
}

static int ntrace_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	union ntrace_any *any;
	struct resource *res;
	int ret;

	any = devm_kzalloc(dev, sizeof(*any), GFP_KERNEL);
	if (!any)
		return -ENOMEM;
	any->comp.dev = dev;
	raw_spin_lock_init(&any->comp.lock);
	any->comp.base = devm_platform_get_and_ioremap_resource(pdev, 0, &res);
	if (IS_ERR(any->comp.base))
		return PTR_ERR(any->comp.base);
	/* Trace Control Interface, chapter "Trace Components": 4 KiB each */
	if (resource_size(res) < SZ_4K) {
		dev_err(dev, "trace component with %pR, it has 4 KiB of registers\n", res);
		return -EINVAL;
	}
	any->comp.addr = res->start;
	/* Powered while it is bound: its timestamp counter runs all the time */
	ret = devm_pm_runtime_enable(dev);
	if (!ret)
		ret = pm_runtime_resume_and_get(dev);
	if (ret)
		return ret;
	platform_set_drvdata(pdev, any);

	ntrace_keep_awake();
	mutex_lock(&ntrace_mutex);
	ret = ntrace_setup_comp(any);
	if (ret) {
		/* Leave it in reset. It was said why; the driver core need not */
		ntrace_write(&any->comp, TR_CONTROL, 0);
		platform_set_drvdata(pdev, NULL);
		pm_runtime_put(dev);
		ret = -ENODEV;
	} else {
		list_add_tail(&any->comp.node, &ntrace_comps);
		ret = device_add_groups(dev, ntrace_comp_groups(&any->comp));
		ntrace_connect();
	}
	mutex_unlock(&ntrace_mutex);
	ntrace_let_sleep();
	return ret;
}

static void ntrace_disconnect(struct ntrace_encoder *enc)
{
	if (!enc->path_len)
		return;
	ntrace_pmu_unlink(enc);
	cpumask_clear_cpu(enc->cpu, &ntrace_cpumask);
	ntrace_encoders[enc->cpu] = NULL;
	enc->sink->encoders--;
	enc->path_len = 0;
	ntrace_share_sink(enc->sink);
}

/* No path leads through @comp any more; what is freed next is not looked at again */
static void ntrace_disconnect_all(const struct ntrace_comp *gone)
{
	struct ntrace_comp *comp;
	unsigned int i;

	list_for_each_entry(comp, &ntrace_comps, node) {
		struct ntrace_encoder *enc;

		if (comp->type != TR_COMP_ENCODER)
			continue;
		enc = to_ntrace_encoder(comp);
		for (i = 0; i < enc->path_len; i++)
			if (enc->path[i] == gone)
				ntrace_disconnect(enc);
	}
}

static void ntrace_close_local(void *sink)
{
	ntrace_sink_close(sink);
}

/* Its CPU may be away: then nothing traces there */
static void ntrace_close_sink(struct ntrace_sink *sink)
{
	unsigned long flags;

	if (!smp_call_function_single(sink->cpu, ntrace_close_local, sink, 1))
		return;
	local_irq_save(flags);
	ntrace_sink_close(sink);
	local_irq_restore(flags);
}

/* Only when the module goes: bind attributes are suppressed, and no event is left */
static void ntrace_remove(struct platform_device *pdev)
{
	union ntrace_any *any = platform_get_drvdata(pdev);

	if (!any)
		return;
	ntrace_keep_awake();
	mutex_lock(&ntrace_mutex);
	device_remove_groups(&pdev->dev, ntrace_comp_groups(&any->comp));
	ntrace_disconnect_all(&any->comp);
	list_del(&any->comp.node);
	if (any->comp.type == TR_COMP_RAMSINK)
		ntrace_close_sink(&any->sink);
	ntrace_comp_quiesce(&any->comp);
	mutex_unlock(&ntrace_mutex);
	ntrace_let_sleep();
	pm_runtime_put_sync(&pdev->dev);
}

static void ntrace_shutdown(struct platform_device *pdev)
{
	union ntrace_any *any = platform_get_drvdata(pdev);

	if (any && any->comp.type == TR_COMP_RAMSINK)
		ntrace_close_sink(&any->sink);
}

static const struct of_device_id ntrace_of_match[] = {
	{ .compatible = "riscv,trace-component" },
	{ }
};
MODULE_DEVICE_TABLE(of, ntrace_of_match);

static struct platform_driver ntrace_driver = {
	.probe = ntrace_probe,
	.remove = ntrace_remove,
	.shutdown = ntrace_shutdown,
	.driver = {
		.name = "ntrace",
		.of_match_table = ntrace_of_match,
		.suppress_bind_attrs = true,
	},
};

static int __init ntrace_init(void)
{
	int ret;

	/* What idle states cost is restored when the PMU is there */
	ntrace_keep_awake();
	ret = platform_driver_register(&ntrace_driver);
	if (ret)
		goto out;

	mutex_lock(&ntrace_mutex);
	ntrace_report_unconnected();
	if (cpumask_empty(&ntrace_cpumask))
		pr_info("ntrace: no CPU can be traced\n");
	ret = ntrace_pmu_register();
	mutex_unlock(&ntrace_mutex);
	if (ret)
		platform_driver_unregister(&ntrace_driver);
out:
	ntrace_let_sleep();
	return ret;
}
module_init(ntrace_init);

static void __exit ntrace_exit(void)
{
	ntrace_keep_awake();
	ntrace_pmu_unregister();
	platform_driver_unregister(&ntrace_driver);
	ntrace_let_sleep();
	ntrace_context_exit();
}
module_exit(ntrace_exit);

MODULE_DESCRIPTION("RISC-V N-Trace");
MODULE_LICENSE("GPL");
