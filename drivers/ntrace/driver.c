// SPDX-License-Identifier: GPL-2.0-only
/*
 * The platform driver: a component is a device of the device tree; what it is, its registers
 * say.
 */
#include <linux/clk.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/sizes.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "ntrace.h"

/* All devices that there were at first have been tried */
static bool ntrace_loaded;

static int ntrace_comp_cpu(struct device *dev, unsigned int *cpu)
{
	int id = ntrace_node_cpu(dev->of_node);

	if (id == -EINVAL)
		dev_err(dev, "trace encoder without a \"cpus\" property\n");
	else if (id < 0)
		dev_err(dev, "trace encoder of a CPU that Linux does not use\n");
	if (id < 0)
		return id;
	*cpu = id;
	return 0;
}

/* What registers cannot tell: the rate of the timestamp counter */
static int ntrace_encoder_clock(struct ntrace_encoder *enc)
{
	struct clk *clk = devm_clk_get_optional_enabled(enc->comp.dev, "timestamp");

	if (IS_ERR(clk))
		return dev_err_probe(enc->comp.dev, PTR_ERR(clk), "no clock \"timestamp\"\n");
	enc->ts_clock = clk ? clk_get_rate(clk) : 0;
	enc->ts_freq = enc->ts_clock;
	return 0;
}

static int ntrace_setup_encoder(struct ntrace_encoder *enc)
{
	int ret = ntrace_comp_cpu(enc->comp.dev, &enc->cpu);

	if (ret)
		return ret;
	INIT_LIST_HEAD(&enc->member);
	ret = ntrace_encoder_clock(enc);
	return ret ?: ntrace_encoder_setup(enc);
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
	/*
	 * trRamWrap stays set in a snapshot buffer, and while nobody traces: a level would
	 * interrupt without end
	 */
	if (irq >= 0 && !(irq_get_trigger_type(irq) & IRQ_TYPE_EDGE_BOTH)) {
		dev_warn(dev, "trace RAM sink at %pa: its interrupt is not edge triggered, and not used\n",
			 &sink->comp.addr);
		return 0;
	}
	if (irq >= 0)
		irq = devm_request_irq(dev, irq, ntrace_sink_irq, IRQF_NO_THREAD, dev_name(dev),
				       sink);
	if (irq < 0)
		return dev_err_probe(dev, irq,
				     "trace RAM sink at %pa: its interrupt cannot be used\n",
				     &sink->comp.addr);
	return 0;
}

static void ntrace_init_sink(struct ntrace_sink *sink)
{
	raw_spin_lock_init(&sink->lock);
	INIT_LIST_HEAD(&sink->members);
}

static int ntrace_setup_sink(struct ntrace_sink *sink)
{
	int ret = ntrace_ramsink_setup(sink);

	if (ret)
		return ret;
	ntrace_init_sink(sink);
	return ntrace_request_irq(sink);
}

/* The largest kind: what it is, is known when its registers can be read */
union ntrace_any {
	struct ntrace_comp	comp;
	struct ntrace_encoder	encoder;
	struct ntrace_funnel	funnel;
	struct ntrace_sink	sink;
	struct ntrace_bridge	bridge;
	struct ntrace_csfunnel	csfunnel;
};

/* What registers cannot tell before one knows whose they are: the data of ntrace_of_match */
enum ntrace_kind { NTRACE_KIND_RISCV, NTRACE_KIND_CSFUNNEL, NTRACE_KIND_TMC };

static int ntrace_setup_coresight(union ntrace_any *any, enum ntrace_kind kind)
{
	int ret = ntrace_cs_identify(&any->comp, kind == NTRACE_KIND_TMC);

	if (ret)
		return ret;
	if (any->comp.type == NTRACE_COMP_ETR)
		ntrace_init_sink(&any->sink);
	ret = ntrace_cs_setup(&any->comp);
	if (ret)
		ntrace_cs_quiesce(&any->comp);
	return ret;
}

static int ntrace_setup_comp(union ntrace_any *any)
{
	enum ntrace_kind kind = (uintptr_t)of_device_get_match_data(any->comp.dev);
	int ret;

	if (kind != NTRACE_KIND_RISCV)
		return ntrace_setup_coresight(any, kind);
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
	case TR_COMP_ATBBRIDGE:
		return ntrace_bridge_setup(&any->bridge);
	default:
		return ntrace_setup_sink(&any->sink);
	}
}

/* Connect what can be connected now; called whenever a component was found */
static void ntrace_connect_all(void)
{
	struct ntrace_encoder *enc;

	while ((enc = ntrace_connect())) {
		ntrace_context_probe(enc->cpu);
		ntrace_pmu_link(enc);
		dev_info(enc->comp.dev, "traces CPU %u into %s %s, modes%s%s%s\n", enc->cpu,
			 ntrace_type_name(enc->sink->comp.type), dev_name(enc->sink->comp.dev),
			 enc->caps.modes & BIT(TR_TE_INST_MODE_BTM) ? " BTM" : "",
			 enc->caps.modes & BIT(TR_TE_INST_MODE_HTM) ? " HTM" : "",
			 enc->sink->smem ? "" : ", copied from SRAM");
	}
}

/* Components that serve only CPUs that are offline wait for one of them */
static bool ntrace_waiting;

static int ntrace_add_comp(union ntrace_any *any)
{
	enum ntrace_kind kind = (uintptr_t)of_device_get_match_data(any->comp.dev);
	struct ntrace_comp *comp = &any->comp;
	int ret;

	if (!ntrace_has_power(comp)) {
		WRITE_ONCE(ntrace_waiting, true);
		return -EPROBE_DEFER;
	}
	ret = ntrace_setup_comp(any);
	if (!ret)
		ret = device_add_groups(comp->dev, ntrace_comp_groups(comp));
	if (!ret && ntrace_is_sink(comp)) {
		ret = ntrace_registry_add_sink(&any->sink);
		if (ret)
			device_remove_groups(comp->dev, ntrace_comp_groups(comp));
	}
	if (ret) {
		/* Leave it in reset */
		if (kind == NTRACE_KIND_RISCV)
			ntrace_write(comp, TR_CONTROL, 0);
		return ret;
	}
	list_add_tail(&comp->node, &ntrace_comps);
	ntrace_connect_all();
	return 0;
}

static int ntrace_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	union ntrace_any *any;
	struct resource *res;
	void __iomem *base;
	bool loaded;
	int ret;

	any = devm_kzalloc(dev, sizeof(*any), GFP_KERNEL);
	if (!any)
		return -ENOMEM;
	base = devm_platform_get_and_ioremap_resource(pdev, 0, &res);
	if (IS_ERR(base))
		return PTR_ERR(base);
	/* Trace Control Interface, chapter "Trace Components": 4 KiB each */
	if (resource_size(res) < SZ_4K) {
		dev_err(dev, "trace component with %pR, it has 4 KiB of registers\n", res);
		return -EINVAL;
	}
	ntrace_comp_init(&any->comp, dev, base, res->start);
	/* Powered while it is bound: its timestamp counter runs all the time */
	ret = devm_pm_runtime_enable(dev);
	if (!ret)
		ret = pm_runtime_resume_and_get(dev);
	if (ret)
		return ret;
	platform_set_drvdata(pdev, any);

	ntrace_keep_awake();
	mutex_lock(&ntrace_mutex);
	ret = ntrace_add_comp(any);
	loaded = ntrace_loaded;
	mutex_unlock(&ntrace_mutex);
	/* The first encoder may come when the module has been loaded for long */
	if (!ret && loaded && ntrace_pmu_register())
		dev_err(dev, "perf does not take the PMU\n");
	ntrace_let_sleep();
	if (!ret)
		return 0;
	platform_set_drvdata(pdev, NULL);
	pm_runtime_put(dev);
	/* It was said why; the driver core need not */
	return ret == -EPROBE_DEFER ? ret : -ENODEV;
}

/* No path leads through @gone any more; what is freed next is not looked at again */
static void ntrace_disconnect_all(const struct ntrace_comp *gone)
{
	struct ntrace_encoder *enc;

	while ((enc = ntrace_encoder_through(gone))) {
		ntrace_pmu_unlink(enc);
		ntrace_pmu_detach(enc);
		ntrace_disconnect(enc);
	}
}

static void ntrace_close_local(void *sink)
{
	ntrace_sink_close(sink);
}

/* Its CPU may be away: then nothing traces there, and it may be without power */
static void ntrace_close_sink(struct ntrace_sink *sink)
{
	unsigned long flags;

	if (!ntrace_has_power(&sink->comp))
		return;

	if (!smp_call_function_single(sink->cpu, ntrace_close_local, sink, 1))
		return;
	local_irq_save(flags);
	ntrace_sink_close(sink);
	local_irq_restore(flags);
}

/*
 * The module goes, and no event is left; or something that the device needs goes, such as a
 * clock, while it may be in use.
 */
static void ntrace_remove(struct platform_device *pdev)
{
	union ntrace_any *any = platform_get_drvdata(pdev);

	if (!any)
		return;
	/* Who reads or writes one of them may be waiting for ntrace_mutex */
	device_remove_groups(&pdev->dev, ntrace_comp_groups(&any->comp));
	ntrace_keep_awake();
	mutex_lock(&ntrace_mutex);
	ntrace_disconnect_all(&any->comp);
	list_del(&any->comp.node);
	if (any->comp.type == TR_COMP_ATBBRIDGE)
		ntrace_bridge_free(&any->bridge);
	if (ntrace_is_sink(&any->comp)) {
		ntrace_close_sink(&any->sink);
		ntrace_registry_del_sink(&any->sink);
	}
	if (ntrace_has_power(&any->comp))
		ntrace_comp_quiesce(&any->comp);
	mutex_unlock(&ntrace_mutex);
	ntrace_let_sleep();
	irq_work_sync(&any->comp.say);
	pm_runtime_put_sync(&pdev->dev);
}

static void ntrace_shutdown(struct platform_device *pdev)
{
	union ntrace_any *any = platform_get_drvdata(pdev);

	if (any && ntrace_is_sink(&any->comp))
		ntrace_close_sink(&any->sink);
}

static const struct of_device_id ntrace_of_match[] = {
	{ .compatible = NTRACE_COMPATIBLE, .data = (void *)NTRACE_KIND_RISCV },
	{ .compatible = "arm,coresight-dynamic-funnel", .data = (void *)NTRACE_KIND_CSFUNNEL },
	{ .compatible = "arm,coresight-tmc", .data = (void *)NTRACE_KIND_TMC },
	{ }
};
MODULE_DEVICE_TABLE(of, ntrace_of_match);

static struct platform_driver ntrace_driver = {
	.probe = ntrace_probe,
	.NTRACE_REMOVE = ntrace_remove,
	.shutdown = ntrace_shutdown,
	.driver = {
		.name = "ntrace",
		.of_match_table = ntrace_of_match,
		.suppress_bind_attrs = true,
	},
};

static int ntrace_probe_dev(struct device *dev, void *unused)
{
	if (!dev->driver && of_match_node(ntrace_of_match, dev->of_node) && device_attach(dev) < 0)
		dev_dbg(dev, "cannot be used yet\n");
	return 0;
}

static void ntrace_probe_work(struct work_struct *work)
{
	WRITE_ONCE(ntrace_waiting, false);
	bus_for_each_dev(&platform_bus_type, NULL, NULL, ntrace_probe_dev);
}

static DECLARE_WORK(ntrace_probe_later, ntrace_probe_work);

/* A CPU has come online */
static void ntrace_probe_again(void)
{
	if (READ_ONCE(ntrace_waiting))
		schedule_work(&ntrace_probe_later);
}

static int __init ntrace_init(void)
{
	int ret;

	ret = ntrace_cpus_init(ntrace_probe_again);
	if (ret)
		return ret;
	/* What idle states cost is restored when the PMU is there */
	ntrace_keep_awake();
	ret = platform_driver_register(&ntrace_driver);
	if (ret)
		goto out;

	mutex_lock(&ntrace_mutex);
	ntrace_loaded = true;
	ntrace_report_unconnected();
	if (cpumask_empty(ntrace_cpus()))
		pr_info("ntrace: no CPU can be traced\n");
	mutex_unlock(&ntrace_mutex);
	ret = ntrace_pmu_register();
	if (ret)
		platform_driver_unregister(&ntrace_driver);
out:
	ntrace_let_sleep();
	if (ret)
		ntrace_cpus_exit();
	return ret;
}
module_init(ntrace_init);

static void __exit ntrace_exit(void)
{
	ntrace_keep_awake();
	mutex_lock(&ntrace_mutex);
	ntrace_loaded = false;
	mutex_unlock(&ntrace_mutex);
	ntrace_pmu_unregister();
	platform_driver_unregister(&ntrace_driver);
	ntrace_let_sleep();
	ntrace_cpus_exit();
	cancel_work_sync(&ntrace_probe_later);
	ntrace_context_exit();
}
module_exit(ntrace_exit);

MODULE_DESCRIPTION("RISC-V N-Trace");
MODULE_LICENSE("GPL");
